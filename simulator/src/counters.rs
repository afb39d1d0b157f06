//! Counters of an endpoint, to compare a client's records with.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use regatta_proto::{BenchmarkName, ItemId, Usage};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::arrivals::{ArrivalLog, Arrivals, BusiestMinute, Seconds};
use crate::batches::lines::LineCounts;
use crate::bill::{Bill, BilledNanodollars};
use crate::faults::Fault;
use crate::limits::Limit;
use crate::session::{AnsweredItem, ServedSuite};

/// Most model names with counts of their own; others are counted as `(others)`, because `noisy-P` has any number of names.
const MAX_MODELS: usize = 256;
const OTHERS: &str = "(others)";

/// Counts since the endpoint started. A request is either refused, or counted by model and then, when it has ended, as faulty or answered.
/// A slow one is faulty and then answered; one whose client disconnected is abandoned, faulty or not.
///
/// The requests of a batch are counted when it is processed, and also in `batches`; limits and arrivals do not include them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Requests that a model could answer, by model.
    pub requests: BTreeMap<String, u64>,
    /// Requests refused with a 4xx because of their own content.
    pub refused: u64,
    /// Requests whose client disconnected before the end of the answer.
    pub abandoned: u64,
    /// Faults by their name in the spec; and requests over a limit by the name of the limit (`requests_per_minute`, `tokens_per_minute`,
    /// `concurrency`). Initialised with zeros.
    pub faults: BTreeMap<String, u64>,
    /// Whole answers sent, by model.
    pub answered: BTreeMap<String, u64>,
    /// Tokens of whole answers.
    pub delivered: Usage,
    /// Tokens of answers that were generated but broke off, or whose client had disconnected. A real provider bills them too.
    pub lost: Usage,
    /// Cost of the tokens in `delivered` and `lost`, by model. Models without a price are not listed, because their cost is unknown.
    pub billed_nanodollars: BTreeMap<String, BilledNanodollars>,
    /// Whole answers of simulated models, by benchmark and item.
    pub answers: BTreeMap<BenchmarkName, BTreeMap<ItemId, u64>>,
    /// Most requests and most tokens that arrived within any sliding minute, including those over a limit.
    pub busiest_minute: BusiestMinute,
    /// Most requests in progress at the same time.
    pub most_in_flight: u32,
    /// Requests that arrived in each second, including those over a limit; the latest 3600 seconds with any.
    pub arrivals: Vec<Arrivals>,
    /// The same by model. Seconds count from the first request to the endpoint, of any model.
    pub arrivals_by_model: BTreeMap<String, Vec<Arrivals>>,
    /// Batches and their requests.
    pub batches: BatchCounters,
    /// Requests over a limit that arrived at least a minute after the first request to the endpoint. A client that keeps to the limits has
    /// none.
    pub over_limit_after_first_minute: u64,
}

/// Batches, and their requests by end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BatchCounters {
    /// Batches created.
    pub created: u64,
    /// Requests answered.
    pub answered: u64,
    /// Requests that failed, as a drawn fault or because of their content.
    pub failed: u64,
    /// Requests that expired.
    pub expired: u64,
    /// Requests of batches that were cancelled before.
    pub cancelled: u64,
}

impl Counters {
    /// Requests that a model could answer.
    #[must_use]
    pub fn total_requests(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Whole answers sent.
    #[must_use]
    pub fn total_answered(&self) -> u64 {
        self.answered.values().sum()
    }

    /// Tokens that a real provider would bill: delivered and lost ones.
    #[must_use]
    pub fn billed(&self) -> Usage {
        let mut sum = self.delivered;
        sum += self.lost;
        sum
    }

    /// Money billed by all models with a price.
    #[must_use]
    pub fn total_billed(&self) -> BilledNanodollars {
        let mut sum = BilledNanodollars::default();
        for billed in self.billed_nanodollars.values() {
            sum.delivered += billed.delivered;
            sum.lost += billed.lost;
        }
        sum
    }
}

/// Counters that are updated while requests are served.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    models: BTreeMap<String, ModelCounts>,
    refused: u64,
    abandoned: u64,
    faults: [u64; Fault::ALL.len()],
    over_limit: [u64; Limit::ALL.len()],
    over_limit_after_first_minute: u64,
    delivered: Usage,
    lost: Usage,
    answers: HashMap<AnsweredItem, u64>,
    arrivals: ArrivalLog,
    batches: BatchCounters,
}

#[derive(Debug, Default)]
struct ModelCounts {
    requests: u64,
    answered: u64,
    arrivals: Seconds,
    billed: Option<BilledNanodollars>,
}

impl ModelCounts {
    fn bill(&mut self) -> &mut BilledNanodollars {
        self.billed.get_or_insert_default()
    }
}

impl Counts {
    fn model(&mut self, name: &str) -> &mut ModelCounts {
        let is_counted = self.models.contains_key(name) || self.models.len() < MAX_MODELS;
        let key = if is_counted { name } else { OTHERS };
        self.models.entry(key.to_owned()).or_default()
    }

