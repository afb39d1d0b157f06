//! A session as a sample.

use jiff::Timestamp;
use regatta_proto::{Event, ItemId, Role, Transcript};
use serde_json::{Map, Value, json};

use super::events::{complete, drop_nothing, events, output, seconds, sentence};
use super::messages::{Pool, message, reply};
use super::moment;
use super::usage::{self, Sums};
use crate::ids::derived;
use crate::run::{Run, Session};

/// A sample, and what the header counts of it.
pub(super) struct Sample {
    pub(super) id: ItemId,
    pub(super) epoch: u32,
    pub(super) document: Value,
    pub(super) by_model: Sums,
    pub(super) by_role: Sums,
    /// Cause, where it was not measured.
    pub(super) unmeasured: Option<String>,
}

/// The sample of `session`, of whose answer `target` is a right one.
pub(super) fn sample(run: &Run, session: &Session, target: Option<&str>) -> Sample {
    let line = &session.result;
    let stored = session.transcript();
    let nothing = Transcript::default();
    let transcript = stored.map_or(&nothing, |stored| &stored.transcript);
    let uuid = derived(11, &["sample", run.summary.sweep.as_str(), &line.cell.to_string(), line.item.as_str()]);
    let begun = session.attempts.iter().map(|attempt| attempt.started_at).min();
    let ended = session.counting().and_then(|attempt| attempt.ended_at);
    let begun_or_planned = begun.unwrap_or(run.summary.created_at);

    let (input, messages, output) = conversation(&uuid, transcript);
    let mut pool = Pool::default();
    let mut events = events(&uuid, transcript, begun_or_planned, &mut pool);
    let scores = scores(session);
    for (name, score) in &scores {
        let mut event = json!({"event": "score", "scorer": name, "score": score, "target": target.unwrap_or_default()});
        complete(&mut event, &uuid, events.len(), ended.unwrap_or(begun_or_planned), begun_or_planned);
        events.push(event);
    }
    let error = error(session, transcript);
    if let Some(error) = &error {
        let mut event = json!({"event": "error", "error": error});
        complete(&mut event, &uuid, events.len(), ended.unwrap_or(begun_or_planned), begun_or_planned);
        events.push(event);
    }

    let (by_model, by_role) = usage::sums(transcript);
    let epoch = u32::from(line.trial) + 1;
    let mut sample = json!({
        "id": line.item.as_str(),
        "epoch": epoch,
        "input": input,
        "target": target.unwrap_or_default(),
        "messages": messages,
        "output": output,
        "scores": scores,
        "metadata": metadata(session),
        "store": {},
        "events": events,
        "model_usage": usage::document(&by_model),
        "role_usage": usage::document(&by_role),
        "uuid": uuid,
        "attachments": {},
        "events_data": pool.into_document(),
    });
    if let Some(error) = error {
        sample["error"] = error;
    }
    times(&mut sample, begun, ended, session);
    let unmeasured = line.scores.is_none().then(|| line.cause.clone().unwrap_or_else(|| line.outcome.clone()));
    Sample { id: line.item.clone(), epoch, document: sample, by_model, by_role, unmeasured }
}

/// When it began and ended, and for how long it waited for models.
fn times(sample: &mut Value, begun: Option<Timestamp>, ended: Option<Timestamp>, session: &Session) {
    if let Some(begun) = begun {
        sample["started_at"] = moment(begun).into();
    }
    if let Some(ended) = ended {
        sample["completed_at"] = moment(ended).into();
    }
    if let (Some(begun), Some(ended)) = (begun, ended) {
        sample["total_time"] = seconds(begun, ended).into();
        let counted = session.attempts.iter().filter(|attempt| !attempt.wasted);
        let worked = counted.filter_map(|attempt| attempt.latency_us).reduce(u64::saturating_add);
        // Of answers from the response cache alone, or of none, there is no such time.
        if let Some(worked) = worked {
            sample["working_time"] = std::time::Duration::from_micros(worked).as_secs_f64().into();
        }
    }
}

