//! Drives one session: asks the benchmark what comes next, does it, until it is over.

use std::sync::Arc;
use std::time::Duration;

use regatta_benchmarks::{Item, Sessions, Step};
use regatta_catalog::Sweep;
use regatta_llm::{CallError, ChatCall, Payer, SessionTag};
use regatta_memory::ByteHolder;
use regatta_proto::{
    AccountId, Call, Cause, Cell, ChatRequest, Clock, ErrorClass, Event, Filtered, ItemIndex, ModelSpec, Outcome,
    Price, Role, Transcript,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::attempts::{CallMeter, OpenGuard};
use crate::cast::{Cast, Player};
use crate::checkpoints::CheckpointWriter;
use crate::external::shared::External;
use crate::traced::TracedAttempt;

/// The way in which this process was done with a session.
pub(crate) enum Ended {
    /// The session is over, with this outcome.
    Over(Outcome),
    /// The session must go on elsewhere; the transcript holds everything so far.
    Interrupted,
    /// The sweep was cancelled before the session began; nobody waits for it.
    Dropped,
    /// The job is delivered again elsewhere, and no call of it is paid yet.
    Unwanted,
}

/// One session with everything it needs.
pub(crate) struct Session<'a> {
    pub(crate) sweep: &'a Sweep,
    pub(crate) cell: &'a Cell,
    pub(crate) suite: Arc<dyn Sessions>,
    pub(crate) index: ItemIndex,
    pub(crate) item: &'a Item,
    pub(crate) cast: &'a Cast,
    pub(crate) attempt: &'a OpenGuard<'a>,
    pub(crate) checkpoint: &'a CheckpointWriter,
    /// Fires when no further call may begin.
    pub(crate) interrupt: &'a CancellationToken,
    /// Fires, besides with `interrupt`, when its job is delivered again elsewhere; for sessions that have not called yet.
    pub(crate) waited_for: &'a CancellationToken,
    /// When it was begun here.
    pub(crate) begun: Instant,
    /// Longest time from `begun` until the session is interrupted.
    pub(crate) hand_over_after: Duration,
    /// True once the session's sweep is cancelled.
    pub(crate) is_cancelled: &'a (dyn Fn() -> bool + Sync),
    /// Bytes that it keeps, and that are read for it.
    pub(crate) holder: &'a ByteHolder,
    /// Runs sessions of external agents.
    pub(crate) external: &'a External,
    /// Takes spans of what it does.
    pub(crate) traced: Option<&'a TracedAttempt>,
    pub(crate) clock: &'a dyn Clock,
}

impl Session<'_> {
    /// Appends to `transcript` until the session is over or interrupted. A call in flight is awaited, never thrown away: it is paid.
    pub(crate) async fn drive(&self, transcript: &mut Transcript) -> Ended {
        loop {
            let step = {
                let _turn = self.sweep.turn(self.cell).await;
                self.suite.next(self.index, &self.cell.setting, transcript)
            };
            let (role, mut request) = match step {
                Step::Done => return Ended::Over(Outcome::Measured),
                Step::Unfit(reason) => {
                    tracing::error!(item = %self.item.id, reason, "the transcript is of no such session");
                    return Ended::Over(Outcome::NotMeasured { cause: Cause::TranscriptUnfit });
                }
                Step::Failed(failed) => {
                    tracing::error!(item = %self.item.id, reason = failed.why, errors = failed.errors, "the benchmark's program failed");
                    transcript.events.push(Event::BenchmarkFailed(failed));
                    return Ended::Over(Outcome::NotMeasured { cause: Cause::BenchmarkFailed });
                }
                Step::Delegate(task) => match self.delegate(&task, transcript).await {
                    Some(ended) => return ended,
                    None => continue,
                },
                Step::Ask(role, request) => (role, request),
            };
            if self.interrupt.is_cancelled() {
                return Ended::Interrupted;
            }
            let Some(player) = self.resolve(role, &mut request) else {
                return Ended::Over(Outcome::NotMeasured { cause: Cause::Internal });
            };
            let meter = self.meter();
            let repeat = asked_before(transcript, role, &request);
            let is_free = transcript.calls().next().is_none();
            // A session of one call is over when there is something to keep.
            if !is_free {
                self.checkpoint.keep(transcript);
            }
            let interrupt = if is_free { self.waited_for } else { self.interrupt };
            match self.ask(player, role, &request, repeat, (interrupt, &meter)).await {
                Ok(call) => {
                    transcript.events.push(Event::Call(Box::new(call)));
                    self.record(transcript, &[meter]);
                }
                Err(CallError::Interrupted(_)) if is_free && !self.interrupt.is_cancelled() => return Ended::Unwanted,
                Err(CallError::Interrupted(failed)) => {
                    if !failed.tries.is_empty() {
                        transcript.events.push(Event::Failed(failed));
                    }
                    return Ended::Interrupted;
                }
                Err(CallError::Failed(failed)) => {
                    let class = failed.tries.last().map(|last| last.class);
                    transcript.events.push(Event::Failed(failed));
                    let internal = Outcome::NotMeasured { cause: Cause::Internal };
                    return Ended::Over(
                        class.map_or(internal, |class| outcome_of(role, class, self.sweep.lock.filtered)),
                    );
                }
            }
        }
    }

    /// Player who answers `request` to `role`; sets the player's sampling parameters in `request`. Logs an error and returns `None` if
    /// nobody plays the role.
    pub(crate) fn resolve(&self, role: Role, request: &mut ChatRequest) -> Option<&Player> {
        let Some(player) = self.cast.player(role, request.member.as_ref()) else {
            // The plan and the broadcasts see to it that everybody is there.
            let member = request.member.as_ref().map(|member| member.as_str());
            tracing::error!(%role, member, "no model plays this role of a session on this worker");
            return None;
        };
        if let Some(parameters) = &player.parameters {
            override_sampling(request, parameters);
        }
        Some(player)
    }

    /// One call; `repeat` is how often the session has asked the same before.
    ///
    /// # Errors
    /// As [`regatta_llm::Endpoint::chat`].
    pub(crate) async fn ask(
        &self,
        player: &Player,
        role: Role,
        request: &ChatRequest,
        repeat: u32,
        (interrupt, meter): (&CancellationToken, &CallMeter<'_>),
    ) -> Result<Call, CallError> {
        let call = ChatCall {
            model: &player.model,
            role,
            attempt: self.attempt.number(),
            request,
            payer: Payer {
                cache: self.sweep.cache(self.cell, self.index),
                ..payer(self.sweep, &player.accounts, player.price())
            },
            session: Some(SessionTag {
                benchmark: &self.cell.benchmark,
                setting: &self.cell.setting,
                item: &self.item.id,
                trial: self.cell.trial,
                role,
                seed: self.sweep.seed(self.cell, self.item).of_part(role, repeat),
            }),
            repeat,
            interrupt,
            meter: Some(meter),
            holder: Some(self.holder),
        };
        player.endpoint.chat(call).await
    }

    /// Tells what the attempt has spent so far: calls have come to be in the transcript, those of `recorded`.
    pub(crate) fn record(&self, transcript: &Transcript, recorded: &[Arc<CallMeter<'_>>]) {
        self.attempt.record(transcript.totals_of(self.attempt.number()), recorded);
        if let Some(traced) = self.traced {
            traced.tell(self.sweep, transcript, self.clock.now());
        }
    }

    /// A call of it begins.
    pub(crate) fn meter(&self) -> Arc<CallMeter<'_>> {
        Arc::new(self.attempt.call(self.traced))
    }
}

