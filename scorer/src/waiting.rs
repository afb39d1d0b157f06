//! Sessions that wait for verdicts: how far each has come, and what becomes of it if nobody answers.
//!
//! A session whose own judge does not answer is not measured. One whose audit's judge does not keeps the score of its own and is not audited:
//! its stored scores lack the audit's values, and reports count it.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use regatta_backends::{AwaitingSession, Settlement, SettlementResult};
use regatta_catalog::Sweep;
use regatta_proto::{AttemptId, Cause, Digest, Judge, ModelRef, Question, SessionKey, Transcript, wire};
use regatta_report::stored_scores;
use regatta_traces::session_span;
use serde_json::Value;

use crate::audits::{SessionScoring, names};
use crate::repeats::repeats;
use crate::scorer::{Scorer, ScorerError};
use crate::verdicts::{Known, Subject, puts, score_all};

/// Sessions that are read at once to ask again what they wait for.
pub(crate) const SESSIONS_A_READING: u32 = 256;

/// A waiting session with all verdicts that are known.
pub(crate) enum Progress<'s> {
    /// All verdicts are known, and the session is settled with this result.
    Settled(SettlementResult),
    /// The session's own judge has given its score, and the audit's has questions without an answer.
    NeedsAudit {
        /// Scores by its own judge, as the ledger keeps them.
        scores: Value,
        /// Judge of the audit, and what it is to be asked.
        needed: (&'s Judge, Vec<Question>),
    },
    /// The session's own judge, which comes first, has questions without an answer.
    Needs(Vec<(&'s Judge, Vec<Question>)>),
}

/// The names under which sessions wait for verdicts of `member`: its own, and those of panels that it sits on and of audits.
pub(crate) fn judges_with(sweep: &Sweep, member: &ModelRef) -> BTreeSet<ModelRef> {
    let named = sweep.lock.benchmarks.values().flat_map(names);
    named.filter(|(_, members)| members.contains(&member)).map(|(name, _)| name).collect()
}

/// Each of `waiting` with its transcript.
///
/// # Errors
/// When a transcript cannot be read.
pub(crate) fn with_transcripts(
    waiting: Vec<AwaitingSession>,
) -> Result<Vec<(AwaitingSession, Transcript)>, ScorerError> {
    let with_transcript = |session: AwaitingSession| {
        let transcript = wire::decode(&session.transcript)?;
        Ok((session, transcript))
    };
    waiting.into_iter().map(with_transcript).collect()
}

/// `sessions` as they are scored.
///
/// # Errors
/// When one is of no cell of `sweep`.
pub(crate) fn subjects<'a>(
    sweep: &'a Sweep,
    sessions: &'a [(AwaitingSession, Transcript)],
) -> Result<Vec<Subject<'a>>, ScorerError> {
    let subject = |(session, transcript): &'a (AwaitingSession, Transcript)| {
        let cell = sweep.cell(session.key.cell).ok_or_else(|| ScorerError::UnknownSession(session.key.clone()))?;
        Ok(Subject { cell, item: session.key.item, transcript })
    };
    sessions.iter().map(subject).collect()
}

/// `true` if an audit draws the item of the session `key`.
fn is_sampled(sweep: &Sweep, key: &SessionKey) -> bool {
    let drawn = sweep.cell(key.cell).and_then(|cell| sweep.audited(cell));
    drawn.is_some_and(|drawn| drawn.contains(&key.item))
}

/// Progress of the session `key`, whose scoring by all its judges is `scoring`.
///
/// # Errors
/// When it is no session of `sweep`, or a score is no JSON.
pub(crate) fn progress<'s>(
    key: &SessionKey,
    subject: &Subject<'_>,
    sweep: &Sweep,
    known: &Known,
    scoring: Option<SessionScoring<'s>>,
) -> Result<Progress<'s>, ScorerError> {
    Ok(match scoring {
        Some(SessionScoring::Scored { scores, audited }) => Progress::Settled(SettlementResult::Scored(stored_scores(
            &scores,
            &repeats(subject, sweep, known),
            audited.as_ref(),
        )?)),
        Some(SessionScoring::NeedsAudit { scores, needed }) => {
            Progress::NeedsAudit { scores: stored_scores(&scores, &repeats(subject, sweep, known), None)?, needed }
        }
        Some(SessionScoring::Unfit(reason)) => {
            let _about = session_span(key, None).entered();
            tracing::error!(reason, "the transcript is of no such session");
            Progress::Settled(SettlementResult::NotMeasured(Cause::TranscriptUnfit))
        }
        Some(SessionScoring::Failed(failed)) => {
            let _about = session_span(key, None).entered();
            tracing::error!(reason = failed.why, errors = failed.errors, "the benchmark's program failed");
            Progress::Settled(SettlementResult::NotMeasured(Cause::BenchmarkFailed))
        }
        Some(SessionScoring::Needs(needed)) if !needed.is_empty() => Progress::Needs(needed),
        Some(SessionScoring::Needs(_)) | None => return Err(ScorerError::UnknownSession(key.clone())),
    })
}

