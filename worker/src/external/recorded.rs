//! Calls that earlier starts of an agent made, with their answers, to be given again.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use regatta_benchmarks::delegated::start_of_turn;
use regatta_proto::{Call, ChatRequest, Digest, Event, Money, Transcript, json_bytes};

/// Calls of earlier starts, by request: positions in the transcript of its first answer, its second, and so on. A call that failed is
/// `None` and keeps its turn: the calls after it are others, with answers of their own.
pub(super) struct Recorded(HashMap<Digest, Vec<Option<usize>>>);

/// Digest by which requests are compared, and the size of the request in bytes of JSON.
pub(super) fn key(request: &ChatRequest) -> (Digest, u64) {
    let bytes = json_bytes(request);
    (Digest::of(&bytes), bytes.len() as u64)
}

impl Recorded {
    /// The calls of the turn of `transcript` that is under way: what an agent asks in another turn it asks anew. A start that was answered from
    /// earlier ones adds only the calls that it made beyond theirs.
    pub(super) fn of(transcript: &Transcript) -> Self {
        let mut places: HashMap<Digest, Vec<Option<usize>>> = HashMap::new();
        let mut of_start: HashMap<Digest, usize> = HashMap::new();
        for (place, event) in transcript.events.iter().enumerate().skip(start_of_turn(transcript)) {
            let (key, answer) = match event {
                Event::Started(_) => {
                    of_start.clear();
                    continue;
                }
                Event::Call(call) => (key(&call.request).0, Some(place)),
                Event::Failed(failed) => match failed.asked {
                    Some(asked) => (asked, None),
                    // A refusal, which was never asked of a model.
                    None => continue,
                },
                Event::Recorded(_) | Event::Exchange(_) | Event::Ended(_) | Event::BenchmarkFailed(_) => continue,
            };
            let turn = of_start.entry(key).or_default();
            let known = places.entry(key).or_default();
            match known.get_mut(*turn) {
                Some(known) => *known = known.or(answer),
                None => known.push(answer),
            }
            *turn += 1;
        }
        Self(places)
    }

    /// The answer to the `number`-th request with this key, counted from 0, as `attempt` gets it: for nothing.
    pub(super) fn answer(&self, transcript: &Transcript, key: &Digest, number: u32, attempt: u32) -> Option<Known> {
        let place = (*self.0.get(key)?.get(number as usize)?)?;
        let Some(Event::Call(original)) = transcript.events.get(place) else { return None };
        let served = (!original.from_cache).then(|| Duration::from_micros(original.latency_us));
        let call = Call {
            attempt,
            tries: Vec::new(),
            cost: Some(Money::ZERO),
            reported_cost: None,
            waited_us: 0,
            from_cache: true,
            saved: None,
            ..(**original).clone()
        };
        Some(Known { call: Box::new(call), began: original.at, served: served.unwrap_or_default() })
    }
}

/// A call that an earlier start made.
pub(super) struct Known {
    /// As it is given again.
    pub(super) call: Box<Call>,
    began: Option<Timestamp>,
    served: Duration,
}

/// Time that replayed calls of earlier starts took. Calls that ran at the same time count once.
#[derive(Default)]
pub(super) struct Replayed {
    until: Option<Timestamp>,
}

