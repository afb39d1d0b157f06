//! The scorer: takes reports in batches, makes them durable, then acknowledges.

mod batch;
mod error;
mod handling;

use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

use regatta_backends::{Consumer, Consuming, Delivery, Ledger, Outage, Queue, QueueError, Receipt, StoreHealth};
use regatta_catalog::Catalog;
use regatta_proto::{Clock, Report};
use regatta_traces::Tracer;
use tokio_util::sync::CancellationToken;

use self::batch::Batch;
pub use self::error::ScorerError;
use crate::ScorerMetrics;
use crate::aside::{Sorted, Unreadable};
use crate::gone::Gone;
use crate::pace::{BatchSize, Stopwatch};
use crate::standing_aside::InHand;

/// Bytes of transcripts that a batch gathers: the one that exceeds them is its last. No more than what the smallest budget of bytes decodes
/// at once, so that nobody lingers for what cannot come.
pub(crate) const BATCH_BYTES: u64 = 4 << 20;
/// Shortest and longest pause before a failed batch is tried again.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(10);
/// Tries at the first part of a batch that is left before its reports are handed back, so that a poisoned one ends as a dead letter instead of blocking for ever.
const TRIES: u32 = 8;
/// The same when the ledger refuses a row: once more, should the reason have been a race, and then each report by itself.
const TRIES_REFUSED: u32 = 2;
/// Time after which a batch is handed back that cannot be recorded because a store is away, or fails now and then: with the batch behind it, which
/// was delivered at the same time, it stays below the broker's acknowledgement time-out. Over all redeliveries that outlasts an outage of hours, so
/// that no outcome that was paid for ends as a dead letter.
const GIVEN_BACK_AFTER: Duration = Duration::from_mins(10);

/// Redeliveries after which a report that cannot be recorded, alone, goes back without those behind it. Until then it goes back with them, so that
/// none overtakes it; they must not be delivered too often for its sake.
const GIVEN_BACK_AT_MOST: u32 = 5;

/// Name of what a scorer consumes.
const REPORTS: &str = "reports";

/// Settings of a scorer's batches.
#[derive(Debug, Clone, Copy)]
pub struct ScorerConfig {
    /// Most reports in a batch; it has fewer where scoring is slow.
    pub batch: usize,
    /// Longest wait for further reports after the first of a batch.
    pub linger: Duration,
    /// `true` if reports of many sweeps come in one queue. Then those of a sweep that cannot be read are set aside; else they are waited
    /// for, as when a store is away.
    pub shares_queue: bool,
    /// Transcripts are stored in the compact form; `false` where a process of the version before may read them.
    pub compact_transcripts: bool,
}

impl Default for ScorerConfig {
    fn default() -> Self {
        Self { batch: 512, linger: Duration::from_millis(50), shares_queue: true, compact_transcripts: true }
    }
}

/// Result of a batch.
enum Handled {
    Done,
    Stopped,
    /// The ledger takes none of its like, however often it is tried.
    Refused,
    Failed,
}

/// Reason why a scorer takes no more reports from a consumer, which gives back all that it has.
enum End {
    Stopped,
    /// A batch could not be recorded. Its reports come again, each alone.
    GivesBack,
    StandsAside,
}

/// Consumes outcomes, scores them, makes them durable.
pub struct Scorer {
    pub(crate) config: ScorerConfig,
    pub(crate) ledger: Ledger,
    pub(crate) queue: Queue,
    pub(crate) catalog: Catalog,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: ScorerMetrics,
    pub(crate) unreadable: Unreadable,
    pub(crate) gone: Gone,
    pub(crate) stopwatch: Stopwatch,
    pub(crate) tracer: Tracer,
    pub(crate) health: StoreHealth,
    consuming: Consuming,
}

