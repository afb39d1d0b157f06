//! Progress of runs: counts, rates, and estimates of the remaining time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use regatta_backends::{CellProgress, Ledger};
use regatta_proto::{CostSum, SweepId, Usage};

use crate::problem::Problem;
use crate::source::Run;

/// Runs of a page whose progress is read at once. Others need the connections to the store too.
const READ_AT_ONCE: usize = 4;

/// Counts of sessions over all cells of a run, with tokens and costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    pub(crate) items: u64,
    pub(crate) dispatched: u64,
    pub(crate) recorded: u64,
    pub(crate) settled: u64,
    pub(crate) measured: u64,
    pub(crate) model_failures: u64,
    pub(crate) not_measured: u64,
    pub(crate) usage: Usage,
    pub(crate) cost: CostSum,
    pub(crate) wasted: CostSum,
    pub(crate) maybe_spent: u64,
}

impl Totals {
    pub(crate) fn of<'c>(cells: impl IntoIterator<Item = &'c CellProgress>) -> Self {
        cells.into_iter().fold(Self::default(), |mut sum, cell| {
            sum.items += cell.items;
            sum.dispatched += cell.dispatched;
            sum.recorded += cell.recorded;
            sum.settled += cell.settled;
            sum.measured += cell.measured;
            sum.model_failures += cell.model_failures;
            sum.not_measured += cell.not_measured;
            sum.usage += cell.usage;
            sum.cost += cell.cost;
            sum.wasted += cell.wasted;
            sum.maybe_spent = sum.maybe_spent.saturating_add(cell.maybe_spent.0);
            sum
        })
    }
}

/// A run's cells and their sum.
pub(crate) struct Progress {
    pub(crate) cells: Vec<CellProgress>,
    pub(crate) totals: Totals,
    /// Cost of judges, which belongs to no cell.
    pub(crate) judges: CostSum,
}

pub(crate) async fn of(run: &Run) -> Result<Progress, Problem> {
    read(&run.store.ledger, &run.row.id).await
}

/// Progress of each of `runs`, in their order. One after the other, a page of all would wait for the store hundreds of times.
pub(crate) async fn of_all(runs: &[Run]) -> Result<Vec<Progress>, Problem> {
    let places: Vec<(Ledger, SweepId)> =
        runs.iter().map(|run| (run.store.ledger.clone(), run.row.id.clone())).collect();
    let read = stream::iter(places).map(|(ledger, sweep)| async move { read(&ledger, &sweep).await });
    read.buffered(READ_AT_ONCE).try_collect().await
}

async fn read(ledger: &Ledger, sweep: &SweepId) -> Result<Progress, Problem> {
    let cells = ledger.cell_progress(sweep).await?;
    let (_, judges) = ledger.judge_costs(sweep).await?;
    let totals = Totals::of(&cells);
    Ok(Progress { cells, totals, judges })
}

impl Progress {
    /// Cost of sessions and judges.
    pub(crate) fn cost(&self) -> CostSum {
        let mut cost = self.totals.cost;
        cost += self.judges;
        cost
    }

    /// A text that changes whenever a value changes that pages of the run show.
    pub(crate) fn fingerprint(&self, state: &str) -> String {
        let t = &self.totals;
        let cost = self.cost();
        format!("{state}/{}/{}/{}/{}/{}", t.dispatched, t.recorded, t.settled, cost.known.0, t.usage.output)
    }
}

/// Time over which a rate is measured, in seconds.
const WINDOW_S: i64 = 60;
/// Shortest time that gives a rate, in seconds.
const SHORTEST_S: i64 = 5;
/// Most runs whose counts are remembered.
const RUNS_MAX: usize = 1024;

/// Counts of recorded sessions over the last minute, by run, taken while somebody looks.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<BTreeMap<String, VecDeque<(Timestamp, u64)>>>);

/// The rate at which a run records sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// Sessions recorded per second.
    pub(crate) per_second: f64,
    /// `true` for the rate of the last minute, `false` for the mean since the run was planned, pauses included.
    pub(crate) is_recent: bool,
}

