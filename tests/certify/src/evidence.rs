//! Evidence of a history, as plain data: what the deployment says, and what others say of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::endpoint::{BATCH_PRICE, Call, CallKind, PRICE};
use crate::plan::Fault;
use crate::workload::Part;

/// Answered calls of a session, as the endpoint has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Booked {
    pub(crate) calls: u64,
    /// Nano-dollars.
    pub(crate) cost: u64,
}

/// Answered calls by session; those of judges have none.
pub(crate) fn booked(books: &[Call]) -> BTreeMap<&str, Booked> {
    let mut booked: BTreeMap<&str, Booked> = BTreeMap::new();
    for call in books.iter().filter(|call| call.kind != CallKind::Judges && !call.was_refused) {
        let of_session = booked.entry(&call.session).or_default();
        of_session.calls += 1;
        of_session.cost += call.cost;
    }
    booked
}

/// Sweeps undisturbed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reference {
    /// `results.jsonl` of each sweep, one after the other.
    pub(crate) results: String,
    /// Their sessions; no two sweeps have the same.
    pub(crate) sessions: BTreeMap<String, Booked>,
    /// Times that each session made each request; lines of batches have none of their own.
    pub(crate) requests: BTreeMap<(String, u64), u64>,
    /// Times that each request was made of a judge; those for vectors are not among them.
    pub(crate) judged: BTreeMap<u64, u64>,
    /// Texts whose vectors a judge was asked for.
    pub(crate) texts: BTreeSet<u64>,
    /// Number of calls of judges.
    pub(crate) judges_calls: u64,
}

impl Reference {
    pub(crate) fn of(results: String, books: &[Call]) -> Self {
        let sessions = booked(books).into_iter().map(|(session, booked)| (session.to_owned(), booked)).collect();
        let mut reference = Self { results, sessions, ..Self::default() };
        for call in books.iter().filter(|call| !call.was_refused) {
            match call.kind {
                CallKind::Live => *reference.requests.entry((call.session.clone(), call.request)).or_default() += 1,
                CallKind::Judges => {
                    reference.judges_calls += 1;
                    if call.texts.is_empty() {
                        *reference.judged.entry(call.request).or_default() += 1;
                    }
                    reference.texts.extend(&call.texts);
                }
                CallKind::Batched => {}
            }
        }
        reference
    }

    /// The same where each call is a line of a batch, at its price.
    pub(crate) fn by_batches(mut self) -> Self {
        for booked in self.sessions.values_mut() {
            booked.cost = booked.cost * BATCH_PRICE.0 / PRICE.0;
        }
        self.requests.clear();
        self
    }

    /// This one, and then `other`.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.results.push_str(&other.results);
        both.sessions.extend(other.sessions.clone());
        both.requests.extend(other.requests.clone());
        for (request, times) in &other.judged {
            *both.judged.entry(*request).or_default() += times;
        }
        both.texts.extend(&other.texts);
        both.judges_calls += other.judges_calls;
        both
    }

    /// Number of calls for sessions.
    pub(crate) fn calls(&self) -> u64 {
        self.sessions.values().map(|booked| booked.calls).sum()
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

/// Tables, queues and folders that should be empty at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Leftovers {
    pub(crate) open_attempts: u64,
    pub(crate) awaiting: u64,
    /// Slots of endpoints that somebody may still fill.
    pub(crate) slots: u64,
    /// Nano-dollars that somebody may still spend.
    pub(crate) reserved: u64,
    /// Objects in the bucket with transcripts of running sessions.
    pub(crate) checkpoints: u64,
    /// Queues with messages, and how many.
    pub(crate) queues: Vec<(String, u64)>,
    /// Queues with messages that somebody has taken and not acknowledged, and how many.
    pub(crate) unacknowledged: Vec<(String, u64)>,
}

impl Leftovers {
    /// Kinds of remains, with the number of each.
    pub(crate) fn counts(&self) -> Vec<(String, u64)> {
        let counts = [
            ("open attempts", self.open_attempts),
            ("sessions that await verdicts", self.awaiting),
            ("slots", self.slots),
            ("reserved nano-dollars", self.reserved),
            ("checkpoints", self.checkpoints),
        ];
        let counts = counts.into_iter().map(|(what, count)| (what.to_owned(), count));
        let unacknowledged =
            self.unacknowledged.iter().map(|(queue, count)| (format!("{queue}, unacknowledged"), *count));
        counts.chain(self.queues.iter().cloned()).chain(unacknowledged).filter(|(_, count)| *count > 0).collect()
    }
}

/// Calls of processes at the moment at which they were killed or cut off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct InFlight {
    /// Requests by session, as the books number them: each may be made again.
    pub calls: BTreeMap<String, Vec<u64>>,
    /// Requests of judges: each may be made again.
    pub judges: Vec<u64>,
    /// Texts whose vectors these ask for: each may be asked for again.
    pub texts: Vec<u64>,
    /// Workers among the processes: each may leave one batch that is handed in twice.
    pub workers: u64,
}

