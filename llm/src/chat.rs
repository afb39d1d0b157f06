//! A chat call from the caller's request to the entry of the transcript.

use std::time::Duration;

use regatta_proto::{Call, EndpointName, EndpointSpec, FailedCall, Lane, ModelRef, Try, Usage};

use crate::call::{CallError, ChatCall};
use crate::http::HttpClient;
use crate::open::{OpenContext, OpenError};
use crate::quarantine::Suspect;
use crate::similarity::VectorCache;
use crate::tries::{Answered, Errand, GivenUp, Tries};
use crate::wire::Completion;

/// An endpoint that models are called at.
pub(crate) struct Caller {
    name: EndpointName,
    pub(crate) http: HttpClient,
    pub(crate) tries: Tries,
    pub(crate) vectors: VectorCache,
}

impl Caller {
    pub(crate) fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Result<Self, OpenError> {
        Ok(Self {
            name: name.clone(),
            http: HttpClient::open(name, spec, context)?,
            tries: Tries::open(name, spec, context),
            vectors: VectorCache::new(),
        })
    }

    /// One chat call with all its tries.
    pub(crate) async fn chat(&self, call: ChatCall<'_>) -> Result<Call, CallError> {
        let failed =
            |tries: Vec<Try>| FailedCall { role: call.role, attempt: call.attempt, model: self.model(call.model), tries };
        let prepared = &self
            .http
            .prepare(call.model, call.request, call.session.as_ref())
            .map_err(|failure| CallError::Failed(failed(vec![failure.into_try(Duration::ZERO)])))?;
        let errand = Errand {
            model: call.model,
            payer: call.payer,
            attempt: call.attempt,
            prompt_bytes: call.request.prompt_bytes(),
            max_output: call.request.sampling.max_tokens.map(u64::from),
            suspect: Some(Suspect::new(call.model, call.request)),
            seed: call.session.map(|tag| tag.seed.0),
            interrupt: call.interrupt,
        };
        let done = match self.tries.run(errand, || self.http.once(prepared)).await {
            Ok(done) => done,
            Err(GivenUp::Failed(tries)) => return Err(CallError::Failed(failed(tries))),
            Err(GivenUp::Interrupted(tries)) => return Err(CallError::Interrupted(failed(tries))),
        };
        let completion = done.value;
        Ok(Call {
            role: call.role,
            attempt: call.attempt,
            model: self.model(call.model),
            request: call.request.clone(),
            reply: completion.reply,
            tries: done.tries,
            usage: completion.usage,
            raw_usage: completion.raw_usage,
            cost: done.cost,
            reported_cost: completion.reported_cost,
            served: completion.served,
            latency_us: micros(done.latency),
            first_token_us: completion.first_token.map(micros),
            at: Some(done.at),
            lane: Lane::Live,
            from_cache: false,
        })
    }

    fn model(&self, model: &str) -> ModelRef {
        ModelRef { endpoint: self.name.clone(), model: model.to_owned() }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Answered for Completion {
    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn usage_is_known(&self) -> bool {
        self.usage_is_known
    }

    fn tier(&self) -> Option<&str> {
        self.served.tier.as_deref()
    }

    fn first_token(&self) -> Option<Duration> {
        self.first_token
    }

    fn exhausted_for(&self) -> Option<Duration> {
        self.hints.exhausted_for
    }
}
