//! The coordinator: takes sweeps in, keeps their queues filled, notices their end.

use futures::future::BoxFuture;
use jiff::SignedDuration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use regatta_backends::{
    BlobError, Created, Ledger, LedgerError, NewCell, NewSweep, Permits, PermitsError, Queue, QueueError, StoreHealth,
};
use regatta_catalog::{Catalog, CatalogError, DecideError, SegmentError, Sweep};
use regatta_proto::{
    Cell, Clock, Digest, EndpointKind, Money, OwnerName, ScheduleName, SweepId, SweepLock, SweepState, WorkerId,
    check_bounds,
};
use regatta_traces::Tracer;

use crate::admission::{check_data, check_recorded};
use crate::answering::Unanswering;
use crate::budget::of_sweep;
use crate::forecast::Forecasts;
use crate::leading::Leading;
use crate::retention::Undeleted;
use crate::rounds::tabulate;
use crate::schedules::Scheduling;
use crate::schedules::keeping::Outages;
use crate::schedules::starting::HeldUp;
use crate::unused::DELETED_WITHIN;
use crate::{
    CoordinatorMetrics, PlanError, PriceBook, Pricing, Quotas, Resumption, Submission, Submitted, SweepStatus,
    adaptive, plan, refusals, shards,
};

/// Settings of a coordinator.
#[derive(Debug, Clone)]
pub struct CoordinatorConfig {
    /// Name of this process among the coordinators of a deployment; no other may have it.
    pub id: WorkerId,
    /// Sessions that may be outstanding per queue; more where its endpoint has more of them in hand at once.
    pub window: u32,
    /// Pause between two looks at the ledger.
    pub tick: Duration,
    /// Pause between two broadcasts of the same control message.
    pub rebroadcast: Duration,
    /// Quiet time after which jobs in doubt after a crash are dispatched again. Longer than the broker takes to notice that a worker is cut
    /// off, up to a minute, and the next one to tell of what it was given then. A sweep is quiet while nothing of it moves and no job waits.
    pub doubtful_after: Duration,
    /// Quiet time after which sessions that are outstanding are asked after, and warned of if no worker tells of one; again each time that
    /// the quiet time has doubled. Workers take longer than a moment to tell of a session that they begin.
    pub missed_after: Duration,
    /// Quiet time after which dispatched jobs that no worker tells of count as lost; for the same reasons.
    pub lost_after: Duration,
    /// A session of which a worker has told within this time is under way. Workers tell of each at least every ten seconds; the broker may
    /// take a minute to notice that one is cut off, and gives what it held to another then.
    pub running_within: Duration,
    /// Time that workers have to give back what they may still spend when nothing is left to run. One that does not is dead, and what it may
    /// have had under way counts as possibly spent.
    pub leases_return_within: Duration,
    /// Time for which stored objects that nothing refers to are kept after their last use, longer than an upload takes with the submission that
    /// it is for. `None` keeps them for good: only who knows that the bucket and its prefix are of this deployment alone can have any removed.
    pub keep_unused: Option<SignedDuration>,
    /// True if jobs survive this process (RabbitMQ), false if not (memory).
    pub queue_survives: bool,
}

impl Default for CoordinatorConfig {
    #[expect(clippy::expect_used, reason = "it is a name, as a test finds out")]
    fn default() -> Self {
        Self {
            id: WorkerId::new("coordinator").expect("a name"),
            window: 4096,
            tick: Duration::from_millis(200),
            rebroadcast: Duration::from_secs(2),
            doubtful_after: Duration::from_secs(75),
            missed_after: Duration::from_secs(5),
            lost_after: Duration::from_secs(75),
            running_within: Duration::from_secs(100),
            leases_return_within: Duration::from_secs(5),
            keep_unused: None,
            queue_survives: true,
        }
    }
}

