//! Recorded judgements of OrchestrationBench about the arguments of a step: one judge's reply, or counts of several
//! judges.

use std::collections::{BTreeMap, HashMap};

use regatta_proto::{PanelRule, Verdict};
use serde_json::{Map, Value, json};

use crate::DataError;
use crate::source_location::{SourceLocation, kind_of};

/// Kind of the questions about arguments.
pub(super) const KIND: &str = "arguments";

/// Marks a reply without a text (`null`). Models do not write this character.
pub const NULL_CONTENT: &str = "\0";

/// Recorded judgements by item.
#[derive(Debug, Clone, Default)]
pub(super) struct ArgumentJudgements {
    /// The judge's reply by item; `None` when all calls failed.
    replies: HashMap<String, Option<String>>,
    /// The item with a run in its id (`EN/1/2/7`) by the id without (`EN/1/7`), under which single runs are scored; none where several
    /// runs are recorded.
    of_single_runs: HashMap<String, Option<String>>,
    /// Counts by item, judge and key, in the JSON form of a reply.
    counts: HashMap<String, BTreeMap<String, Map<String, Value>>>,
}

impl ArgumentJudgements {
    /// `true` for a line that this type reads: it has `item` and `response`, or `item`, `judge` and `key`.
    pub(super) fn is_theirs(line: &Value) -> bool {
        let has = |field: &str| line.get(field).is_some();
        has("item") && (has("response") || has("judge") && has("key"))
    }

    /// Adds a line.
    pub(super) fn add(&mut self, place: &SourceLocation<'_>, line: &Value) -> Result<(), DataError> {
        let item = place.text(line, "item")?.to_owned();
        if let [language, scenario, _, step] = item.split('/').collect::<Vec<&str>>()[..] {
            let known = self.of_single_runs.entry(format!("{language}/{scenario}/{step}"));
            let only = known.or_insert_with(|| Some(item.clone()));
            if only.as_ref().is_some_and(|only| *only != item) {
                *only = None;
            }
        }
        if line.get("judge").is_some() { self.add_counts(place, line, item) } else { self.add_reply(place, line, item) }
    }

    fn add_reply(&mut self, place: &SourceLocation<'_>, line: &Value, item: String) -> Result<(), DataError> {
        let failed = match line.get("error") {
            None | Some(Value::Bool(false) | Value::Null) => false,
            Some(Value::Bool(true)) => true,
            Some(other) => return Err(place.error("error", format!("must be a boolean, is {}", kind_of(other)))),
        };
        let reply = match line.get("response") {
            _ if failed => None,
            Some(Value::Null) => Some(NULL_CONTENT.to_owned()),
            response => Some(place.text_at(response, "response")?.to_owned()),
        };
        match self.replies.insert(item, reply.clone()) {
            Some(earlier) if earlier != reply => {
                Err(place.error("response", "differs from an earlier line's about the same item; do not mix judges"))
            }
            _ => Ok(()),
        }
    }

    fn add_counts(&mut self, place: &SourceLocation<'_>, line: &Value, item: String) -> Result<(), DataError> {
        let (judge, key) = (place.text(line, "judge")?.to_owned(), place.text(line, "key")?.to_owned());
        let mut counts = Map::new();
        for (field, name) in [("tp", "tp_count"), ("fp", "fp_count"), ("fn", "fn_count")] {
            match line.get(field) {
                Some(count @ Value::Number(_)) => counts.insert(name.to_owned(), count.clone()),
                Some(other) => return Err(place.error(field, format!("must be a number, is {}", kind_of(other)))),
                None => return Err(place.error(field, "is missing; it must be a number")),
            };
        }
        let counts = Value::Object(counts);
        match self.counts.entry(item).or_default().entry(judge).or_default().insert(key, counts.clone()) {
            Some(earlier) if earlier != counts => {
                Err(place.error("key", "has other counts of the same judge on an earlier line; do not mix judges"))
            }
            _ => Ok(()),
        }
    }

    /// `true` if a reply or counts are recorded for this subject.
    pub(super) fn has(&self, kind: &str, about: &[String]) -> bool {
        match about {
            [item] if kind == KIND => {
                let item = self.recorded_as(item);
                self.replies.contains_key(item) || self.counts.contains_key(item)
            }
            _ => false,
        }
    }

    /// Returns the id under which the item is recorded.
    fn recorded_as<'i>(&'i self, item: &'i str) -> &'i str {
        self.of_single_runs.get(item).and_then(Option::as_deref).unwrap_or(item)
    }

    /// Returns the reply of the one judge (an empty list when its calls failed), or the counts of each of several judges.
    pub(super) fn answer(&self, kind: &str, about: &[String]) -> Option<Verdict> {
        let [item] = about else { return None };
        if kind != KIND {
            return None;
        }
        let item = self.recorded_as(item);
        if let Some(reply) = self.replies.get(item) {
            return Some(Verdict::Replies { replies: reply.iter().cloned().collect() });
        }
        let judges = self.counts.get(item)?;
        let members = judges.values().map(|counts| vec![json!(counts).to_string()]).collect();
        Some(Verdict::Panel { rule: PanelRule::Mean, members })
    }

    /// Number of distinct judges that gave counts.
    pub(super) fn judges(&self) -> usize {
        let judges: std::collections::BTreeSet<&str> =
            self.counts.values().flat_map(|judges| judges.keys().map(String::as_str)).collect();
        judges.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(items: &[&str]) -> ArgumentJudgements {
        let mut judgements = ArgumentJudgements::default();
        for item in items {
            let line = json!({ "item": item, "response": "{}" });
            judgements.add(&SourceLocation::file("case", "judge.jsonl"), &line).unwrap();
        }
        judgements
    }

    #[test]
    fn the_judgements_of_one_run_are_found_without_naming_it() {
        let about = |item: &str| [item.to_owned()];
        let one = recorded(&["EN/1/2/7"]);
        assert!(one.has(KIND, &about("EN/1/7")) && one.has(KIND, &about("EN/1/2/7")));
        let several = recorded(&["EN/1/1/7", "EN/1/2/7"]);
        assert!(!several.has(KIND, &about("EN/1/7")) && several.has(KIND, &about("EN/1/2/7")), "which run?");
    }
}
