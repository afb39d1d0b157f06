//! Answers an evaluator's questions.

use regatta_catalog::Sweep;
use regatta_llm::Endpoint;
use regatta_proto::{AttemptId, JudgeJob, JudgeOutcome};
use tokio_util::sync::CancellationToken;

/// Asks the judge. `None` when interrupted: the questions go to another worker.
pub(crate) async fn answer(
    endpoint: &Endpoint,
    sweep: &Sweep,
    job: JudgeJob,
    attempt: AttemptId,
    interrupt: &CancellationToken,
) -> Option<JudgeOutcome> {
    let price = sweep.lock.model(&job.judge).and_then(|model| model.price.as_ref());
    let answers = endpoint.answer(&job.judge, job.questions, price, interrupt).await?;
    Some(JudgeOutcome {
        sweep: job.sweep,
        lock: job.lock,
        judge: job.judge,
        served: answers.served,
        verdicts: answers.verdicts,
        unanswered: answers.unanswered,
        attempt,
        usage: answers.usage,
        cost: answers.cost,
    })
}
