//! Questions to judges, and what their answers settle.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use jiff::Timestamp;
use regatta_backends::{ASKED_WITHIN, AwaitingSession, Judged, Settlement, SettlementResult};
use regatta_catalog::Sweep;
use regatta_proto::{AskedQuestion, AttemptId, Cause, Digest, Job, JudgeJob, JudgeOutcome, ModelRef, Question};
use regatta_traces::session_span;
use tokio::time::Instant;

use crate::scorer::{Scorer, ScorerError};
use crate::traced::settled;
use crate::verdicts::{Known, Open, Put, answerer, enter, score_all};
use crate::waiting::{Progress, SESSIONS_A_READING, judges_with, progress, subjects, with_transcripts};

/// Similarities of one judge job: enough to spread its cost, few enough that a lost job repeats little.
const SIMILARITIES_PER_JOB: usize = 32;
/// Judgements of one judge job: each is a conversation of several seconds, and up to as many as its limit of replies.
const JUDGEMENTS_PER_JOB: usize = 4;
/// Questions that are claimed at once: so few that they are asked within the time for that.
const QUESTIONS_A_CLAIM: usize = 1_024;
/// Verdicts that one session may wait for; a benchmark that wants more goes round in circles.
const QUESTIONS_MAX: usize = 100_000;

/// Sends those of `open` that nobody has sent before, then settles sessions whose answers came in the meantime; and so on with what these
/// need further.
pub(crate) async fn ask(scorer: &Scorer, sweep: &Sweep, mut open: Open) -> Result<(), ScorerError> {
    while !open.is_empty() {
        let mut further = Open::new();
        for (judge, mut questions) in open {
            let mut digests: Vec<Digest> = questions.keys().copied().collect();
            digests.sort_unstable();
            for part in digests.chunks(QUESTIONS_A_CLAIM) {
                publish(scorer, sweep, &judge, part, &mut questions).await?;
            }
            // Another scorer may have saved an answer after we looked and searched for waiting sessions before ours were there.
            let known = scorer.ledger.verdicts(answerer(sweep, &judge)?, &digests).await?;
            if !known.is_empty() {
                let answered: Vec<Digest> = known.keys().copied().collect();
                merge(&mut further, settle_waiting(scorer, sweep, &judge, &answered, Asked::Once(None)).await?);
            }
        }
        open = further;
    }
    Ok(())
}

fn merge(open: &mut Open, more: Open) {
    for (judge, questions) in more {
        open.entry(judge).or_default().extend(questions);
    }
}

/// Sends those of `questions` that nobody has sent before.
async fn publish(
    scorer: &Scorer,
    sweep: &Sweep,
    judge: &ModelRef,
    digests: &[Digest],
    questions: &mut BTreeMap<Digest, AskedQuestion>,
) -> Result<(), ScorerError> {
    // A saved verdict is never asked for again. Most are seen here; of one that another scorer saves at this moment the ledger knows alone.
    let answerer = answerer(sweep, judge)?;
    let known = scorer.ledger.verdicts(answerer, digests).await?;
    let open: Vec<Digest> = digests.iter().filter(|digest| !known.contains_key(*digest)).copied().collect();
    // After it they may count as lost, and be asked by somebody else.
    let until = Instant::now() + ASKED_WITHIN;
    let claimed = scorer.ledger.claim_questions(&sweep.id, judge, answerer, &open).await?;
    let fresh: Vec<AskedQuestion> = claimed.questions.iter().filter_map(|digest| questions.remove(digest)).collect();
    let endpoint = sweep
        .lock
        .endpoints
        .get(&judge.endpoint)
        .ok_or_else(|| ScorerError::UnknownJudge { sweep: sweep.id.clone(), judge: judge.clone() })?;
    let count = fresh.len() as u64;
    let (judgements, similarities): (Vec<_>, Vec<_>) =
        fresh.into_iter().partition(|asked| matches!(asked.question, Question::Judgement { .. }));
    let jobs: Vec<Job> = similarities
        .chunks(SIMILARITIES_PER_JOB)
        .chain(judgements.chunks(JUDGEMENTS_PER_JOB))
        .map(|chunk| {
            Job::Judge(JudgeJob {
                sweep: sweep.id.clone(),
                lock: sweep.digest,
                judge: judge.clone(),
                questions: chunk.to_vec(),
                generation: Some(claimed.generation),
            })
        })
        .collect();
    if jobs.is_empty() {
        return Ok(());
    }
    // Once: of two copies, each would be paid.
    if let Err(error) = scorer.queue.publish_jobs_once(&endpoint.queue(&judge.endpoint, &sweep.id), jobs, until).await {
        if error.is_in_doubt() {
            // Workers may have them. Should nobody tell of them, the coordinator has them asked again.
            tracing::warn!(sweep = %sweep.id, %judge, %error, "questions may have been sent, and stay claimed");
            return Ok(());
        }
        // Claimed and not asked, they would be waited for in vain when the batch is repeated.
        scorer.ledger.release_questions(&sweep.id, judge, &claimed).await?;
        return Err(error.into());
    }
    scorer.metrics.questions.inc_by(count);
    // They were in doubt until now, because whoever ends here leaves questions that are claimed and not asked.
    Ok(scorer.ledger.confirm_questions(&sweep.id, judge, &claimed).await?)
}

