//! Scores and failures of a sweep that is running, by cell, for those who watch it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use regatta_backends::{CellMean, ScoreValue};
use regatta_benchmarks::Measure;
use regatta_catalog::Sweep;
use regatta_proto::{Cell, CellIndex, Level, Outcome, SweepId};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::forecast::normal_quantile;
use crate::{Coordinator, CoordinatorError};

/// Sessions without which a mean has no interval.
const SESSIONS_MIN: u64 = 8;
/// Variance, as a part of the square of the mean, below which values are equal: a store takes it as a difference of two means, which rounding
/// keeps from being 0.
const ROUNDING: f64 = 1e-12;
/// Reading the scores may take this part of the time.
const EFFORT: u32 = 20;
/// Least time between two reads of a sweep's scores.
const REFRESH_MIN: Duration = Duration::from_secs(1);
/// Sweeps whose scores are kept.
const SWEEPS_KEPT: usize = 256;

/// Score and failures of a cell so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellSoFar {
    /// The cell.
    pub cell: CellIndex,
    /// Mean of the sessions that have a score; `None` while there are none, and where the benchmark has no metric that is a mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<ScoreSoFar>,
    /// Sessions that were not measured, by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_measured: BTreeMap<String, u64>,
}

/// A plain mean over the sessions so far. The report has the estimates: over items, with intervals over clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreSoFar {
    /// Evaluator and value, as in `official.f1_chain`.
    pub value: String,
    /// Sessions that have the value.
    pub sessions: u64,
    /// Mean of these values.
    pub mean: f64,
    /// Half of the interval at the sweep's level, as if sessions were independent; `None` of a few sessions, and of equal ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half: Option<f64>,
}

impl ScoreSoFar {
    fn of(value: &ScoreValue, mean: &CellMean, level: Level) -> Self {
        let has_interval = mean.sessions >= SESSIONS_MIN && mean.variance > ROUNDING * mean.mean.powi(2);
        // The variance is about the mean of the same sessions, so that one of them is no evidence.
        let error = || (mean.variance / (mean.sessions - 1) as f64).sqrt();
        Self {
            value: format!("{}.{}", value.evaluator, value.name),
            sessions: mean.sessions,
            mean: mean.mean,
            half: has_interval.then(|| normal_quantile(level.upper()) * error()),
        }
    }
}

/// Scores read lately. Reading them goes through the sessions, so they are read again only after many times as long as that took, and one sweep at a
/// time, however many watch.
#[derive(Debug, Default)]
pub(crate) struct Scores {
    read: Mutex<BTreeMap<SweepId, Read>>,
    reading: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct Read {
    cells: Vec<CellSoFar>,
    holds_until: Instant,
    /// `true` if the sweep had ended.
    is_of_end: bool,
}

impl Read {
    /// `true` if it may be told at `now`: the end of a sweep is told with its last sessions, however long reading them takes.
    fn holds(&self, now: Instant, has_ended: bool) -> bool {
        now < self.holds_until && self.is_of_end == has_ended
    }
}

impl Scores {
    /// Scores of the sweep: those read lately, or else what `read` finds. While others read, older ones do, where there are some and the sweep has
    /// not ended since.
    async fn of(
        &self,
        id: &SweepId,
        has_ended: bool,
        read: impl Future<Output = Result<Vec<CellSoFar>, CoordinatorError>> + Send,
    ) -> Result<Vec<CellSoFar>, CoordinatorError> {
        let _alone = match self.known(id).filter(|known| known.is_of_end == has_ended) {
            Some(known) if known.holds(Instant::now(), has_ended) => return Ok(known.cells),
            Some(known) => match self.reading.try_lock() {
                Ok(alone) => alone,
                Err(_) => return Ok(known.cells),
            },
            None => self.reading.lock().await,
        };
        // Whoever read before may have read these.
        if let Some(known) = self.known(id).filter(|known| known.holds(Instant::now(), has_ended)) {
            return Ok(known.cells);
        }
        let begun = Instant::now();
        let cells = read.await?;
        let holds_until = Instant::now() + (begun.elapsed() * EFFORT).max(REFRESH_MIN);
        let mut kept = self.locked();
        if kept.len() >= SWEEPS_KEPT {
            kept.clear();
        }
        kept.insert(id.clone(), Read { cells: cells.clone(), holds_until, is_of_end: has_ended });
        Ok(cells)
    }

