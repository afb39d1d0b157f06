//! From an intent to a batch at its provider, at most once: also when the broker has the intent twice, because its connection was lost before
//! it had confirmed it, or because two workers had the batch that it comes of (`deriving`). In one process the copies take turns (`holdings`),
//! and the later one is in doubt. Of several processes the one hands the batch in that has claimed its reservation at the accounts; the others
//! look for the batch until it is there, or until nobody has heard of the claim any more. The claim is made again right before the request that
//! makes the batch, so that a worker which is cut off from the accounts does not send it on the strength of a claim of long ago; and nobody hears
//! of the end of a claim sooner than that of such a request. Without a price there is no account, and whoever is about to hand it in looks for
//! it, before the upload of its lines and after it; copies that are handed in within the same moment are not noticed then, nor those at a
//! provider that lists no names, and no account counts them.

use std::ops::RangeInclusive;
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use regatta_llm::{Found, Prepared, SubmitError};
use regatta_proto::{BatchJob, Claimed, ErrorClass, Money, Try};
use tokio::time::sleep;

use super::asking::Asked;
use super::following::{Followed, Step};
use super::searching::Searched;
use super::standing::Standing;
use super::{deriving, named, trouble};

/// Looks for a batch that may have been handed in a moment ago: a list of batches may lag behind.
const LOOKS: u32 = 3;

