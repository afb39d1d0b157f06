//! A client of one endpoint that speaks OpenAI's format.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::stream::{self, StreamExt};
use regatta_proto::{
    AskedQuestion, Call, Clock, CostSum, EndpointKind, EndpointName, EndpointSpec, ErrorClass, FailedCall, ModelRef,
    Price, Try, Usage,
};
use reqwest::Url;
use reqwest::header::HeaderMap;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answers, Trouble};
use crate::call::{CallError, Cancelled, ChatCall};
use crate::metrics::EndpointMetrics;
use crate::open::{Access, OpenContext, OpenError};
use crate::secret::Secret;
use crate::similarity::{Known, VectorCache, answers};
use crate::transport::Transport;
use crate::tries::{GivenUp, Tries};

use super::session_headers::session_headers;
use super::{embeddings, request, response};

/// Texts in one embeddings request; a fraction of what providers allow.
const BATCH_TEXTS: usize = 96;
/// Bytes of the texts of one embeddings request; keeps within the token limits of providers.
const BATCH_BYTES: usize = 128 << 10;
/// Embeddings requests of one list of questions under way at once; the endpoint's permits bound them all together.
const BATCHES_AT_ONCE: usize = 4;

/// One endpoint.
pub(crate) struct Client {
    name: EndpointName,
    chat: Url,
    embeddings: Url,
    secret: Secret,
    transport: Transport,
    tries: Tries,
    identify_sessions: bool,
    clock: Arc<dyn Clock>,
    cache: VectorCache,
}

impl Client {
    pub(crate) fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Result<Self, OpenError> {
        let Access { chat, embeddings, secret } = Access::resolve(name, spec, context.env)?;
        let transport = Transport::new(&chat, secret.clone(), spec.timeouts)
            .map_err(|source| OpenError::Transport { endpoint: name.clone(), source })?;
        let metrics = EndpointMetrics::new(Arc::clone(&context.metrics), name);
        Ok(Self {
            name: name.clone(),
            chat,
            embeddings,
            secret,
            transport,
            tries: Tries::new(spec.limits, spec.retries, metrics, context.seed),
            // A simulated endpoint answers by session, so it is always told.
            identify_sessions: spec.identify_sessions || spec.kind == EndpointKind::Simulated,
            clock: Arc::clone(&context.clock),
            cache: VectorCache::new(),
        })
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.tries.metrics().in_flight()
    }

    /// One chat call with all its tries.
    pub(crate) async fn chat(&self, call: ChatCall<'_>) -> Result<Call, CallError> {
        let failed = |tries: Vec<Try>| FailedCall {
            role: call.role,
            attempt: call.attempt,
            model: self.model(call.model),
            tries,
        };
        let body = request::body(call.model, call.request)
            .map_err(|error| CallError::Failed(failed(vec![unsendable(&error)])))?;
        let tag = call.session.filter(|_| self.identify_sessions);
        let headers = tag.map_or_else(HeaderMap::new, |tag| session_headers(&tag));
        let (headers, body) = (&headers, &body);
        let once = || async move {
            let answer = self.transport.post(&self.chat, headers, body.clone()).await?;
            response::read(&answer, &self.secret, &*self.clock)
        };
        let done = match self.tries.run(call.session.map(|tag| tag.seed.0), call.cancel, once).await {
            Ok(done) => done,
            Err(GivenUp::Failed(tries)) => return Err(CallError::Failed(failed(tries))),
            Err(GivenUp::Cancelled(tries)) => return Err(CallError::Cancelled(failed(tries))),
        };
        let completion = done.value;
        let cost = call.price.filter(|_| completion.usage_is_known).map(|price| price.cost(&completion.usage));
        self.tries.metrics().spent(&completion.usage, cost);
        Ok(Call {
            role: call.role,
            attempt: call.attempt,
            model: self.model(call.model),
            request: call.request.clone(),
            reply: completion.reply,
            tries: done.tries,
            usage: completion.usage,
            raw_usage: completion.raw_usage,
            cost,
            served: completion.served,
            latency_us: u64::try_from(done.latency.as_micros()).unwrap_or(u64::MAX),
        })
    }

    /// Answers similarity questions by embeddings of their distinct texts.
    pub(crate) async fn answer(
        &self,
        model: &str,
        questions: &[AskedQuestion],
        price: Option<&Price>,
        cancel: &CancellationToken,
    ) -> Result<Answers, Cancelled> {
        let (mut vectors, missing) = self.cache.lookup(model, questions);
        let mut spent = Spent::default();
        let batches = batches(&missing).into_iter().map(|texts| self.embed(model, texts, price, cancel));
        let mut batches = stream::iter(batches).buffer_unordered(BATCHES_AT_ONCE);
        let mut cancelled = false;
        while let Some(batch) = batches.next().await {
            spent.usage += batch.spent.usage;
            spent.cost += batch.spent.cost;
            cancelled |= batch.cancelled;
            vectors.extend(batch.vectors);
        }
        if cancelled {
            return Err(Cancelled { usage: spent.usage, cost: spent.cost });
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
        cancel: &CancellationToken,
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
            let (tries, embedded) = match self.tries.run(None, cancel, once).await {
                Ok(done) => (done.tries, Some(done.value)),
                Err(GivenUp::Failed(tries)) => (tries, None),
                Err(GivenUp::Cancelled(tries)) => {
                    batch.spent.add_tries(&tries);
                    batch.cancelled = true;
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
            let cost = price.filter(|_| embedded.usage_is_known).map(|price| price.cost(&embedded.usage));
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

    fn model(&self, model: &str) -> ModelRef {
        ModelRef { endpoint: self.name.clone(), model: model.to_owned() }
    }
}

/// What came of one batch of texts.
#[derive(Default)]
struct Batch<'q> {
    vectors: Vec<(&'q str, Result<Arc<Known>, Trouble>)>,
    spent: Spent,
    cancelled: bool,
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

/// A request that cannot even be written.
fn unsendable(error: &serde_json::Error) -> Try {
    let detail = format!("the request cannot be written as JSON: {error}");
    Try { class: ErrorClass::BadRequest, status: None, detail, latency_us: 0, usage: None }
}
