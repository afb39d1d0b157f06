//! Limit on the bytes that a session records.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use regatta_benchmarks::delegated::start_of_turn;
use regatta_proto::{ExternalAgent, Transcript};
use serde::Serialize;

/// Most bytes of requests, replies, exchanges and output that a session records: what is recorded travels through the broker as a whole.
const BYTES_MAX: u64 = 64 << 20;

/// Bytes that one start of an agent has recorded, against the limit of its session.
pub(super) struct Budget {
    /// Bytes recorded by earlier starts in the turn that is under way.
    earlier: u64,
    /// Bytes recorded by this start and in the turns before it, plus the most that its own output may have.
    own: AtomicU64,
}

impl Budget {
    /// Counts the bytes of `transcript`, those of the turn that is under way as recorded by earlier starts, and reserves room for the output of
    /// the next start of `agent`.
    pub(super) fn after(transcript: &Transcript, agent: &ExternalAgent) -> Self {
        let start = start_of_turn(transcript);
        let turns: u64 = transcript.events.iter().take(start).map(size).sum();
        let own = AtomicU64::new(turns.saturating_add(agent.output_bytes_max.into()));
        Self { earlier: transcript.events.iter().skip(start).map(size).sum(), own }
    }

    /// True if `bytes` more stay within the session's limit.
    pub(super) fn fits(&self, bytes: u64) -> bool {
        self.earlier.saturating_add(self.with(bytes)) <= BYTES_MAX
    }

    /// True if `bytes` more would stay within the limit had there been no earlier starts. If so, the agent is not to blame for a lack of
    /// room.
    pub(super) fn would_fit_alone(&self, bytes: u64) -> bool {
        self.with(bytes) <= BYTES_MAX
    }

    /// So many bytes more are recorded.
    pub(super) fn take(&self, bytes: u64) {
        self.own.fetch_add(bytes, Ordering::Relaxed);
    }

    fn with(&self, bytes: u64) -> u64 {
        self.own.load(Ordering::Relaxed).saturating_add(bytes)
    }
}

/// Bytes of `value` as JSON.
pub(super) fn size(value: &impl Serialize) -> u64 {
    let mut count = Count(0);
    // Plain data can be written, and counting cannot fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_earlier_starts_recorded_counts_and_is_told_from_the_agents_own() {
        let agent: ExternalAgent = serde_json::from_str("{}").unwrap();
        let budget = Budget::after(&Transcript::default(), &agent);
        let left = BYTES_MAX - u64::from(agent.output_bytes_max);
        assert!(budget.fits(left) && !budget.fits(left + 1));
        budget.take(left);
        assert!(!budget.fits(1) && !budget.would_fit_alone(1));
        let crowded = Budget { earlier: left, own: AtomicU64::new(1) };
        assert!(!crowded.fits(BYTES_MAX / 2) && crowded.would_fit_alone(BYTES_MAX / 2));
    }

    #[test]
    fn what_an_agent_recorded_in_earlier_turns_is_its_own_and_what_was_lost_in_this_one_is_not() {
        let agent: ExternalAgent = serde_json::from_str("{}").unwrap();
        let started = || serde_json::json!({ "started": { "agent": "mine", "attempt": 1 } });
        let ended =
            |how: serde_json::Value, output: &str| serde_json::json!({ "ended": { "how": how, "output": output } });
        let exited = ended(serde_json::json!({ "exited": 0 }), &"x".repeat(1000));
        let killed = ended(serde_json::json!({ "killed": 9 }), &"x".repeat(100));
        let events = [started(), exited, started(), killed];
        let talk: Transcript = serde_json::from_value(serde_json::json!({ "events": events })).unwrap();
        let budget = Budget::after(&talk, &agent);
        let own = budget.own.load(Ordering::Relaxed) - u64::from(agent.output_bytes_max);
        assert!(own > 1000 && (100..1000).contains(&budget.earlier), "{own} {}", budget.earlier);
    }

    #[test]
    fn a_size_is_that_of_the_json() {
        assert_eq!(size(&serde_json::json!({"a": "ü"})), 10);
    }
}