impl Scorer {
    /// A judge has answered.
    pub(crate) async fn judged(&self, sweep: &Sweep, outcome: JudgeOutcome) -> Result<(), ScorerError> {
        let judge = outcome.judge.clone();
        let answered: Vec<Digest> = outcome.verdicts.iter().map(|(digest, _)| *digest).collect();
        let unanswered: Vec<Digest> = outcome.unanswered.iter().map(|(question, _)| question.digest).collect();
        if let Some((_, reason)) = outcome.unanswered.first() {
            tracing::warn!(sweep = %sweep.id, %judge, questions = unanswered.len(), reason, "the judge did not answer");
        }
        let (usage, cost, attempt) = (outcome.usage, outcome.cost, outcome.attempt.clone());
        let is_repeated =
            self.ledger.save_judged(vec![Judged { answerer: answerer(sweep, &judge)?, outcome }]).await? == 0;
        if !is_repeated {
            self.count_usage(&usage, &cost);
        }
        if !answered.is_empty() {
            // Who was interrupted the first time may have noted what sessions need further, and not have asked it.
            let asked = if is_repeated { Asked::Again(Some(&attempt)) } else { Asked::Once(Some(&attempt)) };
            let open = settle_waiting(self, sweep, &judge, &answered, asked).await?;
            ask(self, sweep, open).await?;
        }
        if !unanswered.is_empty() {
            self.settle_unanswered(sweep, &judge, &unanswered, &attempt).await?;
        }
        Ok(())
    }

    pub(crate) async fn settle(
        &self,
        sweep: &Sweep,
        settlements: Vec<Settlement>,
        judge: Option<&AttemptId>,
        since: Timestamp,
    ) -> Result<(), ScorerError> {
        let traced = self.tracer.is_on().then(|| settlements.clone());
        self.ledger.settle(settlements).await?;
        if let Some(settlements) = traced {
            settled(&self.tracer, sweep, &settlements, judge, (since, self.clock.now()));
        }
        Ok(())
    }

    /// Asks what sessions of `sweep` wait for and nobody has claimed.
    pub(crate) async fn rejudge(&self, sweep: &Sweep) -> Result<(), ScorerError> {
        let mut after = None;
        loop {
            let waiting = self.ledger.awaiting_after(&sweep.id, after, SESSIONS_A_READING).await?;
            let Some(last) = waiting.last() else { return Ok(()) };
            after = Some((last.key.cell, last.key.item));
            let open = settle(self, sweep, waiting, Known::default(), Asked::Again(None), None).await?;
            ask(self, sweep, open).await?;
        }
    }
}

/// Questions that sessions waited for, and the judge job that has just answered them; `None` if they were answered before.
#[derive(Clone, Copy)]
enum Asked<'a> {
    /// Only further needs are asked.
    Once(Option<&'a AttemptId>),
    /// All that is needed is asked again.
    Again(Option<&'a AttemptId>),
}

impl<'a> Asked<'a> {
    const fn is_again(self) -> bool {
        matches!(self, Self::Again(_))
    }

    const fn judge(self) -> Option<&'a AttemptId> {
        match self {
            Self::Once(judge) | Self::Again(judge) => judge,
        }
    }
}