/// Reason why the coordinator did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// The spec does not fit.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No such sweep.
    #[error("there is no sweep {0}; `regatta status` lists them")]
    UnknownSweep(SweepId),
    /// No such schedule.
    #[error("there is no schedule {0}; `regatta schedule list` lists them")]
    UnknownSchedule(ScheduleName),
    /// Another schedule has its name.
    #[error("there is another schedule {0}; give --replace, or delete it first")]
    ScheduleDiffers(ScheduleName),
    /// Somebody else wrote it while it was being replaced.
    #[error(
        "schedule {0} was written by somebody else meanwhile; look at it (`regatta schedule show {0}`) and replace it again"
    )]
    ScheduleOvertaken(ScheduleName),
    /// This process keeps no schedules.
    #[error("this process keeps no schedules; hand the schedule to a coordinator of a deployment")]
    NoScheduling,
    /// The sweep is in a state that does not allow it.
    #[error("sweep {id} is {state}, so it cannot be {wish}")]
    WrongState {
        /// Id of the sweep.
        id: SweepId,
        /// State of the sweep.
        state: SweepState,
        /// The refused change, as a participle.
        wish: &'static str,
    },
    /// It belongs to somebody else.
    #[error("{what} belongs to {owner}, and {asked} is no admin; ask its owner, or an admin")]
    NotYours {
        /// The sweep or schedule.
        what: String,
        /// Owner of the sweep or schedule.
        owner: String,
        /// The owner that asked.
        asked: OwnerName,
    },
    /// The sweep has no budget to raise.
    #[error("sweep {0} has no budget, so there is none to raise; leave out --budget")]
    NoBudget(SweepId),
    /// Another coordinator dispatches.
    #[error("another coordinator leads")]
    NotLeading,
    /// A queue does not answer.
    #[error(
        "the broker has not answered for one of the sweep's queues within the time of a lead, though it answers otherwise; that queue may have no leader (`rabbitmqctl list_queues name type state leader`)"
    )]
    Unanswered,
    /// The blob store deletes slowly.
    #[error(
        "failed to delete objects that nothing refers to within {} s; the next removal goes on with them",
        DELETED_WITHIN.as_secs()
    )]
    SlowRemoval,
    /// Objects that are removed cannot be deleted.
    #[error(transparent)]
    Undeleted(#[from] Undeleted),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The store of permits failed.
    #[error(transparent)]
    Permits(#[from] PermitsError),
    /// A stored transcript cannot be read.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Blobs failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// A stored sweep cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A stored sweep asks what cannot be decided.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// A document could not be written.
    #[error("failed to write a document: {0}")]
    Json(#[from] serde_json::Error),
}

/// Takes sweeps in, keeps their queues filled, notices their end.
pub struct Coordinator {
    pub(crate) config: CoordinatorConfig,
    pub(crate) ledger: Ledger,
    pub(crate) queue: Queue,
    pub(crate) permits: Permits,
    pub(crate) metrics: CoordinatorMetrics,
    pub(crate) catalog: Catalog,
    pub(crate) clock: Arc<dyn Clock>,
    prices: Arc<PriceBook>,
    /// Sweeps whose jobs, where the queue does not survive, are all of this process.
    ours: Mutex<BTreeSet<SweepId>>,
    pub(crate) forecasts: Forecasts,
    pub(crate) leading: Leading,
    /// Questions to scorers that this process has asked.
    pub(crate) questions: AtomicU64,
    pub(crate) health: StoreHealth,
    /// Gate and messenger of schedules; none in an embedded run.
    pub(crate) scheduling: Option<Scheduling>,
    pub(crate) held_up: HeldUp,
    reports_unanswering: Mutex<Unanswering>,
    pub(crate) schedule_outages: Outages,
    pub(crate) quotas: Quotas,
    pub(crate) tracer: Tracer,
}

impl Coordinator {
    /// A coordinator over the four seams.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a seam or a service of the process; a struct of them would only be taken apart"
    )]
    #[must_use]
    pub fn new(
        config: CoordinatorConfig,
        ledger: Ledger,
        queue: Queue,
        permits: Permits,
        catalog: Catalog,
        clock: Arc<dyn Clock>,
        metrics: CoordinatorMetrics,
        prices: Arc<PriceBook>,
    ) -> Self {
        Self {
            config,
            ledger,
            queue,
            permits,
            metrics,
            catalog,
            clock,
            prices,
            ours: Mutex::default(),
            forecasts: Forecasts::default(),
            leading: Leading::default(),
            questions: AtomicU64::new(0),
            health: StoreHealth::default(),
            scheduling: None,
            held_up: HeldUp::default(),
            reports_unanswering: Mutex::default(),
            schedule_outages: Outages::default(),
            quotas: Quotas::default(),
            tracer: Tracer::default(),
        }
    }

    /// Sends spans of what it dispatches to `tracer` from now on.
    pub fn trace_to(&mut self, tracer: Tracer) {
        self.tracer = tracer;
    }

    /// This coordinator as one whose policy limits what owners are granted.
    #[must_use]
    pub fn with_quotas(mut self, quotas: Quotas) -> Self {
        self.quotas = quotas;
        self
    }

    /// Tells at any time whether this coordinator gets on with its sweeps.
    #[must_use]
    pub fn health(&self) -> StoreHealth {
        self.health.clone()
    }

    /// Asks ledger and queue whether they answer, the ledger also whether it lets this process do all its work, and notes what waits in the queues that all sweeps share.
    ///
    /// # Errors
    /// When one of them does not.
    pub fn survey(&self) -> BoxFuture<'_, Result<(), CoordinatorError>> {
        Box::pin(async move {
            self.ledger.sweeps_after(None, 1).await?;
            self.ledger.check_rights().await?;
            let (reports, dead) = (self.queue.waiting_reports().await?, self.queue.dead_letters().await?);
            self.metrics.reports_set_aside.set(self.queue.reports_set_aside().await?.cast_signed());
            self.metrics.reports_waiting.set(reports.cast_signed());
            self.metrics.dead_letters.set(dead.cast_signed());
            Ok(())
        })
    }

    /// Queues of reports that did not answer this process.
    pub(crate) fn reports_unanswering(&self) -> MutexGuard<'_, Unanswering> {
        self.reports_unanswering.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The blob store, for uploads.
    #[must_use]
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Plans a sweep of `owner` and writes it to the ledger; it is dispatched from the next tick on.
    ///
    /// # Errors
    /// When the spec does not fit its data, a quota of the owner is used up, data was removed meanwhile, or a store fails.
    pub fn submit<'a>(
        &'a self,
        submission: Submission,
        owner: Option<&'a OwnerName>,
    ) -> BoxFuture<'a, Result<Submitted, CoordinatorError>> {
        Box::pin(async move {
            check_bounds(&submission.spec).map_err(PlanError::from)?;
            let sweep = self.plan_for(submission, owner).await?;
            self.enter_for(&sweep, owner).await
        })
    }

    /// Resolves a submission of nobody into a sweep and stores its lock, without running anything.
    ///
    /// # Errors
    /// When the spec does not fit its data, or Blobs fail.
    pub fn plan(&self, submission: Submission) -> BoxFuture<'_, Result<Arc<Sweep>, CoordinatorError>> {
        self.plan_for(submission, None)
    }

    /// Resolves a submission of `owner` into a sweep and stores its lock, without running anything.
    ///
    /// # Errors
    /// When the spec does not fit its data, the owner's storage quota is used up, or a store fails.
    pub fn plan_for<'a>(
        &'a self,
        submission: Submission,
        owner: Option<&'a OwnerName>,
    ) -> BoxFuture<'a, Result<Arc<Sweep>, CoordinatorError>> {
        Box::pin(async move {
            if self.config.queue_survives {
                refusals::refuse_commands(&submission)?;
                refusals::refuse_paths(&submission)?;
                check_data(&submission.data, self.recorded_bytes(&submission).await?)?;
                self.refer_to_files(&submission, owner).await?;
                check_recorded(self.catalog.blobs(), &submission.recorded).await?;
            }
            let mut datasets = BTreeMap::new();
            for (benchmark, snapshot) in &submission.data {
                datasets.insert(benchmark.clone(), self.store_manifest(snapshot, owner).await?);
            }
            if self.config.queue_survives {
                refusals::refuse_simulated(&submission)?;
            } else {
                refusals::refuse_batches(&submission)?;
            }
            let pricing = match self.is_limited_in_money(owner).await? {
                true => Pricing::of_operator(&*self.prices),
                false => Pricing::of_specs(&*self.prices),
            };
            let mut lock = plan(submission.spec, &datasets, &submission.recorded, &self.catalog, pricing).await?;
            while self.is_removed(&lock).await? {
                lock.removed_before += 1;
            }
            self.store_lock(&lock, owner).await
        })
    }

    /// `true` if the sweep of `lock` was removed, or is being removed.
    async fn is_removed(&self, lock: &SweepLock) -> Result<bool, CoordinatorError> {
        let id = lock.sweep_id(&Digest::of(&lock.to_bytes()?)).map_err(CatalogError::from)?;
        Ok(!self.ledger.removed(&BTreeSet::from([id])).await?.is_empty())
    }

    /// `true` if `owner` has a quota of money, in the policy or in the ledger.
    async fn is_limited_in_money(&self, owner: Option<&OwnerName>) -> Result<bool, CoordinatorError> {
        let Some(owner) = owner else { return Ok(false) };
        if self.quotas.of(Some(owner)).granted.budget.is_some() {
            return Ok(true);
        }
        let rows = self.ledger.owners().await?;
        Ok(rows.iter().any(|row| row.owner == *owner && row.quota.budget.is_some()))
    }

    /// Writes a planned sweep of nobody to the ledger; it is dispatched from the next tick on.
    ///
    /// # Errors
    /// When the ledger fails.
    pub fn enter<'a>(&'a self, sweep: &'a Sweep) -> BoxFuture<'a, Result<Submitted, CoordinatorError>> {
        self.enter_for(sweep, None)
    }

    /// Writes a planned sweep of `owner` to the ledger; it is dispatched from the next tick on.
    ///
    /// # Errors
    /// When a quota of the owner is used up, an input was removed since it was planned, or a store fails.
    pub fn enter_for<'a>(
        &'a self,
        sweep: &'a Sweep,
        owner: Option<&'a OwnerName>,
    ) -> BoxFuture<'a, Result<Submitted, CoordinatorError>> {
        Box::pin(async move {
            let lock = &sweep.lock;
            let first = adaptive::first_round(sweep)?;
            let sessions_of = |cell: &Cell| match &first {
                Some(released) => released.get(&cell.index).copied().unwrap_or(0),
                None => sweep.selected(cell).len() as u32,
            };
            let cells = sweep
                .cells()
                .iter()
                .map(|cell| NewCell {
                    cell: cell.clone(),
                    items: sessions_of(cell),
                    queue: lock
                        .endpoints
                        .get(&cell.model.endpoint)
                        .map_or_else(String::new, |endpoint| endpoint.queue(&cell.model.endpoint, &sweep.id)),
                })
                .collect();
            let inputs = self.refer_to_inputs(sweep, owner).await?;
            let created = self
                .ledger
                .create_sweep(NewSweep {
                    id: sweep.id.clone(),
                    name: lock.name.to_string(),
                    lock: sweep.digest,
                    budget: lock.budget_usd.and_then(Money::from_dollars),
                    created_at: self.clock.now(),
                    cells,
                    shards: shards::cut(sweep, self.config.window)?,
                    owner: owner.cloned(),
                    quota: self.quotas.of(owner).granted,
                    inputs,
                })
                .await?;
            if created == Created::New {
                self.adopt(&sweep.id);
            }
            let sessions = sweep.cells().iter().map(|cell| sweep.selected(cell).len() as u64).sum();
            tracing::info!(sweep = %sweep.id, sessions, cells = sweep.cells().len(), "planned");
            Ok(Submitted { id: sweep.id.clone(), created: matches!(created, Created::New), sessions })
        })
    }

    /// Bytes of all recorded verdicts of `submission`, which are stored.
    async fn recorded_bytes(&self, submission: &Submission) -> Result<u64, CoordinatorError> {
        let mut bytes = 0_u64;
        for (name, digest) in &submission.recorded {
            let refused = |field: String, problem: String| PlanError::Field { field, problem };
            let endpoint = submission.spec.endpoints.get(name);
            if endpoint.is_none_or(|endpoint| endpoint.kind != EndpointKind::Recorded) {
                let problem = "the spec has no endpoint of this name and of kind recorded; leave it out".to_owned();
                return Err(refused(format!("recorded.{name}"), problem).into());
            }
            let size = self.catalog.blobs().content_size(digest).await?.ok_or_else(|| {
                let problem =
                    format!("the file of the digest {digest} is not stored; upload it first, as `regatta submit` does");
                refused(format!("endpoints.{name}.path"), problem)
            })?;
            bytes = bytes.saturating_add(size);
        }
        Ok(bytes)
    }

    /// Stops a sweep: nothing more is dispatched, jobs in queues become void, sessions that run are finished and recorded.
    ///
    /// # Errors
    /// When there is no such sweep, or it has ended.
    pub fn cancel<'a>(&'a self, id: &'a SweepId) -> BoxFuture<'a, Result<(), CoordinatorError>> {
        Box::pin(async move {
            let row = self.ledger.sweep(id).await?.ok_or_else(|| CoordinatorError::UnknownSweep(id.clone()))?;
            // Before anything is changed: a cancelled sweep must get its reports, whatever fails afterwards.
            let granted_before = self.permits.granted(&of_sweep(id)).await?;
            if !self.ledger.transition(id, &[SweepState::Running], SweepState::Cancelled, self.clock.now()).await? {
                return Err(CoordinatorError::WrongState { id: id.clone(), state: row.state, wish: "cancelled" });
            }
            // Sessions that run are finished, and may be granted more: whoever asks for the tables looks again.
            let granted = self.permits.granted(&of_sweep(id)).await.unwrap_or(granted_before);
            if let Err(error) = self.ledger.set_granted(id, granted).await {
                tracing::warn!(sweep = %id, %error, "failed to note what a cancelled sweep was granted; its reports know recorded costs alone");
            }
            // It is cancelled, and the leader has scorers told until its tables are written.
            if self.reports_keep_order()
                && let Err(error) = self.queue.publish_reports(vec![tabulate(id, row.lock, row.generation)]).await
            {
                tracing::warn!(sweep = %id, %error, "scorers could not be told of a cancelled sweep; they are told again");
            }
            Ok(())
        })
    }

    /// Runs the sessions of an ended sweep that were not measured, as further attempts.
    ///
    /// # Errors
    /// When there is no such sweep, or it is complete, or has not ended, or its budget cannot be changed as wished, or its owner's quota does
    /// not allow these sessions.
    pub fn resume<'a>(
        &'a self,
        id: &'a SweepId,
        resumption: Resumption,
    ) -> BoxFuture<'a, Result<(), CoordinatorError>> {
        Box::pin(async move {
            let row = self.ledger.sweep(id).await?.ok_or_else(|| CoordinatorError::UnknownSweep(id.clone()))?;
            if !row.state.is_end() || row.state == SweepState::Complete {
                return Err(CoordinatorError::WrongState { id: id.clone(), state: row.state, wish: "resumed" });
            }
            let quota = self.quotas.of(row.owner.as_ref()).granted;
            // Before anything is changed. Others may take the last of the quota until the sessions are charged below; then a raised grant stays.
            self.ledger.check_reopening(id, quota).await?;
            let mut budget = None;
            if let Some(change) = resumption.budget {
                let present = row.budget.ok_or_else(|| CoordinatorError::NoBudget(id.clone()))?;
                let raised = change.apply(present);
                let sweep = self.catalog.sweep(&row.lock).await?;
                // First of all: an account that is open may be spent. To repeat it grants nothing twice.
                self.ledger.grant(id, raised, quota).await?;
                // The supervising task may not have noticed that the sweep had ended, and would end it again on the old cap. The ledger
                // refuses a budget that is lower.
                if raised >= present {
                    self.open_accounts(&sweep, Some(raised)).await?;
                }
                budget = Some(raised);
            }
            // Jobs of the sweep are of this process from here on, if the queue does not survive one.
            self.adopt(id);
            // All of the rest at once: whoever repeats this after a failure must not raise the budget twice, and a night that goes on counts
            // as running again. The leader has questions asked again once workers have heard of the resume.
            let Some(reopened) = self.ledger.resume(id, row.state, budget, quota).await? else {
                let row = self.ledger.sweep(id).await?.ok_or_else(|| CoordinatorError::UnknownSweep(id.clone()))?;
                return Err(CoordinatorError::WrongState { id: id.clone(), state: row.state, wish: "resumed" });
            };
            tracing::info!(sweep = %id, to_run = reopened.to_run, to_judge = reopened.to_judge, "resumed");
            Ok(())
        })
    }

    /// Nothing of `id` that an earlier process dispatched is counted on any more.
    pub(crate) fn adopt(&self, id: &SweepId) {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
    }

    /// `true` if nothing of `id` that an earlier process dispatched is counted on.
    pub(crate) fn is_ours(&self, id: &SweepId) -> bool {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    /// State, progress, cost and budget of a sweep.
    ///
    /// # Errors
    /// When there is no such sweep, or a store fails.
    pub fn status<'a>(&'a self, id: &'a SweepId) -> BoxFuture<'a, Result<SweepStatus, CoordinatorError>> {
        Box::pin(async move {
            let row = self.ledger.sweep(id).await?.ok_or_else(|| CoordinatorError::UnknownSweep(id.clone()))?;
            let sweep = self.catalog.sweep(&row.lock).await?;
            let progress = self.ledger.cell_progress(id).await?;
            let account = match row.budget {
                Some(_) => self.permits.account(&of_sweep(id)).await?,
                None => None,
            };
            let foretold = match row.state {
                SweepState::Running => self.foretold(&sweep, &progress).await?,
                _ => None,
            };
            let cost = self.cost(&row, &progress).await?;
            Ok(SweepStatus::new(row, sweep.cells(), progress, account.map(Into::into), cost, foretold))
        })
    }
}
