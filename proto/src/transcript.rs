//! The append-only record of a session.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ChatRequest, Digest, Ended, Exchange, Finish, Lane, ModelRef, Money, Reply, Started, Usage};

/// Who was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The model under test.
    Agent,
    /// A model that plays the user.
    User,
    /// A model that plays the tools.
    Environment,
    /// A model or encoder that answers an evaluator's questions.
    Judge,
}

impl Role {
    /// The word used everywhere.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::User => "user",
            Self::Environment => "environment",
            Self::Judge => "judge",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "agent" => Ok(Self::Agent),
            "user" => Ok(Self::User),
            "environment" => Ok(Self::Environment),
            "judge" => Ok(Self::Judge),
            _ => Err(format!("unknown role {text:?}; known: agent, user, environment, judge")),
        }
    }
}

/// What kind of trouble a try ran into. Which of them are retried is said once, in the error table of the `llm` crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The endpoint could not be reached: refused, reset, name not resolved, TLS failure.
    Connection,
    /// No connection, first byte or end of the answer in time.
    Timeout,
    /// 429.
    RateLimited,
    /// 408, 409, 5xx, or an overload error inside a 200.
    Server,
    /// The body broke off, was not JSON, or lacked what the format promises.
    BadResponse,
    /// 401 or 403.
    Auth,
    /// 404: no such model or path.
    NotFound,
    /// 400 and the other 4xx: the provider refuses this request.
    BadRequest,
    /// The conversation does not fit into the model's context.
    ContextLength,
    /// The provider's filter refused the conversation or withheld the answer, or the model declined in a field of its own.
    ContentFilter,
    /// The account has no money left at the provider.
    Quota,
    /// The same request had failed the same way too often, in the whole fleet: it was not sent.
    Poison,
    /// The sweep's budget does not allow the call: it was not sent.
    Budget,
    /// Calls are replayed from the cache, which does not have this one: it was not sent.
    CacheMiss,
}

impl ErrorClass {
    /// The word used in files, metrics and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Timeout => "timeout",
            Self::RateLimited => "rate_limited",
            Self::Server => "server",
            Self::BadResponse => "bad_response",
            Self::Auth => "auth",
            Self::NotFound => "not_found",
            Self::BadRequest => "bad_request",
            Self::ContextLength => "context_length",
            Self::ContentFilter => "content_filter",
            Self::Quota => "quota",
            Self::Poison => "poison",
            Self::Budget => "budget",
            Self::CacheMiss => "cache_miss",
        }
    }
}

/// One failed try at a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Try {
    /// What happened.
    pub class: ErrorClass,
    /// HTTP status, when there was an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What the endpoint said, cut to a bounded length, without secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// How long the try took, in microseconds.
    pub latency_us: u64,
    /// What the endpoint billed for it, as far as the broken answer told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What that cost; `None` when nothing was billed as far as told, or the price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// The endpoint may have billed it without telling, or told it for a service tier without a price: at most this much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Money>,
    /// The model declined, in its provider's own field for that; of class [`ErrorClass::ContentFilter`] only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
}

impl Try {
    /// The entry of a try that took no time and was billed to nobody, because nothing was sent.
    #[must_use]
    pub const fn not_sent(class: ErrorClass, detail: String) -> Self {
        Self { class, status: None, detail, latency_us: 0, usage: None, cost: None, at_most: None, refused: false }
    }
}

/// What really answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Served {
    /// Model id the endpoint reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its `system_fingerprint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Who answered behind a gateway, as far as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The service tier it was served in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The answer came from a simulated endpoint; said wherever its numbers appear.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
}

/// One answered model call with everything it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Call {
    /// Who was asked.
    pub role: Role,
    /// The attempt that paid for it.
    pub attempt: u32,
    /// The model asked.
    pub model: ModelRef,
    /// The request.
    pub request: ChatRequest,
    /// The reply.
    pub reply: Reply,
    /// Failed tries before the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<Try>,
    /// Tokens of the answer.
    pub usage: Usage,
    /// The provider's own usage object, so that the call can be priced again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_usage: Option<serde_json::Value>,
    /// Its cost; `None` when the price is unknown.
    pub cost: Option<Money>,
    /// The cost that the provider itself told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_cost: Option<Money>,
    /// What answered.
    #[serde(default)]
    pub served: Served,
    /// From sending the successful try to the last byte, in microseconds.
    pub latency_us: u64,
    /// From sending the successful try to the first token of the answer, in microseconds; of streamed answers only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_us: Option<u64>,
    /// When the successful try was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub at: Option<Timestamp>,
    /// How it was sent.
    #[serde(default, skip_serializing_if = "Lane::is_live")]
    pub lane: Lane,
    /// The answer was taken from the cache: nothing was sent, and nothing paid. Usage and latency are those of the original call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_cache: bool,
}