    fn known(&self, id: &SweepId) -> Option<Read> {
        self.locked().get(id).cloned()
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<SweepId, Read>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coordinator {
    /// Scores and failures so far of every cell, in the order of the grid; those of a large sweep that has not ended at times some seconds
    /// old.
    ///
    /// # Errors
    /// When there is no such sweep, or a store fails.
    pub fn so_far<'a>(&'a self, id: &'a SweepId) -> BoxFuture<'a, Result<Vec<CellSoFar>, CoordinatorError>> {
        Box::pin(async move {
            let row = self.ledger.sweep(id).await?.ok_or_else(|| CoordinatorError::UnknownSweep(id.clone()))?;
            let read = async {
                let sweep = self.catalog.sweep(&row.lock).await?;
                self.read_so_far(&sweep).await
            };
            self.scores.of(id, row.state.is_end(), read).await
        })
    }

    async fn read_so_far(&self, sweep: &Sweep) -> Result<Vec<CellSoFar>, CoordinatorError> {
        let none = |cell: &Cell| CellSoFar { cell: cell.index, score: None, not_measured: BTreeMap::new() };
        let mut cells: Vec<CellSoFar> = sweep.cells().iter().map(none).collect();
        let mut of_value: BTreeMap<ScoreValue, Vec<CellIndex>> = BTreeMap::new();
        for cell in sweep.cells() {
            if let Some(value) = shown(sweep, cell) {
                of_value.entry(value).or_default().push(cell.index);
            }
        }
        for (value, indices) in &of_value {
            for mean in self.ledger.cell_means(&sweep.id, indices, value).await? {
                if let Some(cell) = cells.get_mut(mean.cell.0 as usize) {
                    cell.score = Some(ScoreSoFar::of(value, &mean, sweep.lock.level));
                }
            }
        }
        for ending in self.ledger.endings(&sweep.id).await? {
            let (Outcome::NotMeasured { cause }, Some(cell)) = (ending.outcome, cells.get_mut(ending.cell.0 as usize))
            else {
                continue;
            };
            *cell.not_measured.entry(cause.as_str().to_owned()).or_insert(0) += ending.sessions;
        }
        Ok(cells)
    }
}

/// The value that leaderboards show of `cell`, or the first one of which the metric is a plain mean.
fn shown(sweep: &Sweep, cell: &Cell) -> Option<ScoreValue> {
    let suite = sweep.suite(cell)?;
    let mut first = None;
    for evaluator in &sweep.benchmark(cell)?.evaluators {
        for metric in suite.metrics(&cell.setting, *evaluator) {
            let Measure::Mean { value } = metric.measure else { continue };
            let value = ScoreValue { evaluator: *evaluator, name: value };
            if metric.headline {
                return Some(value);
            }
            first.get_or_insert(value);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use regatta_proto::Evaluator;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn of_many_who_watch_a_sweep_one_reads_its_scores_at_a_time_and_the_others_have_the_older_ones() {
        let (scores, reads) = (Scores::default(), AtomicU32::new(0));
        let id: SweepId = "s".parse().unwrap();
        let ask = async || {
            let read = async {
                reads.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(5)).await;
                Ok(Vec::new())
            };
            scores.of(&id, false, read).await.unwrap();
            Instant::now()
        };
        tokio::join!(ask(), ask(), ask());
        assert_eq!(reads.load(Ordering::Relaxed), 1, "nobody knew them, and one read them for all");
        // Twenty times as long as reading took.
        tokio::time::advance(Duration::from_secs(101)).await;
        let begun = Instant::now();
        let (one, other) = tokio::join!(ask(), ask());
        assert_eq!(reads.load(Ordering::Relaxed), 2);
        assert_eq!((one - begun, other - begun), (Duration::from_secs(5), Duration::ZERO));
    }

    fn score(sessions: u64, mean: f64, variance: f64) -> ScoreSoFar {
        let value = ScoreValue { evaluator: Evaluator::Official, name: "f1".to_owned() };
        ScoreSoFar::of(&value, &CellMean { cell: CellIndex(0), sessions, mean, variance }, Level::USUAL)
    }

    #[test]
    fn a_mean_has_the_interval_of_the_sweeps_level() {
        // Ten sessions, half of them right: 1.96 √(0.25 / 9).
        let half = score(10, 0.5, 0.25);
        assert_eq!((half.value.as_str(), half.mean), ("official.f1", 0.5));
        assert!((half.half.unwrap() - 1.959_963_985 * (0.25_f64 / 9.0).sqrt()).abs() < 1e-8, "{half:?}");
    }

    #[test]
    fn a_few_sessions_and_equal_ones_have_no_interval() {
        assert_eq!(score(7, 0.5, 0.25).half, None);
        assert_eq!(score(100, 1.0, 0.0).half, None, "a hundred right answers do not mean that all are");
        assert_eq!(score(100, 0.7, 5.6e-17).half, None, "equal ones whose variance is a rounding");
    }

    #[test]
    fn scores_of_before_the_end_are_not_told_as_those_of_the_end() {
        let now = Instant::now();
        let read = |is_of_end| Read { cells: Vec::new(), holds_until: now + REFRESH_MIN, is_of_end };
        assert!(read(false).holds(now, false) && read(true).holds(now, true));
        assert!(!read(false).holds(now, true) && !read(true).holds(now, false));
        assert!(!read(true).holds(now + REFRESH_MIN, true));
    }
}
