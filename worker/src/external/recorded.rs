//! What earlier starts of an agent asked, and what they were answered.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{Call, ChatRequest, Digest, Event, Money, Transcript, json_bytes};

/// Answered calls of earlier starts: of each request the first answer, the second, and so on, by their places in the transcript.
pub(super) struct Recorded(HashMap<Digest, Vec<usize>>);

/// What makes two requests equal, and how many bytes they are.
pub(super) fn key(request: &ChatRequest) -> (Digest, u64) {
    let bytes = json_bytes(request);
    (Digest::of(&bytes), bytes.len() as u64)
}

impl Recorded {
    /// Those of all that has happened so far. A start that was answered from earlier ones adds only what it asked beyond them.
    pub(super) fn of(transcript: &Transcript) -> Self {
        let mut places: HashMap<Digest, Vec<usize>> = HashMap::new();
        let mut of_start: HashMap<Digest, usize> = HashMap::new();
        for (place, event) in transcript.events.iter().enumerate() {
            match event {
                Event::Started(_) => of_start.clear(),
                Event::Call(call) => {
                    let (key, _) = key(&call.request);
                    let count = of_start.entry(key).or_default();
                    *count += 1;
                    let known = places.entry(key).or_default();
                    if known.len() < *count {
                        known.push(place);
                    }
                }
                Event::Failed(_)
                | Event::Recorded(_)
                | Event::Exchange(_)
                | Event::Ended(_)
                | Event::BenchmarkFailed(_) => {}
            }
        }
        Self(places)
    }

    /// The answer to the `number`-th request with this key, counted from 0, as `attempt` gets it: for nothing.
    pub(super) fn answer(&self, transcript: &Transcript, key: &Digest, number: u32, attempt: u32) -> Option<Known> {
        let place = *self.0.get(key)?.get(number as usize)?;
        let Some(Event::Call(original)) = transcript.events.get(place) else { return None };
        let served = (!original.from_cache).then(|| Duration::from_micros(original.latency_us));
        let call = Call {
            attempt,
            tries: Vec::new(),
            cost: Some(Money::ZERO),
            reported_cost: None,
            from_cache: true,
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

/// How long the calls of earlier starts took that were given again. Those made at the same time take no longer together than they did.
#[derive(Default)]
pub(super) struct Replayed {
    until: Option<Timestamp>,
}

impl Replayed {
    /// What `known` takes beyond those before it.
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
