//! Answers an evaluator's questions.

use regatta_catalog::Sweep;
use regatta_llm::Endpoint;
use regatta_proto::{AttemptId, CostSum, JudgeJob, JudgeOutcome, ModelSpec, Usage};
use tokio_util::sync::CancellationToken;

use crate::cast::accounts;
use crate::session::payer;

/// Asks the judge. `None` when interrupted: the questions go to another worker.
pub(crate) async fn answer(
    endpoint: &Endpoint,
    sweep: &Sweep,
    job: JudgeJob,
    attempt: AttemptId,
    interrupt: &CancellationToken,
) -> Option<JudgeOutcome> {
    // One that the lock does not name is asked as it is, at an unknown price.
    let judge = sweep.lock.judge(&job.judge).unwrap_or_else(|| ModelSpec::from(job.judge.clone()));
    // Interrupted answers are thrown away with their cost: questions are cheap, and saved verdicts are never asked again.
    let accounts = accounts(sweep, None, judge.price.as_ref());
    let payer = payer(sweep, &accounts, judge.price.as_ref());
    let answers = endpoint.answer(&judge, &job.questions, payer, interrupt).await.ok()?;
    Some(JudgeOutcome {
        sweep: job.sweep,
        lock: job.lock,
        judge: job.judge,
        served: answers.served,
        verdicts: answers.verdicts,
        unanswered: answers.unanswered.into_iter().map(|one| (one.asked, one.reason)).collect(),
        attempt,
        usage: answers.usage,
        cost: answers.cost,
    })
}

/// None of the questions can be asked, and why.
pub(crate) fn unanswered(job: JudgeJob, attempt: AttemptId, reason: &str) -> JudgeOutcome {
    JudgeOutcome {
        sweep: job.sweep,
        lock: job.lock,
        judge: job.judge,
        served: String::new(),
        verdicts: Vec::new(),
        unanswered: job.questions.into_iter().map(|asked| (asked, reason.to_owned())).collect(),
        attempt,
        usage: Usage::default(),
        cost: CostSum::default(),
    }
}
