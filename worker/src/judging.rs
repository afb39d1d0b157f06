//! Answers an evaluator's questions. What was answered and paid when a worker is interrupted is reported, and the rest goes to others: nobody
//! pays for it twice.

use std::collections::HashSet;

use regatta_catalog::Sweep;
use regatta_llm::{Answers, Endpoint, Interrupted};
use regatta_proto::{AttemptId, CostSum, Digest, JudgeJob, JudgeOutcome, ModelSpec, Usage};
use tokio_util::sync::CancellationToken;

use crate::cast::accounts;
use crate::session::payer;

/// Result of a judge job.
pub(crate) enum Judged {
    /// Every question has an answer, or a reason why it has none.
    Whole(JudgeOutcome),
    /// It was interrupted. The answers by then with the cost of all calls, and the job of the other questions.
    InPart(JudgeOutcome, JudgeJob),
    /// It was interrupted before anything was answered or paid.
    Nothing,
}

/// Asks the judge.
pub(crate) async fn answer(
    endpoint: &Endpoint,
    sweep: &Sweep,
    job: JudgeJob,
    attempt: AttemptId,
    interrupt: &CancellationToken,
) -> Judged {
    // One that the lock does not name is asked as it is, at an unknown price.
    let judge = sweep.lock.judge(&job.judge).unwrap_or_else(|| ModelSpec::from(job.judge.clone()));
    let accounts = accounts(sweep, None, judge.price.as_ref());
    let payer = payer(sweep, &accounts, judge.price.as_ref());
    match endpoint.answer(&judge, &job.questions, payer, interrupt).await {
        Ok(answers) => Judged::Whole(outcome(job, answers, attempt)),
        Err(Interrupted(Answers { verdicts, usage, cost, .. }))
            if verdicts.is_empty() && usage == Usage::default() && cost == CostSum::default() =>
        {
            Judged::Nothing
        }
        Err(Interrupted(answers)) => {
            let answered: HashSet<Digest> = answers.verdicts.iter().map(|(digest, _)| *digest).collect();
            let mut rest = job.clone();
            rest.questions.retain(|asked| !answered.contains(&asked.digest));
            Judged::InPart(outcome(job, answers, attempt), rest)
        }
    }
}

fn outcome(job: JudgeJob, answers: Answers, attempt: AttemptId) -> JudgeOutcome {
    JudgeOutcome {
        sweep: job.sweep,
        lock: job.lock,
        judge: job.judge,
        served: answers.served,
        verdicts: answers.verdicts,
        unanswered: answers.unanswered.into_iter().map(|one| (one.asked, one.reason)).collect(),
        attempt,
        usage: answers.usage,
        cost: answers.cost,
    }
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
