//! Answers an evaluator's questions. What was answered and paid when a worker is interrupted is reported, and the rest goes to others: nobody
//! pays for it twice.

use std::collections::HashSet;

use regatta_catalog::Sweep;
use regatta_llm::{Answers, Endpoint, Interrupted};
use regatta_proto::{
    AskedQuestion, AttemptId, CostSum, Digest, Image, JudgeJob, JudgeOutcome, ModelSpec, Question, Usage,
};
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
    let questions = with_images(&job.questions, |digest| sweep.image(digest));
    match endpoint.answer(&judge, &questions, payer, interrupt).await {
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

/// The questions with the bytes of their images, which a job has not. An image that is not known stays as it is, and cannot be sent.
fn with_images(questions: &[AskedQuestion], known: impl Fn(&Digest) -> Option<Image>) -> Vec<AskedQuestion> {
    let mut questions = questions.to_vec();
    for asked in &mut questions {
        let before = match &mut asked.question {
            Question::Judgement { before, .. } => before,
            Question::Similarity { .. } => continue,
        };
        for image in before.iter_mut().flat_map(|message| &mut message.images) {
            if let Some(known) = known(&image.digest) {
                *image = known;
            }
        }
    }
    questions
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

#[cfg(test)]
mod tests {
    use regatta_proto::{ChatMessage, ChatRole};

    use super::*;

    #[test]
    fn a_judge_is_sent_the_images_of_the_data_set_that_its_question_names() {
        let [known, other] = ["iVBORw0KGgo=", "R0lGODlh"].map(|base64| Image::of_base64(base64).unwrap());
        let images = vec![known.clone(), other];
        let question = Question::Judgement {
            kind: "rubric".to_owned(),
            about: Vec::new(),
            before: vec![ChatMessage { images, ..ChatMessage::new(ChatRole::User, "Look.") }],
            prompt: "Is it right?".to_owned(),
            swapped: None,
            accept: Vec::new(),
            replies_max: 1,
        };
        let asked = AskedQuestion { digest: question.digest(), question };
        // As a worker gets it.
        let job: AskedQuestion = serde_json::from_str(&serde_json::to_string(&asked).unwrap()).unwrap();
        let restored = with_images(&[job], |digest| (*digest == known.digest).then(|| known.clone()));
        assert_eq!(restored, [asked]);
        let Question::Judgement { before, .. } = &restored[0].question else { panic!() };
        let sent = before[0].images.iter().map(Image::base64).collect::<Vec<_>>();
        assert_eq!(sent[0], Ok("iVBORw0KGgo=".to_owned()));
        assert!(sent[1].is_err(), "an image that no data set has cannot be sent");
    }
}
