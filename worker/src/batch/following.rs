//! The life of a batch after it was gathered: each step is a message that replaces the last one. Here it is followed until it is over;
//! how it is handed in is in `handing_in`, and how one in doubt is looked for in `searching`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::SignedDuration;
use prometheus::IntGauge;
use regatta_catalog::Sweep;
use regatta_llm::{BatchClient, BatchState, Collected, Found, Spending, rule};
use regatta_proto::{AccountId, AttemptId, BatchJob, Cause, ErrorClass, HeldBatch, Job, Money, Outcome, Report, Try};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::asking::{self, Asked};
use super::collecting::{Results, attempt_id, failed_before, opened, parted};
use super::outages::MetOutage;
use super::standing::Standing;
use super::{BatchLane, named, trouble};
use crate::cast::accounts;
use crate::holdings::HeldHere;
use crate::holdings::Turn;
use crate::publisher::{Held, Origin, Publication};
use crate::route::REDELIVERIES_MAX;
use crate::worker::Unreadable;

/// A batch that has no end by then has none: both providers give themselves a day.
const FOLLOWED_FOR: SignedDuration = SignedDuration::from_hours(48);

/// The messages and reports that replace the message of a batch.
pub(super) enum Step {
    /// This one takes its place; the sessions that have begun with it are reported as open.
    Next(Box<BatchJob>, Vec<Report>),
    /// These two take its place.
    Split(Vec<BatchJob>),
    /// It is over: reports, the intents of sessions that go on, and what it cost; `None` leaves what was reserved for it counted.
    Over(Vec<Report>, Vec<BatchJob>, Option<Spending>),
    /// It is delivered again, and thereby in doubt.
    HandBack,
    /// The sweep was cancelled, or resumed since.
    Void,
}

/// State of a batch as polled: running, refused as a whole, or ended with its lines collected.
enum Look {
    Running,
    Refused(Try),
    Collected(Collected),
}

/// A batch counted as open for as long as it is here.
struct Open<'a>(&'a IntGauge);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// State of one batch that its steps share.
pub(super) struct Followed<'a> {
    pub(super) lane: &'a BatchLane,
    pub(super) client: &'a BatchClient,
    pub(super) job: &'a BatchJob,
    pub(super) asked: &'a [Asked<'a>],
    /// Accounts that pay, where prices are known or there are budgets.
    pub(super) accounts: &'a [AccountId],
    /// Fires when the batch has to go to another worker.
    pub(super) leave: &'a CancellationToken,
    /// Of its provider.
    pub(super) provider_away: MetOutage,
    /// Name of this step, which no other has, under which the reservation is claimed.
    pub(super) claim: AttemptId,
    /// The reservation was claimed under that name.
    pub(super) has_claim: AtomicBool,
    /// Of an intent, in this process.
    pub(super) turn: Option<Turn>,
}

impl BatchLane {
    /// Takes a batch a step further.
    pub(crate) async fn follow(&self, job: BatchJob, redeliveries: u32, receipt: Held) {
        // All its sessions are of one generation.
        let generation = job.sessions.first().map_or(0, |session| session.generation);
        let held = HeldBatch { sweep: job.sweep.clone(), id: job.id.clone(), generation };
        let held_here = self.shared.holdings.hold(held);
        self.shared.metrics.open_batches.inc();
        let open = Open(&self.shared.metrics.open_batches);
        let step = {
            let leave = CancellationToken::new();
            let following = self.step(&job, redeliveries, &leave);
            tokio::pin!(following);
            tokio::select! {
                biased;
                step = &mut following => step,
                () = self.has_to_leave() => {
                    leave.cancel();
                    following.await
                }
            }
        };
        drop(open);
        self.settle(job, step, redeliveries, (receipt, held_here)).await;
    }

