//! Answers an evaluator's questions.

use regatta_catalog::Sweep;
use regatta_llm::Endpoint;
use regatta_proto::{AttemptId, CostSum, JudgeJob, JudgeOutcome, Usage};
use tokio_util::sync::CancellationToken;

use crate::session::{accounts, payer};

/// Asks the judge. `None` when interrupted: the questions go to another worker.
pub(crate) async fn answer(
    endpoint: &Endpoint,
    sweep: &Sweep,
    job: JudgeJob,
    attempt: AttemptId,
    interrupt: &CancellationToken,
) -> Option<JudgeOutcome> {
    let price = sweep.lock.judge_price(&job.judge);
    // Interrupted answers are thrown away with their cost: questions are cheap, and saved verdicts are never asked again.
    let accounts = accounts(sweep, None);
    let payer = payer(sweep, &accounts, price);
    let answers = endpoint.answer(&job.judge.model, &job.questions, payer, interrupt).await.ok()?;
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
