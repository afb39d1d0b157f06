//! A client of one endpoint that speaks OpenAI's format.

use std::sync::Arc;

use regatta_proto::{Call, Clock, EndpointKind, EndpointName, EndpointSpec, ErrorClass, FailedCall, ModelRef, Try};
use reqwest::Url;
use reqwest::header::HeaderMap;

use crate::call::{CallError, ChatCall};
use crate::metrics::EndpointMetrics;
use crate::open::{Access, OpenContext, OpenError};
use crate::secret::Secret;
use crate::similarity::VectorCache;
use crate::transport::Transport;
use crate::tries::{GivenUp, Tries};

use super::session_headers::session_headers;
use super::{request, response};

/// One endpoint.
pub(crate) struct Client {
    name: EndpointName,
    chat: Url,
    pub(super) embeddings: Url,
    pub(super) secret: Secret,
    pub(super) transport: Transport,
    pub(super) tries: Tries,
    identify_sessions: bool,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) cache: VectorCache,
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
            tries: Tries::new(name, spec.limits, spec.retries, metrics, context.seed),
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
        let done = match self.tries.run(call.session.map(|tag| tag.seed.0), call.interrupt, once).await {
            Ok(done) => done,
            Err(GivenUp::Failed(tries)) => return Err(CallError::Failed(failed(tries))),
            Err(GivenUp::Interrupted(tries)) => return Err(CallError::Interrupted(failed(tries))),
        };
        let completion = done.value;
        let cost = call.price.filter(|_| completion.usage_is_known).map(|price| price.cost(&completion.usage, &regatta_proto::Circumstances::default()));
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
            reported_cost: None,
            first_token_us: None,
            at: None,
            lane: regatta_proto::Lane::Live,
            from_cache: false,
        })
    }

    fn model(&self, model: &str) -> ModelRef {
        ModelRef { endpoint: self.name.clone(), model: model.to_owned() }
    }
}

/// A request that cannot even be written.
pub(super) fn unsendable(error: &serde_json::Error) -> Try {
    let detail = format!("the request cannot be written as JSON: {error}");
    Try { class: ErrorClass::BadRequest, status: None, detail, latency_us: 0, usage: None, cost: None, at_most: None }
}
