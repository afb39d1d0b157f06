//! The batch lane: sessions whose calls go through a provider's batch API, answered within a day, for less money.
//!
//! A worker keeps nothing, here too: all that is known of a batch is in one message, [`BatchJob`], on the same queue as the sessions.
//! Each step publishes the next message, confirmed, before it acknowledges the last one:
//!
//! | step | takes | leaves |
//! |---|---|---|
//! | gather | session jobs, up to a batch of them, or until none has come for a while | an intent: the sessions, and no provider's id |
//! | hand in | an intent | the same with the provider's id |
//! | follow | a batch with an id | the same, to another worker, when this one leaves or has held it for long |
//! | collect | a batch that is over | reports, and an intent for what has to be asked again or goes on |
//!
//! So a worker may be killed at any moment, and all workers for days. What that can cost is bounded at each place:
//! - *Between an intent and the acknowledgement of its sessions*, these come again and are paid twice. That is the time of one frame.
//! - *Between handing in and the provider's id*, the intent is delivered again, which says that it is in doubt: whoever gets it looks for
//!   the batch at the provider first. An intent that is too old to be handed in (all workers were away, say) is looked for too, and
//!   replaced by a new one if it is not there, so that the time to look at stays bounded.
//! - *Between an intent's publication and its confirmation*, the broker may come to have it twice, or more often where it confirms nothing for
//!   minutes. It is handed in once, by whoever claims its reservation (`handing_in`), and all copies lead to the same attempts. Without an
//!   account an intent that is not confirmed is not published again: its sessions are handed back, and may be paid twice.
//! - *While it is followed or collected*, nothing is lost. The ids of attempts derive from the batch, so that what is reported twice is
//!   recognised, and recorded once.
//! - *Between what a batch leaves and its acknowledgement*, it is collected, or cut, again. What it leaves are batches whose ids derive from its
//!   id (`deriving`), so these are copies like those of an intent, as they are where two workers collect two copies of the batch. All later calls
//!   are made once, whoever comes first, and however late another.
//!
//! From the first session that is gathered until its answers are reported, whoever holds a batch names it in its reports (`holdings`), so that no
//! coordinator takes its sessions for lost. Its lines are told of when a step begins, and again while it is followed (`telling`).
//!
//! A session that asks again after a reply is part of a further batch, with those that were in one with it before.

mod asking;
mod collecting;
mod deriving;
mod following;
mod gathering;
mod handing_in;
mod outages;
mod paying;
mod searching;
mod standing;
mod telling;

use std::sync::Arc;
use std::time::Duration;

use regatta_backends::Queue;
use regatta_catalog::Sweep;
use regatta_llm::{BatchClient, Endpoint};
use regatta_proto::{
    AttemptTotals, BatchJob, BatchSettings, CacheMode, Cause, EndpointKind, EndpointRoute, EndpointSpec, ErrorClass,
    Event, Job, Lane, ModelRef, Outcome, Report, SessionJob, SessionKey, SessionOutcome, Try,
};
use regatta_traces::session_span;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attempts::OpenGuard;
use crate::publisher::{ConfirmingPublisher, Held, Origin, Publication};
use crate::route::{REDELIVERIES_MAX, is_hopeless};
use crate::worker::{Shared, Unreadable};
use asking::Next;
pub(crate) use deriving::halves;
use gathering::{Gathered, Gatherer};
use outages::MetOutage;

/// Batches that a worker follows at once besides those whose sessions it gathers.
const FOLLOWED_MAX: u32 = 64;
/// RabbitMQ counts deliveries held in 16 bits.
const PREFETCH_MAX: u32 = 65_535;

/// Deliveries that a worker may hold of a queue of the batch lane: a batch of sessions, and the batches that it follows.
pub(crate) fn prefetch(endpoint: &EndpointSpec) -> Option<u32> {
    let settings = settings(endpoint)?;
    Some(settings.requests_max.saturating_add(FOLLOWED_MAX).min(PREFETCH_MAX))
}

fn settings(endpoint: &EndpointSpec) -> Option<BatchSettings> {
    (endpoint.lane == Lane::Batch).then(|| endpoint.batch.unwrap_or_default())
}

