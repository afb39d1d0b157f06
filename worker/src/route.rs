//! One endpoint's queue: takes what can be started now, runs it, leaves the results in the publisher.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use regatta_backends::queue::DELIVERY_LIMIT;
use regatta_backends::{Consumer, Delivery, Queue, QueueError, Subscriptions};
use regatta_catalog::Sweep;
use regatta_llm::Endpoint;
use regatta_memory::ByteHolder;
use regatta_proto::{
    AttemptTotals, Cause, EndpointName, EndpointRoute, Event, Job, JudgeJob, Outcome, Report, SessionJob, SessionKey,
    SessionOutcome, Transcript,
};
use regatta_traces::session_span;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::attempts::{AttemptHere, OpenGuard};
use crate::batch::{self, BatchLane};
use crate::cast::Cast;
use crate::checkpoints::{Checkpoint, CheckpointWriter};
use crate::judging::{Judged, answer, unanswered};
use crate::publisher::{ConfirmingPublisher, Held, Origin, Publication};
use crate::running::RunningSession;
use crate::session::{Ended, Session};
use crate::traced::{self, TracedAttempt};
use crate::worker::{Shared, Unreadable};

/// Jobs taken per concurrent call: those that wait for a retry hold a delivery but no permit, and must not starve the others.
const TAKEN_PER_PERMIT: u32 = 2;
/// Longest time for which the report of a session that goes on elsewhere waits for its last checkpoint.
const LEAVING_MAX: Duration = Duration::from_secs(8);

/// Redeliveries from which a job goes on as a new message, or is given up. Below the queue's own limit, beyond which it would become a dead
/// letter and its sweep would wait for it for ever.
pub(crate) const REDELIVERIES_MAX: u32 = DELIVERY_LIMIT * 3 / 4;

/// Attempts without a call of their own after which a session is given up: it takes its workers down, or nobody gets it reported. Many, because
/// a broker counts what waited in a worker as it does what ran there: while workers are killed all the time, it comes back often enough by
/// no fault of its own.
const FRUITLESS_MAX: u32 = 3 * REDELIVERIES_MAX;

/// `true` if a session that has come to attempt `number`, with `transcript` so far, is given up.
pub(crate) fn is_hopeless(number: u32, transcript: &Transcript) -> bool {
    let last = transcript.calls().map(|call| call.attempt).max().unwrap_or(0);
    number.saturating_sub(last) >= FRUITLESS_MAX
}

/// A queue that is being consumed.
pub(crate) struct Route {
    pub(crate) spec: EndpointRoute,
    pub(crate) subscriptions: Subscriptions,
    stop: CancellationToken,
}

impl Route {
    /// Begins to consume, jobs at `endpoint` whose other roles are played at those of `beside`. Sessions are tracked by `sessions`.
    pub(crate) async fn start(
        spec: EndpointRoute,
        endpoint: Endpoint,
        beside: BTreeMap<EndpointName, Endpoint>,
        queue: &Queue,
        shared: Arc<Shared>,
        publisher: ConfirmingPublisher,
        sessions: TaskTracker,
    ) -> Result<Self, QueueError> {
        queue.declare_jobs(&spec.queue).await?;
        let taken = spec.endpoint.limits.concurrency.saturating_mul(TAKEN_PER_PERMIT);
        let prefetch = batch::prefetch(&spec.endpoint).unwrap_or(taken);
        let consumer = queue.consume_jobs(&spec.queue, prefetch).await?;
        let (subscriptions, stop) = (consumer.subscriptions(), CancellationToken::new());
        let batches = BatchLane::start(&spec, &endpoint, queue, &shared, &publisher, &stop, &sessions);
        let line = Arc::new(Line { queue: spec.queue.clone(), endpoint, beside, shared, publisher, batches });
        sessions.spawn(consume(consumer, line, stop.clone(), sessions.clone()));
        Ok(Self { spec, subscriptions, stop })
    }
}

