//! The response cache: answers are stored and used again, so that a sweep which ran once can run again at no cost and without a network.
//!
//! The key of an answer is a digest of everything that it may depend on: the endpoint (kind, address, model), the whole request, the role,
//! the session, the trial and the seed. The session is included so that two sessions with the same request get two samples, which stay the
//! same in the next run, in whatever order they ask. Failures are never cached.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use jiff::Timestamp;
use regatta_proto::{
    AskedQuestion, CacheMode, Call, ChatRequest, Digest, EndpointKind, EndpointSpec, Lane, ModelRef, Money, Reply,
    Role, Served, Usage, Verdict, json_bytes, wire,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::SessionTag;
use crate::permits::store::StoreError;

/// The store of the response cache, shared by all workers.
pub trait ResponseStore: Send + Sync + 'static {
    /// The answer with this key; `None` if there is none.
    fn get<'a>(&'a self, key: &'a Digest) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>>;

    /// Stores an answer.
    fn put<'a>(&'a self, key: &'a Digest, answer: Bytes) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// A cached answer to a chat call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CachedResponse {
    pub(crate) reply: Reply,
    pub(crate) usage: Usage,
    pub(crate) raw_usage: Option<serde_json::Value>,
    pub(crate) served: Served,
    pub(crate) latency_us: u64,
    pub(crate) first_token_us: Option<u64>,
    pub(crate) at: Option<Timestamp>,
    /// Cost of the original call, which a cached answer saves; it is never charged.
    pub(crate) cost: Option<Money>,
}

impl CachedResponse {
    pub(crate) fn of(call: &Call) -> Self {
        Self {
            reply: call.reply.clone(),
            usage: call.usage,
            raw_usage: call.raw_usage.clone(),
            served: call.served.clone(),
            latency_us: call.latency_us,
            first_token_us: call.first_token_us,
            at: call.at,
            cost: call.cost,
        }
    }

    /// The transcript's entry of a call that it answers. It costs nothing, and was not tried.
    pub(crate) fn into_call(
        self,
        role: Role,
        attempt: u32,
        model: ModelRef,
        request: &ChatRequest,
        lane: Lane,
    ) -> Call {
        Call {
            role,
            attempt,
            model,
            request: request.clone(),
            reply: self.reply,
            tries: Vec::new(),
            usage: self.usage,
            raw_usage: self.raw_usage,
            cost: Some(Money::ZERO),
            reported_cost: None,
            served: self.served,
            latency_us: self.latency_us,
            first_token_us: self.first_token_us,
            waited_us: 0,
            at: self.at,
            lane,
            from_cache: true,
            saved: self.cost,
        }
    }
}

/// Result of a look-up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found<T> {
    /// The cache has an answer.
    Kept(T),
    /// The endpoint has to be asked.
    Ask,
    /// The endpoint may not be asked, and the cache has no answer, for this reason.
    Missing(String),
}

/// The response cache of one endpoint.
#[derive(Clone)]
pub(crate) struct ResponseCache {
    store: Arc<dyn ResponseStore>,
    provider: Vec<u8>,
}

impl ResponseCache {
    /// The cache of the endpoint of `spec` at `address`; `None` for the provider's own address.
    pub(crate) fn new(store: Arc<dyn ResponseStore>, spec: &EndpointSpec, address: Option<&str>) -> Self {
        // A simulated endpoint has a new address at every start, and its answers depend on its settings alone.
        let address = address.filter(|_| spec.kind != EndpointKind::Simulated);
        let identity = (
            spec.kind,
            address,
            &spec.api_version,
            &spec.region,
            &spec.headers,
            &spec.body,
            &spec.simulation,
            spec.send_seed,
        );
        let mut provider = json_bytes(&identity);
        // JSON ends where it ends, so that two texts behind each other are told apart as well as two parts.
        provider.extend(spec.secret_routing().map(|names| json_bytes(&names)).into_iter().flatten());
        Self { store, provider }
    }

    /// The key of a chat call.
    pub(crate) fn chat_key(
        &self,
        model: &str,
        role: Role,
        request: &ChatRequest,
        session: Option<&SessionTag<'_>>,
        repeat: u32,
    ) -> Digest {
        let session = session.map(|tag| (tag.benchmark, tag.setting, tag.item, tag.trial, tag.seed));
        let rest = json_bytes(&(model, role, request, session));
        let parts = [b"answer/2".as_slice(), &self.provider, &rest];
        match repeat {
            0 => Digest::of_parts(parts),
            repeat => Digest::of_parts(parts.into_iter().chain([repeat.to_le_bytes().as_slice()])),
        }
    }

    /// The key of the `number`-th reply to a judgement, counted from 0, because a reply that was not accepted must not be returned again.
    pub(crate) fn judgement_key(
        &self,
        model: &str,
        request: &ChatRequest,
        asked: &AskedQuestion,
        number: u32,
    ) -> Digest {
        let rest = json_bytes(&(model, request));
        let (question, number) = (asked.digest.bytes().as_slice(), number.to_le_bytes());
        Digest::of_parts([b"judgement/1".as_slice(), &self.provider, &rest, question, &number])
    }

    /// The key of a judge's verdict.
    pub(crate) fn verdict_key(&self, model: &str, asked: &AskedQuestion) -> Digest {
        Digest::of_parts([b"verdict/1".as_slice(), &self.provider, model.as_bytes(), asked.digest.bytes()])
    }

    /// Looks up the chat answer with `key`.
    pub(crate) async fn find_response(&self, mode: CacheMode, key: &Digest) -> Found<CachedResponse> {
        self.find(mode, key).await
    }

    /// Looks up the verdict with `key`.
    pub(crate) async fn find_verdict(&self, mode: CacheMode, key: &Digest) -> Found<Verdict> {
        self.find(mode, key).await
    }

    async fn find<T: DeserializeOwned>(&self, mode: CacheMode, key: &Digest) -> Found<T> {
        if !mode.reads() {
            return Found::Ask;
        }
        let problem = match self.store.get(key).await {
            Ok(Some(bytes)) => match wire::decode(&bytes) {
                Ok(kept) => return Found::Kept(kept),
                Err(error) => Some(error.to_string()),
            },
            Ok(None) => None,
            Err(error) => Some(error.to_string()),
        };
        match (mode, problem) {
            (CacheMode::Replay, None) => {
                Found::Missing(format!("the response cache has no answer {key}, and `cache: replay` asks no endpoint"))
            }
            (CacheMode::Replay, Some(problem)) => {
                Found::Missing(format!("the answer {key} in the cache cannot be read: {problem}"))
            }
            (_, None) => Found::Ask,
            (_, Some(problem)) => {
                tracing::warn!(%key, problem, "failed to read a cached response; asking again");
                Found::Ask
            }
        }
    }

    /// Stores an answer if the mode writes to the cache. A failure to store is logged, and does not lose the answer.
    pub(crate) async fn keep<T: Serialize>(&self, mode: CacheMode, key: &Digest, answer: &T) {
        if !mode.writes() {
            return;
        }
        let kept = match wire::encode(answer) {
            Ok(bytes) => self.store.put(key, bytes).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(problem) = kept {
            tracing::warn!(%key, problem, "failed to keep an answer; replaying will miss it");
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