impl Replayed {
    /// Time that `known` adds to the calls replayed before it, without the part that ran while they did.
    pub(super) fn beyond(&mut self, known: &Known) -> Duration {
        let Some(began) = known.began else { return known.served };
        let end = began.saturating_add(known.served).unwrap_or(began);
        let from = self.until.map_or(began, |until| until.max(began));
        self.until = Some(self.until.map_or(end, |until| until.max(end)));
        end.duration_since(from).try_into().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_failed_among_equal_ones_keeps_its_turn() {
        let asked = |text: &str| serde_json::json!({ "messages": [{ "role": "user", "content": text }] });
        let answered = |text: &str, said: &str| {
            serde_json::json!({ "call": {
                "role": "agent", "attempt": 1, "model": "sim/a", "request": asked(text),
                "reply": { "text": said, "finish": "stop" }, "usage": { "input": 0, "output": 0 }, "cost": 5, "latency_us": 0,
            } })
        };
        let of = |text: &str| key(&serde_json::from_value(asked(text)).unwrap()).0;
        let failed = |text: &str| {
            let asked = of(text);
            serde_json::json!({ "failed": { "role": "agent", "attempt": 1, "model": "sim/a", "tries": [], "asked": asked } })
        };
        let started = serde_json::json!({ "started": { "agent": "a", "attempt": 1 } });
        let transcript = |events: Vec<serde_json::Value>| -> Transcript {
            serde_json::from_value(serde_json::json!({ "events": events })).unwrap()
        };
        let said = |transcript: &Transcript, number| {
            let known = Recorded::of(transcript).answer(transcript, &of("x"), number, 2)?;
            known.call.reply.text.map(|text| text.to_string())
        };
        let first =
            vec![started.clone(), failed("x"), answered("x", "second"), answered("y", "other"), answered("x", "third")];
        let torn = transcript(first.clone());
        let found = [0, 1, 2, 3].map(|number| said(&torn, number));
        assert_eq!(found, [None, Some("second".to_owned()), Some("third".to_owned()), None]);
        // What failed is asked once more, and then known too.
        let again = transcript([first, vec![started, answered("x", "first")]].concat());
        assert_eq!([0, 1].map(|number| said(&again, number)), [Some("first".to_owned()), Some("second".to_owned())]);
    }

    #[test]
    fn calls_of_an_earlier_turn_or_of_another_role_are_not_given_again() {
        let call = |role: &str, said: &str| {
            serde_json::json!({ "call": {
                "role": role, "attempt": 1, "model": "sim/a", "request": { "messages": [] },
                "reply": { "text": said, "finish": "stop" }, "usage": { "input": 0, "output": 0 }, "cost": 5, "latency_us": 0,
            } })
        };
        let started = || serde_json::json!({ "started": { "agent": "a", "attempt": 1 } });
        let ended = |how: serde_json::Value| serde_json::json!({ "ended": { "how": how, "output": "x" } });
        let exited = || ended(serde_json::json!({ "exited": 0 }));
        let known = |events: Vec<serde_json::Value>| {
            let transcript: Transcript = serde_json::from_value(serde_json::json!({ "events": events })).unwrap();
            let asked = key(&serde_json::from_value(serde_json::json!({ "messages": [] })).unwrap()).0;
            let known = Recorded::of(&transcript).answer(&transcript, &asked, 0, 1)?;
            known.call.reply.text.map(|text| text.to_string())
        };
        let first =
            vec![call("user", "of the user"), started(), call("agent", "first"), exited(), call("user", "again")];
        assert_eq!(known(first.clone()), None);
        let killed = vec![started(), call("agent", "second"), ended(serde_json::json!({ "killed": 9 }))];
        assert_eq!(known([first, killed].concat()).as_deref(), Some("second"));
    }

    #[test]
    fn known_calls_take_what_they_took_and_no_longer_together() {
        let call: Call = serde_json::from_value(serde_json::json!({
            "role": "agent", "attempt": 1, "model": "sim/a", "request": {"messages": []},
            "reply": {"text": "x", "finish": "stop"}, "usage": {"input": 0, "output": 0}, "cost": null, "latency_us": 0,
        }))
        .unwrap();
        let known = |began: Option<i64>, seconds| Known {
            call: Box::new(call.clone()),
            began: began.map(|second| Timestamp::from_second(second).unwrap()),
            served: Duration::from_secs(seconds),
        };
        let mut replayed = Replayed::default();
        let calls = [(Some(100), 10), (Some(100), 10), (Some(105), 10), (Some(120), 3), (Some(90), 3), (None, 4)];
        let taken = calls.map(|(began, seconds)| replayed.beyond(&known(began, seconds)).as_secs());
        assert_eq!(taken, [10, 0, 5, 3, 0, 4]);
    }
}