impl Scorer {
    /// A scorer over the three seams.
    #[must_use]
    pub fn new(
        config: ScorerConfig,
        ledger: Ledger,
        queue: Queue,
        catalog: Catalog,
        clock: Arc<dyn Clock>,
        metrics: ScorerMetrics,
    ) -> Self {
        Self {
            config,
            ledger,
            queue,
            catalog,
            clock,
            metrics,
            unreadable: Unreadable::default(),
            gone: Gone::default(),
            stopwatch: Stopwatch::default(),
            tracer: Tracer::default(),
            health: StoreHealth::default(),
            consuming: Consuming::awaiting(REPORTS),
        }
    }

    /// The same scorer, which sends spans of what it does to `tracer`.
    #[must_use]
    pub fn with_tracer(mut self, tracer: Tracer) -> Self {
        self.tracer = tracer;
        self
    }

    /// Tells at any time whether this scorer can record.
    #[must_use]
    pub fn health(&self) -> StoreHealth {
        self.health.clone()
    }

    /// Tells at any time whether this scorer consumes reports. One that stands aside does not.
    #[must_use]
    pub fn consuming(&self) -> Consuming {
        self.consuming.clone()
    }

    /// Records `reports` that nobody else handles, as of a run that had to end before they could be recorded. Repeating it changes nothing.
    ///
    /// # Errors
    /// When a store fails, or a report is of no session of its sweep.
    pub fn record_left_over(&self, reports: Vec<Report>) -> BoxFuture<'_, Result<(), ScorerError>> {
        Box::pin(async move { self.handle(&mut Batch::sort(reports)).await })
    }

    /// Works until `stop` fires; the batch in hand is finished first, unless it cannot be recorded: then all is left in the queue.
    ///
    /// # Errors
    /// When the reports cannot be consumed at all.
    pub fn run<'a>(&'a self, stop: CancellationToken) -> BoxFuture<'a, Result<(), ScorerError>> {
        Box::pin(async move {
            // Two batches: one in hand, one on its way.
            let prefetch = u32::try_from(self.config.batch * 2).unwrap_or(u32::MAX);
            let mut size = BatchSize::up_to(self.config.batch);
            let mut consumer = self.queue.consume_reports(prefetch).await?;
            loop {
                self.consuming.consumes(REPORTS, consumer.subscriptions());
                match self.record_from(consumer, &mut size, &stop).await {
                    End::Stopped => return Ok(()),
                    End::GivesBack => {}
                    End::StandsAside => {
                        self.consuming.lacks(REPORTS, "its stores do not answer, and others take them".to_owned());
                        self.until_stores_answer(&stop).await;
                    }
                }
                let Some(again) = self.consume_again(prefetch, &stop).await else { return Ok(()) };
                consumer = again;
            }
        })
    }

    /// A further consumer, as soon as the broker grants one; `None` when it is time to stop, or the queue was closed.
    async fn consume_again(&self, prefetch: u32, stop: &CancellationToken) -> Option<Consumer<Report>> {
        let mut outage = Outage::new(RETRY_FIRST, RETRY_MAX);
        loop {
            let error = match stop.run_until_cancelled(self.queue.consume_reports(prefetch)).await? {
                Ok(consumer) => return Some(consumer),
                Err(QueueError::Closed) => return None,
                Err(error) => error,
            };
            let failed = outage.fails();
            let error = regatta_proto::causes(&error);
            self.consuming.lacks(REPORTS, error.clone());
            if failed.is_told {
                tracing::warn!(error, tries = failed.tries, "failed to consume reports again; trying again");
            }
            stop.run_until_cancelled(tokio::time::sleep(failed.pause)).await?;
        }
    }

    /// Records what `consumer` delivers, until it is time to stop, or to leave it to others. What is not recorded then goes back in its order: nothing
    /// that is reported later overtakes it.
    async fn record_from(&self, mut consumer: Consumer<Report>, size: &mut BatchSize, stop: &CancellationToken) -> End {
        let (mut kept_back, in_hand) = (None, InHand::new());
        let recorded = async {
            while let Some(batch) = self.gather(&mut consumer, &mut kept_back, size.now(), stop).await {
                let reports_in_hand = batch.len();
                self.metrics.batch_reports.observe(batch.len() as f64);
                in_hand.holds(batch.iter().map(|delivery| delivery.redeliveries).max().unwrap_or(0));
                let end = self.record_delivered(batch, stop).await;
                in_hand.is_empty(end.is_none());
                size.adapt(reports_in_hand, self.stopwatch.take());
                if let Some(end) = end {
                    return end;
                }
            }
            End::Stopped
        };
        let must_stand_aside = async {
            if self.config.shares_queue {
                self.must_stand_aside(&in_hand).await;
            } else {
                std::future::pending().await
            }
        };
        tokio::select! {
            biased;
            end = recorded => end,
            () = must_stand_aside => End::StandsAside,
        }
    }

    /// Records a batch, and acknowledges what is recorded. The end, if this is the last one.
    async fn record_delivered(&self, batch: Vec<Delivery<Report>>, stop: &CancellationToken) -> Option<End> {
        let was_given_back = batch.iter().any(|delivery| delivery.redeliveries >= GIVEN_BACK_AT_MOST);
        let Sorted { reports, receipts, unreadable } = self.sort_out(batch, stop).await;
        let is_set_aside = self.set_aside(unreadable, stop).await;
        let is_alone = receipts.len() == 1;
        match self.handle_until_done(Batch::sort(reports), stop).await {
            Handled::Done => Receipt::ack_all(receipts).await,
            Handled::Stopped => return Some(End::Stopped),
            // It alone is delivered once more, until that was too often: behind what is here already, which it would else take with it.
            Handled::Refused if is_alone => hand_back(receipts).await,
            Handled::Failed if is_alone && was_given_back => hand_back(receipts).await,
            Handled::Refused | Handled::Failed => return Some(End::GivesBack),
        }
        (!is_set_aside).then_some(End::Stopped)
    }

    /// Handles `batch` until it is durable, or it is clear that it will not be.
    async fn handle_until_done(&self, mut batch: Batch, stop: &CancellationToken) -> Handled {
        let mut outage = Outage::new(RETRY_FIRST, RETRY_MAX);
        let mut tries_left = TRIES;
        loop {
            let parts = batch.parts();
            let Err(error) = self.handle(&mut batch).await else {
                if let Some(lasted) = outage.ends() {
                    tracing::info!(lasted_s = lasted.as_secs(), "reports are recorded again");
                }
                self.health.succeeds();
                return Handled::Done;
            };
            if batch.parts() < parts {
                outage.goes_on();
                tries_left = TRIES;
                self.health.succeeds();
            }
            let failed = outage.fails();
            let tried = failed.tries;
            let is_outage = error.is_outage() || (!self.config.shares_queue && error.is_of_a_sweep());
            let is_late = failed.lasts >= GIVEN_BACK_AFTER;
            let is_refused = error.is_refusal();
            if is_refused {
                tries_left = tries_left.min(TRIES_REFUSED);
            }
            tries_left -= u32::from(!is_outage);
            self.metrics.failed_batches.inc();
            let error = regatta_proto::causes(&error);
            if is_outage {
                self.health.fails(&error);
            }
            let is_given_up = tries_left == 0 || is_late;
            // While a store is away, each line would be like the one before.
            if failed.is_told || is_given_up || !is_outage {
                tracing::error!(error, tried, "failed to record a batch of reports");
            }
            if is_given_up {
                return if is_refused { Handled::Refused } else { Handled::Failed };
            }
            tokio::select! {
                biased;
                () = tokio::time::sleep(failed.pause) => {}
                () = stop.cancelled() => return Handled::Stopped,
            }
        }
    }
}

async fn hand_back(receipts: Vec<Receipt>) {
    for receipt in receipts {
        receipt.hand_back().await;
    }
}
