//! Answers judgements: a question is a message to a chat model, after the conversation that precedes it, and is asked again until a reply
//! is accepted.

use std::collections::BTreeSet;

use futures::stream::{self, StreamExt};
use regatta_proto::{
    AskedQuestion, Call, ChatMessage, ChatRequest, ChatRole, CostSum, ErrorClass, FailedCall, ModelSpec, Question,
    Role, Sampling, SessionSeed, Try, Usage, Verdict,
};
use tokio_util::sync::CancellationToken;

use crate::answer::{Answers, Trouble};
use crate::call::{CallError, ChatCall, Interrupted, Payer, Told};
use crate::chat::Caller;

/// Concurrent questions of one list; the endpoint's permits limit them as well.
const AT_ONCE: usize = 8;
/// Attempt number of judgements. Their attempts are not counted, so each is a later one, and a request that keeps failing is quarantined.
const ATTEMPT: u32 = 2;

impl Caller {
    /// Answers questions of both kinds, in the order asked.
    pub(crate) async fn answer_all(
        &self,
        judge: &ModelSpec,
        questions: &[AskedQuestion],
        payer: Payer<'_>,
        interrupt: &CancellationToken,
    ) -> Result<Answers, Interrupted> {
        let is_judgement = |asked: &&AskedQuestion| matches!(asked.question, Question::Judgement { .. });
        let (judgements, similarities): (Vec<_>, Vec<_>) = questions.iter().partition(is_judgement);
        if judgements.is_empty() {
            return self.answer_or_replay(&judge.id.model, questions, payer, interrupt).await;
        }
        let in_words = self.judge(judge, &judgements, payer, interrupt);
        if similarities.is_empty() {
            return in_words.await;
        }
        let similarities: Vec<AskedQuestion> = similarities.into_iter().cloned().collect();
        let by_vectors = self.answer_or_replay(&judge.id.model, &similarities, payer, interrupt);
        let merged = |one, other| Answers::merged(questions, [one, other]);
        match futures::join!(in_words, by_vectors) {
            (Ok(one), Ok(other)) => Ok(merged(one, other)),
            (Ok(one) | Err(Interrupted(one)), Ok(other) | Err(Interrupted(other))) => {
                Err(Interrupted::after(merged(one, other)))
            }
        }
    }

    /// Answers judgements.
    async fn judge(
        &self,
        judge: &ModelSpec,
        questions: &[&AskedQuestion],
        payer: Payer<'_>,
        interrupt: &CancellationToken,
    ) -> Result<Answers, Interrupted> {
        // Collected first, because a stream that still held the closure could not move between threads.
        let asking: Vec<_> = questions.iter().map(|asked| self.judge_one(judge, asked, payer, interrupt)).collect();
        let mut asking = stream::iter(asking).buffered(AT_ONCE);
        let (mut answers, mut served, mut interrupted) = (Answers::default(), BTreeSet::new(), false);
        let mut asked = questions.iter();
        while let (Some(judged), Some(asked)) = (asking.next().await, asked.next()) {
            answers.usage += judged.usage;
            answers.cost += judged.cost;
            served.extend(judged.served);
            match judged.answer {
                Some(answer) => answers.enter(asked, answer),
                None => interrupted = true,
            }
        }
        answers.served = match served.is_empty() {
            true => judge.id.model.clone(),
            false => served.into_iter().collect::<Vec<_>>().join(", "),
        };
        if interrupted { Err(Interrupted::after(answers)) } else { Ok(answers) }
    }

