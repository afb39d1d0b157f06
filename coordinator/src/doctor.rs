//! A diagnosis: what a deployment, or a run's directory, waits for at this moment, and the next step for each.

mod findings;

use futures::future::BoxFuture;
use jiff::Timestamp;
use regatta_backends::{CellProgress, Ledger, Permits, PoolHolder, Queue, QueueError, ShardState, SweepCost, SweepRow};
use regatta_catalog::{Catalog, Sweep};
use regatta_proto::{OwnerName, SweepId, SweepState, WorkerId};
use serde::{Deserialize, Serialize};

use crate::budget::{cost, of_sweep};
use crate::window::{is_outstanding, outstanding};
use crate::{BudgetStatus, Coordinator, CoordinatorError};

/// Stores that a diagnosis is made of.
#[derive(Clone, Copy)]
pub struct Patient<'a> {
    /// Sweeps, shards and counts.
    pub ledger: &'a Ledger,
    /// Lengths of queues. A queue that does not exist is left out.
    pub queue: &'a Queue,
    /// Accounts, and what pools of endpoints were told.
    pub permits: &'a Permits,
    /// Locks of sweeps.
    pub catalog: &'a Catalog,
    /// The stores are of a run in one process: what it dispatches is in its memory, and a sweep that ended without measuring everything is
    /// told of too.
    pub of_run: bool,
}

/// State of a deployment at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Term under which the process that was asked leads; `None` when it does not.
    pub term: Option<u64>,
    /// Last failure of the process that was asked, if it has not succeeded since.
    pub stalled: Option<String>,
    /// Reports that wait for a scorer.
    pub reports_waiting: u64,
    /// Reports that are set aside because their sweep cannot be read.
    pub reports_set_aside: u64,
    /// Messages that were delivered too often, or are unreadable.
    pub dead_letters: u64,
    /// Sweeps that have not ended, newest first.
    pub sweeps: Vec<SweepDiagnosis>,
    /// Problems, each with the next step; empty when there are none.
    pub findings: Vec<Finding>,
}

/// State of one sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepDiagnosis {
    /// Id of the sweep.
    pub id: SweepId,
    /// State of the sweep.
    pub state: SweepState,
    /// `true` if it runs and is paused, so that its jobs wait for nobody.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_paused: bool,
    /// Sessions it has.
    pub sessions: u64,
    /// Sessions with a recorded attempt.
    pub recorded: u64,
    /// Sessions that are scored, or never will be.
    pub settled: u64,
    /// Sessions that say nothing about their model.
    pub not_measured: u64,
    /// Sessions dispatched and not recorded.
    pub outstanding: u64,
    /// Outstanding sessions that a worker has reported lately; `None` when that was not asked because jobs wait.
    pub running: Option<u64>,
    /// The session that a worker has been at for longest, as far as workers have told.
    #[serde(default)]
    pub oldest: Option<RunningSession>,
    /// Shards of which it is not known whether their jobs were published.
    pub doubtful_shards: u64,
    /// Queues of the sweep, by endpoint.
    pub queues: Vec<QueueDiagnosis>,
    /// Known and possible cost.
    #[serde(default)]
    pub cost: SweepCost,
    /// Budget of the sweep, where it has one and the account is open.
    pub budget: Option<BudgetStatus>,
    /// Reason why its lock or data cannot be read.
    pub unreadable: Option<String>,
    /// Owner of the sweep, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerName>,
}

/// A session that a worker is at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningSession {
    /// Cell and item, as `regatta show` takes them.
    pub session: String,
    /// Worker that tells of it.
    pub worker: WorkerId,
    /// When it began, by the worker's clock.
    pub started_at: Timestamp,
}

/// Permits of an endpoint that a process holds, as it last reported them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseDiagnosis {
    /// Process and endpoint.
    pub holder: WorkerId,
    /// When it last told, by the store's clock.
    pub seen_at: Timestamp,
    /// Slots that nobody else may fill.
    pub slots: u32,
    /// Calls in flight.
    pub in_flight: u32,
    /// Calls that wait for anything.
    pub waiting: u32,
}

/// State of one queue and of the pool of permits that its jobs need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueDiagnosis {
    /// Name of the endpoint.
    pub endpoint: String,
    /// Jobs that no worker has taken.
    pub ready: u64,
    /// Workers that consume it.
    #[serde(default)]
    pub consumers: u64,
    /// Jobs of sessions that were taken and are not recorded: a worker has not acknowledged them, or their report waits for a scorer.
    #[serde(default)]
    pub unacknowledged: u64,
    /// Last change of the part of its limits that the pool uses, or last hold.
    pub pool: Option<PoolState>,
    /// Permits of the endpoint, by who holds them; of all sweeps.
    #[serde(default)]
    pub leases: Vec<LeaseDiagnosis>,
}

/// Last change of a pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolState {
    /// Part of the limits in use, 0..=1.
    pub factor: f64,
    /// When it changed, or was held, by the store's clock.
    pub at: Timestamp,
    /// Reason for the change.
    pub reason: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Sweep, queue or service that it is about.
    pub about: String,
    /// The problem, in one sentence.
    pub problem: String,
    /// The next step for a person.
    pub next_step: String,
}