    /// Drops a batch whose sweep was cancelled, or resumed since, and tells its provider so. What it may have cost stays told as it was.
    pub(crate) async fn void(&self, job: BatchJob, redeliveries: u32, receipt: Held) {
        let cancelling = async {
            let client = self.client()?;
            let provider_id = match job.provider_id.clone() {
                Some(id) => id,
                // Only what is known for certain to be ours is cancelled.
                None if redeliveries > 0 => {
                    let intended = job.since()..=self.shared.clock.now();
                    match client.find(&job.id, intended, job.sessions.len()).await {
                        Ok(Found::Exactly(id)) => id,
                        Ok(Found::Nothing | Found::Perhaps(_)) | Err(_) => return None,
                    }
                }
                None => return None,
            };
            Some(client.cancel(&provider_id).await)
        };
        match self.shared.interrupt.run_until_cancelled(cancelling).await {
            Some(Some(Err(trouble))) => {
                tracing::warn!(batch = named(&job), detail = trouble.detail, "failed to cancel a batch")
            }
            Some(_) => {}
            None => {
                receipt.hand_back().await;
                return;
            }
        }
        self.shared.metrics.batches.with_label_values(&["cancelled"]).inc();
        self.shared.metrics.sessions.with_label_values(&["dropped"]).inc_by(job.sessions.len() as u64);
        receipt.ack().await;
    }