/// Consumes the jobs of one queue whose endpoint has the delivery mode `batch`: gathers sessions, submits batches and follows them.
pub(crate) struct BatchLane {
    queue: String,
    endpoint: Endpoint,
    settings: BatchSettings,
    /// Tries at one call, over all batches that it is part of.
    tries_max: u32,
    shared: Arc<Shared>,
    publisher: ConfirmingPublisher,
    /// Fires when the queue is no longer consumed here.
    stop: CancellationToken,
    gathered: mpsc::Sender<Gathered>,
    /// Of the store of permits, which all batches ask.
    store_away: MetOutage,
}

impl BatchLane {
    /// Begins to gather for the queue of `route`; `None` when its endpoint is not of the batch lane. What gathers is tracked by
    /// `sessions`, and ends when the lane is dropped.
    pub(crate) fn start(
        route: &EndpointRoute,
        endpoint: &Endpoint,
        queue: &Queue,
        shared: &Arc<Shared>,
        publisher: &ConfirmingPublisher,
        stop: &CancellationToken,
        sessions: &TaskTracker,
    ) -> Option<Self> {
        let settings = settings(&route.endpoint)?;
        endpoint.batch()?;
        let (gathered, incoming) = mpsc::channel(settings.requests_max.clamp(1, PREFETCH_MAX) as usize);
        let gatherer = Gatherer {
            queue: queue.clone(),
            name: route.queue.clone(),
            requests_max: settings.requests_max.clamp(1, PREFETCH_MAX - FOLLOWED_MAX) as usize,
            sizes_differ: route.endpoint.kind == EndpointKind::Anthropic,
            pause: Duration::from_millis(settings.gather_ms),
            shared: shared.clone(),
            publisher: publisher.clone(),
            stop: stop.clone(),
        };
        sessions.spawn(gatherer.run(incoming));
        Some(Self {
            queue: route.queue.clone(),
            endpoint: endpoint.clone(),
            settings,
            tries_max: route.endpoint.retries.attempts,
            shared: shared.clone(),
            publisher: publisher.clone(),
            stop: stop.clone(),
            gathered,
            store_away: MetOutage::default(),
        })
    }

    /// Takes a session in, to become part of a batch. Gives it back when it must not: its calls are only replayed.
    pub(crate) async fn take(
        &self,
        mut job: SessionJob,
        redeliveries: u32,
        receipt: Held,
    ) -> Option<(SessionJob, Held)> {
        let first = job.attempt;
        job.attempt = first.saturating_add(redeliveries);
        let shared = &self.shared;
        let waits = match shared.attempts.wait(&job.key, job.attempt, shared.clock.now()) {
            Ok(waits) => waits,
            Err(error) => {
                session_span(&job.key, job.attempt).in_scope(|| {
                    tracing::error!(%error, "failed to name an attempt");
                });
                receipt.hand_back().await;
                return None;
            }
        };
        if redeliveries >= REDELIVERIES_MAX {
            self.came_back_too_often(job, receipt, waits).await;
            return None;
        }
        let sweep = match self.shared.sweep(&job.lock).await {
            Ok(sweep) => sweep,
            Err(Unreadable::Interrupted) => {
                self.waited(&job.key, waits).await;
                receipt.hand_back().await;
                return None;
            }
            Err(Unreadable::Damaged) => {
                self.conclude(job, Outcome::NotMeasured { cause: Cause::Internal }, receipt, waits).await;
                return None;
            }
        };
        if sweep.lock.cache == CacheMode::Replay {
            self.waited(&job.key, waits).await;
            return Some((SessionJob { attempt: first, ..job }, receipt));
        }
        let (model, bytes) = match self.first_unanswered(&sweep, &mut job).await {
            Ok(asked) => asked,
            Err(outcome) => {
                self.conclude(job, outcome, receipt, waits).await;
                return None;
            }
        };
        // The gatherer ends after the last sender only, so this fails only if it panicked; dropped receipts hand the job back.
        let (key, (has_place, placed)) = (job.key.clone(), oneshot::channel());
        if self.gathered.send(Gathered { model, bytes, job, receipt, has_place }).await.is_err() {
            tracing::error!("the task that gathers sessions has ended; the job will be delivered again");
        }
        // Also when it got none, and its job is delivered again.
        let _ = placed.await;
        self.waited(&key, waits).await;
        None
    }

