//! Kinds `resolve` and `stat_lines`: single functions of the official code.

use std::collections::BTreeMap;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_proto::{Evaluator, Script};
use serde_json::{Map, Value, json};

use super::{Inputs, day, text_or_null};
use crate::official::message::printed;
use crate::official::stat::{Counts, Words, said_by_line};

/// Slots of each row of a case after they are resolved.
///
/// # Errors
/// When an input cannot be read.
pub(crate) fn resolve(inputs: &Inputs<'_>) -> Result<Value, DataError> {
    let mut items = Map::new();
    let mut changed = 0_u32;
    for line in inputs.predictions() {
        let (place, line) = line?;
        let script = resolver(&place, place.text(&line, "resolver")?)?;
        let today = day(&place, "today", place.text(&line, "today")?)?;
        let slots = place.text(&line, "slots")?;
        let resolved = crate::official::resolve(script, slots, today);
        changed += u32::from(resolved != slots.trim_matches(['[', ']']));
        items.insert(place.text(&line, "item")?.to_owned(), json!({ "resolved": resolved }));
    }
    Ok(json!({
        "evaluator": Evaluator::Official,
        "aggregate": { "n": items.len(), "changed": changed, "exceptions": 0 },
        "items": items,
    }))
}

/// `official`, or the name of a copy without that word before it.
fn resolver(place: &SourceLocation<'_>, name: &str) -> Result<Option<Script>, DataError> {
    let evaluator = if name.starts_with("official") { name.to_owned() } else { format!("official-{name}") };
    match evaluator.parse() {
        Ok(Evaluator::Official) => Ok(None),
        Ok(Evaluator::OfficialOf(script)) => Ok(Some(script)),
        _ => Err(place.error("resolver", format!("{name:?} is unknown"))),
    }
}

/// Verdict of each printed line of a case, with their counts.
///
/// # Errors
/// When an input cannot be read.
pub(crate) fn stat_lines(inputs: &Inputs<'_>) -> Result<Value, DataError> {
    let mut items = Map::new();
    let mut aggregate = BTreeMap::from([("none", 0_u32), ("wrong", 0), ("right", 0)]);
    for line in inputs.predictions() {
        let (place, line) = line?;
        let words = match place.text(&line, "stat")? {
            "base" => Words::Plain,
            "bracket" => Words::Bracketed,
            other => return Err(place.error("stat", format!("{other:?} is unknown; known: base, bracket"))),
        };
        let item = match text_or_null(&place, &line, "eval_log")? {
            Some(log) => {
                let counts = Counts::of_log(words, log);
                json!({
                    "acc": counts.accuracy(),
                    "right": counts.right,
                    "wrong": counts.wrong,
                    "error_lines": counts.error_lines,
                })
            }
            None => {
                let printed = match text_or_null(&place, &line, "line")? {
                    Some(line) => line.to_owned(),
                    None => printed(text_or_null(&place, &line, "content")?, text_or_null(&place, &line, "refusal")?),
                };
                let counts = said_by_line(words, &printed).map_or("none", |said| said.counts());
                *aggregate.entry(counts).or_default() += 1;
                json!({ "counts": counts })
            }
        };
        items.insert(place.text(&line, "item")?.to_owned(), item);
    }
    Ok(json!({ "evaluator": Evaluator::Official, "aggregate": aggregate, "items": items }))
}
