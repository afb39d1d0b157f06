//! The search for a batch that may have been handed in by a worker that is gone, or whose provider did not say.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use regatta_llm::{BatchState, Found, SUBMIT_WITHIN, rule};
use regatta_proto::{ErrorClass, Try};

use super::following::{Followed, Step};
use super::{named, trouble};

/// Most by which the clocks of two workers may differ.
const CLOCKS_APART: Duration = Duration::from_secs(5 * 60);

/// Result of the search for a batch that may have been submitted.
pub(super) enum Searched {
    /// The batch was submitted; its id at the provider.
    Is(String),
    /// The batch was not submitted.
    Nowhere,
    /// The provider refused to say, and trying again is no use.
    Failed(Try),
    /// The search was interrupted.
    Left,
}

/// True if asking again is no use. Keys are put right again, and what is paid for should then be found.
fn is_final(trouble: &Try) -> bool {
    !rule(trouble.class).retried && trouble.class != ErrorClass::Auth
}

impl Followed<'_> {
    /// Looks for the batch, of an intent of one of the times `intended`, at the provider until it is clear whether it is there.
    pub(super) async fn search(&self, lines: usize, intended: RangeInclusive<Timestamp>) -> Searched {
        let candidates = loop {
            match self.leave.run_until_cancelled(self.client.find(&self.job.id, intended.clone(), lines)).await {
                None => return Searched::Left,
                Some(Ok(Found::Exactly(id))) => return Searched::Is(id),
                Some(Ok(Found::Nothing)) => return Searched::Nowhere,
                Some(Ok(Found::Perhaps(candidates))) => break candidates,
                Some(Err(trouble)) if is_final(&trouble) => return Searched::Failed(trouble),
                Some(Err(trouble)) => {
                    if self.provider_away.fails() {
                        tracing::warn!(batch = named(self.job), detail = trouble.detail, "failed to look for a batch");
                    }
                    if self.has_no_end() {
                        return Searched::Failed(trouble);
                    }
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
                    Some(Ok(None)) => self.provider_away.ends(),
                    Some(Err(trouble)) if is_final(&trouble) => return Searched::Failed(trouble),
                    Some(Err(trouble)) => {
                        if self.provider_away.fails() {
                            tracing::warn!(
                                batch = named(self.job),
                                detail = trouble.detail,
                                "failed to look at a batch"
                            );
                        }
                    }
                }
            }
            if candidates.is_empty() {
                return Searched::Nowhere;
            }
            if self.has_no_end() {
                let detail = "batches that may be this one have no end".to_owned();
                return Searched::Failed(trouble(ErrorClass::Timeout, detail));
            }
            if self.pause(self.poll_pause()).await.is_none() {
                return Searched::Left;
            }
        }
    }

    /// The time of the intent that is here.
    pub(super) const fn of_this_intent(&self) -> RangeInclusive<Timestamp> {
        self.job.intended_at..=self.job.intended_at
    }

    /// Times of all intents of the batch: copies of its job, which come of copies of another batch or were renewed, have times of their own.
    pub(super) fn of_all_copies(&self) -> RangeInclusive<Timestamp> {
        self.job.since()..=self.lane.shared.clock.now()
    }

    /// True if the provider's batch is this one; `None` while it still runs, because only results name the job.
    async fn is_ours(&self, provider_id: &str) -> Result<Option<bool>, Try> {
        match self.client.poll(provider_id).await?.state {
            BatchState::Running => Ok(None),
            BatchState::Failed(_) => Ok(Some(false)),
            BatchState::Ended => self.client.holds(provider_id, &self.job.id).await.map(Some),
        }
    }

    /// The next worker has to know that the batch is in doubt: by its age, where that is beyond doubt whatever the clocks say, and else
    /// by its being delivered again.
    pub(super) fn left_in_doubt(&self) -> Step {
        if self.is_past_doubt() { self.unchanged() } else { Step::HandBack }
    }

    /// `true` if the batch, should it have been handed in, was so minutes ago, whatever the clocks say: every list has it by now.
    pub(super) fn is_past_doubt(&self) -> bool {
        let age = self.lane.shared.clock.now().duration_since(self.job.intended_at);
        age > SignedDuration::try_from(SUBMIT_WITHIN + CLOCKS_APART).unwrap_or(SignedDuration::MAX)
    }
}
