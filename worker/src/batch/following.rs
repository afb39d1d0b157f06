//! The life of a batch after it was gathered: handed in once, followed, collected, each step a message that replaces the last one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use prometheus::IntGauge;
use regatta_catalog::Sweep;
use regatta_llm::{BatchClient, BatchState, Collected, Found, Prepared, SUBMIT_WITHIN, Spending, SubmitError, rule};
use regatta_proto::{AccountId, BatchJob, Cause, ErrorClass, Job, Outcome, Report, SessionJob, Try};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::asking::{self, Asked};
use super::collecting::{Results, attempt_id, failed_before, opened};
use super::{BatchLane, gathering, named, trouble};
use crate::outbox::{Held, Parcel};
use crate::route::REDELIVERIES_MAX;
use crate::session::accounts;
use crate::worker::Unreadable;

/// A batch that has no end by then has none: both providers give themselves a day.
const FOLLOWED_FOR: SignedDuration = SignedDuration::from_hours(48);
/// How far the clocks of two workers may be apart.
const CLOCKS_APART: Duration = Duration::from_secs(5 * 60);
/// Looks for a batch that may have been handed in a moment ago: a list of batches may lag behind.
const LOOKS: u32 = 3;

/// What becomes of a batch's message.
pub(super) enum Step {
    /// This one takes its place; the sessions that have begun with it are reported as open.
    Next(Box<BatchJob>, Vec<Report>),
    /// These two take its place.
    Split(Vec<BatchJob>),
    /// It is over: reports, sessions that go on, and what it cost; `None` leaves what was reserved for it counted.
    Over(Vec<Report>, Vec<SessionJob>, Option<Spending>),
    /// It is delivered again, and thereby in doubt.
    HandBack,
    /// Its sweep was cancelled.
    Void,
}

/// What came of the search for a batch that may have been handed in.
enum Searched {
    /// It is this one.
    Is(String),
    /// It was not handed in.
    Nowhere,
    /// It cannot be told, and waiting is no use.
    Failed(Try),
    /// The search was broken off.
    Left,
}

/// What a look at a batch has shown.
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

/// Everything about one batch that the steps share.
pub(super) struct Followed<'a> {
    lane: &'a BatchLane,
    pub(super) client: &'a BatchClient,
    pub(super) job: &'a BatchJob,
    pub(super) asked: &'a [Asked<'a>],
    /// Who pays, where there are budgets.
    pub(super) accounts: &'a [AccountId],
    /// Fires when the batch has to go to another worker.
    pub(super) leave: &'a CancellationToken,
}

impl BatchLane {
    /// Takes a batch a step further.
    pub(crate) async fn follow(&self, job: BatchJob, redeliveries: u32, receipt: Held) {
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
        self.settle(job, step, redeliveries, receipt).await;
    }

