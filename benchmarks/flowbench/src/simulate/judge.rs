//! Simulated judges, which read only the prompt, as a real judge does.

use std::collections::BTreeSet;

use regatta_benchmarks::Persona;
use regatta_proto::SessionSeed;
use serde_json::{Map, Value};

use super::Mistakes;
use crate::fuzzy::inputs_in;
use crate::prompts::{OfficialJudges, section};

/// Answers a prompt of a judge, `official` or our own; `None` for any other text.
pub(crate) fn reply(
    prompt: &str,
    official: Option<&OfficialJudges>,
    persona: Persona,
    seed: SessionSeed,
) -> Option<String> {
    let mut mistakes = Mistakes::of(persona, seed, prompt);
    if let Some((gold, predicted)) =
        official.and_then(|official| official.inputs_in(prompt)).or_else(|| inputs_in(prompt))
    {
        let same = means_the_same(gold, predicted) != mistakes.happens(1.0);
        return Some(if same { "yes" } else { "no" }.to_owned());
    }
    if let (Some(reference), Some(said)) = (section(prompt, "reference"), section(prompt, "reply")) {
        let off = if mistakes.happens(1.0) { 2.0 } else { 0.0 };
        let score = (10.0 * overlap(reference, said) - off).max(0.0);
        return Some(format!("Score: {score:.0}\nReason: so many of the words are the same."));
    }
    let official = official.and_then(|official| official.session_in(prompt));
    let own = || Some((section(prompt, "target")?, section(prompt, "dialogue")?));
    let (target, dialogue) = official.or_else(own)?;
    let expected = calls_in(target.split_once("Expected tool calls:").map_or("", |(_, calls)| calls));
    let made = calls_in(dialogue);
    if official.is_none() && prompt.contains("Type: <") {
        return Some(format!("Type: {}\nReason: compared call by call.", failure(&expected, &made)));
    }
    let goals = target.lines().filter(|line| is_numbered(line)).count().max(1);
    let missing = expected.iter().filter(|call| !made.iter().any(|other| other.is_like(call))).count();
    let reached = if missing == 0 && !mistakes.happens(1.0) { goals } else { goals.saturating_sub(missing.max(1)) };
    let result = if reached == goals { "yes" } else { "no" };
    Some(format!(
        "Result: {result}\nTotal number of goals: {goals}\nNumber of accomplished goals: {reached}\nReason: {missing} of the \
         expected calls are missing."
    ))
}

fn is_numbered(line: &str) -> bool {
    line.split_once(". ").is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

/// A call in a text.
struct Call {
    name: String,
    arguments: Map<String, Value>,
}

impl Call {
    /// Returns `true` if it matches the expected call: the same tool, and an equivalent value for every expected
    /// argument that is not empty.
    fn is_like(&self, expected: &Self) -> bool {
        let fits = |(name, value): (&String, &Value)| {
            is_empty(value) || self.arguments.get(name).is_some_and(|given| means_the_same(&text(value), &text(given)))
        };
        self.name == expected.name && expected.arguments.iter().all(fits)
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Parses the calls in a text, two lines each.
fn calls_in(text: &str) -> Vec<Call> {
    let mut lines = text.lines().peekable();
    let mut calls = Vec::new();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("Action: ") else { continue };
        let Some(input) = lines.next_if(|next| next.starts_with("Action Input: ")) else { continue };
        let arguments = serde_json::from_str(input.trim_start_matches("Action Input: ")).unwrap_or_default();
        calls.push(Call { name: name.trim().to_owned(), arguments });
    }
    calls
}

/// Returns the failure category: a missing call, another order of calls, wrong arguments, or something else.
fn failure(expected: &[Call], made: &[Call]) -> u8 {
    if expected.iter().any(|call| !made.iter().any(|other| other.name == call.name)) {
        return 1;
    }
    if expected.iter().any(|call| !made.iter().any(|other| other.is_like(call))) {
        return 4;
    }
    let mut rest = made.iter();
    if expected.iter().all(|call| rest.any(|other| other.is_like(call))) { 5 } else { 2 }
}

/// Returns `true` if both texts have the same words in any order; case, punctuation and articles are ignored.
fn means_the_same(one: &str, other: &str) -> bool {
    words(one) == words(other)
}

fn words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !matches!(*word, "" | "the" | "a" | "an"));
    words.map(str::to_owned).collect()
}

/// Returns the share of all words that both texts have.
fn overlap(one: &str, other: &str) -> f64 {
    let (one, other) = (words(one), words(other));
    let all = one.union(&other).count();
    if all == 0 { 1.0 } else { one.intersection(&other).count() as f64 / all as f64 }
}