impl Drop for Route {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Reports and jobs that a session leaves when it ends here.
enum Left {
    /// Reports, and jobs by queue, after which its deliveries are acknowledged.
    Behind(Vec<Report>, Vec<(String, Job)>),
    /// The report of an attempt of which somebody may know; its job is delivered again.
    ToOthers(Option<Box<(Report, AttemptHere)>>),
}

/// State that all jobs of one queue share.
struct Line {
    queue: String,
    endpoint: Endpoint,
    /// Endpoints of the same sweep that models of other roles are asked at.
    beside: BTreeMap<EndpointName, Endpoint>,
    shared: Arc<Shared>,
    publisher: ConfirmingPublisher,
    /// Receives sessions and batches, at endpoints whose delivery mode is `batch`; `None` at others.
    batches: Option<BatchLane>,
}

/// Receipts are void without their consumer, so it is kept until the last of them is settled.
async fn consume(mut consumer: Consumer<Job>, line: Arc<Line>, stop: CancellationToken, sessions: TaskTracker) {
    let unsettled = TaskTracker::new();
    loop {
        let delivery = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            delivery = consumer.next() => delivery,
        };
        let Some(delivery) = delivery else { break };
        let line = line.clone();
        let Delivery { message, redeliveries, receipt } = delivery;
        let held = Held::new(receipt, &unsettled);
        sessions.spawn(async move { line.handle(message, redeliveries, held).await });
    }
    consumer.stop();
    // The publisher ends when nobody can leave anything in it.
    drop(line);
    unsettled.close();
    unsettled.wait().await;
}

impl Line {
    async fn handle(&self, message: Job, redeliveries: u32, receipt: Held) {
        if redeliveries > 0 {
            self.shared.metrics.redeliveries.inc();
        }
        let void = match (self.shared.is_dropped(&message), self.shared.is_stale(&message)) {
            (true, _) => Some("dropped"),
            (false, true) => Some("stale"),
            (false, false) => None,
        };
        if let Some(label) = void {
            if let (Job::Batch(job), Some(batches)) = (message, &self.batches) {
                return batches.void(*job, redeliveries, receipt).await;
            }
            self.shared.metrics.sessions.with_label_values(&[label]).inc();
            receipt.ack().await;
            return;
        }
        self.shared.metrics.in_flight.inc();
        match message {
            Job::Session(job) => {
                let live = match &self.batches {
                    Some(batches) => batches.take(*job, redeliveries, receipt).await,
                    None => Some((*job, receipt)),
                };
                if let Some((job, receipt)) = live {
                    let span = session_span(&job.key, job.attempt.saturating_add(redeliveries));
                    self.run(job, redeliveries, receipt).instrument(span).await;
                }
            }
            Job::Judge(job) => self.judge(job, receipt).await,
            Job::Batch(job) => match &self.batches {
                Some(batches) => batches.follow(*job, redeliveries, receipt).await,
                None => receipt.hand_back().await,
            },
        }
        self.shared.metrics.in_flight.dec();
    }

    async fn run(&self, job: SessionJob, redeliveries: u32, receipt: Held) {
        let shared = &self.shared;
        let number = job.attempt.saturating_add(redeliveries);
        let Some(mut running) = shared.running.begin(&job.key, job.attempt, receipt).await else { return };
        // Told of from here on: one that waits for room is not lost.
        let open = self.open(&job.key, number);
        // What a session brings with it is here already; it goes on only when there is room for more.
        let leave = CancellationToken::new();
        let holder = tokio::select! {
            biased;
            holder = shared.bytes.enter(kept_bytes(&job.transcript), leave.clone()) => Some(holder),
            () = shared.interrupt.cancelled() => None,
            () = running.unwanted() => None,
        };
        let left = match (&holder, open) {
            (Some(holder), Some(open)) => {
                self.run_alone(job, (open, redeliveries), &mut running, (holder, &leave)).await
            }
            _ => Left::ToOthers(None),
        };
        running.holder = holder;
        match left {
            Left::Behind(reports, jobs) => {
                self.publisher.leave(Publication { reports, jobs, origin: Origin::Session(running) }).await;
            }
            Left::ToOthers(ended) => {
                if let Some(ended) = ended {
                    let (report, attempt) = *ended;
                    let (reports, origin) = (vec![report], Origin::Attempt(attempt, None));
                    self.publisher.leave(Publication { reports, jobs: Vec::new(), origin }).await;
                }
                for delivery in running.end() {
                    delivery.hand_back().await;
                }
            }
        }
    }

