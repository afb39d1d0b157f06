//! Runs a chat call, from the caller's request to the entry of the transcript.

use std::time::Duration;

use regatta_memory::{ByteBudget, TooLarge};
use regatta_proto::{
    CacheMode, Call, ChatRequest, Circumstances, Digest, EndpointName, EndpointSpec, ErrorClass, FailedCall, Finish,
    Lane, ModelRef, Try, Usage,
};

use crate::acceptance::Expressions;
use crate::cache::{CachedResponse, Found, ResponseCache};
use crate::call::{CallError, ChatCall, Told};
use crate::client::Client;
use crate::errors::{Failure, rule};
use crate::open::{OpenContext, address};
use crate::open_error::OpenError;
use crate::quarantine::Suspect;
use crate::received::Received;
use crate::similarity::VectorCache;
use crate::tries::{Answered, GivenUp, Tries, TryContext};
use crate::wire::Completion;

/// An endpoint's client with its cache, permits, accounts and retries.
pub(crate) struct Caller {
    name: EndpointName,
    pub(crate) client: Client,
    pub(crate) tries: Tries,
    pub(crate) vectors: VectorCache,
    pub(crate) cache: ResponseCache,
    pub(crate) expressions: Expressions,
    bytes: ByteBudget,
}

impl Caller {
    pub(crate) fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Result<Self, OpenError> {
        Ok(Self {
            name: name.clone(),
            client: Client::open(name, spec, context)?,
            tries: Tries::open(name, spec, context),
            vectors: VectorCache::new(),
            cache: ResponseCache::new(context.answers.clone(), spec, address(spec, context.env).as_deref()),
            expressions: Expressions::new(),
            bytes: context.bytes.clone(),
        })
    }

    /// Runs one chat call: from the cache if it may be used and has an answer, otherwise with all tries.
    pub(crate) async fn chat(&self, call: ChatCall<'_>) -> Result<Call, CallError> {
        let told = call.session.map(Told::Session);
        if call.payer.cache == CacheMode::Off {
            return self.ask(call, told).await;
        }
        let key = self.cache.chat_key(call.model, call.role, call.request, call.session.as_ref(), call.repeat);
        self.ask_or_replay(call, told, &key).await
    }

    /// Like `chat`, with the answer cached under `key`.
    pub(crate) async fn ask_or_replay(
        &self,
        call: ChatCall<'_>,
        told: Option<Told<'_>>,
        key: &Digest,
    ) -> Result<Call, CallError> {
        let mode = call.payer.cache;
        if mode == CacheMode::Off {
            return self.ask(call, told).await;
        }
        match self.cache.find_response(mode, key).await {
            // Cached by a version in which such answers were no failures.
            Found::Kept(kept) if kept.reply.finish == Finish::ContentFilter => {
                let filtered =
                    Failure::unanswered(ErrorClass::ContentFilter, "the cached answer was withheld".to_owned());
                Err(CallError::Failed(self.failed(&call, vec![filtered.into_try(Duration::ZERO)])))
            }
            Found::Kept(kept) => Ok(self.replayed(&call, kept)),
            Found::Missing(reason) => {
                let missing = Failure::unanswered(ErrorClass::CacheMiss, reason);
                Err(CallError::Failed(self.failed(&call, vec![missing.into_try(Duration::ZERO)])))
            }
            Found::Ask => {
                let answered = self.ask(call, told).await?;
                self.cache.keep(mode, key, &CachedResponse::of(&answered)).await;
                Ok(answered)
            }
        }
    }

    /// The entry of a call whose answer is cached. It costs nothing.
    fn replayed(&self, call: &ChatCall<'_>, kept: CachedResponse) -> Call {
        if let Some(holder) = call.holder {
            holder.keep(kept.reply.bytes());
        }
        kept.into_call(call.role, call.attempt, self.model(call.model), call.request, Lane::Live)
    }

    fn failed(&self, call: &ChatCall<'_>, tries: Vec<Try>) -> FailedCall {
        let request = kept_request(&tries, call.request);
        FailedCall {
            role: call.role,
            attempt: call.attempt,
            model: self.model(call.model),
            tries,
            request,
            asked: None,
        }
    }

    async fn ask(&self, call: ChatCall<'_>, told: Option<Told<'_>>) -> Result<Call, CallError> {
        let failed = |tries| self.failed(&call, tries);
        if let Some(refusal) = self.unpriced_tier(&call) {
            return Err(CallError::Failed(failed(vec![refusal])));
        }
        let prepare = || self.client.prepare(call.model, call.request, told.as_ref());
        let prepared =
            prepare().map_err(|failure| CallError::Failed(failed(vec![failure.into_try(Duration::ZERO)])))?;
        // A body with images may have megabytes: none is kept while its call waits for its turn, but written anew for each try.
        let prepared = call.request.images().next().is_none().then_some(prepared);
        let context = TryContext {
            model: call.model,
            payer: call.payer,
            attempt: call.attempt,
            prompt_bytes: call.request.prompt_bytes(),
            media_tokens: call.request.media_tokens(),
            max_output: call.request.sampling.max_tokens.map(u64::from),
            suspect: Some(Suspect::new(call.payer.sweep, call.model, call.request)),
            seed: told.map(|told| told.seed().0),
            interrupt: call.interrupt,
            meter: call.meter,
        };
        let own;
        let holder = match call.holder {
            Some(holder) => holder,
            None => {
                own = self.bytes.holder();
                &own
            }
        };
        let once = || async {
            match &prepared {
                Some(prepared) => self.client.once(prepared, holder.read()).await,
                None => {
                    let mut held = holder.read();
                    held.grow(call.request.sent_bytes()).await.map_err(no_room)?;
                    self.client.once(&prepare()?, held).await
                }
            }
        };
        let done = match self.tries.run(context, once).await {
            Ok(done) => done,
            Err(GivenUp::Failed(tries)) => return Err(CallError::Failed(failed(tries))),
            Err(GivenUp::Interrupted(tries)) => return Err(CallError::Interrupted(failed(tries))),
        };
        let Received { value: completion, held } = done.value;
        held.keep(completion.reply.bytes());
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
            waited_us: done.waited_us,
            at: Some(done.at),
            lane: Lane::Live,
            from_cache: false,
            saved: None,
        })
    }

    /// The reason why a call is not sent whose client asks for a service tier without a price: it may be a dearer one than what is reserved.
    fn unpriced_tier(&self, call: &ChatCall<'_>) -> Option<Try> {
        let tier = call.request.passed.as_ref()?.fields.get("service_tier")?.as_str()?;
        let price = call.payer.price.filter(|_| self.tries.leaves_tier_open())?;
        price.variant(&Circumstances { variant: Some(tier), at: None }).is_none().then(|| {
            let detail = format!(
                "`service_tier` {tier:?} has no price for {}; leave it out, or give the model's price a variant of this name",
                call.model
            );
            Try::not_sent(ErrorClass::BadRequest, detail)
        })
    }

    fn model(&self, model: &str) -> ModelRef {
        ModelRef { endpoint: self.name.clone(), model: model.to_owned() }
    }
}

/// The failure of a call whose request is larger than one may be here.
fn no_room(error: TooLarge) -> Failure {
    Failure::unanswered(ErrorClass::BadRequest, format!("the images of the request cannot be held: {error}"))
}

/// The request of a call that ended with the last of `tries`, if its class keeps the request in the transcript.
pub(crate) fn kept_request(tries: &[Try], request: &ChatRequest) -> Option<Box<ChatRequest>> {
    tries.last().filter(|last| rule(last.class).keeps_request).map(|_| Box::new(request.clone()))
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