impl InFlight {
    /// Adds those of another process.
    pub(crate) fn add(&mut self, other: &Self) {
        for (session, requests) in &other.calls {
            self.calls.entry(session.clone()).or_default().extend(requests);
        }
        self.judges.extend(&other.judges);
        self.texts.extend(&other.texts);
        self.workers += other.workers;
    }
}

/// A fault that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Struck {
    /// Kind of the fault.
    pub fault: Fault,
    /// Process or connection that it was done to.
    pub target: String,
    /// Time of the fault, in milliseconds since the endpoint's books were opened, just before the sweeps were submitted.
    pub at_ms: u64,
    /// Time at which it was undone, in milliseconds since then.
    pub ended_ms: u64,
    /// Milliseconds from that to the moment at which each session that it met in a call was recorded or had begun another call; where messages
    /// were thrown away, to the moment at which each of their sessions was recorded. `None` if that never came.
    pub recovered_after_ms: Option<u64>,
    /// Calls under way in what was killed or cut off.
    pub in_flight: InFlight,
    /// Another coordinator led while the one that had led was stopped or cut off, and alive.
    pub had_two_leaders: bool,
}

/// A sweep's money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) part: Part,
    pub(crate) sweep: String,
    /// Nano-dollars that the account counts as spent, maybe spent and reserved; `None` if the sweep has no account any more.
    pub(crate) counted: Option<u64>,
    /// The budget, in nano-dollars.
    pub(crate) budget: u64,
}

/// Evidence about one history.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) state: String,
    pub(crate) results: String,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) books: Vec<Call>,
    /// Cost of judges by the ledger, in nano-dollars.
    pub(crate) judged_cost: u64,
    /// Money of each sweep.
    pub(crate) accounts: Vec<Account>,
    /// Requests in a minute that the live sweep's spec allows.
    pub(crate) requests_per_minute: u64,
    pub(crate) leftovers: Leftovers,
    pub(crate) struck: Vec<Struck>,
    /// Times at which processes opened an endpoint, whose vectors they keep from then on, in milliseconds since the books were opened; 0 for those
    /// before.
    pub(crate) endpoints_opened_ms: Vec<u64>,
    /// Processes that ended by themselves.
    pub(crate) fallen: Vec<String>,
    /// Times at which more was recorded or settled than before, and those of the beginning and the end, in order, in milliseconds since the books
    /// were opened.
    pub(crate) progress_ms: Vec<u64>,
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
            // What an agent's earlier start had asked is given again to a later one, and was not asked of the endpoint.
            calls: line["calls"].as_u64()?.checked_sub(line["cached_calls"].as_u64().unwrap_or(0))?,
            known_cost: line["known_cost_nanodollars"].as_u64()?,
            at_most: line["at_most_nanodollars"].as_u64().unwrap_or(0),
        })
    };
    parse(attempts)?.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(session: &str, kind: CallKind, was_refused: bool) -> Call {
        let session = session.to_owned();
        let texts = Vec::new();
        Call { session, kind, request: 7, texts, client: 1, begun_ms: 0, ended_ms: Some(1), was_refused, cost: 5 }
    }

    #[test]
    fn a_reference_has_the_sessions_of_all_sweeps_and_no_judges() {
        let vectors = Call { request: 8, texts: vec![1, 2], ..call("-", CallKind::Judges, false) };
        let live = [call("b/s/0/x", CallKind::Live, false), call("-", CallKind::Judges, false), vectors];
        let others = [call("c/s/0/x", CallKind::Live, false), call("c/s/0/x", CallKind::Live, true)];
        let both = Reference::of("1\n".to_owned(), &live).and(&Reference::of("2\n".to_owned(), &others).by_batches());
        assert_eq!((both.results.as_str(), both.calls()), ("1\n2\n", 2));
        let costs: Vec<_> = both.sessions.values().map(|booked| booked.cost).collect();
        assert_eq!(costs, [5, 2], "lines cost half");
        assert_eq!(both.requests, [(("b/s/0/x".to_owned(), 7), 1)].into(), "lines have none");
        assert_eq!((both.judged, both.texts, both.judges_calls), ([(7, 1)].into(), [1, 2].into(), 2));
    }

    #[test]
    fn an_answer_that_an_agent_is_given_again_is_no_call() {
        let results = r#"{"cell":0,"benchmark":"b","setting":"s","trial":0}"#;
        let attempt =
            r#"{"cell":0,"item":"x","state":"recorded","calls":3,"cached_calls":2,"known_cost_nanodollars":5}"#;
        let read = attempts(attempt, results).unwrap();
        assert_eq!((read[0].calls, read[0].known_cost), (1, 5));
    }

    #[test]
    fn calls_in_flight_of_several_processes_are_added_up() {
        let of = |session: &str, request| {
            let calls = [(session.to_owned(), vec![request])].into();
            InFlight { calls, judges: vec![9], texts: vec![5], workers: 1 }
        };
        let mut all = of("x", 1);
        all.add(&of("x", 2));
        all.add(&of("y", 3));
        let calls = [("x".to_owned(), vec![1, 2]), ("y".to_owned(), vec![3])].into();
        assert_eq!(all, InFlight { calls, judges: vec![9, 9, 9], texts: vec![5, 5, 5], workers: 3 });
    }
}