impl Rates {
    /// The rate of `run`, which has `recorded` sessions at `now`; `None` while there is not enough to measure it.
    pub(crate) fn of(&self, run: &Run, recorded: u64, now: Timestamp) -> Option<Rate> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= RUNS_MAX && !seen.contains_key(&run.name) {
            seen.clear();
        }
        let seen = seen.entry(run.name.clone()).or_default();
        // Counts decrease when a run is resumed.
        if seen.back().is_some_and(|(_, before)| *before > recorded) {
            seen.clear();
        }
        while seen.front().is_some_and(|(at, _)| now.as_second() - at.as_second() > WINDOW_S) {
            seen.pop_front();
        }
        if seen.back().is_none_or(|(at, _)| now.as_second() > at.as_second()) {
            seen.push_back((now, recorded));
        }
        let per_second = |from: Timestamp, sessions: u64| {
            let seconds = now.duration_since(from).as_secs_f64();
            #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
            let rate = sessions as f64 / seconds.max(1e-3);
            rate
        };
        match seen.front() {
            Some((from, before)) if now.as_second() - from.as_second() >= SHORTEST_S => {
                Some(Rate { per_second: per_second(*from, recorded - before), is_recent: true })
            }
            _ if recorded == 0 => None,
            _ => Some(Rate { per_second: per_second(run.row.created_at, recorded), is_recent: false }),
        }
    }
}

impl Rate {
    /// Seconds until a run with so many sessions left ends; `None` if it does not progress, or none is left.
    pub(crate) fn left(self, sessions: u64) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
        let sessions = sessions as f64;
        (self.per_second > 0.0 && sessions > 0.0).then(|| sessions / self.per_second)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::BoxFuture;
    use jiff::SignedDuration;
    use regatta_backends::faults::{Fate, Trouble, Troubles};
    use regatta_backends::{Blobs, NewCell, NewShard, NewSweep, Quota};
    use regatta_benchmarks::Registry;
    use regatta_catalog::Catalog;
    use regatta_proto::{Cell, CellIndex, Digest, ShardIndex, Trial};

    use super::*;
    use crate::source::{Source, Store};

    /// Lets every call happen, and counts those that happen at once.
    #[derive(Default)]
    struct AtOnce {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    impl Fate for AtOnce {
        fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
            Box::pin(async move {
                let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(now, Ordering::SeqCst);
                tokio::task::yield_now().await;
                self.now.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            })
        }
    }

    /// A sweep of so many items.
    fn sweep(items: u32) -> NewSweep {
        let name = format!("s{items}");
        let cell = Cell {
            index: CellIndex(0),
            benchmark: "b".parse().unwrap(),
            setting: "s".parse().unwrap(),
            model: "e/m".parse().unwrap(),
            trial: Trial(0),
        };
        NewSweep {
            id: name.parse().unwrap(),
            lock: Digest::of(name.as_bytes()),
            name,
            budget: None,
            created_at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(i64::from(items)),
            shards: vec![NewShard { index: ShardIndex(0), cell: cell.index, first: 0, count: items }],
            cells: vec![NewCell { cell, items, queue: "e".to_owned() }],
            owner: None,
            quota: Quota::default(),
            inputs: BTreeSet::new(),
        }
    }

    #[tokio::test]
    async fn runs_of_a_page_are_read_a_few_at_once_and_keep_their_order() {
        let (ledger, calls) = (Ledger::in_memory().unwrap(), Arc::new(AtOnce::default()));
        for items in 1..=20 {
            ledger.create_sweep(sweep(items)).await.unwrap();
        }
        let ledger = ledger.troubled(Troubles::new(calls.clone()));
        let catalog = Catalog::new(Blobs::memory(), Registry::new(&[]));
        let runs = Source::Deployment(Store { ledger, catalog, permits: None }).newest().await.unwrap().runs;
        let items: Vec<u64> = of_all(&runs).await.unwrap().iter().map(|progress| progress.totals.items).collect();
        assert_eq!(items, (1..=20).rev().collect::<Vec<u64>>());
        assert_eq!(calls.most.load(Ordering::SeqCst), READ_AT_ONCE);
    }
}
