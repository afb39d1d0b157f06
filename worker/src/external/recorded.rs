//! What earlier starts of an agent asked, and what they were answered.

use std::collections::HashMap;

use regatta_proto::{Call, ChatRequest, Digest, Event, Money, Transcript};

/// Answered calls of earlier starts: of each request the first answer, the second, and so on, by their places in the transcript.
pub(super) struct Recorded(HashMap<Digest, Vec<usize>>);

/// What makes two requests equal.
pub(super) fn key(request: &ChatRequest) -> Digest {
    // Serialising plain data into memory cannot fail.
    Digest::of(&serde_json::to_vec(request).unwrap_or_default())
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
                    let key = key(&call.request);
                    let count = of_start.entry(key).or_default();
                    *count += 1;
                    let known = places.entry(key).or_default();
                    if known.len() < *count {
                        known.push(place);
                    }
                }
                Event::Failed(_) | Event::Recorded(_) | Event::Exchange(_) | Event::Ended(_) => {}
            }
        }
        Self(places)
    }

    /// The answer to the `number`-th request with this key, counted from 0, as `attempt` gets it: for nothing.
    pub(super) fn answer(&self, transcript: &Transcript, key: &Digest, number: u32, attempt: u32) -> Option<Call> {
        let place = *self.0.get(key)?.get(number as usize)?;
        let Some(Event::Call(call)) = transcript.events.get(place) else { return None };
        Some(Call {
            attempt,
            tries: Vec::new(),
            cost: Some(Money::ZERO),
            reported_cost: None,
            from_cache: true,
            ..(**call).clone()
        })
    }
}