    async fn has_to_leave(&self) {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = self.shared.interrupt.cancelled() => {}
            () = sleep(self.shared.hand_over_after) => {}
        }
    }

    async fn step(&self, job: &BatchJob, redeliveries: u32, leave: &CancellationToken) -> Step {
        if attempt_id(job, job.sessions.len()).is_none() {
            // Not one of ours. It becomes a dead letter rather than being lost.
            return Step::HandBack;
        }
        if redeliveries >= REDELIVERIES_MAX {
            // Its lines are paid for, and whoever is killed while it holds the message has nothing to do with them: it goes on as a new message.
            if job.provider_id.is_some() {
                return Step::Next(Box::new(job.clone()), Vec::new());
            }
            tracing::error!(batch = named(job), redeliveries, "the batch was delivered too often and is given up");
            return self.given_up(job, Cause::Undeliverable);
        }
        let sweep: Arc<Sweep> = match leave.run_until_cancelled(self.shared.sweep(&job.lock)).await {
            None | Some(Err(Unreadable::Interrupted)) => return Step::HandBack,
            Some(Err(Unreadable::Damaged)) => return self.given_up(job, Cause::Internal),
            Some(Ok(sweep)) => sweep,
        };
        let (Some(asked), Some(client)) = (asking::all(&sweep, job).await, self.client()) else {
            tracing::error!(batch = named(job), "the batch does not fit its sweep");
            return self.given_up(job, Cause::Internal);
        };
        let Ok(claim) = self.shared.attempts.next_id() else { return Step::HandBack };
        // One intent at a time: a copy that has waited for another here is in doubt, unless that one is certain that it handed nothing in.
        let mut standing = Standing::of(job, redeliveries, self.shared.clock.now());
        let turn = if job.provider_id.is_none() {
            let taking = self.shared.holdings.turn(&job.id);
            let Some((turn, may_be_handed_in)) = leave.run_until_cancelled(taking).await else {
                return Step::HandBack;
            };
            if may_be_handed_in {
                standing = Standing::InDoubt;
            }
            Some(turn)
        } else {
            None
        };
        let price = sweep.lock.model(&job.model).and_then(|model| model.price.as_ref());
        let accounts = accounts(&sweep, Some(&job.model), price);
        let followed = Followed {
            lane: self,
            client,
            job,
            asked: &asked,
            accounts: &accounts,
            leave,
            provider_away: MetOutage::default(),
            claim,
            has_claim: AtomicBool::new(false),
            turn,
        };
        let step = match &job.provider_id {
            Some(id) => tokio::select! {
                biased;
                step = followed.watch(id) => step,
                never = followed.keep_telling() => match never {},
            },
            None => followed.hand_in(standing).await,
        };
        let leads_to = standing.after(&step);
        if !standing.may_become(leads_to) {
            tracing::error!(batch = named(job), ?standing, ?leads_to, "a step that a batch cannot take was not taken");
            return Step::HandBack;
        }
        match &step {
            Step::Over(_, _, Some(spending)) => followed.tell(spending).await,
            Step::Split(_) => followed.tell(&Spending::default()).await,
            Step::Over(..) | Step::Next(..) | Step::HandBack | Step::Void => {}
        }
        step
    }

    /// Ends all sessions of a batch without calls.
    fn given_up(&self, job: &BatchJob, cause: Cause) -> Step {
        let outcome = Outcome::NotMeasured { cause };
        Results::of(self, job).concluded(|_| outcome.clone())
    }

    /// Reports that the sessions of these intents are attempts of them from now on: whoever has their messages may need minutes until they tell of
    /// them, and until then nobody would know that somebody has these sessions.
    fn intended(&self, batches: &[BatchJob]) -> Vec<Report> {
        batches.iter().flat_map(|batch| opened(self, batch, |_| Some(Money::ZERO))).collect()
    }

    async fn settle(&self, job: BatchJob, step: Step, redeliveries: u32, (receipt, held_here): (Held, HeldHere)) {
        // The queue of a cancelled sweep may have no consumer any more: nothing is left in it.
        let is_void = self.shared.is_void(&job);
        let batch = |job: BatchJob| (self.queue.clone(), Job::Batch(Box::new(job)));
        let (reports, jobs) = match step {
            Step::Next(next, reports) if is_void => {
                self.publisher.leave(Publication { reports, jobs: Vec::new(), origin: Origin::Nobody }).await;
                return self.void(*next, redeliveries, receipt).await;
            }
            Step::Split(_) | Step::HandBack if is_void => return self.void(job, redeliveries, receipt).await,
            Step::Next(next, reports) => (reports, vec![batch(*next)]),
            Step::Split(halves) => {
                let mut reports = parted(&self.shared, (&job.id, job.intended_at), &job.sessions);
                reports.extend(self.intended(&halves));
                (reports, halves.into_iter().map(batch).collect())
            }
            // What goes on is of the same generation, and void as well.
            Step::Over(reports, next, _) if is_void => {
                let sessions: usize = next.iter().map(|next| next.sessions.len()).sum();
                self.shared.metrics.sessions.with_label_values(&["dropped"]).inc_by(sessions as u64);
                (reports, Vec::new())
            }
            Step::Over(mut reports, next, _) => {
                reports.extend(self.intended(&next));
                (reports, next.into_iter().map(batch).collect())
            }
            Step::HandBack => return receipt.hand_back().await,
            Step::Void => return self.void(job, redeliveries, receipt).await,
        };
        self.publisher.leave(Publication { reports, jobs, origin: Origin::Batch(receipt, held_here) }).await;
    }
}

