//! The coordinator: takes sweeps in, keeps their queues filled, notices their end.

mod config;
mod ending;
mod entering;
mod error;
mod steering;

use futures::future::BoxFuture;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use regatta_backends::{Ledger, Permits, Queue, StoreHealth};
use regatta_catalog::Catalog;
use regatta_proto::{Clock, SweepId, SweepState};
use regatta_traces::Tracer;

pub use self::config::CoordinatorConfig;
pub use self::error::CoordinatorError;
use crate::answering::Unanswering;
use crate::budget::of_sweep;
use crate::forecast::Forecasts;
use crate::leading::Leading;
use crate::schedules::Scheduling;
use crate::schedules::keeping::Outages;
use crate::schedules::starting::HeldUp;
use crate::sequences::Sequences;
use crate::so_far::Scores;
use crate::{CoordinatorMetrics, PriceBook, Quotas, SweepStatus};

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
    pub(crate) scores: Scores,
    pub(crate) sequences: Sequences,
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
            scores: Scores::default(),
            sequences: Sequences::default(),
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
            // Of one that has ended the report has them.
            let deciding = match row.state {
                SweepState::Running | SweepState::Tabulating => {
                    self.deciding(&sweep, &progress, row.generation).await?
                }
                _ => None,
            };
            let status = SweepStatus::new(row, sweep.cells(), progress, account.map(Into::into), cost, foretold);
            Ok(SweepStatus { deciding, ..status })
        })
    }
}