impl Followed<'_> {
    /// From an intent to a batch at the provider.
    pub(super) async fn hand_in(&self, standing: Standing) -> Step {
        let (lane, job) = (self.lane, self.job);
        let calls: Vec<_> = self.asked.iter().map(Asked::call).collect();
        let prepared = self.client.prepare(&job.id, &calls).await;
        if lane.shared.is_void(job) {
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
        self.tell_of_intent(standing).await;
        // Looked at again: making it ready may have taken long.
        if standing == Standing::InDoubt || self.standing() == Standing::InDoubt {
            // It may take a day.
            drop(prepared);
            let looks = if self.is_past_doubt() { 1 } else { LOOKS };
            return self.look_for(lines, self.of_this_intent(), looks).await.unwrap_or_else(|| self.renewed());
        }
        if self.accounts.is_empty()
            && let Some(id) = self.listed(lines).await
        {
            return self.found(id);
        }
        match self.fund(prepared).await {
            Ok(prepared) => self.submit(prepared, lines).await,
            Err(instead) => instead,
        }
    }

    async fn submit(&self, prepared: Prepared, lines: usize) -> Step {
        let may_create = || self.may_create(lines).boxed();
        let submitting = self.client.submit(&self.job.id, prepared, self.leave, &may_create);
        let trouble = match self.renewing(submitting).await {
            Ok(id) => {
                self.count("submitted");
                tracing::info!(batch = named(self.job), provider_id = id, "handed in a batch");
                return self.with_id(id);
            }
            Err(SubmitError::Interrupted) => {
                self.give_up(Money::ZERO).await;
                return self.unchanged();
            }
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
            "it is unknown whether the provider took a batch, looking for it"
        );
        if self.pause(self.poll_pause()).await.is_none() {
            return self.left_in_doubt();
        }
        match self.look_for(lines, self.of_this_intent(), LOOKS).await {
            Some(step) => step,
            None => {
                self.count("refused");
                self.all_failed(&self.perhaps_billed(trouble))
            }
        }
    }

    /// Asked right before a request that makes the batch, since its lines may have been uploaded for minutes: true if the intent is not too
    /// old for the batch to be found again, and nobody else may hand it in. The claim of this step is heard of then, so that it stands for as
    /// long as that request may take.
    async fn may_create(&self, lines: usize) -> bool {
        loop {
            let age = self.lane.shared.clock.now().duration_since(self.job.intended_at);
            if age > self.client.created_within() {
                return false;
            }
            if self.accounts.is_empty() {
                return self.listed(lines).await.is_none();
            }
            match self.leave.run_until_cancelled(self.claim_again()).await {
                None => return false,
                Some(Some(is_granted)) => return is_granted,
                Some(None) => {}
            }
            if self.leave.run_until_cancelled(sleep(self.heard_every())).await.is_none() {
                return false;
            }
        }
    }

    /// Another has claimed the reservation: it hands in a copy of this intent, or has done so, or died over it. Looks for the batch until it is
    /// there, or until the claim was silent for longer than a request that makes it may take, and for so many looks after that. A copy that was
    /// cut in two is cut at the same line.
    pub(super) async fn wait_behind(&self, mut claimed: Claimed, lines: usize) -> Step {
        if let Some(first) = self.cut_by(&claimed.by) {
            return self.split(first);
        }
        tracing::info!(batch = named(self.job), by = %claimed.by, "another worker may be handing in a batch, looking for it");
        self.tell_of_intent(Standing::InDoubt).await;
        let mut looks = 0;
        loop {
            if let Some(step) = self.look_for(lines, self.of_all_copies(), 1).await {
                return step;
            }
            let is_silent = Duration::from_millis(claimed.silent_ms) > self.claim_stands();
            looks = if is_silent { looks + 1 } else { 0 };
            if looks == LOOKS {
                break;
            }
            if self.pause(self.poll_pause()).await.is_none() {
                return self.left_in_doubt();
            }
            match self.client.give_up(&self.job.id, self.accounts, Money::ZERO, &self.claim).await {
                Ok(Some(standing)) => match self.cut_by(&standing.by) {
                    Some(first) => return self.split(first),
                    None => claimed = standing,
                },
                // It was given up by whoever had it.
                Ok(None) => return self.renewed(),
                Err(error) => {
                    claimed.silent_ms = 0;
                    if self.lane.store_away.fails() {
                        tracing::warn!(batch = named(self.job), %error, "failed to ask who has claimed the money of a batch");
                    }
                }
            }
        }
        if let Err(error) = self.client.give_up(&self.job.id, self.accounts, Money::ZERO, &claimed.by).await {
            tracing::warn!(batch = named(self.job), %error, "failed to end the claim of a worker that is gone");
        }
        self.renewed()
    }

    /// The provider's id of the batch, where its list names it.
    async fn listed(&self, lines: usize) -> Option<String> {
        let finding = self.client.find(&self.job.id, self.of_all_copies(), lines);
        match self.leave.run_until_cancelled(finding).await? {
            Ok(Found::Exactly(id)) => Some(id),
            Ok(Found::Nothing | Found::Perhaps(_)) | Err(_) => None,
        }
    }

    /// Looks so often for a batch that may have been handed in; `None` when it is nowhere.
    async fn look_for(&self, lines: usize, intended: RangeInclusive<Timestamp>, looks: u32) -> Option<Step> {
        for look in 1..=looks {
            match self.search(lines, intended.clone()).await {
                Searched::Is(id) => return Some(self.found(id)),
                Searched::Nowhere => {}
                Searched::Failed(trouble) => return Some(self.all_failed(&self.perhaps_billed(trouble))),
                Searched::Left => return Some(self.left_in_doubt()),
            }
            if look < looks && self.pause(self.poll_pause()).await.is_none() {
                return Some(self.left_in_doubt());
            }
        }
        None
    }

    /// The provider has the batch: its sessions have begun.
    fn with_id(&self, id: String) -> Step {
        Step::Next(Box::new(BatchJob { provider_id: Some(id), ..self.job.clone() }), self.begun())
    }

    fn found(&self, id: String) -> Step {
        self.count("found");
        tracing::info!(batch = named(self.job), provider_id = id, "found a batch that had been handed in");
        self.with_id(id)
    }

    /// State of the batch now, if its message was not delivered before.
    fn standing(&self) -> Standing {
        Standing::of(self.job, 0, self.lane.shared.clock.now())
    }

    /// The intent, of which nothing was handed in, with a time of its own, so that the time in which its batch may be handed in stays bounded.
    pub(super) fn renewed(&self) -> Step {
        if let Some(turn) = &self.turn {
            turn.leave_free();
        }
        let (since, intended_at) = (Some(self.job.since()), self.lane.shared.clock.now());
        Step::Next(Box::new(BatchJob { intended_at, since, ..self.job.clone() }), Vec::new())
    }

    /// Two intents, one of the first `lines` sessions and one of the rest, where there is no room or no money for all at once.
    pub(super) fn split(&self, lines: usize) -> Step {
        Step::Split(deriving::cut(self.job, lines, self.lane.shared.clock.now()).into())
    }

    fn unsendable(&self, refusal: impl Fn(usize) -> Option<Try>) -> Step {
        let unsendable = || trouble(ErrorClass::BadRequest, "the request cannot be part of a batch".to_owned());
        self.all_failed(&|position| refusal(position).unwrap_or_else(unsendable))
    }
}