    /// Drops a batch of a cancelled sweep, and tells its provider so. Says how many sessions that were.
    pub(crate) async fn void(&self, job: BatchJob, redeliveries: u32, receipt: Held) {
        let cancelling = async {
            let client = self.client()?;
            let provider_id = match job.provider_id.clone() {
                Some(id) => id,
                // Only what is known for certain to be ours is cancelled.
                None if redeliveries > 0 => match client.find(&job.id, job.intended_at, job.sessions.len()).await {
                    Ok(Found::Exactly(id)) => id,
                    _ => return None,
                },
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
        let accounts = accounts(&sweep, Some(&job.model));
        let followed = Followed { lane: self, client, job, asked: &asked, accounts: &accounts, leave };
        let step = match &job.provider_id {
            Some(id) => followed.watch(id).await,
            None => followed.hand_in(redeliveries).await,
        };
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

    async fn settle(&self, job: BatchJob, step: Step, redeliveries: u32, receipt: Held) {
        let to_queue = |job: Job| (self.queue.clone(), job);
        let batch = |job: BatchJob| to_queue(Job::Batch(Box::new(job)));
        let session = |job: SessionJob| to_queue(Job::Session(Box::new(job)));
        let (reports, jobs) = match step {
            Step::Next(next, reports) => (reports, vec![batch(*next)]),
            Step::Split(halves) => (Vec::new(), halves.into_iter().map(batch).collect()),
            Step::Over(reports, sessions, _) => (reports, sessions.into_iter().map(session).collect()),
            Step::HandBack => return receipt.hand_back().await,
            Step::Void => return self.void(job, redeliveries, receipt).await,
        };
        self.outbox.leave(Parcel { reports, jobs, receipt: Some(receipt) }).await;
    }
}

impl Followed<'_> {
    /// From an intent to a batch at the provider.
    async fn hand_in(&self, redeliveries: u32) -> Step {
        let (lane, job) = (self.lane, self.job);
        let calls: Vec<_> = self.asked.iter().map(Asked::call).collect();
        let prepared = self.client.prepare(&job.id, &calls).await;
        if lane.shared.is_cancelled(&job.sweep) {
            return Step::Void;
        }
        if prepared.lines == 0 {
            let refusals = calls.iter().map(|call| self.client.refusal(call)).collect::<Vec<_>>();
            return self.unsendable(|position| refusals.get(position).cloned().flatten());
        }
        if prepared.is_too_large && job.sessions.len() > 1 {
            return self.split(job.sessions.len() / 2);
        }
        let lines = prepared.lines;
        if redeliveries > 0 || self.is_too_old() {
            return match self.search(lines).await {
                Searched::Is(id) => self.found(id),
                Searched::Nowhere => self.renewed(),
                Searched::Failed(trouble) => self.all_failed(&self.perhaps_billed(trouble)),
                Searched::Left => self.left_in_doubt(),
            };
        }
        if let Err(instead) = self.fund().await {
            return instead;
        }
        // The money may have been waited for.
        if self.is_too_old() { self.renewed() } else { self.submit(prepared, lines).await }
    }

    async fn submit(&self, prepared: Prepared, lines: usize) -> Step {
        let trouble = match self.client.submit(&self.job.id, prepared, self.leave).await {
            Ok(id) => {
                self.count("submitted");
                tracing::info!(batch = named(self.job), provider_id = id, "handed in a batch");
                return self.with_id(id);
            }
            Err(SubmitError::Interrupted) => return self.unchanged(),
            Err(SubmitError::NotTaken(trouble)) => {
                self.count("refused");
                tracing::warn!(batch = named(self.job), detail = trouble.detail, "a batch was not taken");
                // Tried as often as a live call would have been.
                return self.ended_by(&trouble);
            }
            Err(SubmitError::Unclear(trouble)) => trouble,
        };
        tracing::warn!(
            batch = named(self.job),
            detail = trouble.detail,
            "nobody knows whether a batch was taken, looking for it"
        );
        for _ in 0..LOOKS {
            if self.pause(self.poll_pause()).await.is_none() {
                return self.left_in_doubt();
            }
            match self.search(lines).await {
                Searched::Is(id) => return self.found(id),
                Searched::Nowhere => {}
                Searched::Failed(trouble) => return self.all_failed(&self.perhaps_billed(trouble)),
                Searched::Left => return self.left_in_doubt(),
            }
        }
        self.count("refused");
        self.all_failed(&self.perhaps_billed(trouble))
    }

    /// Looks for the batch at the provider until it is clear whether it is there.
    async fn search(&self, lines: usize) -> Searched {
        let candidates = loop {
            match self.leave.run_until_cancelled(self.client.find(&self.job.id, self.job.intended_at, lines)).await {
                None => return Searched::Left,
                Some(Ok(Found::Exactly(id))) => return Searched::Is(id),
                Some(Ok(Found::Nothing)) => return Searched::Nowhere,
                Some(Ok(Found::Perhaps(candidates))) => break candidates,
                Some(Err(trouble)) if !rule(trouble.class).retried => return Searched::Failed(trouble),
                Some(Err(trouble)) => {
                    tracing::warn!(batch = named(self.job), detail = trouble.detail, "failed to look for a batch")
                }
            }
            if self.pause(self.poll_pause()).await.is_none() {
                return Searched::Left;
            }
        };
        // Whether a candidate is ours can be told when it is over, by its results.
        let mut candidates: BTreeSet<String> = candidates.into_iter().collect();
        loop {
            for id in candidates.clone() {
                match self.leave.run_until_cancelled(self.is_ours(&id)).await {
                    None => return Searched::Left,
                    Some(Ok(Some(true))) => return Searched::Is(id),
                    Some(Ok(Some(false))) => drop(candidates.remove(&id)),
                    Some(Ok(None)) => {}
                    Some(Err(trouble)) if !rule(trouble.class).retried => return Searched::Failed(trouble),
                    Some(Err(trouble)) => {
                        tracing::warn!(batch = named(self.job), detail = trouble.detail, "failed to look at a batch")
                    }
                }
            }
            if candidates.is_empty() {
                return Searched::Nowhere;
            }
            if self.pause(self.poll_pause()).await.is_none() {
                return Searched::Left;
            }
        }
    }

    /// Whether a batch of the provider is this one; `None` while that cannot be told.
    async fn is_ours(&self, provider_id: &str) -> Result<Option<bool>, Try> {
        match self.client.poll(provider_id).await?.state {
            BatchState::Running => Ok(None),
            BatchState::Failed(_) => Ok(Some(false)),
            BatchState::Ended => self.client.holds(provider_id, &self.job.id).await.map(Some),
        }
    }

    /// Follows the batch until it is over, and collects it.
    async fn watch(&self, provider_id: &str) -> Step {
        let (lane, job) = (self.lane, self.job);
        loop {
            if lane.shared.is_cancelled(&job.sweep) {
                return Step::Void;
            }
            match self.leave.run_until_cancelled(self.look(provider_id)).await {
                None => return self.unchanged(),
                Some(Ok(Look::Running)) => {}
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
                Some(Err(trouble)) if !rule(trouble.class).retried => {
                    self.count("lost");
                    tracing::error!(batch = named(job), detail = trouble.detail, "a batch cannot be followed any more");
                    return self.all_failed(&self.perhaps_billed(trouble));
                }
                Some(Err(trouble)) => {
                    tracing::warn!(batch = named(job), detail = trouble.detail, "failed to look at a batch")
                }
            }
            if lane.shared.clock.now().duration_since(job.intended_at) > FOLLOWED_FOR {
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

    /// The provider has the batch: its sessions have begun.
    fn with_id(&self, id: String) -> Step {
        let reports = opened(self.lane, self.job, self.asked);
        Step::Next(Box::new(BatchJob { provider_id: Some(id), ..self.job.clone() }), reports)
    }

    fn found(&self, id: String) -> Step {
        self.count("found");
        tracing::info!(batch = named(self.job), provider_id = id, "found a batch that had been handed in");
        self.with_id(id)
    }

    /// The next worker has to know that the batch is in doubt: by its age, where that is beyond doubt whatever the clocks say, and else
    /// by its being delivered again.
    fn left_in_doubt(&self) -> Step {
        let age = self.lane.shared.clock.now().duration_since(self.job.intended_at);
        if age > SignedDuration::try_from(SUBMIT_WITHIN + CLOCKS_APART).unwrap_or(SignedDuration::MAX) {
            return self.unchanged();
        }
        Step::HandBack
    }

    /// Whether the time is over in which a batch of this intent may be handed in.
    fn is_too_old(&self) -> bool {
        let age = self.lane.shared.clock.now().duration_since(self.job.intended_at);
        age > SignedDuration::try_from(SUBMIT_WITHIN).unwrap_or(SignedDuration::MAX)
    }

    /// For another worker, as it is.
    pub(super) fn unchanged(&self) -> Step {
        Step::Next(Box::new(self.job.clone()), Vec::new())
    }

    /// The intent with a time of its own, so that the time in which its batch may be handed in stays bounded.
    fn renewed(&self) -> Step {
        let job = BatchJob { intended_at: self.lane.shared.clock.now(), ..self.job.clone() };
        Step::Next(Box::new(job), Vec::new())
    }

    /// Two intents, one of the first `lines` sessions and one of the rest, where there is no room or no money for all at once.
    pub(super) fn split(&self, lines: usize) -> Step {
        let (job, now) = (self.job, self.lane.shared.clock.now());
        let (first, second) = job.sessions.split_at(lines.min(job.sessions.len()));
        let half = |sessions: &[SessionJob]| {
            let id = gathering::new_id(&self.lane.shared)?;
            Ok::<_, regatta_proto::IdError>(BatchJob {
                id,
                intended_at: now,
                sessions: sessions.to_vec(),
                ..job.clone()
            })
        };
        match half(first).and_then(|first| Ok(vec![first, half(second)?])) {
            Ok(halves) => Step::Split(halves),
            Err(_) => Step::HandBack,
        }
    }

    fn results(&self) -> Results<'_> {
        Results::of(self.lane, self.job)
    }

    /// Every line failed like this; whether it is tried again is up to the error table.
    fn all_failed(&self, trouble: &dyn Fn(usize) -> Try) -> Step {
        self.results().failed(self.asked, trouble, self.lane.tries_max)
    }

    /// Every line failed like this, and has been tried as often as it may be.
    pub(super) fn ended_by(&self, trouble: &Try) -> Step {
        self.results().failed(self.asked, &|_| trouble.clone(), 0)
    }

    fn unsendable(&self, refusal: impl Fn(usize) -> Option<Try>) -> Step {
        let unsendable = || trouble(ErrorClass::BadRequest, "the request cannot be part of a batch".to_owned());
        self.all_failed(&|position| refusal(position).unwrap_or_else(unsendable))
    }

    /// `trouble` that leaves open whether the provider has worked on the lines.
    fn perhaps_billed(&self, trouble: Try) -> impl Fn(usize) -> Try {
        move |position| {
            let at_most = self.asked.get(position).and_then(|asked| asked.call().at_most());
            Try { at_most, ..trouble.clone() }
        }
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

    fn count(&self, state: &str) {
        self.lane.shared.metrics.batches.with_label_values(&[state]).inc();
    }
}