    fn lose(&mut self, model: &str, bill: Bill) {
        self.lost += bill.usage;
        if let Some(cost) = bill.cost {
            self.model(model).bill().lost += cost;
        }
    }
}

impl Tally {
    pub(crate) fn refused(&self) {
        self.counts().refused += 1;
    }

    /// Counts a request of `tokens` that arrived at `now`.
    pub(crate) fn requested(&self, model: &str, tokens: u64, now: Instant) {
        let mut counts = self.counts();
        let second = counts.arrivals.add(now, tokens);
        let model = counts.model(model);
        model.requests += 1;
        model.arrivals.add(second, tokens);
    }

    /// Counts a request of a batch.
    pub(crate) fn requested_in_batch(&self, model: &str) {
        self.counts().model(model).requests += 1;
    }

    pub(crate) fn batch_created(&self) {
        self.counts().batches.created += 1;
    }

    pub(crate) fn batch_ended(&self, lines: LineCounts) {
        let batches = &mut self.counts().batches;
        batches.answered += lines.answered;
        batches.failed += lines.failed;
        batches.expired += lines.expired;
        batches.cancelled += lines.cancelled;
    }

    pub(crate) fn over_limit(&self, limit: Limit, now: Instant) {
        let mut counts = self.counts();
        counts.over_limit[limit as usize] += 1;
        counts.over_limit_after_first_minute += u64::from(counts.arrivals.is_after_first_minute(now));
    }

    pub(crate) fn faulty(&self, fault: Fault) {
        self.counts().faults[fault as usize] += 1;
    }

    pub(crate) fn lost(&self, model: &str, bill: Bill) {
        self.counts().lose(model, bill);
    }

    pub(crate) fn abandoned(&self, model: &str, bill: Bill) {
        let mut counts = self.counts();
        counts.abandoned += 1;
        counts.lose(model, bill);
    }

    pub(crate) fn answered(&self, model: &str, bill: Bill, item: Option<AnsweredItem>) {
        let mut counts = self.counts();
        counts.delivered += bill.usage;
        let model = counts.model(model);
        model.answered += 1;
        if let Some(cost) = bill.cost {
            model.bill().delivered += cost;
        }
        if let Some(item) = item {
            *counts.answers.entry(item).or_default() += 1;
        }
    }

    pub(crate) fn snapshot(&self, suites: &[ServedSuite], most_in_flight: u32) -> Counters {
        let counts = self.counts();
        let mut answers: BTreeMap<BenchmarkName, BTreeMap<ItemId, u64>> = BTreeMap::new();
        for ((position, item), count) in &counts.answers {
            let served = &suites[*position];
            let id = served.suite.items()[item.0 as usize].id.clone();
            *answers.entry(served.benchmark.clone()).or_default().entry(id).or_default() += count;
        }
        let by_model = |count: fn(&ModelCounts) -> u64| {
            counts.models.iter().map(|(model, counts)| (model.clone(), count(counts))).collect()
        };
        let faults = Fault::ALL.iter().zip(counts.faults).map(|(fault, count)| (fault.name().to_owned(), count));
        let limits = Limit::ALL.iter().zip(counts.over_limit).map(|(limit, count)| (limit.name().to_owned(), count));
        Counters {
            requests: by_model(|model| model.requests),
            refused: counts.refused,
            abandoned: counts.abandoned,
            faults: faults.chain(limits).collect(),
            answered: by_model(|model| model.answered),
            delivered: counts.delivered,
            lost: counts.lost,
            billed_nanodollars: {
                let billed = counts.models.iter().map(|(model, counts)| (model, counts.billed));
                billed.filter_map(|(model, billed)| Some((model.clone(), billed?))).collect()
            },
            answers,
            busiest_minute: counts.arrivals.busiest(),
            most_in_flight,
            arrivals: counts.arrivals.seconds(),
            arrivals_by_model: {
                counts.models.iter().map(|(model, counts)| (model.clone(), counts.arrivals.list())).collect()
            },
            batches: counts.batches,
            over_limit_after_first_minute: counts.over_limit_after_first_minute,
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_models_counted_one_by_one_is_bounded() {
        let tally = Tally::default();
        let now = Instant::now();
        for n in 0..MAX_MODELS + 3 {
            tally.requested(&format!("noisy-0.{n}"), 1, now);
        }
        tally.requested("noisy-0.0", 1, now);
        let requests = tally.snapshot(&[], 0).requests;
        assert_eq!(requests.len(), MAX_MODELS + 1);
        assert_eq!((requests["noisy-0.0"], requests[OTHERS]), (2, 3));
    }

    #[test]
    fn a_fault_that_never_happened_is_counted_as_zero() {
        let counters = Tally::default().snapshot(&[], 0);
        assert_eq!(counters.faults.len(), Fault::ALL.len() + Limit::ALL.len());
        assert!(counters.faults.values().all(|count| *count == 0));
    }
}
