//! Mistakes as planners make them: a call left out or repeated, another app, a missing or wrong argument, a value written out where a
//! variable belongs and the other way round, another order, a form that parsers trip over.

use rand::Rng;
use rand::seq::IndexedRandom;

use super::Gold;

/// Probability of a broken form, relative to that of any other mistake.
const FORM_SHARE: f64 = 0.15;

/// A plan that is being got wrong.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    lines: Vec<Line>,
}

/// One call of it.
#[derive(Debug, Clone)]
struct Line {
    app: String,
    /// Text up to the opening bracket.
    head: String,
    /// As written, `#key=value`.
    arguments: Vec<String>,
}

impl Plan {
    /// The gold. A call without an app of its own is given the last one, as the plan of an item whose lists differ in length.
    pub(super) fn of(gold: Gold<'_>) -> Self {
        let last = gold.apps.last().map_or("", |app| &**app);
        let lines = gold.calls.iter().enumerate().map(|(at, call)| {
            let (head, inside) = call.split_once('(').unwrap_or((call, ""));
            let inside = inside.strip_suffix(')').unwrap_or(inside);
            // No gold value contains a comma and a space (docs/benchmarks/appbench.md §2.2).
            let arguments = inside.split(", ").filter(|argument| !argument.is_empty()).map(str::to_owned).collect();
            Line { app: gold.apps.get(at).map_or(last, |app| &**app).to_owned(), head: head.to_owned(), arguments }
        });
        Self { lines: lines.collect() }
    }

    /// The plan as a model writes it that makes each mistake with a share of `probability`.
    pub(super) fn disturbed(mut self, gold: Gold<'_>, probability: f64, rng: &mut impl Rng) -> String {
        let happens = |share: f64, rng: &mut _| draw(rng) < probability * share;
        if happens(0.2, rng) && self.lines.len() > 1 {
            let gone = rng.random_range(0..self.lines.len());
            self.lines.remove(gone);
        }
        if happens(0.1, rng)
            && let Some(again) = self.lines.choose(rng).cloned()
        {
            self.lines.push(again);
        }
        if happens(0.1, rng) {
            self.lines.reverse();
        }
        for line in &mut self.lines {
            if happens(0.15, rng)
                && let Some(other) = gold.phone.choose(rng)
            {
                line.app = other.to_string();
            }
            line.arguments.retain(|_| !happens(0.1, rng));
            for argument in &mut line.arguments {
                if happens(0.15, rng) {
                    *argument = other_value(argument, rng);
                }
            }
        }
        let text = self.written();
        if happens(FORM_SHARE, rng) { broken(&text, rng) } else { text }
    }

    fn written(&self) -> String {
        let lines =
            self.lines.iter().map(|line| format!("{}: [{}({})]", line.app, line.head, line.arguments.join(", ")));
        lines.collect::<Vec<String>>().join("\n")
    }
}

fn draw(rng: &mut impl Rng) -> f64 {
    rng.random()
}

/// The argument with another value: another text, its key as a variable, or a value where a variable was.
fn other_value(argument: &str, rng: &mut impl Rng) -> String {
    let Some((key, value)) = argument.split_once('=') else { return argument.to_owned() };
    let name = key.trim_start_matches('#');
    let is_literal = value.starts_with('\'');
    match rng.random_range(0..3) {
        0 if is_literal => format!("{key}={name}"),
        0 => format!("{key}='the {name}'"),
        1 => format!("{key}='{}'", value.trim_matches('\'').chars().rev().collect::<String>()),
        _ => format!("{key}='any, or none'"),
    }
}

/// The text in a form that parsers trip over, one way or another.
fn broken(text: &str, rng: &mut impl Rng) -> String {
    match rng.random_range(0..6) {
        0 => text.replace(['[', ']'], ""),
        1 => text.lines().enumerate().map(|(at, line)| format!("{}. {line}\n", at + 1)).collect(),
        2 => text.replace(", ", ",\n  "),
        3 => text.chars().take(text.chars().count() / 2).collect(),
        4 => format!("Here is the plan:\n```\n{text}\n```"),
        _ => "I cannot do that without knowing more.".to_owned(),
    }
}