    async fn judge_one(
        &self,
        judge: &ModelSpec,
        asked: &AskedQuestion,
        payer: Payer<'_>,
        interrupt: &CancellationToken,
    ) -> Judged {
        let mut judged = Judged::default();
        let Question::Judgement { before, prompt, accept, replies_max, .. } = &asked.question else {
            return judged.ended(Err(Trouble::unfit("not a judgement")));
        };
        let acceptance = match self.expressions.acceptance(accept) {
            Ok(acceptance) => acceptance,
            Err(reason) => return judged.ended(Err(Trouble::unfit(&reason))),
        };
        let request = request(before, prompt, judge);
        let model = judge.id.model.as_str();
        let mut replies = Vec::new();
        for number in 0..u32::from((*replies_max).max(1)) {
            let seed = SessionSeed::of_digest(&asked.digest).of_part(Role::Judge, number);
            let call = ChatCall {
                holder: None,
                model,
                role: Role::Judge,
                attempt: ATTEMPT,
                request: &request,
                payer,
                session: None,
                repeat: number,
                interrupt,
                meter: None,
            };
            let key = self.cache.judgement_key(model, &request, asked, number);
            match self.ask_or_replay(call, Some(Told::Judgement(seed)), &key).await {
                Ok(call) => {
                    judged.add(&call);
                    replies.push(call.reply.text.as_deref().unwrap_or_default().to_owned());
                }
                Err(CallError::Interrupted(failed)) => {
                    judged.add_tries(&failed.tries);
                    return judged;
                }
                Err(CallError::Failed(failed)) => {
                    judged.add_tries(&failed.tries);
                    return judged.ended(Err(trouble(&failed)));
                }
            }
            if replies.last().is_some_and(|reply| acceptance.takes(reply)) {
                break;
            }
        }
        judged.ended(Ok(Verdict::Replies { replies }))
    }
}

/// The request with the prompt as its last message and the judge's own parameters.
fn request(before: &[ChatMessage], prompt: &str, judge: &ModelSpec) -> ChatRequest {
    let sampling = Sampling {
        temperature: judge.temperature,
        top_p: judge.top_p,
        max_tokens: judge.max_tokens,
        ..Sampling::default()
    };
    // Images alone are the prompt's: templates of many models take no two messages of the user in a row, and none without a text.
    let is_images_alone = |message: &ChatMessage| {
        message.role == ChatRole::User && message.content.is_empty() && !message.images.is_empty()
    };
    let (before, images) = match before.split_last() {
        Some((last, earlier)) if is_images_alone(last) => (earlier, last.images.clone()),
        Some(_) | None => (before, Vec::new()),
    };
    // Reasoning is left out, because it is another model's, and providers accept only their own.
    let before = before.iter().map(|message| ChatMessage { reasoning: None, ..message.clone() });
    let prompt = ChatMessage { images, ..ChatMessage::new(ChatRole::User, prompt) };
    let mut request = ChatRequest::new(before.chain([prompt]).collect(), sampling);
    request.thinking = judge.thinking;
    request
}

/// The failure of the last try.
fn trouble(failed: &FailedCall) -> Trouble {
    match failed.tries.last() {
        Some(Try { class, status, detail, .. }) => {
            let status = status.map_or(String::new(), |status| format!("HTTP {status}: "));
            Trouble { class: *class, reason: format!("{status}{detail}") }
        }
        None => Trouble { class: ErrorClass::BadResponse, reason: "the call was given up without a try".to_owned() },
    }
}

/// Result of one question.
#[derive(Default)]
struct Judged {
    /// `None` if interrupted.
    answer: Option<Result<Verdict, Trouble>>,
    served: BTreeSet<String>,
    usage: Usage,
    cost: CostSum,
}

impl Judged {
    fn ended(mut self, answer: Result<Verdict, Trouble>) -> Self {
        self.answer = Some(answer);
        self
    }

    fn add(&mut self, call: &Call) {
        let reported = call.served.model.as_deref().unwrap_or(&call.model.model);
        let fingerprint = call.served.fingerprint.as_deref().map(|print| format!(" {print}")).unwrap_or_default();
        let reported = format!("{reported}{fingerprint}");
        self.served.insert(if call.served.simulated { format!("{reported} (simulated)") } else { reported });
        self.add_tries(&call.tries);
        if !call.from_cache {
            self.usage += call.usage.of_answer(&call.reply);
            self.cost.add_call(call.cost);
        }
    }

    /// Adds the costs of failed tries, which may have been billed.
    fn add_tries(&mut self, tries: &[Try]) {
        for (usage, cost) in tries.iter().filter_map(Try::billed) {
            self.usage += usage;
            self.cost.add_call(cost);
        }
    }
}
