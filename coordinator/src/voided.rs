//! Sweeps that are over while jobs of theirs may be left, which only workers can drop: of a cancelled sweep all that it had in its queues, and of
//! one that answers by batches copies of what was published twice, which workers that leave hand back. A copy may be a batch at its provider,
//! so that it must be cancelled there as well.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use regatta_backends::{SweepRow, Term};
use regatta_catalog::read_lock;
use regatta_proto::{Lane, SweepId, SweepLock, SweepState};
use tokio::time::Instant;

use crate::budget::of_sweep;
use crate::echo::Echo;
use crate::{Coordinator, CoordinatorError};

/// Time for which workers are told of a cancelled sweep. No deployment stays without workers for longer, and the list must not grow for
/// ever.
const CANCELLED_JOBS_LIVE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Time for which workers are told of a sweep that ended otherwise. Its sessions have results, so only copies of their jobs can be left.
const COPIES_LIVE: SignedDuration = SignedDuration::from_hours(1);

/// Pause between two looks at the queues of a sweep that is over.
const LOOKED_AT_EVERY: Duration = Duration::from_secs(5);
/// The same after a look that failed.
const LOOKED_AT_AGAIN_AFTER: Duration = Duration::from_secs(30);
/// Time after which scorers are told again of a cancelled sweep whose tables they have not written, and the longest, to which it doubles.
const TABULATED_WITHIN: Duration = Duration::from_secs(10);
const TABULATED_WITHIN_MAX: Duration = Duration::from_secs(600);
/// Most sweeps that are looked at in one round, and the time that all of that may take, and one: whoever begins to lead finds all of a week, and
/// has others to look after.
const LOOKED_AT_ONCE: usize = 4;
const LOOKS_TAKE: Duration = Duration::from_secs(1);
const LOOK_TAKES: Duration = Duration::from_secs(2);

/// A sweep that is over.
pub(crate) struct Voided {
    /// It was cancelled.
    is_cancelled: bool,
    /// Until when a job that a worker held may come back, if none is seen before: the broker notices by then that the worker is cut off.
    back_by: Instant,
    next_look: Instant,
    tables: Tables,
    /// A look has failed, and the log says so.
    has_failed: bool,
    left: Left,
}

/// The tables of a generation that was cancelled, until a scorer has written them.
struct Tables {
    generation: u32,
    /// The question whether all is recorded that was reported before the sweep was cancelled; `None` once it is answered, or where all reports are in
    /// one queue.
    question: Option<Echo>,
    /// When scorers are told next, and the pause after that.
    due: Instant,
    pause: Duration,
}

impl Tables {
    /// The tables of `row`. Where all reports are in one queue, whoever cancelled it has just told scorers.
    fn of(row: &SweepRow, is_one_queue: bool) -> Self {
        let due = if is_one_queue { Instant::now() + TABULATED_WITHIN } else { Instant::now() };
        let question = (!is_one_queue).then(|| Echo::heard(row.echo));
        Self { generation: row.generation, question, due, pause: TABULATED_WITHIN }
    }

    /// Puts off what is tried now.
    fn put_off(&mut self) {
        self.due = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(TABULATED_WITHIN_MAX);
    }
}

/// Jobs that a sweep may have left.
enum Left {
    /// It is not known yet.
    Unread,
    /// Some wait in its queues, which workers are to consume, or may come back to them.
    Some { lock: Arc<SweepLock>, jobs_wait: bool },
    /// None.
    None,
}

impl Voided {
    fn of(row: &SweepRow, now: Timestamp, running_within: Duration, is_one_queue: bool) -> Self {
        // An end that is not known, or ahead of this process's clock, counts as now.
        let since =
            row.ended_at.and_then(|ended| Duration::try_from(now.duration_since(ended)).ok()).unwrap_or_default();
        Self {
            is_cancelled: row.state == SweepState::Cancelled,
            back_by: Instant::now() + running_within.saturating_sub(since),
            next_look: Instant::now(),
            tables: Tables::of(row, is_one_queue),
            has_failed: false,
            left: Left::Unread,
        }
    }

    /// The lock of the sweep, if workers are to consume its queues.
    pub(crate) fn routed(&self) -> Option<&SweepLock> {
        match &self.left {
            Left::Some { lock, jobs_wait: true } => Some(lock),
            Left::Some { .. } | Left::Unread | Left::None => None,
        }
    }

    /// True if workers are told that its jobs are void: of a cancelled sweep always, since one that was cut off may come back.
    pub(crate) const fn is_told(&self) -> bool {
        self.is_cancelled || matches!(self.left, Left::Some { .. })
    }
}

/// True if jobs of the sweep of `row` may be left at `now` that are to be dropped.
pub(crate) fn may_leave_jobs(row: &SweepRow, now: Timestamp) -> bool {
    let live = match row.state {
        SweepState::Running | SweepState::Tabulating => return false,
        SweepState::Cancelled => CANCELLED_JOBS_LIVE,
        SweepState::Complete | SweepState::Incomplete | SweepState::StoppedByBudget => COPIES_LIVE,
    };
    row.ended_at.is_none_or(|ended| ended >= now - live)
}

impl Coordinator {
    /// Takes note of the sweeps of `rows` that are over, and may have left jobs.
    pub(crate) fn note_void(&self, void: &mut BTreeMap<SweepId, Voided>, rows: &[SweepRow]) {
        let now = self.clock.now();
        let over: BTreeMap<&SweepId, &SweepRow> =
            rows.iter().filter(|row| may_leave_jobs(row, now)).map(|row| (&row.id, row)).collect();
        void.retain(|id, _| over.contains_key(id));
        let is_one_queue = self.reports_keep_order();
        for (id, row) in over {
            void.entry(id.clone()).or_insert_with(|| Voided::of(row, now, self.config.running_within, is_one_queue));
        }
    }