/// Settles sessions that wait for `answered`, verdicts of `member`. Returns what must be asked for those that need more than they had
/// waited for, or, to ask `again`, all that they need.
async fn settle_waiting(
    scorer: &Scorer,
    sweep: &Sweep,
    member: &ModelRef,
    answered: &[Digest],
    asked: Asked<'_>,
) -> Result<Open, ScorerError> {
    let mut open = Open::new();
    for judge in judges_with(sweep, member) {
        let waiting = scorer.ledger.awaiting(&sweep.id, &judge, answered).await?;
        let mut known = Known::default();
        // Scoring would ask for them one round after the other.
        let questions = waiting.iter().flat_map(|session| &session.questions);
        let puts = questions.map(|digest| Put { to: member.clone(), digest: *digest });
        known.look_up(scorer, sweep, puts).await?;
        let mut waiting = waiting;
        if judge == *member && !asked.is_again() {
            // Scoring is not free, and one that lacks a verdict would only say so.
            let held = |digest: &Digest| known.holds(&Put { to: member.clone(), digest: *digest });
            waiting.retain(|session| session.questions.iter().all(held));
        }
        merge(&mut open, settle(scorer, sweep, waiting, known, asked, Some(member)).await?);
    }
    Ok(open)
}

/// Settles those of `waiting` that can be scored, now that `member` has answered. Returns what must be asked for the others: what they need
/// and have not waited for yet, or, to ask `again`, all that they need.
async fn settle(
    scorer: &Scorer,
    sweep: &Sweep,
    waiting: Vec<AwaitingSession>,
    mut known: Known,
    asked: Asked<'_>,
    member: Option<&ModelRef>,
) -> Result<Open, ScorerError> {
    let since = scorer.clock.now();
    let sessions = with_transcripts(waiting)?;
    let subjects = subjects(sweep, &sessions)?;
    let scorings = score_all(scorer, sweep, &subjects, &mut known).await?;
    let mut open = Open::new();
    let mut settlements = Vec::new();
    for (((session, _), subject), scoring) in sessions.iter().zip(&subjects).zip(scorings) {
        let key = session.key.clone();
        let (needed, scores) = match progress(&key, subject, sweep, &known, scoring)? {
            Progress::Settled(result) => {
                settlements.push(Settlement { key, result });
                continue;
            }
            Progress::NeedsAudit { scores, needed } => (vec![needed], Some(scores)),
            Progress::Needs(needed) => (needed, None),
        };
        let auditor = subject.auditor(sweep);
        let mut needs = Open::new();
        let mut further: BTreeSet<Digest> = BTreeSet::new();
        let mut given_up = None;
        for (at, (judge, questions)) in needed.iter().enumerate() {
            let is_audit = at > 0 || scores.is_some();
            let mut of_judge = Open::new();
            let puts = enter(&mut of_judge, judge, questions, &known);
            let new: Vec<Digest> =
                puts.iter().map(|put| put.digest).filter(|digest| !session.questions.contains(digest)).collect();
            if puts.is_empty() || session.questions.len() + further.len() + new.len() > QUESTIONS_MAX {
                let _about = session_span(&key, None).entered();
                tracing::error!(judge = %judge, "the judge's verdicts do not fit the questions");
                if !is_audit {
                    given_up = Some(SettlementResult::NotMeasured(Cause::Internal));
                }
                given_up = given_up.or_else(|| scores.clone().map(SettlementResult::Scored));
                continue;
            }
            // An audit's judge that was away is not asked again at each answer of the other one, but once, when that one has given its score.
            let is_theirs = || auditor.zip(member).is_some_and(|(auditor, member)| auditor.ids().contains(&member));
            if !is_audit || !new.is_empty() || scores.is_some() || asked.is_again() || is_theirs() {
                merge(&mut needs, of_judge);
            }
            further.extend(new);
        }
        if let Some(result) = given_up {
            settlements.push(Settlement { key, result });
            continue;
        }
        // Two judges may be asked one question, of which the second is no further digest. Who is asked already is not asked again.
        let is_audited = auditor.is_some();
        if !further.is_empty() {
            further.extend(session.questions.iter().copied());
            let result = SettlementResult::Waits(further.into_iter().collect());
            settlements.push(Settlement { key, result });
            merge(&mut open, needs);
        } else if asked.is_again() || is_audited {
            merge(&mut open, needs);
        }
    }
    scorer.settle(sweep, settlements, asked.judge(), since).await?;
    Ok(open)
}
