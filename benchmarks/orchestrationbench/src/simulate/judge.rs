//! A simulated judge. It reads only the prompt, and accepts values that differ in case alone as equal.

use regatta_benchmarks::Persona;
use regatta_proto::SessionSeed;
use serde_json::{Map, Value, json};

use super::Mistakes;
use crate::protocol::{Unresolved, unresolved_in};

/// Answers the prompt of a judgement; `None` for any other text.
#[expect(clippy::expect_used, reason = "keys are texts, and values are JSON already")]
pub(crate) fn reply(prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
    let (id, unresolved) = unresolved_in(prompt)?;
    let mut mistakes = Mistakes::of(persona, seed, prompt);
    let mut answer = Map::new();
    for argument in &unresolved {
        if mistakes.happens(0.1) {
            // Leaves the key out.
            continue;
        }
        answer.insert(argument.key.clone(), counts(argument, &mut mistakes));
    }
    let json = serde_json::to_string_pretty(&answer).expect("a map of JSON is written");
    Some(match mistakes.happens(0.1) {
        false => format!("{id}\n{json}"),
        true => match mistakes.pick(3) {
            0 => format!("{id}\n```json\n{json}\n```"),
            1 => format!("<think>{{}}</think>{}", json.replace('"', "'")),
            _ => "I cannot compare these.".to_owned(),
        },
    })
}

fn counts(argument: &Unresolved, mistakes: &mut Mistakes) -> Value {
    let mut actual: Vec<&String> = argument.actual.iter().collect();
    let mut matches = Vec::new();
    let mut unmatched = Vec::new();
    for predicted in &argument.predicted {
        let same = actual.iter().position(|actual| actual.to_lowercase() == predicted.to_lowercase());
        let found = if mistakes.happens(0.3) { (same.is_none() && !actual.is_empty()).then_some(0) } else { same };
        match found {
            Some(at) => matches.push(json!({"predicted": predicted, "actual": actual.remove(at)})),
            None => unmatched.push(predicted),
        }
    }
    json!({
        "matches": matches,
        "unmatched_predicted": unmatched,
        "unmatched_actual": actual,
        "tp_count": matches.len(),
        "fp_count": unmatched.len(),
        "fn_count": actual.len(),
    })
}