impl Followed<'_> {
    /// Follows the batch until it is over, and collects it.
    async fn watch(&self, provider_id: &str) -> Step {
        let (lane, job) = (self.lane, self.job);
        loop {
            if lane.shared.is_void(job) {
                return Step::Void;
            }
            match self.leave.run_until_cancelled(self.look(provider_id)).await {
                None => return self.unchanged(),
                Some(Ok(Look::Running)) => self.provider_away.ends(),
                Some(Ok(Look::Collected(collected))) => {
                    self.count("collected");
                    return self.results().collected(collected, self.asked, lane.tries_max);
                }
                Some(Ok(Look::Refused(trouble))) => {
                    tracing::warn!(batch = named(job), detail = trouble.detail, "a batch was refused as a whole");
                    // Its sessions come to be a batch again soon enough; what refused this one mostly needs time.
                    if rule(trouble.class).retried && self.pause(self.refused_pause()).await.is_none() {
                        return self.unchanged();
                    }
                    self.count("refused");
                    return self.all_failed(&|_| trouble.clone());
                }
                // Keys are put right again, and what is paid for should then be collected.
                Some(Err(trouble)) if !rule(trouble.class).retried && trouble.class != ErrorClass::Auth => {
                    self.count("lost");
                    tracing::error!(batch = named(job), detail = trouble.detail, "a batch cannot be followed any more");
                    return self.all_failed(&self.perhaps_billed(trouble));
                }
                Some(Err(trouble)) => {
                    if self.provider_away.fails() {
                        tracing::warn!(batch = named(job), detail = trouble.detail, "failed to look at a batch");
                    }
                }
            }
            if self.has_no_end() {
                self.count("lost");
                return self.too_late(provider_id).await;
            }
            if self.pause(self.poll_pause()).await.is_none() {
                return self.unchanged();
            }
        }
    }

    /// Looks at the batch, and collects it if it is over.
    async fn look(&self, provider_id: &str) -> Result<Look, Try> {
        let progress = self.client.poll(provider_id).await?;
        tracing::debug!(batch = named(self.job), done = progress.done, total = progress.total, "looked at a batch");
        match progress.state {
            BatchState::Running => Ok(Look::Running),
            BatchState::Failed(trouble) => Ok(Look::Refused(trouble)),
            BatchState::Ended => {
                let calls: Vec<_> = self.asked.iter().map(Asked::call).collect();
                self.client.collect(&self.job.id, provider_id, &calls).await.map(Look::Collected)
            }
        }
    }

    async fn too_late(&self, provider_id: &str) -> Step {
        tracing::error!(batch = named(self.job), provider_id, "a batch has no end and is given up");
        if let Some(Err(trouble)) = self.leave.run_until_cancelled(self.client.cancel(provider_id)).await {
            tracing::warn!(batch = named(self.job), detail = trouble.detail, "failed to cancel a batch");
        }
        let detail = format!("the batch was not over after {} hours", FOLLOWED_FOR.as_hours());
        self.all_failed(&self.perhaps_billed(trouble(ErrorClass::Timeout, detail)))
    }

    /// True if the batch was closed more than [`FOLLOWED_FOR`] ago, so that no end is to be expected.
    pub(super) fn has_no_end(&self) -> bool {
        self.lane.shared.clock.now().duration_since(self.job.intended_at) > FOLLOWED_FOR
    }

    /// For another worker, as it is.
    pub(super) fn unchanged(&self) -> Step {
        Step::Next(Box::new(self.job.clone()), Vec::new())
    }

    fn results(&self) -> Results<'_> {
        Results::of(self.lane, self.job)
    }

    /// Every line failed like this; whether it is tried again is up to the error table.
    pub(super) fn all_failed(&self, trouble: &dyn Fn(usize) -> Try) -> Step {
        self.results().failed(self.asked, trouble, self.lane.tries_max)
    }

    /// Every line failed like this, and has been tried as often as it may be.
    pub(super) fn ended_by(&self, trouble: &Try) -> Step {
        self.results().failed(self.asked, &|_| trouble.clone(), 0)
    }

    /// `trouble` that leaves open whether the provider has worked on the lines.
    pub(super) fn perhaps_billed(&self, trouble: Try) -> impl Fn(usize) -> Try {
        move |position| trouble.clone().maybe_billed(self.at_most(position))
    }

    pub(super) fn poll_pause(&self) -> Duration {
        Duration::from_millis(self.lane.settings.poll_ms)
    }

    /// Doubled with each batch that was refused before, and short enough to pass before the batch is handed over.
    fn refused_pause(&self) -> Duration {
        let before = self.job.sessions.first().map_or(0, |session| failed_before(&session.transcript));
        let doubled = self.poll_pause().saturating_mul(1 << before.min(16));
        doubled.min(self.lane.shared.hand_over_after / 2)
    }

    pub(super) fn count(&self, state: &str) {
        self.lane.shared.metrics.batches.with_label_values(&[state]).inc();
    }
}