/// Number of earlier calls in `transcript` that put the same request to `role`. Each repetition is a sample of its own, with its own seed
/// and its own entry in the response cache; otherwise an answer that a benchmark rejects would come again and again.
fn asked_before(transcript: &Transcript, role: Role, request: &ChatRequest) -> u32 {
    transcript.calls().filter(|call| call.role == role && call.request == *request).count() as u32
}

/// Outcome of a session whose call to `role` was given up. Only the agent is under test: a failure of another role leaves the session not
/// measured.
fn outcome_of(role: Role, class: ErrorClass, filtered: Filtered) -> Outcome {
    match Outcome::of_failure(class, filtered) {
        Outcome::ModelFailure { .. } | Outcome::NotMeasured { cause: Cause::ContentFilter } if role != Role::Agent => {
            Outcome::NotMeasured { cause: Cause::RequestRefused }
        }
        outcome => outcome,
    }
}

/// On whose behalf models are called for `sweep`.
pub(crate) fn payer<'a>(sweep: &'a Sweep, accounts: &'a [AccountId], price: Option<&'a Price>) -> Payer<'a> {
    Payer { sweep: &sweep.id, share: sweep.lock.share, accounts, price, cache: sweep.lock.cache }
}

pub(crate) fn override_sampling(request: &mut ChatRequest, model: &ModelSpec) {
    let sampling = &mut request.sampling;
    sampling.temperature = model.temperature.or(sampling.temperature);
    sampling.top_p = model.top_p.or(sampling.top_p);
    sampling.max_tokens = model.max_tokens.or(sampling.max_tokens);
    request.thinking = model.thinking.or(request.thinking);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_agents_partners_cannot_do_is_never_its_failure() {
        for class in [ErrorClass::ContextLength, ErrorClass::ContentFilter] {
            assert!(matches!(outcome_of(Role::Agent, class, Filtered::Wrong), Outcome::ModelFailure { .. }));
            for (role, filtered) in
                [Role::User, Role::Environment].into_iter().zip([Filtered::Wrong, Filtered::Missing])
            {
                let outcome = outcome_of(role, class, filtered);
                assert_eq!(outcome, Outcome::NotMeasured { cause: Cause::RequestRefused }, "{role} {filtered:?}");
            }
        }
        let quota = Outcome::NotMeasured { cause: Cause::Quota };
        assert_eq!(outcome_of(Role::User, ErrorClass::Quota, Filtered::Wrong), quota);
    }

    #[test]
    fn the_spec_says_whether_a_filtered_agent_is_wrong_or_missing() {
        let of = |filtered| outcome_of(Role::Agent, ErrorClass::ContentFilter, filtered);
        assert_eq!(of(Filtered::Wrong), Outcome::ModelFailure { cause: Cause::ContentFilter });
        assert_eq!(of(Filtered::Missing), Outcome::NotMeasured { cause: Cause::ContentFilter });
    }
}
