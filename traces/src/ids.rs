//! Ids of traces and spans: digests of what all roles know, so that nothing has to be carried from one to the next.

use opentelemetry::trace::{SpanId, TraceId};
use regatta_proto::{AttemptId, CellIndex, ItemId, SweepId};
use sha2::{Digest as _, Sha256};

/// Digest of `parts`, no two lists of which are one text.
#[must_use]
pub fn derived(parts: &[&str]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    digest.finalize().into()
}

/// The trace of one session. A resume of its sweep goes on in it: what was begun again is a further attempt below the same root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTrace {
    id: TraceId,
    text: String,
}

impl SessionTrace {
    /// The trace of the session of `item` in `cell` of `sweep`.
    #[must_use]
    pub fn of(sweep: &SweepId, cell: CellIndex, item: &ItemId) -> Self {
        let id = trace(&["trace", sweep.as_str(), &cell.to_string(), item.as_str()]);
        Self { id, text: id.to_string() }
    }

    /// The id of the trace.
    #[must_use]
    pub const fn id(&self) -> TraceId {
        self.id
    }

    /// Span of the session as a whole, the parent of all that roles do for it.
    #[must_use]
    pub fn root(&self) -> SpanId {
        span(&[&self.text, "root"])
    }

    /// Span in which the coordinator dispatches the attempt `number`, in `generation` of the sweep.
    #[must_use]
    pub fn dispatch(&self, generation: u32, number: u32) -> SpanId {
        span(&[&self.text, "dispatch", &generation.to_string(), &number.to_string()])
    }

    /// Span of an attempt in its worker.
    #[must_use]
    pub fn attempt(&self, attempt: &AttemptId) -> SpanId {
        span(&[&self.text, "attempt", attempt.as_str()])
    }

    /// Span of the event that is the `position`-th of the session's transcript, and that `attempt` has added.
    #[must_use]
    pub fn event(&self, attempt: &AttemptId, position: usize) -> SpanId {
        span(&[&self.text, "event", attempt.as_str(), &position.to_string()])
    }

    /// Span in which call `call` of `attempt` waits for the `nth` time.
    #[must_use]
    pub fn wait(&self, attempt: &AttemptId, call: u64, nth: u32) -> SpanId {
        span(&[&self.text, "wait", attempt.as_str(), &call.to_string(), &nth.to_string()])
    }

    /// Span in which a scorer records `attempt`.
    #[must_use]
    pub fn record(&self, attempt: &AttemptId) -> SpanId {
        span(&[&self.text, "record", attempt.as_str()])
    }

    /// Span in which a scorer scores `attempt`.
    #[must_use]
    pub fn score(&self, attempt: &AttemptId) -> SpanId {
        span(&[&self.text, "score", attempt.as_str()])
    }

    /// Span in which a scorer settles the session with the verdicts that came of the judge job `judged`, or that were there before.
    #[must_use]
    pub fn settle(&self, judged: Option<&AttemptId>) -> SpanId {
        span(&[&self.text, "settle", judged.map_or("", AttemptId::as_str)])
    }
}

/// Trace of a judge job that was answered as `attempt`, and its only span: its questions may be of many sessions, which link to it.
#[must_use]
pub fn judged(attempt: &AttemptId) -> (TraceId, SpanId) {
    let id = trace(&["judge", attempt.as_str()]);
    (id, span(&[&id.to_string(), "root"]))
}

fn trace(parts: &[&str]) -> TraceId {
    TraceId::from_bytes(beginning(&derived(parts)))
}

fn span(parts: &[&str]) -> SpanId {
    SpanId::from_bytes(beginning(&derived(parts)))
}

fn beginning<const N: usize>(digest: &[u8; 32]) -> [u8; N] {
    std::array::from_fn(|position| digest[position])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_the_same_each_time_and_differ_by_where_parts_begin() {
        assert_eq!(derived(&["a", "b"]), derived(&["a", "b"]));
        assert_ne!(derived(&["ab", ""]), derived(&["a", "b"]));
    }

    #[test]
    fn a_session_has_one_trace_whoever_asks_and_each_step_a_span_of_its_own() {
        let of = |cell, item: &str| SessionTrace::of(&"s".parse().unwrap(), CellIndex(cell), &item.parse().unwrap());
        let trace = of(3, "x");
        assert_eq!(trace, of(3, "x"));
        assert!(trace.id() != of(4, "x").id() && trace.id() != of(3, "y").id());
        let (one, other) = ("w1-0".parse().unwrap(), "w1-1".parse().unwrap());
        let spans = [
            trace.root(),
            trace.dispatch(0, 1),
            trace.dispatch(1, 1),
            trace.dispatch(0, 2),
            trace.attempt(&one),
            trace.attempt(&other),
            trace.event(&one, 0),
            trace.event(&one, 1),
            trace.event(&other, 0),
            trace.wait(&one, 1, 1),
            trace.record(&one),
            trace.score(&one),
            trace.settle(Some(&one)),
            trace.settle(None),
        ];
        let different: std::collections::HashSet<_> = spans.iter().collect();
        assert_eq!(different.len(), spans.len());
    }
}
