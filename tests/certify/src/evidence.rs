//! Evidence of a history, as plain data: what the deployment says, and what others say of it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::endpoint::Call;
use crate::plan::Fault;

/// The sweep undisturbed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reference {
    /// `results.jsonl`.
    pub(crate) results: String,
    /// Answered calls of each session, as the endpoint has them; those of judges have none.
    pub(crate) calls: BTreeMap<String, u64>,
    /// Cost of these, in nano-dollars.
    pub(crate) cost: u64,
}

impl Reference {
    pub(crate) fn of(results: String, books: &[Call]) -> Self {
        let mut calls = BTreeMap::new();
        for call in books.iter().filter(|call| !call.is_judges) {
            *calls.entry(call.session.clone()).or_default() += 1;
        }
        let cost = books.iter().filter(|call| !call.is_judges).map(|call| call.cost).sum();
        Self { results, calls, cost }
    }
}

/// An attempt, as the deployment exports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// `benchmark/setting/trial/item`.
    pub(crate) session: String,
    pub(crate) state: String,
    pub(crate) calls: u64,
    /// Nano-dollars.
    pub(crate) known_cost: u64,
    /// On top, what calls under way may have cost at most.
    pub(crate) at_most: u64,
}

/// Tables and queues that should be empty at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Leftovers {
    pub(crate) open_attempts: u64,
    pub(crate) awaiting: u64,
    /// Queues with messages, and how many.
    pub(crate) queues: Vec<(String, u64)>,
}

/// A fault that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Struck {
    /// Kind of the fault.
    pub fault: Fault,
    /// Process or connection that it was done to.
    pub target: String,
    /// Time of the fault, in milliseconds since the sweep was submitted.
    pub at_ms: u64,
    /// Time at which it was undone, in milliseconds since the sweep was submitted.
    pub ended_ms: u64,
    /// Milliseconds from then to the next recorded session, or to the end of the sweep; `None` if neither came.
    pub recovered_after_ms: Option<u64>,
    /// Calls that were in flight in processes that were killed or cut off, by session: as many may be made again.
    pub calls_in_flight: BTreeMap<String, u64>,
}

/// Evidence about one history.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    pub(crate) state: String,
    pub(crate) results: String,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) books: Vec<Call>,
    /// Cost of judges by the ledger, in nano-dollars.
    pub(crate) judged_cost: u64,
    /// Sum that the budget's account counts as spent, maybe spent and reserved, in nano-dollars.
    pub(crate) account: u64,
    pub(crate) budget: u64,
    pub(crate) leftovers: Leftovers,
    pub(crate) struck: Vec<Struck>,
    /// Processes that ended by themselves.
    pub(crate) fallen: Vec<String>,
    /// Longest time without a recorded session after the last fault, in milliseconds.
    pub(crate) longest_silence_ms: u64,
}

/// Attempts of `attempts.jsonl`; its cells are named by `results.jsonl`.
pub(crate) fn attempts(attempts: &str, results: &str) -> Option<Vec<Attempt>> {
    let parse = |text: &str| text.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>().ok();
    let mut cells = BTreeMap::new();
    for line in parse(results)? {
        let cell = line["cell"].as_u64()?;
        cells.insert(cell, (line["benchmark"].clone(), line["setting"].clone(), line["trial"].as_u64()?));
    }
    let read = |line: Value| {
        let (benchmark, setting, trial) = cells.get(&line["cell"].as_u64()?)?;
        Some(Attempt {
            session: format!("{}/{}/{trial}/{}", benchmark.as_str()?, setting.as_str()?, line["item"].as_str()?),
            state: line["state"].as_str()?.to_owned(),
            calls: line["calls"].as_u64()?,
            known_cost: line["known_cost_nanodollars"].as_u64()?,
            at_most: line["at_most_nanodollars"].as_u64().unwrap_or(0),
        })
    };
    parse(attempts)?.into_iter().map(read).collect()
}