    /// `true` if all reports are in one queue, so that whoever cancels a sweep asks for its tables at once: they come after what was reported before.
    pub(crate) fn reports_keep_order(&self) -> bool {
        self.queue.report_partitions() == 1
    }

    /// Looks for jobs that sweeps which are over have left in their queues. What fails is tried again later.
    pub(crate) async fn look_for_void(&self, void: &mut BTreeMap<SweepId, Voided>, rows: &[SweepRow]) {
        let (since, now) = (Instant::now(), Instant::now());
        let next_look = |row: &SweepRow| {
            let one = void.get(&row.id).filter(|one| !matches!(one.left, Left::None))?;
            (one.next_look <= now).then_some(one.next_look)
        };
        let mut due: Vec<(Instant, &SweepRow)> =
            rows.iter().filter_map(|row| next_look(row).map(|at| (at, row))).collect();
        // Whoever has waited longest, so that each has its turn however many there are.
        due.sort_by_key(|(at, _)| *at);
        for (_, row) in due.into_iter().take(LOOKED_AT_ONCE) {
            let Some(one) = void.get_mut(&row.id).filter(|_| since.elapsed() < LOOKS_TAKE) else { return };
            let error = match tokio::time::timeout(LOOK_TAKES, self.look_at_void(one, row)).await {
                Ok(Ok(())) => {
                    one.next_look = Instant::now() + LOOKED_AT_EVERY;
                    continue;
                }
                Ok(Err(error)) => regatta_proto::causes(&error),
                Err(_) => format!("no answer within {} s", LOOK_TAKES.as_secs()),
            };
            one.next_look = Instant::now() + LOOKED_AT_AGAIN_AFTER;
            if !std::mem::replace(&mut one.has_failed, true) && one.is_cancelled {
                tracing::warn!(sweep = %row.id, error, "failed to look for jobs that a cancelled sweep has left, trying again");
            }
        }
    }

    /// Tells scorers of cancelled sweeps whose tables no scorer has written. What fails is tried again later.
    pub(crate) async fn tabulate_cancelled(&self, void: &mut BTreeMap<SweepId, Voided>, rows: &[SweepRow], term: Term) {
        let since = Instant::now();
        let is_missing = |row: &&SweepRow| row.state == SweepState::Cancelled && row.tabulated != Some(row.generation);
        for row in rows.iter().filter(is_missing) {
            let Some(Voided { tables, .. }) = void.get_mut(&row.id) else { continue };
            if tables.generation != row.generation {
                // It was resumed and cancelled since the last round.
                *tables = Tables::of(row, self.reports_keep_order());
            }
            if Instant::now() < tables.due {
                continue;
            }
            if since.elapsed() >= LOOKS_TAKE {
                return;
            }
            let error = match tokio::time::timeout(LOOK_TAKES, self.tabulate_once_recorded(tables, row, term)).await {
                Ok(Ok(())) => continue,
                Ok(Err(CoordinatorError::NotLeading)) => return,
                Ok(Err(error)) => regatta_proto::causes(&error),
                Err(_) => format!("no answer within {} s", LOOK_TAKES.as_secs()),
            };
            tables.put_off();
            tracing::warn!(sweep = %row.id, error, "failed to tell scorers of a cancelled sweep, trying again");
        }
    }

    /// Has the tables written, once all is recorded that was reported before the sweep was cancelled, however long that takes: without it they would lack
    /// sessions that were paid for.
    async fn tabulate_once_recorded(
        &self,
        tables: &mut Tables,
        row: &SweepRow,
        term: Term,
    ) -> Result<(), CoordinatorError> {
        if let Some(echo) = &mut tables.question {
            echo.heard = row.echo;
            if self.is_all_recorded(&row.id, echo, term).await?.is_none() {
                return Ok(());
            }
            // What held the question up says nothing of the request for tables.
            (tables.question, tables.pause) = (None, TABULATED_WITHIN);
        }
        self.lead_on(term).await?;
        // Sessions that ran on since may have been granted more.
        let granted = self.permits.granted(&of_sweep(&row.id)).await?;
        if granted > row.granted {
            self.ledger.set_granted(&row.id, granted).await?;
        }
        self.ask_for_tables(&row.id, row.lock, row.generation, term).await?;
        tables.put_off();
        Ok(())
    }

    async fn look_at_void(&self, one: &mut Voided, row: &SweepRow) -> Result<(), CoordinatorError> {
        let lock = match &one.left {
            Left::None => return Ok(()),
            Left::Some { lock, .. } => lock.clone(),
            Left::Unread => {
                let lock = read_lock(self.catalog.blobs(), &row.lock).await?;
                if !one.is_cancelled && !answers_by_batches(&lock) {
                    one.left = Left::None;
                    return Ok(());
                }
                self.declare(&row.id, &lock).await?;
                Arc::new(lock)
            }
        };
        let jobs_wait = self.has_waiting_jobs(&row.id, &lock).await?;
        if jobs_wait {
            one.back_by = Instant::now() + self.config.running_within;
        }
        let may_come_back = jobs_wait || Instant::now() < one.back_by;
        one.left = if may_come_back { Left::Some { lock, jobs_wait } } else { Left::None };
        Ok(())
    }
}

fn answers_by_batches(lock: &SweepLock) -> bool {
    lock.endpoints.values().any(|endpoint| endpoint.lane == Lane::Batch)
}
