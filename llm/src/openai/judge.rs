//! Similarity questions answered by embeddings.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::stream::{self, StreamExt};
use regatta_proto::{AskedQuestion, CostSum, ErrorClass, Price, Try, Usage};
use reqwest::header::HeaderMap;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answers, Trouble};
use crate::call::Interrupted;
use crate::similarity::{Known, answers};
use crate::tries::GivenUp;

use super::client::{Client, unsendable};
use super::embeddings;

/// Texts in one embeddings request; a fraction of what providers allow.
const BATCH_TEXTS: usize = 96;
/// Bytes of the texts of one embeddings request; keeps within the token limits of providers.
const BATCH_BYTES: usize = 128 << 10;
/// Embeddings requests of one list of questions under way at once; the endpoint's permits bound them all together.
const BATCHES_AT_ONCE: usize = 4;

impl Client {
    /// Answers similarity questions by embeddings of their distinct texts.
    pub(crate) async fn answer(
        &self,
        model: &str,
        questions: &[AskedQuestion],
        price: Option<&Price>,
        interrupt: &CancellationToken,
    ) -> Result<Answers, Interrupted> {
        let (mut vectors, missing) = self.cache.lookup(model, questions);
        let mut spent = Spent::default();
        // Collected first: a stream that still held the closure could not move between threads.
        let batches: Vec<_> =
            batches(&missing).into_iter().map(|texts| self.embed(model, texts, price, interrupt)).collect();
        let mut batches = stream::iter(batches).buffer_unordered(BATCHES_AT_ONCE);
        let mut interrupted = false;
        while let Some(batch) = batches.next().await {
            spent.usage += batch.spent.usage;
            spent.cost += batch.spent.cost;
            interrupted |= batch.interrupted;
            vectors.extend(batch.vectors);
        }
        if interrupted {
            return Err(Interrupted { usage: spent.usage, cost: spent.cost });
        }
        Ok(Answers { usage: spent.usage, cost: spent.cost, ..answers(questions, &vectors, model) })
    }

    /// Embeds `texts`. Where the endpoint refuses a request as such, its halves are tried, so that one text that it does not take
    /// (an empty or an overlong one) spoils its own questions only.
    async fn embed<'q>(
        &self,
        model: &str,
        texts: Vec<&'q str>,
        price: Option<&Price>,
        interrupt: &CancellationToken,
    ) -> Batch<'q> {
        let mut batch = Batch::default();
        let mut waiting = VecDeque::from([texts]);
        while let Some(mut texts) = waiting.pop_front() {
            let body = match embeddings::body(model, &texts) {
                Ok(body) => body,
                Err(error) => {
                    batch.fail(&texts, &unsendable(&error));
                    continue;
                }
            };
            let (body, count, headers) = (&body, texts.len(), &HeaderMap::new());
            let once = || async move {
                let answer = self.transport.post(&self.embeddings, headers, body.clone()).await?;
                embeddings::read(&answer, count, &self.secret, &*self.clock)
            };
            let (tries, embedded) = match self.tries.run(None, interrupt, once).await {
                Ok(done) => (done.tries, Some(done.value)),
                Err(GivenUp::Failed(tries)) => (tries, None),
                Err(GivenUp::Interrupted(tries)) => {
                    batch.spent.add_tries(&tries);
                    batch.interrupted = true;
                    return batch;
                }
            };
            batch.spent.add_tries(&tries);
            let Some(embedded) = embedded else {
                let Some(last) = tries.last() else { continue };
                if matches!(last.class, ErrorClass::BadRequest | ErrorClass::ContextLength) && texts.len() > 1 {
                    let half = texts.split_off(texts.len() / 2);
                    waiting.extend([texts, half]);
                } else {
                    batch.fail(&texts, last);
                }
                continue;
            };
            let cost = price.filter(|_| embedded.usage_is_known).map(|price| price.cost(&embedded.usage, &regatta_proto::Circumstances::default()));
            self.tries.metrics().spent(&embedded.usage, cost);
            batch.spent.usage += embedded.usage;
            batch.spent.cost.add_call(cost);
            let reported = embedded.served.model.as_deref().unwrap_or(model);
            let served: Arc<str> =
                if embedded.served.simulated { format!("{reported} (simulated)").into() } else { reported.into() };
            for (text, vector) in texts.into_iter().zip(embedded.vectors) {
                let known = Arc::new(Known { vector, served: Arc::clone(&served) });
                self.cache.keep(model, text, &known);
                batch.vectors.push((text, Ok(known)));
            }
        }
        batch
    }
}

/// What came of one batch of texts.
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
    /// Broken answers may have been billed, at a price nobody told.
    fn add_tries(&mut self, tries: &[Try]) {
        for billed in tries.iter().filter_map(|one| one.usage) {
            self.usage += billed;
            self.cost.add_call(None);
        }
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