/// The first request to the agent, the whole conversation with it at its last answer, and that answer.
fn conversation(sample: &str, transcript: &Transcript) -> (Value, Value, Value) {
    let of_agent = |event: &&Event| match event {
        Event::Call(call) => call.role == Role::Agent,
        Event::Recorded(_) => true,
        Event::Failed(_) | Event::Started(_) | Event::Exchange(_) | Event::Ended(_) | Event::BenchmarkFailed(_) => {
            false
        }
    };
    let all =
        |messages: &[regatta_proto::ChatMessage]| messages.iter().map(|one| message(sample, one)).collect::<Vec<_>>();
    let input = transcript.calls().find(|call| call.role == Role::Agent).map(|call| &call.request);
    let asked = transcript.events.iter().find_map(|event| match event {
        Event::Failed(failed) if failed.role == Role::Agent => failed.request.as_deref(),
        _ => None,
    });
    let input = input.or(asked).map_or_else(|| json!(""), |request| json!(all(&request.messages)));
    let empty = json!({"model": "", "choices": [], "completion": ""});
    match transcript.events.iter().rfind(of_agent) {
        Some(Event::Call(call)) => {
            let mut messages = all(&call.request.messages);
            messages.push(reply(sample, &call.reply, Some(&call.model)));
            (input, messages.into(), output(sample, call))
        }
        Some(Event::Recorded(recorded)) => {
            let said = reply(sample, recorded, None);
            let completion = recorded.text.as_deref().unwrap_or_default();
            let output =
                json!({"model": "", "choices": [{"message": said, "stop_reason": "stop"}], "completion": completion});
            (input, json!([said]), output)
        }
        _ => (input.clone(), if input.is_array() { input } else { json!([]) }, empty),
    }
}

/// A score for each value of each evaluator. One with several values would be an object, of which data frames make a text.
fn scores(session: &Session) -> Map<String, Value> {
    let mut scores = Map::new();
    for (evaluator, values) in session.result.scores.iter().flatten() {
        for (name, value) in values {
            scores.insert(format!("{evaluator}.{name}"), json!({"value": value}));
        }
    }
    scores
}

fn metadata(session: &Session) -> Value {
    let line = &session.result;
    let counting = session.counting();
    let cost = session
        .attempts
        .iter()
        .filter(|attempt| !attempt.wasted)
        .try_fold(0, |sum: u64, attempt| attempt.cost_nanodollars.map(|cost| sum.saturating_add(cost.0)));
    let mut metadata = json!({
        "cell": line.cell,
        "task": line.task,
        "outcome": line.outcome,
        "cause": line.cause,
        "flags": line.flags,
        "attempts": session.attempts.len(),
        "attempt": counting.map(|attempt| attempt.attempt),
        "attempt_id": counting.map(|attempt| attempt.id.as_str()),
        "cost_nanodollars": cost,
    });
    drop_nothing(&mut metadata);
    metadata
}

/// Reason why a session was not measured. One that the model made impossible has a score, and is no error.
fn error(session: &Session, transcript: &Transcript) -> Option<Value> {
    if session.result.scores.is_some() {
        return None;
    }
    let cause = session.result.cause.as_deref().unwrap_or("unknown");
    let words = transcript.events.iter().rev().find_map(|event| match event {
        Event::Failed(failed) => failed.tries.last().map(sentence),
        Event::BenchmarkFailed(failed) => Some(failed.why.clone()),
        Event::Call(_) | Event::Recorded(_) | Event::Started(_) | Event::Exchange(_) | Event::Ended(_) => None,
    });
    let words = words.map(|words| format!(": {words}")).unwrap_or_default();
    let message = format!("{} ({cause}){words}", session.result.outcome);
    Some(json!({"message": message, "traceback": message, "traceback_ansi": message}))
}