    /// Runs the session of `job`, which nobody else runs in this process.
    async fn run_alone(
        &self,
        mut job: SessionJob,
        (mut open, redeliveries): (OpenGuard<'_>, u32),
        running: &mut RunningSession,
        bytes: (&ByteHolder, &CancellationToken),
    ) -> Left {
        let shared = &self.shared;
        let mut number = job.attempt.saturating_add(redeliveries);
        let sweep = match self.go_on(&mut job, &mut open, &mut number, bytes.0).await {
            Ok(sweep) => Ok(sweep),
            Err(Some(ended)) => Err(ended),
            Err(None) => return Left::ToOthers(None),
        };
        let SessionJob { key, lock, generation, mut transcript, .. } = job;
        let sweep = match sweep {
            Ok(_) if redeliveries >= REDELIVERIES_MAX && is_hopeless(number, &transcript) => {
                tracing::error!(attempts = number, "the session comes back again and again and is given up");
                Err(Ended::Over(Outcome::NotMeasured { cause: Cause::Undeliverable }))
            }
            // As a new message, of which no redeliveries are counted.
            Ok(_) if redeliveries >= REDELIVERIES_MAX => Err(Ended::Interrupted),
            sweep => sweep,
        };
        let began = open.until(shared.clock.now());
        let checkpoint = shared.checkpoints.follow(&key, (lock, generation), began.clone(), shared.clock.clone());
        let (ended, traced) = match sweep {
            Ok(sweep) => {
                let traced = TracedAttempt::begin(&shared.tracer, &sweep, &key, &began, transcript.events.len());
                let of_attempt = (&open, &checkpoint, traced.as_ref());
                let ended = self.drive(&sweep, &key, of_attempt, &mut transcript, running, bytes).await;
                (ended, traced.zip(Some(sweep)))
            }
            Err(ended) => (ended, None),
        };
        let totals = transcript.totals_of(number);
        let (attempt, here) = open.close(shared.clock.now(), totals);
        if let Some((traced, sweep)) = traced {
            traced.tell(&sweep, &transcript, attempt.ended_at);
            traced.end(&sweep, &key, attempt.ended_at, ended.label(), &totals);
        }
        let mut checkpoint = Some(checkpoint);
        if matches!(ended, Ended::Over(_)) && running.is_unwanted() && totals != AttemptTotals::default() {
            // Its job is delivered once more, to whomever, who ends it from there without a call. What it came to is told all the same.
            if let Some(checkpoint) = checkpoint.take() {
                leave(checkpoint, &transcript).await;
            }
        }
        let (label, report, job) = match ended {
            Ended::Over(outcome) => {
                let label = outcome.as_str();
                (label, Report::Session(Box::new(SessionOutcome { key, lock, attempt, outcome, transcript })), None)
            }
            Ended::Unwanted if totals == AttemptTotals::default() => {
                shared.metrics.sessions.with_label_values(&["dropped"]).inc();
                return Left::ToOthers(None);
            }
            Ended::Unwanted => {
                if let Some(checkpoint) = checkpoint
                    && let Err(error) = checkpoint.leave(&transcript).await
                {
                    tracing::warn!(%error, "the calls of a session that runs again elsewhere could not be kept for it");
                }
                shared.metrics.sessions.with_label_values(&["handed_over"]).inc();
                let report = Report::HandedOver { key, attempt, totals, taken_over: false };
                return Left::ToOthers(Some(Box::new((report, here))));
            }
            Ended::Dropped => {
                shared.metrics.sessions.with_label_values(&["dropped"]).inc();
                return Left::Behind(Vec::new(), Vec::new());
            }
            Ended::Interrupted => {
                // Whoever goes on writes the next ones: none of this attempt may come after them, and none of theirs be removed. Where the
                // next job is lost, the session goes on from the last one.
                if let Some(checkpoint) = checkpoint.take() {
                    if totals == AttemptTotals::default() {
                        let _ = tokio::time::timeout(LEAVING_MAX, checkpoint.stop()).await;
                    } else {
                        leave(checkpoint, &transcript).await;
                    }
                }
                let attempt_next = number.saturating_add(1);
                running.goes_on_as(attempt_next);
                let generation = shared.generation(&key.sweep, generation);
                let next = SessionJob { key: key.clone(), lock, attempt: attempt_next, generation, transcript };
                let report = Report::HandedOver { key, attempt, totals, taken_over: false };
                ("handed_over", report, Some((self.queue.clone(), Job::Session(Box::new(next)))))
            }
        };
        running.ended(here, checkpoint.and_then(CheckpointWriter::end));
        shared.metrics.sessions.with_label_values(&[label]).inc();
        Left::Behind(vec![report], job.into_iter().collect())
    }

    /// The sweep of `job`, which goes on from its last checkpoint, as a later attempt if need be. An error is how the session ends, or nothing
    /// where that attempt cannot be named.
    async fn go_on<'l>(
        &'l self,
        job: &mut SessionJob,
        open: &mut OpenGuard<'l>,
        number: &mut u32,
        holder: &ByteHolder,
    ) -> Result<Arc<Sweep>, Option<Ended>> {
        let ended = |unreadable: Unreadable| Some(Ended::from(unreadable));
        let sweep = self.shared.sweep(&job.lock).await.map_err(ended)?;
        if *number == 1 {
            return Ok(sweep);
        }
        let Some(checkpoint) = self.shared.checkpoint(job).await.map_err(ended)? else { return Ok(sweep) };
        // Each attempt of a transcript has a number of its own.
        if checkpoint.attempt.number >= *number {
            *number = checkpoint.attempt.number.saturating_add(1);
            tracing::Span::current().record("attempt", *number);
            let Some(later) = self.open(&job.key, *number) else { return Err(None) };
            *open = later;
        }
        let before = kept_bytes(&job.transcript);
        job.transcript = self.take_over(job, checkpoint).await;
        holder.keep(kept_bytes(&job.transcript).saturating_sub(before));
        Ok(sweep)
    }

