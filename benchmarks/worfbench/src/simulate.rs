//! Simulated models: one that writes the gold, and one that gets it wrong with a given probability.

use rand::Rng;
use regatta_benchmarks::Persona;
use regatta_proto::{SessionSeed, rng};

use super::data::Record;
use super::workflow_noise::Draft;

/// Probability of a broken format, relative to that of any other mistake.
const FORMAT_SHARE: f64 = 0.15;

/// Answer of a simulated model in the session of `record`: the gold word for word, or with mistakes drawn from `seed`.
pub(crate) fn reply(record: &Record, persona: Persona, seed: SessionSeed) -> String {
    match persona {
        Persona::Oracle => record.gold.as_ref().to_owned(),
        Persona::Noisy(probability) => noisy(&record.gold, probability, seed),
    }
}

fn noisy(gold: &str, probability: f64, seed: SessionSeed) -> String {
    let mut rng = rng(seed.0, "worfbench/noisy");
    let Some(mut draft) = Draft::of(gold) else { return gold.to_owned() };
    let nodes_changed = draft.disturb_nodes(probability, &mut rng);
    let edges_changed = draft.disturb_edges(probability, &mut rng);
    let text = if nodes_changed || edges_changed { draft.written() } else { gold.to_owned() };
    // A comparison with a draw from 0..1 is never true for 0 and never panics, whatever the number.
    if rng.random::<f64>() < probability * FORMAT_SHARE { broken(&text, &mut rng) } else { text }
}

/// The text in a form that parsers trip over, one way or another.
fn broken(text: &str, rng: &mut impl Rng) -> String {
    match rng.random_range(0..5) {
        // Numbers as the task's own instructions print them, which the official parser cannot read.
        0 => text.lines().map(without_space).collect::<Vec<_>>().join("\n"),
        // Nodes only.
        1 => text.lines().filter(|line| !line.contains('(')).collect::<Vec<_>>().join("\n"),
        // Cut off.
        2 => text.chars().take(text.chars().count() / 2).collect(),
        // Arrows instead of pairs.
        3 => text.replace(',', " -> ").replace(['(', ')'], " "),
        _ => "I am not able to plan this task without more information.".to_owned(),
    }
}

fn without_space(line: &str) -> String {
    match line.split_once(": ") {
        Some((number, text)) if number.chars().all(|c| c.is_ascii_digit()) => format!("{number}.{text}"),
        _ => line.to_owned(),
    }
}
