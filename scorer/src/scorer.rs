//! The scorer: takes reports in batches, makes them durable, then acknowledges.

use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use regatta_backends::{
    BlobError, Consumer, Consuming, Delivery, Held, Ledger, LedgerError, OpenQuestion, Outage, Queue, QueueError,
    Receipt, StoreHealth, ToldBy,
};
use regatta_catalog::{Catalog, CatalogError, SegmentError, checkpoint_keys, remove_checkpoints};
use regatta_proto::{
    Clock, CostSum, Digest, HeldQuestions, ModelRef, Progress, Report, SessionKey, SessionOutcome, SweepId, Usage,
    wire::WireError,
};
use regatta_traces::Tracer;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ScorerMetrics;
use crate::aside::{Sorted, Unreadable};
use crate::finish::{FinishError, finish};
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
}

impl Default for ScorerConfig {
    fn default() -> Self {
        Self { batch: 512, linger: Duration::from_millis(50), shares_queue: true }
    }
}

/// Reason why a batch failed.
#[derive(Debug, thiserror::Error)]
pub enum ScorerError {
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Blobs failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// A sweep could not be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Transcripts could not be written.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The reports of a sweep could not be written.
    #[error(transparent)]
    Finish(#[from] FinishError),
    /// A kept transcript could not be read or written.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Scores could not be written as JSON.
    #[error("failed to write scores: {0}")]
    Json(#[from] serde_json::Error),
    /// An outcome names a session that its sweep does not have.
    #[error("session {0} is not part of its sweep; do all processes run the same version?")]
    UnknownSession(SessionKey),
    /// A sweep names a judge at an endpoint it does not list.
    #[error("sweep {sweep} has no endpoint for its judge {judge}")]
    UnknownJudge {
        /// The sweep.
        sweep: SweepId,
        /// The judge.
        judge: ModelRef,
    },
}

impl ScorerError {
    /// True if a store could not be reached, so that the same batch may succeed later.
    pub(crate) fn is_outage(&self) -> bool {
        match self {
            Self::Ledger(error) | Self::Finish(FinishError::Ledger(error)) => {
                matches!(error, LedgerError::Store { .. }) && !error.is_refusal()
            }
            Self::Queue(_) => true,
            _ => self.of_blobs().is_some_and(BlobError::is_outage),
        }
    }

    /// `true` if a sweep could not be read for what its documents are, which says nothing of other sweeps.
    fn is_of_a_sweep(&self) -> bool {
        match self {
            Self::Catalog(error) => !error.is_outage(),
            Self::Ledger(_)
            | Self::Queue(_)
            | Self::Blobs(_)
            | Self::Segment(_)
            | Self::Finish(_)
            | Self::Wire(_)
            | Self::Json(_)
            | Self::UnknownSession(_)
            | Self::UnknownJudge { .. } => false,
        }
    }

    /// `true` if a store found a row or a key wrong, which trying again does not change.
    fn is_refusal(&self) -> bool {
        match self {
            Self::Ledger(error) | Self::Finish(FinishError::Ledger(error)) => error.is_refusal(),
            Self::UnknownSession(_) | Self::UnknownJudge { .. } => true,
            _ => self.of_blobs().is_some_and(BlobError::is_refusal),
        }
    }

    /// Error of the blob store, if it is one.
    const fn of_blobs(&self) -> Option<&BlobError> {
        match self {
            Self::Blobs(error)
            | Self::Segment(SegmentError::Blobs(error))
            | Self::Catalog(CatalogError::Blobs(error))
            | Self::Finish(FinishError::Blobs(error)) => Some(error),
            Self::Ledger(_)
            | Self::Queue(_)
            | Self::Catalog(_)
            | Self::Segment(_)
            | Self::Finish(_)
            | Self::Wire(_)
            | Self::Json(_)
            | Self::UnknownSession(_)
            | Self::UnknownJudge { .. } => None,
        }
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

    /// The next batch: of `most` reports, or as large as it got within the linger time. `None` at the end. A report that was delivered before
    /// comes alone: it may be the one for which its batch failed, and must not take the others with it to the dead letters.
    async fn gather(
        &self,
        consumer: &mut Consumer<Report>,
        kept_back: &mut Option<Delivery<Report>>,
        most: usize,
        stop: &CancellationToken,
    ) -> Option<Vec<Delivery<Report>>> {
        let first = match kept_back.take() {
            Some(first) => first,
            // Reports that are here already are recorded even when it is time to stop: in an embedded run nobody else would.
            None => tokio::select! {
                biased;
                first = consumer.next() => first?,
                () = stop.cancelled() => return None,
            },
        };
        let most = if first.redeliveries > 0 { 1 } else { most };
        let mut bytes = transcript_bytes(&first.message);
        let mut batch = vec![first];
        let deadline = Instant::now() + self.config.linger;
        while batch.len() < most && bytes < BATCH_BYTES {
            match tokio::time::timeout_at(deadline, consumer.next()).await {
                Ok(Some(delivery)) if delivery.redeliveries > 0 => {
                    *kept_back = Some(delivery);
                    break;
                }
                Ok(Some(delivery)) => {
                    bytes += transcript_bytes(&delivery.message);
                    batch.push(delivery);
                }
                Ok(None) | Err(_) => break,
            }
        }
        Some(batch)
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

    /// Makes `batch` durable, part by part, and takes each part out of it that is: a store that fails one call of many does not have all of them
    /// made again. Each part may be repeated.
    async fn handle(&self, batch: &mut Batch) -> Result<(), ScorerError> {
        if !batch.held.is_empty() {
            self.ledger.record_held(batch.held.clone()).await?;
            batch.held.clear();
        }
        if !batch.open.is_empty() {
            self.gone.warn(self.ledger.record_progress(batch.open.clone()).await?);
            batch.open.clear();
        }
        while let Some(sessions) = batch.sessions.first_entry() {
            let sweep = self.catalog.sweep(sessions.key()).await?;
            self.record(&sweep, sessions.get()).await?;
            sessions.remove();
        }
        while let Some(report) = batch.others.front() {
            self.handle_other(report).await?;
            batch.others.pop_front();
        }
        Ok(())
    }

    /// Makes one of [`Batch::others`] durable. May be repeated at any point.
    async fn handle_other(&self, report: &Report) -> Result<(), ScorerError> {
        match report {
            Report::HandedOver { key, attempt, totals, taken_over } => {
                let told_by = if *taken_over { ToldBy::Successor } else { ToldBy::Itself };
                if !self.ledger.record_handover(key, attempt.clone(), *totals, told_by).await? {
                    self.gone.warn([key.sweep.clone()]);
                    return Ok(());
                }
                // A process that was cut off tells of its attempts itself, sooner or later, and then their tokens are counted.
                if *taken_over {
                    self.metrics.surplus.with_label_values(&["taken_over"]).inc();
                } else {
                    self.metrics.surplus.with_label_values(&["handed_over"]).inc();
                    self.count_usage(&totals.usage, &totals.cost);
                }
            }
            Report::Judge(outcome) => {
                let sweep = self.catalog.sweep(&outcome.lock).await?;
                self.judged(&sweep, outcome.clone()).await?;
            }
            Report::Rejudge { lock, .. } => {
                let sweep = self.catalog.sweep(lock).await?;
                self.rejudge(&sweep).await?;
            }
            Report::Echo { sweep, number, partition, .. } => {
                self.ledger.echo(sweep, *number, *partition).await?;
            }
            Report::Tabulate { lock, generation, .. } => {
                let sweep = self.catalog.sweep(lock).await?;
                let state = finish(&self.ledger, &self.catalog, &sweep, *generation, &*self.clock).await?;
                if state.is_end()
                    && let Err(error) = self.remove_needless_checkpoints(&sweep.id).await
                {
                    tracing::warn!(%error, sweep = %sweep.id, "checkpoints were left behind; they go with the sweep");
                }
                tracing::info!(sweep = %sweep.id, %state, "reports written");
            }
            Report::Session(_) | Report::Progress(_) => {}
        }
        Ok(())
    }

    /// Removes the checkpoints of a sweep that has ended. Of one that was resumed while its reports were written they are what its sessions go
    /// on from.
    async fn remove_needless_checkpoints(&self, sweep: &SweepId) -> Result<(), ScorerError> {
        let blobs = self.catalog.blobs();
        let listed = checkpoint_keys(blobs, sweep).await?;
        // Looked at as late as possible: keys name no generation, so what is resumed after this look may lose a checkpoint that it has just written.
        let has_ended = self.ledger.sweep(sweep).await?.is_some_and(|row| row.state.is_end());
        if has_ended {
            remove_checkpoints(blobs, &listed).await?;
        }
        Ok(())
    }

    pub(crate) fn count_usage(&self, usage: &Usage, cost: &CostSum) {
        let tokens = &self.metrics.tokens;
        tokens.with_label_values(&["input"]).inc_by(usage.input);
        tokens.with_label_values(&["cached_input"]).inc_by(usage.cached_input);
        tokens.with_label_values(&["output"]).inc_by(usage.output);
        tokens.with_label_values(&["reasoning"]).inc_by(usage.reasoning);
        self.metrics.cost_nanodollars.inc_by(cost.known.0);
        self.metrics.unpriced_calls.inc_by(cost.unknown_calls);
    }
}

async fn hand_back(receipts: Vec<Receipt>) {
    for receipt in receipts {
        receipt.hand_back().await;
    }
}

/// Bytes of the transcript of a session's report.
fn transcript_bytes(report: &Report) -> u64 {
    match report {
        Report::Session(ended) => ended.transcript.bytes(),
        Report::HandedOver { .. }
        | Report::Judge(_)
        | Report::Progress(_)
        | Report::Rejudge { .. }
        | Report::Echo { .. }
        | Report::Tabulate { .. } => 0,
    }
}

/// Reports by what is done with them.
#[derive(Default)]
struct Batch {
    sessions: BTreeMap<Digest, Vec<SessionOutcome>>,
    open: Vec<(regatta_proto::OpenAttempt, regatta_proto::WorkerId)>,
    held: BTreeSet<Held>,
    /// In the order they came, after everything else: a question is answered when all before it is recorded.
    others: VecDeque<Report>,
}

impl Batch {
    /// Number of parts that are made durable one after the other.
    fn parts(&self) -> usize {
        usize::from(!self.held.is_empty())
            + usize::from(!self.open.is_empty())
            + self.sessions.len()
            + self.others.len()
    }

    fn sort(reports: Vec<Report>) -> Self {
        let mut batch = Self::default();
        for report in reports {
            match report {
                Report::Session(outcome) => batch.sessions.entry(outcome.lock).or_default().push(*outcome),
                Report::Progress(progress) => {
                    let Progress { worker, open, batches, judging, judging_since, questions } = progress;
                    let is_named = questions.is_some();
                    batch.held.extend(batches.into_iter().map(Held::Batch));
                    let of_worker = |sweep: SweepId| {
                        let generation = judging_since.get(&sweep).copied().unwrap_or(0);
                        Held::Questions { sweep, worker: worker.clone(), generation, is_named }
                    };
                    batch.held.extend(judging.into_iter().map(of_worker));
                    for HeldQuestions { sweep, judge, questions } in questions.into_iter().flatten() {
                        let open = |question| OpenQuestion { judge: judge.clone(), question };
                        batch.held.extend(questions.into_iter().map(|one| Held::Question(sweep.clone(), open(one))));
                    }
                    batch.open.extend(open.into_iter().map(|open| (open, worker.clone())));
                }
                other => batch.others.push_back(other),
            }
        }
        batch
    }
}