impl Scorer {
    /// Settles sessions that wait for `unanswered`, questions that `member` did not answer in `attempt`.
    pub(crate) async fn settle_unanswered(
        &self,
        sweep: &Sweep,
        member: &ModelRef,
        unanswered: &[Digest],
        attempt: &AttemptId,
    ) -> Result<(), ScorerError> {
        let is_lost = |judge: &Judge, questions: &[Question]| {
            let mut asked = questions.iter().flat_map(|question| puts(judge, question));
            asked.any(|put| put.to == *member && unanswered.contains(&put.digest))
        };
        for name in judges_with(sweep, member) {
            let waiting = self.ledger.awaiting(&sweep.id, &name, unanswered).await?;
            // Scoring is not free, and one that no second judge scores has lost what it waits for.
            let (sampled, others): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|session| is_sampled(sweep, &session.key));
            let is_judge = |session: &AwaitingSession| {
                let judge = sweep.cell(session.key.cell).and_then(|cell| sweep.benchmark(cell)?.judge.as_ref());
                judge.is_some_and(|judge| judge.ids().contains(&member))
            };
            let unmeasured = |session: AwaitingSession| Settlement {
                key: session.key,
                result: SettlementResult::NotMeasured(Cause::JudgeUnavailable),
            };
            let settlements = others.into_iter().filter(is_judge).map(unmeasured).collect();
            self.settle(sweep, settlements, Some(attempt), self.clock.now()).await?;
            self.settle_lost(sweep, sampled, &is_lost, Some(attempt)).await?;
        }
        Ok(())
    }

    /// Settles all sessions of `sweep` that wait for verdicts: nobody will give any.
    ///
    /// # Errors
    /// When a store fails.
    pub fn settle_left_waiting<'a>(&'a self, sweep: &'a Sweep) -> BoxFuture<'a, Result<(), ScorerError>> {
        Box::pin(async move {
            let mut after = None;
            loop {
                let waiting = self.ledger.awaiting_after(&sweep.id, after, SESSIONS_A_READING).await?;
                let Some(last) = waiting.last() else { return Ok(()) };
                after = Some((last.key.cell, last.key.item));
                self.settle_lost(sweep, waiting, &|_, _| true, None).await?;
            }
        })
    }

    /// Settles those of `waiting` of which a question that they need is lost.
    async fn settle_lost(
        &self,
        sweep: &Sweep,
        waiting: Vec<AwaitingSession>,
        is_lost: &(dyn Fn(&Judge, &[Question]) -> bool + Sync),
        attempt: Option<&AttemptId>,
    ) -> Result<(), ScorerError> {
        let since = self.clock.now();
        let sessions = with_transcripts(waiting)?;
        let subjects = subjects(sweep, &sessions)?;
        let mut known = Known::default();
        let scorings = score_all(self, sweep, &subjects, &mut known).await?;
        let mut settlements = Vec::new();
        for (((session, _), subject), scoring) in sessions.iter().zip(&subjects).zip(scorings) {
            let result = match progress(&session.key, subject, sweep, &known, scoring)? {
                Progress::Settled(result) => result,
                Progress::NeedsAudit { scores, needed: (auditor, questions) } if is_lost(auditor, &questions) => {
                    SettlementResult::Scored(scores)
                }
                Progress::Needs(needed) if needed.first().is_some_and(|(judge, asked)| is_lost(judge, asked)) => {
                    SettlementResult::NotMeasured(Cause::JudgeUnavailable)
                }
                Progress::NeedsAudit { .. } | Progress::Needs(_) => continue,
            };
            settlements.push(Settlement { key: session.key.clone(), result });
        }
        self.settle(sweep, settlements, attempt, since).await
    }
}
