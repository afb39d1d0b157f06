//! Sessions in the ledger, as a scorer records them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use regatta_backends::{RecordState, SessionRecord, TranscriptRef};
use regatta_catalog::Sweep;
use regatta_proto::{Attempt, CostSum, Flags, Money, Outcome, SessionKey, Usage};

/// An attempt of the worker `w` that began and ended in 1970.
#[must_use]
pub fn attempt(id: &str, number: u32) -> Attempt {
    Attempt {
        id: id.parse().unwrap(),
        number,
        worker: "w".parse().unwrap(),
        started_at: Timestamp::UNIX_EPOCH,
        ended_at: Timestamp::UNIX_EPOCH,
    }
}

/// A session that `attempt` measured in one call, which cost nothing. There is no transcript.
#[must_use]
pub fn record(sweep: &Sweep, key: SessionKey, attempt: Attempt, state: RecordState) -> SessionRecord {
    let item = sweep.item(sweep.cell(key.cell).unwrap(), key.item).unwrap();
    SessionRecord {
        key,
        item_id: item.id.clone(),
        task: item.task.to_string(),
        attempt,
        outcome: Outcome::Measured,
        usage: Usage::default(),
        cost: CostSum::default(),
        maybe_spent: Money::ZERO,
        calls: 1,
        cached_calls: 0,
        retries: 0,
        latency_us: 0,
        served: Vec::new(),
        flags: Flags::NONE,
        agent_end: None,
        call_sums: BTreeMap::new(),
        transcript: TranscriptRef { segment: "none".to_owned(), line: 0 },
        state,
    }
}
