//! Canaries: items that every run asks anew, with digests of their answers, by which runs are compared text by text.
//!
//! A digest is of answers alone, so that it can be kept where transcripts are not. It is taken when a sweep ends, because transcripts may be
//! removed long before anybody compares its night with the next one.

use std::collections::{BTreeMap, BTreeSet};

use regatta_backends::SessionRow;
use regatta_catalog::{Catalog, SegmentError, Sweep, read_lines_of_segment};
use regatta_proto::{Cell, Digest, ItemId, Outcome, Role, Transcript};
use regatta_report::{CanaryAnswers, CanarySession};

use crate::finish::FinishError;

/// Sessions of canaries whose transcripts are to be read.
#[derive(Debug, Default)]
pub(crate) struct CanarySessions<'s> {
    /// By segment and line.
    wanted: BTreeMap<String, BTreeMap<u32, (&'s Cell, ItemId)>>,
}

impl<'s> CanarySessions<'s> {
    /// Notes the canaries among the sessions of `cell`. One that was not measured was cut off, and says nothing of how it is answered.
    pub(crate) fn note(&mut self, sweep: &Sweep, cell: &'s Cell, rows: &[SessionRow]) {
        let canaries = rows.iter().filter(|row| row.outcome == Outcome::Measured && sweep.is_canary(cell, row.item));
        for row in canaries {
            let lines = self.wanted.entry(row.transcript.segment.clone()).or_default();
            lines.insert(row.transcript.line, (cell, row.item_id.clone()));
        }
    }

    /// Reads the answers. A session whose transcript is gone or damaged is left out: nothing else depends on it.
    ///
    /// # Errors
    /// When the store does not say what it has.
    pub(crate) async fn read(self, catalog: &Catalog, sweep: &Sweep) -> Result<Vec<CanaryAnswers>, FinishError> {
        let mut found: BTreeMap<(usize, usize, usize), CanaryAnswers> = BTreeMap::new();
        for (segment, lines) in self.wanted {
            let Some(bytes) = catalog.blobs().get(&format!("sweeps/{}/{segment}", sweep.id)).await? else {
                tracing::warn!(sweep.id = %sweep.id, segment, "answers to canaries are not compared: their transcripts are gone");
                continue;
            };
            let numbers: BTreeSet<u32> = lines.keys().copied().collect();
            let read = read_lines_of_segment(&segment, &bytes, &numbers, |number, stored| {
                let Some((cell, item)) = lines.get(&number) else { return };
                let Some(answers) = digest(&stored.transcript) else { return };
                let (benchmark, setting, model, _) = sweep.lock.place(cell);
                let of_cell = found.entry((benchmark, setting, model)).or_insert_with(|| CanaryAnswers {
                    benchmark: cell.benchmark.clone(),
                    setting: cell.setting.clone(),
                    model: cell.model.clone(),
                    sessions: Vec::new(),
                });
                of_cell.sessions.push(CanarySession { item: item.clone(), trial: cell.trial.0, answers });
            });
            match read {
                Ok(()) => {}
                Err(SegmentError::Blobs(error)) => return Err(error.into()),
                Err(error) => {
                    tracing::warn!(sweep.id = %sweep.id, %error, "some answers to canaries are not compared");
                }
            }
        }
        let mut all: Vec<CanaryAnswers> = found.into_values().collect();
        // Segments are in no order that two runs share.
        for of_cell in &mut all {
            of_cell.sessions.sort_by(|one, other| (one.trial, &one.item).cmp(&(other.trial, &other.item)));
        }
        Ok(all)
    }
}

/// Digest of the answers of the model under test; `None` where it gave none, or the response cache gave one of them.
fn digest(transcript: &Transcript) -> Option<Digest> {
    let calls = || transcript.calls().filter(|call| call.role == Role::Agent);
    if calls().next().is_none() || calls().any(|call| call.from_cache) {
        return None;
    }
    let mut parts: Vec<&[u8]> = vec![b"canary/1".as_slice()];
    for call in calls() {
        // Marks: one answer of two texts is not two of one each.
        match &call.reply.text {
            Some(text) => parts.extend([b"text".as_slice(), text.as_bytes()]),
            None => parts.push(b"none"),
        }
        for tool in &call.reply.tool_calls {
            parts.extend([b"tool".as_slice(), tool.name.as_bytes(), tool.arguments.as_bytes()]);
        }
    }
    Some(Digest::of_parts(parts))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(role: &str, reply: Value, more: Value) -> Value {
        let mut call = json!({
            "role": role, "attempt": 1, "model": "sim/m", "request": { "messages": [] }, "reply": reply,
            "usage": { "input": 1, "output": 1 }, "cost": null, "latency_us": 5, "first_token_us": null,
            "at": null, "from_cache": false,
        });
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "call": call })
    }

    fn said(text: &str) -> Value {
        json!({ "text": text, "finish": "stop" })
    }

    fn of(events: Vec<Value>) -> Option<Digest> {
        digest(&serde_json::from_value(json!({ "events": events })).unwrap())
    }

    #[test]
    fn answers_are_the_same_if_texts_and_tool_calls_of_the_agent_are() {
        let tool = |id: &str, arguments: &str| json!({ "text": null, "finish": "tool_calls", "tool_calls": [{ "id": id, "name": "f", "arguments": arguments }] });
        let answers = |id: &str, arguments: &str, user: &str, latency: u64| {
            of(vec![
                call("agent", tool(id, arguments), json!({ "latency_us": latency })),
                call("user", said(user), json!({})),
                call("agent", said("done"), json!({})),
            ])
        };
        let one = answers("call_1", "{}", "go on", 5);
        assert!(one.is_some());
        assert_eq!(one, answers("call_9", "{}", "and then?", 70));
        assert_ne!(one, answers("call_1", "{\"x\":1}", "go on", 5));
    }

    #[test]
    fn what_the_response_cache_answered_is_no_answer_of_today() {
        assert_eq!(of(vec![]), None);
        let cached = call("agent", said("yes"), json!({ "from_cache": true }));
        assert_eq!(of(vec![call("agent", said("yes"), json!({})), cached]), None);
    }

    #[test]
    fn two_short_answers_are_not_one_long_one() {
        let answer = |text: &str| call("agent", said(text), json!({}));
        assert_ne!(of(vec![answer("ab"), answer("c")]), of(vec![answer("a"), answer("bc")]));
        assert_ne!(of(vec![answer("text"), answer("b")]), of(vec![answer("text"), answer("text"), answer("b")]));
    }
}