    /// Begins an attempt; `None` if it cannot be named.
    fn open(&self, key: &SessionKey, number: u32) -> Option<OpenGuard<'_>> {
        let attempt = self.shared.attempts.open(key, number, self.shared.clock.now());
        attempt.inspect_err(|error| tracing::error!(%error, "failed to name an attempt")).ok()
    }

    /// Reports what the attempt that made `checkpoint` had spent by then: its worker may never do so. Returns its transcript.
    async fn take_over(&self, job: &SessionJob, checkpoint: Checkpoint) -> Transcript {
        let Checkpoint { attempt, transcript, .. } = checkpoint;
        let calls = transcript.calls().count();
        tracing::info!(calls, checkpoint = attempt.number, "going on from a checkpoint");
        let totals = transcript.totals_of(attempt.number);
        let report = Report::HandedOver { key: job.key.clone(), attempt, totals, taken_over: true };
        self.publisher.leave(Publication { reports: vec![report], jobs: Vec::new(), origin: Origin::Nobody }).await;
        transcript
    }

    async fn drive(
        &self,
        sweep: &Sweep,
        key: &SessionKey,
        (open, checkpoint, traced): (&OpenGuard<'_>, &CheckpointWriter, Option<&TracedAttempt>),
        transcript: &mut Transcript,
        running: &RunningSession,
        (holder, leave): (&ByteHolder, &CancellationToken),
    ) -> Ended {
        let found = sweep.cell(key.cell).and_then(|cell| Some((cell, sweep.suite(cell)?, sweep.item(cell, key.item)?)));
        let Some((cell, suite, item)) = found else {
            tracing::error!("the job names a cell or an item that the sweep does not have");
            return internal();
        };
        let interrupt = self.shared.interrupt.child_token();
        let waited_for = interrupt.child_token();
        let cast = Cast::of(sweep, cell, &self.endpoint, &self.beside);
        let session = Session {
            sweep,
            cell,
            suite: suite.clone(),
            index: key.item,
            item,
            cast: &cast,
            attempt: open,
            checkpoint,
            interrupt: &interrupt,
            waited_for: &waited_for,
            begun: Instant::now(),
            hand_over_after: self.shared.hand_over_after,
            is_cancelled: &|| self.shared.is_cancelled(&key.sweep),
            holder,
            external: &self.shared.external,
            traced,
            clock: &*self.shared.clock,
        };
        let driving = session.drive(transcript);
        let is_late = tokio::time::sleep(self.shared.hand_over_after);
        let unwanted = running.unwanted();
        tokio::pin!(driving, is_late, unwanted);
        loop {
            tokio::select! {
                biased;
                ended = &mut driving => return ended,
                () = &mut is_late, if !interrupt.is_cancelled() => interrupt.cancel(),
                // Others need the bytes that it keeps.
                () = leave.cancelled(), if !interrupt.is_cancelled() => interrupt.cancel(),
                () = &mut unwanted => break,
            }
        }
        // It ends with the call that is in flight, and goes on elsewhere from what is known by then.
        waited_for.cancel();
        interrupt.cancel();
        match driving.await {
            Ended::Interrupted => Ended::Unwanted,
            ended => ended,
        }
    }

    async fn judge(&self, job: JudgeJob, receipt: Held) {
        let judged_here = self.shared.holdings.judge(&job);
        let Ok(id) = self.shared.attempts.next_id() else {
            receipt.hand_back().await;
            return;
        };
        let (voided, since) = (receipt.voided(), self.shared.clock.now());
        let judged = match self.shared.sweep(&job.lock).await {
            Ok(sweep) => {
                // Whoever is given the job when its connection is lost asks all of it.
                let interrupt = self.shared.interrupt.child_token();
                let answering = answer(&self.endpoint, &sweep, job, id, &interrupt);
                tokio::pin!(answering);
                let judged = tokio::select! {
                    biased;
                    () = voided.cancelled() => {
                        interrupt.cancel();
                        answering.await
                    }
                    judged = &mut answering => judged,
                };
                if let Judged::Whole(outcome) | Judged::InPart(outcome, _) = &judged {
                    traced::judged(&self.shared.tracer, &sweep, outcome, (since, self.shared.clock.now()));
                }
                judged
            }
            Err(Unreadable::Interrupted) => Judged::Nothing,
            Err(Unreadable::Damaged) => Judged::Whole(unanswered(job, id, "the sweep of the questions cannot be read")),
        };
        let (outcome, rest) = match judged {
            Judged::Whole(outcome) => (outcome, None),
            // Whoever has the job now asks all of it, and the rest must not be asked beside that.
            Judged::InPart(outcome, _) if voided.is_cancelled() => (outcome, None),
            Judged::InPart(outcome, rest) => (outcome, Some((self.queue.clone(), Job::Judge(rest)))),
            Judged::Nothing => return receipt.hand_back().await,
        };
        let (reports, jobs) = (vec![Report::Judge(outcome)], rest.into_iter().collect());
        let origin = Origin::Questions(receipt, judged_here);
        self.publisher.leave(Publication { reports, jobs, origin }).await;
    }
}

