//! Answers similarity questions with embeddings.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use regatta_proto::{AskedQuestion, CostSum, ErrorClass, Try, Usage};
use tokio_util::sync::CancellationToken;

use crate::answer::{Answers, Trouble};
use crate::call::{Interrupted, Payer};
use crate::chat::Caller;
use crate::similarity::{Known, Vectors, answers};
use crate::tries::{Answered, GivenUp, TryContext};
use crate::wire::openai::embeddings::Embedded;

/// Most texts in one embeddings request; a fraction of the providers' limits.
const BATCH_TEXTS: usize = 96;
/// Most bytes of the texts in one embeddings request; keeps within the providers' token limits.
const BATCH_BYTES: usize = 128 << 10;
/// Most tokens around a text: those that mark its beginning and end.
const FRAME: u64 = 16;
/// Concurrent embeddings requests for one list of questions; the endpoint's permits limit them as well.
const BATCHES_AT_ONCE: usize = 4;

impl Caller {
    /// Answers similarity questions with embeddings of their distinct texts.
    pub(crate) async fn answer(
        &self,
        model: &str,
        questions: &[AskedQuestion],
        payer: Payer<'_>,
        interrupt: &CancellationToken,
    ) -> Result<Answers, Interrupted> {
        let (mut vectors, mut spent, mut interrupted) = (Vectors::new(), Spent::default(), false);
        loop {
            let names = (model, payer.sweep.as_str());
            let asking = tokio::select! {
                biased;
                // What has come is used also if nothing more may be asked for.
                asking = self.vectors.next(names, questions, &mut vectors) => asking,
                () = interrupt.cancelled() => {
                    interrupted = true;
                    None
                }
            };
            let Some(asking) = asking else { break };
            // Collected first, because a stream that still held the closure could not move between threads.
            let batches: Vec<_> =
                batches(&asking.texts).into_iter().map(|texts| self.embed(model, texts, payer, interrupt)).collect();
            let mut batches = stream::iter(batches).buffer_unordered(BATCHES_AT_ONCE);
            while let Some(batch) = batches.next().await {
                spent.usage += batch.spent.usage;
                spent.cost += batch.spent.cost;
                interrupted |= batch.interrupted;
                vectors.extend(batch.vectors);
            }
            if interrupted {
                break;
            }
        }
        let answers = Answers { usage: spent.usage, cost: spent.cost, ..answers(questions, &vectors, model) };
        if interrupted { Err(Interrupted::after(answers)) } else { Ok(answers) }
    }

    /// Embeds `texts`. If the endpoint refuses a request as such, its halves are tried, so that one unacceptable text (empty or too long)
    /// affects its own questions only.
    async fn embed<'q>(
        &self,
        model: &str,
        texts: Vec<&'q str>,
        payer: Payer<'_>,
        interrupt: &CancellationToken,
    ) -> Batch<'q> {
        let mut batch = Batch::default();
        let mut waiting = VecDeque::from([texts]);
        while let Some(mut texts) = waiting.pop_front() {
            let prepared = match self.client.prepare_embeddings(model, &texts) {
                Ok(prepared) => prepared,
                Err(failure) => {
                    batch.fail(&texts, &failure.into_try(Duration::ZERO));
                    continue;
                }
            };
            let (prepared, count) = (&prepared, texts.len());
            let context = TryContext {
                model,
                payer,
                attempt: 1,
                prompt_bytes: texts.iter().map(|text| text.len() as u64 + FRAME).sum(),
                media_tokens: 0,
                max_output: Some(0),
                suspect: None,
                seed: None,
                interrupt,
                meter: None,
            };
            let (tries, embedded) = match self.tries.run(context, || self.client.embed_once(prepared, count)).await {
                Ok(done) => (done.tries, Some((done.value, done.cost))),
                Err(GivenUp::Failed(tries)) => (tries, None),
                Err(GivenUp::Interrupted(tries)) => {
                    batch.spent.add_tries(&tries);
                    batch.interrupted = true;
                    return batch;
                }
            };
            batch.spent.add_tries(&tries);
            let Some((embedded, cost)) = embedded else {
                let Some(last) = tries.last() else { continue };
                if matches!(last.class, ErrorClass::BadRequest | ErrorClass::ContextLength) && texts.len() > 1 {
                    let half = texts.split_off(texts.len() / 2);
                    waiting.extend([texts, half]);
                } else {
                    batch.fail(&texts, last);
                }
                continue;
            };
            batch.spent.usage +=
                if embedded.usage_is_known { embedded.usage } else { embedded.usage.of_unmetered_call() };
            batch.spent.cost.add_call(cost);
            let reported = embedded.served.model.as_deref().unwrap_or(model);
            let served: Arc<str> =
                if embedded.served.simulated { format!("{reported} (simulated)").into() } else { reported.into() };
            for (text, vector) in texts.into_iter().zip(embedded.vectors) {
                let known = Arc::new(Known { vector, served: Arc::clone(&served) });
                self.vectors.keep(model, text, &known);
                batch.vectors.push((text, Ok(known)));
            }
        }
        batch
    }
}

/// Results of one batch of texts.
#[derive(Default)]
struct Batch<'q> {
    vectors: Vec<(&'q str, Result<Arc<Known>, Trouble>)>,
    spent: Spent,
    interrupted: bool,
}

impl<'q> Batch<'q> {
    fn fail(&mut self, texts: &[&'q str], last: &Try) {
        let status = last.status.map_or(String::new(), |status| format!("HTTP {status}: "));
        let trouble = Trouble { class: last.class, reason: format!("{status}{}", last.detail) };
        self.vectors.extend(texts.iter().map(|text| (*text, Err(trouble.clone()))));
    }
}

#[derive(Default)]
struct Spent {
    usage: Usage,
    cost: CostSum,
}

impl Spent {
    /// Adds the costs of failed tries, which may have been billed.
    fn add_tries(&mut self, tries: &[Try]) {
        for (usage, cost) in tries.iter().filter_map(Try::billed) {
            self.usage += usage;
            self.cost.add_call(cost);
        }
    }
}

impl Answered for Embedded {
    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn usage_is_known(&self) -> bool {
        self.usage_is_known
    }

    fn tier(&self) -> Option<&str> {
        None
    }

    fn first_token(&self) -> Option<Duration> {
        None
    }

    fn exhausted_for(&self) -> Option<Duration> {
        None
    }
}

/// Splits texts into requests of bounded size.
fn batches<'q>(texts: &[&'q str]) -> Vec<Vec<&'q str>> {
    let mut batches: Vec<Vec<&str>> = Vec::new();
    let mut bytes = 0;
    for text in texts {
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH_TEXTS && bytes + text.len() <= BATCH_BYTES => batch.push(text),
            _ => {
                bytes = 0;
                batches.push(vec![text]);
            }
        }
        bytes += text.len();
    }
    batches
}
