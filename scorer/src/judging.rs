//! Questions to judges, and what their answers settle.

use std::collections::HashMap;

use regatta_backends::{Settlement, SettlementResult};
use regatta_benchmarks::Scoring;
use regatta_catalog::Sweep;
use regatta_proto::{AskedQuestion, Cause, Digest, Job, JudgeJob, JudgeOutcome, ModelRef, Transcript, wire};

use crate::recording::settlement;
use crate::scorer::{Scorer, ScorerError};
use crate::verdicts::Known;

/// Questions of one judge job: enough to spread its cost, few enough that a lost job repeats little.
const QUESTIONS_PER_JOB: usize = 32;

/// Sends those of `questions` that nobody has sent before, then settles sessions whose answers came in the meantime.
pub(crate) async fn ask(
    scorer: &Scorer,
    sweep: &Sweep,
    judge: &ModelRef,
    mut questions: HashMap<Digest, AskedQuestion>,
) -> Result<(), ScorerError> {
    let mut digests: Vec<Digest> = questions.keys().copied().collect();
    digests.sort_unstable();
    // A saved verdict is never asked for again.
    let known = scorer.ledger.verdicts(judge, &digests).await?;
    let open: Vec<Digest> = digests.iter().filter(|digest| !known.contains_key(*digest)).copied().collect();
    let claimed = scorer.ledger.claim_questions(&sweep.id, judge, &open).await?;
    let fresh: Vec<AskedQuestion> = claimed.iter().filter_map(|digest| questions.remove(digest)).collect();
    let endpoint = sweep
        .lock
        .endpoints
        .get(&judge.endpoint)
        .ok_or_else(|| ScorerError::UnknownJudge { sweep: sweep.id.clone(), judge: judge.clone() })?;
    let jobs: Vec<Job> = fresh
        .chunks(QUESTIONS_PER_JOB)
        .map(|chunk| {
            Job::Judge(JudgeJob {
                sweep: sweep.id.clone(),
                lock: sweep.digest,
                judge: judge.clone(),
                questions: chunk.to_vec(),
            })
        })
        .collect();
    if !jobs.is_empty() {
        if let Err(error) = scorer.queue.publish_jobs(&endpoint.queue(&judge.endpoint, &sweep.id), jobs).await {
            // Claimed and not asked, they would be waited for in vain when the batch is repeated.
            scorer.ledger.release_questions(&sweep.id, judge, &claimed).await?;
            return Err(error.into());
        }
        scorer.metrics.questions.inc_by(fresh.len() as u64);
    }
    // Another scorer may have saved an answer after we looked and searched for waiting sessions before ours were there.
    let known = scorer.ledger.verdicts(judge, &digests).await?;
    if known.is_empty() {
        return Ok(());
    }
    let answered: Vec<Digest> = known.keys().copied().collect();
    settle_waiting(scorer, sweep, judge, &answered).await
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
        let (usage, cost) = (outcome.usage, outcome.cost);
        self.ledger.save_judged(vec![outcome]).await?;
        self.count_usage(&usage, &cost);
        if !answered.is_empty() {
            settle_waiting(self, sweep, &judge, &answered).await?;
        }
        if !unanswered.is_empty() {
            let waiting = self.ledger.awaiting(&sweep.id, &judge, &unanswered).await?;
            let settlements = waiting
                .into_iter()
                .map(|session| Settlement {
                    key: session.key,
                    result: SettlementResult::NotMeasured(Cause::JudgeUnavailable),
                })
                .collect();
            self.ledger.settle(settlements).await?;
        }
        Ok(())
    }

    /// Asks again what the reopened sessions of `sweep` still wait for.
    pub(crate) async fn rejudge(&self, sweep: &Sweep) -> Result<(), ScorerError> {
        let mut open: HashMap<ModelRef, HashMap<Digest, AskedQuestion>> = HashMap::new();
        let nothing = Known::default();
        for session in self.ledger.awaiting_all(&sweep.id).await? {
            let transcript: Transcript = wire::decode(&session.transcript)?;
            let Some(cell) = sweep.cell(session.key.cell) else { continue };
            let (Some(suite), Some(benchmark)) = (sweep.suite(cell), sweep.benchmark(cell)) else { continue };
            let Some(judge) = benchmark.judge.clone() else { continue };
            if let Scoring::Needs(needed) = suite.score(session.key.item, &benchmark.evaluators, &transcript, &nothing)
            {
                let questions = open.entry(judge).or_default();
                for question in needed {
                    let digest = question.digest();
                    questions.insert(digest, AskedQuestion { digest, question });
                }
            }
        }
        for (judge, questions) in open {
            ask(self, sweep, &judge, questions).await?;
        }
        Ok(())
    }
}

async fn settle_waiting(
    scorer: &Scorer,
    sweep: &Sweep,
    judge: &ModelRef,
    answered: &[Digest],
) -> Result<(), ScorerError> {
    let waiting = scorer.ledger.awaiting(&sweep.id, judge, answered).await?;
    let mut digests: Vec<Digest> = waiting.iter().flat_map(|session| session.questions.iter().copied()).collect();
    digests.sort_unstable();
    digests.dedup();
    let mut known = Known::default();
    known.extend(scorer.ledger.verdicts(judge, &digests).await?);
    let mut settlements = Vec::with_capacity(waiting.len());
    for session in waiting {
        if session.questions.iter().all(|digest| known.holds(digest)) {
            settlements.push(settlement(sweep, &session.key, &session.transcript, &known)?.unwrap_or_else(|| {
                tracing::error!(session = %session.key, %judge, "the judge's verdicts do not fit the questions");
                Settlement { key: session.key, result: SettlementResult::NotMeasured(Cause::Internal) }
            }));
        }
    }
    scorer.ledger.settle(settlements).await?;
    Ok(())
}