    /// Ends an attempt at a session that is delivered again and again: it is given up if it is hopeless, and goes on as a new job if not.
    async fn came_back_too_often(&self, job: SessionJob, receipt: Held, waits: OpenGuard<'_>) {
        if is_hopeless(job.attempt, &job.transcript) {
            session_span(&job.key, job.attempt).in_scope(|| {
                tracing::error!(attempts = job.attempt, "the session comes back again and again and is given up");
            });
            return self.conclude(job, Outcome::NotMeasured { cause: Cause::Undeliverable }, receipt, waits).await;
        }
        let totals = AttemptTotals::default();
        let (attempt, here) = waits.close(self.shared.clock.now(), totals);
        let report = Report::HandedOver { key: job.key.clone(), attempt, totals, taken_over: false };
        // As a new message, of which no redeliveries are counted.
        let next = SessionJob { attempt: job.attempt.saturating_add(1), ..job };
        let jobs = vec![(self.queue.clone(), Job::Session(Box::new(next)))];
        let origin = Origin::Attempt(here, Some(receipt));
        self.publisher.leave(Publication { reports: vec![report], jobs, origin }).await;
    }

    /// Model and bytes of the first call that the response cache does not answer; those that it does answer are added to the transcript of
    /// `job`. The outcome where the session is over without such a call.
    async fn first_unanswered(&self, sweep: &Sweep, job: &mut SessionJob) -> Result<(ModelRef, u64), Outcome> {
        let cause = loop {
            let asked = match asking::next(sweep, job) {
                Next::Ask(asked) => asked,
                Next::Done => return Err(Outcome::Measured),
                Next::Unfit(reason) => {
                    session_span(&job.key, job.attempt).in_scope(|| {
                        tracing::error!(reason, "the transcript is of no such session");
                    });
                    break Cause::TranscriptUnfit;
                }
                Next::Failed(failed) => {
                    session_span(&job.key, job.attempt).in_scope(|| {
                        tracing::error!(reason = failed.why, errors = failed.errors, "the benchmark's program failed");
                    });
                    job.transcript.events.push(Event::BenchmarkFailed(failed));
                    break Cause::BenchmarkFailed;
                }
                Next::Misfit => {
                    session_span(&job.key, job.attempt).in_scope(|| {
                        tracing::error!("the job names a cell or an item that the sweep does not have");
                    });
                    break Cause::Internal;
                }
            };
            let kept = match self.client() {
                Some(client) => client.kept(&asked.call()).await,
                None => None,
            };
            match kept {
                Some(call) => job.transcript.events.push(Event::Call(Box::new(call))),
                None => return Ok((asked.cell.model.clone(), asked.request.sent_bytes())),
            }
        };
        Err(Outcome::NotMeasured { cause })
    }

    /// Ends the attempt of a session that has waited for its place in a batch: another one goes on with it.
    async fn waited(&self, key: &SessionKey, waits: OpenGuard<'_>) {
        if let Some(attempt) = waits.close_if_told(self.shared.clock.now()) {
            let totals = AttemptTotals::default();
            let reports = vec![Report::HandedOver { key: key.clone(), attempt, totals, taken_over: false }];
            self.publisher.leave(Publication { reports, jobs: Vec::new(), origin: Origin::Nobody }).await;
        }
    }

    /// Reports a session that is over without a call.
    async fn conclude(&self, job: SessionJob, outcome: Outcome, receipt: Held, waits: OpenGuard<'_>) {
        let SessionJob { key, lock, transcript, attempt: _, generation: _ } = job;
        let shared = &self.shared;
        let totals = transcript.totals_of(waits.number());
        let (attempt, here) = waits.close(shared.clock.now(), totals);
        shared.metrics.sessions.with_label_values(&[outcome.as_str()]).inc();
        let report = Report::Session(Box::new(SessionOutcome { key, lock, attempt, outcome, transcript }));
        let origin = Origin::Attempt(here, Some(receipt));
        self.publisher.leave(Publication { reports: vec![report], jobs: Vec::new(), origin }).await;
    }

    fn client(&self) -> Option<&BatchClient> {
        self.endpoint.batch()
    }
}

/// A failure that no answer of an endpoint told.
const fn trouble(class: ErrorClass, detail: String) -> Try {
    Try::not_sent(class, detail)
}

/// A batch in words for logs.
fn named(job: &BatchJob) -> String {
    format!("{} of {} sessions", job.id, job.sessions.len())
}