/// Leaves a last checkpoint of the session for whoever goes on with it.
async fn leave(checkpoint: CheckpointWriter, transcript: &Transcript) {
    let left = tokio::time::timeout(LEAVING_MAX, checkpoint.leave(transcript)).await;
    if !matches!(left, Ok(Ok(()))) {
        tracing::warn!("the calls of a session that goes on elsewhere could not be kept for it");
    }
}

impl Ended {
    /// The end of the attempt in traces.
    fn label(&self) -> &'static str {
        match self {
            Self::Over(outcome) => outcome.as_str(),
            Self::Interrupted | Self::Unwanted => "handed_over",
            Self::Dropped => "dropped",
        }
    }
}

impl From<Unreadable> for Ended {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Interrupted => Self::Interrupted,
            Unreadable::Damaged => internal(),
        }
    }
}

/// Bytes of what a transcript adds to what its sweep knows: replies, and what agents did and wrote.
fn kept_bytes(transcript: &Transcript) -> u64 {
    let bytes = transcript.events.iter().map(|event| match event {
        Event::Call(call) => call.reply.bytes(),
        Event::Recorded(reply) => reply.bytes(),
        Event::Exchange(exchange) => (exchange.url.len() + exchange.response.len()) as u64,
        Event::Ended(ended) => ended.output.len() as u64,
        Event::Started(_) | Event::Failed(_) | Event::BenchmarkFailed(_) => 0,
    });
    bytes.sum()
}

const fn internal() -> Ended {
    Ended::Over(Outcome::NotMeasured { cause: Cause::Internal })
}