/// A call that was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FailedCall {
    /// Who was asked.
    pub role: Role,
    /// The attempt that tried.
    pub attempt: u32,
    /// The model asked.
    pub model: ModelRef,
    /// Every try, the last one being the reason.
    pub tries: Vec<Try>,
    /// What was asked, where that may be why it failed: to be sent again by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<ChatRequest>>,
    /// Digest of what an external agent asked, so that equal requests of a later start of it find the answers that they were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Digest>,
}

/// One entry of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A model answered.
    Call(Box<Call>),
    /// A call was given up.
    Failed(FailedCall),
    /// An answer that was recorded elsewhere and is scored here, without a call.
    Recorded(Reply),
    /// An external agent was started. What an earlier start of it did is no part of the result; its calls are answered again from here.
    Started(Started),
    /// A tool server answered the external agent.
    Exchange(Box<Exchange>),
    /// The external agent ended.
    Ended(Box<Ended>),
    /// The program of a coded benchmark failed, which ended the session.
    BenchmarkFailed(BenchmarkFailed),
}

/// Failure of a coded benchmark's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BenchmarkFailed {
    /// The call with its item, and what went wrong.
    pub why: String,
    /// The end of what the program wrote to standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub errors: String,
}

/// The append-only record of a session: every call with request, reply, usage, timing and provenance. A session is a function of
/// its transcript, so this is also all that is needed to continue it on another machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Transcript {
    /// What happened, in order.
    pub events: Vec<Event>,
}

impl Transcript {
    /// A transcript of one reply that was recorded elsewhere.
    #[must_use]
    pub fn of_recorded(text: Option<&str>) -> Self {
        Self { events: vec![Event::Recorded(Reply::of_text(text, Finish::Stop))] }
    }

    /// Replies of `role`, in order. Recorded replies are the agent's.
    pub fn replies(&self, role: Role) -> impl Iterator<Item = &Reply> {
        self.events.iter().filter_map(move |event| match event {
            Event::Call(call) if call.role == role => Some(&call.reply),
            Event::Recorded(reply) if role == Role::Agent => Some(reply),
            _ => None,
        })
    }

    /// Answered calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.events.iter().filter_map(|event| match event {
            Event::Call(call) => Some(&**call),
            _ => None,
        })
    }

    /// The same replies without what was asked: all that scoring may look at.
    #[must_use]
    pub fn without_requests(&self) -> Self {
        let mut events = self.events.clone();
        for event in &mut events {
            match event {
                Event::Call(call) => {
                    call.request.messages.clear();
                    call.raw_usage = None;
                }
                Event::Failed(failed) => failed.request = None,
                Event::Recorded(_)
                | Event::Started(_)
                | Event::Exchange(_)
                | Event::Ended(_)
                | Event::BenchmarkFailed(_) => {}
            }
        }
        Self { events }
    }

    /// The same calls without what was said: what they cost, and what answered.
    #[must_use]
    pub fn costs(&self) -> Self {
        let without_detail =
            |tries: &[Try]| tries.iter().map(|one| Try { detail: String::new(), ..one.clone() }).collect();
        let events = self.events.iter().filter_map(|event| match event {
            Event::Call(call) => Some(Event::Call(Box::new(Call {
                request: ChatRequest::default(),
                reply: Reply::of_text(None, call.reply.finish),
                tries: without_detail(&call.tries),
                raw_usage: None,
                ..(**call).clone()
            }))),
            Event::Failed(failed) => Some(Event::Failed(FailedCall {
                tries: without_detail(&failed.tries),
                request: None,
                ..failed.clone()
            })),
            Event::Recorded(_)
            | Event::Started(_)
            | Event::Exchange(_)
            | Event::Ended(_)
            | Event::BenchmarkFailed(_) => None,
        });
        Self { events: events.collect() }
    }

    /// Failed tries, those of calls that were answered in the end included, with the attempt that made them.
    pub fn failed_tries(&self) -> impl Iterator<Item = (u32, &Try)> {
        self.events.iter().flat_map(|event| {
            let (attempt, tries) = match event {
                Event::Call(call) => (call.attempt, call.tries.as_slice()),
                Event::Failed(failed) => (failed.attempt, failed.tries.as_slice()),
                Event::Recorded(_)
                | Event::Started(_)
                | Event::Exchange(_)
                | Event::Ended(_)
                | Event::BenchmarkFailed(_) => (0, [].as_slice()),
            };
            tries.iter().map(move |one| (attempt, one))
        })
    }
}