impl Coordinator {
    /// Diagnoses the deployment of this coordinator.
    ///
    /// # Errors
    /// When ledger, queue or permits do not answer.
    pub fn diagnose(&self) -> BoxFuture<'_, Result<Diagnosis, CoordinatorError>> {
        Box::pin(async move {
            let (ledger, queue, permits, catalog) = (&self.ledger, &self.queue, &self.permits, &self.catalog);
            let patient = Patient { ledger, queue, permits, catalog, of_run: false };
            let mut diagnosis = patient.examine(self.config.running_within).await?;
            diagnosis.term = self.leading.term().map(|term| term.0);
            diagnosis.stalled = self.health.stalled().map(|stalled| stalled.reason);
            diagnosis.conclude();
            Ok(diagnosis)
        })
    }
}

impl Patient<'_> {
    /// Diagnoses stores that no coordinator speaks for.
    ///
    /// # Errors
    /// When ledger, queue or permits do not answer.
    pub fn diagnose(&self) -> BoxFuture<'_, Result<Diagnosis, CoordinatorError>> {
        Box::pin(async move {
            let mut diagnosis = self.examine(crate::CoordinatorConfig::default().running_within).await?;
            diagnosis.conclude();
            Ok(diagnosis)
        })
    }

    async fn examine(&self, running_within: std::time::Duration) -> Result<Diagnosis, CoordinatorError> {
        let mut sweeps = Vec::new();
        for row in self.ledger.sweeps().await? {
            let is_unfinished = matches!(row.state, SweepState::Incomplete | SweepState::StoppedByBudget);
            if !row.state.is_end() || (self.of_run && is_unfinished) {
                sweeps.push(self.examine_sweep(row, running_within).await?);
            }
        }
        Ok(Diagnosis {
            term: None,
            stalled: None,
            reports_waiting: self.queue.waiting_reports().await?,
            reports_set_aside: self.queue.reports_set_aside().await?,
            dead_letters: self.queue.dead_letters().await?,
            sweeps,
            findings: Vec::new(),
        })
    }

    async fn examine_sweep(
        &self,
        row: SweepRow,
        running_within: std::time::Duration,
    ) -> Result<SweepDiagnosis, CoordinatorError> {
        let progress = self.ledger.cell_progress(&row.id).await?;
        let shards = self.ledger.shards(&row.id).await?;
        let account = match row.budget {
            Some(_) => self.permits.account(&of_sweep(&row.id)).await?,
            None => None,
        };
        let cost = cost(self.ledger, self.permits, &row, &progress).await?;
        let (sweep, unreadable) = match self.catalog.sweep(&row.lock).await {
            Ok(sweep) => (Some(sweep), None),
            Err(error) => (None, Some(regatta_proto::causes(&error))),
        };
        let queues = match &sweep {
            Some(sweep) => self.examine_queues(sweep, &progress).await?,
            None => Vec::new(),
        };
        let outstanding = progress.iter().filter(|cell| is_outstanding(cell));
        let outstanding: u64 = outstanding.map(|cell| cell.dispatched - cell.recorded).sum();
        let asks = !self.of_run && outstanding > 0 && queues.iter().all(|queue| queue.ready == 0);
        let running = match &sweep {
            Some(sweep) if asks => Some(crate::reconcile::running(self.ledger, sweep, running_within).await?),
            _ => None,
        };
        let oldest = self.ledger.oldest_open(&row.id).await?.map(|attempt| RunningSession {
            session: format!("{} {}", attempt.key.cell, attempt.key.item),
            worker: attempt.worker,
            started_at: attempt.started_at,
        });
        let doubtful = shards.iter().filter(|shard| !self.of_run && shard.state == ShardState::Dispatching);
        let doubtful_shards = doubtful.count() as u64;
        let sum = |count: fn(&regatta_backends::CellProgress) -> u64| progress.iter().map(count).sum();
        Ok(SweepDiagnosis {
            id: row.id,
            state: row.state,
            is_paused: row.is_paused && row.state == SweepState::Running,
            sessions: sum(|cell| cell.items),
            recorded: sum(|cell| cell.recorded),
            settled: sum(|cell| cell.settled),
            not_measured: sum(|cell| cell.not_measured),
            outstanding,
            running,
            oldest,
            doubtful_shards,
            queues,
            cost,
            budget: account.map(Into::into),
            unreadable,
            owner: row.owner,
        })
    }

    async fn examine_queues(
        &self,
        sweep: &Sweep,
        progress: &[CellProgress],
    ) -> Result<Vec<QueueDiagnosis>, CoordinatorError> {
        let (mut queues, outstanding) = (Vec::new(), outstanding(progress));
        for (name, endpoint) in &sweep.lock.endpoints {
            let queue = endpoint.queue(name, &sweep.id);
            let ready = match self.queue.depth(&queue).await {
                Ok(ready) => ready,
                Err(QueueError::NoSuchQueue { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            let last = self.permits.changes(&endpoint.pool()).await?.pop();
            let pool = last.map(|change| PoolState { factor: change.to, at: change.at, reason: change.reason });
            let leases = self.permits.holders(&endpoint.pool()).await?.into_iter();
            let leases = leases.map(|PoolHolder { holder, seen_at, slots, in_flight, waiting }| LeaseDiagnosis {
                holder,
                seen_at,
                slots,
                in_flight,
                waiting,
            });
            queues.push(QueueDiagnosis {
                endpoint: name.to_string(),
                ready,
                consumers: self.queue.consumers(&queue).await?,
                // Questions to judges are jobs too, which wait and are no sessions.
                unacknowledged: outstanding.get(&queue).copied().unwrap_or(0).saturating_sub(ready),
                pool,
                leases: leases.collect(),
            });
        }
        Ok(queues)
    }
}
