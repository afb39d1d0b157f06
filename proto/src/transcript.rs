//! The append-only record of a session.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ChatRequest, Digest, Ended, Exchange, Finish, Lane, ModelRef, Money, Reply, Started, Usage};

/// Role of a model in a session.
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
    /// Name in files, SQL and messages.
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

/// Class of a failed try. The error table of the `llm` crate defines which classes are retried.
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
    /// The body broke off, was not JSON, or lacked a required field.
    BadResponse,
    /// 401 or 403.
    Auth,
    /// 404: no such model or path.
    NotFound,
    /// 400 and the other 4xx: the provider refuses this request.
    BadRequest,
    /// The conversation does not fit into the model's context.
    ContextLength,
    /// The provider's filter refused the conversation or withheld the answer, or the model refused in a field of its own.
    ContentFilter,
    /// The account has no credit left at the provider.
    Quota,
    /// Not sent, because the same request had failed in the same way too often, in the whole fleet.
    Poison,
    /// Not sent, because the sweep's budget does not allow the call.
    Budget,
    /// Not sent, because calls are replayed from the response cache, which does not have this one.
    CacheMiss,
}

impl ErrorClass {
    /// Name in files, metrics and messages.
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
    /// Class of the failure.
    pub class: ErrorClass,
    /// HTTP status; absent if there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The endpoint's message, cut to a bounded length, without secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Duration of the try in microseconds.
    pub latency_us: u64,
    /// Tokens that the endpoint billed for it, as far as the broken answer reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Cost of these tokens; `None` if none were reported, or the price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Upper bound of the cost that the endpoint may have billed without reporting it, or in a service tier without a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Money>,
    /// The endpoint may have billed it without reporting it, and nobody knows the price: there is no upper bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
    /// The model refused, in its provider's field for refusals; only with the class [`ErrorClass::ContentFilter`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Time that the call waited before this try, in microseconds, as before the successful one; 0 if it was less than a millisecond.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_us: u64,
}

const fn is_zero(microseconds: &u64) -> bool {
    *microseconds == 0
}

impl Try {
    /// The entry of a try that was not sent, which took no time and cost nothing.
    #[must_use]
    pub const fn not_sent(class: ErrorClass, detail: String) -> Self {
        Self {
            class,
            status: None,
            detail,
            latency_us: 0,
            usage: None,
            cost: None,
            at_most: None,
            unpriced: false,
            refused: false,
            waited_us: 0,
        }
    }

    /// Tokens and cost of the try, if it was billed or may have been billed without an upper bound. Those that `at_most` bounds are in
    /// doubt and count as no cost.
    #[must_use]
    pub fn billed(&self) -> Option<(Usage, Option<Money>)> {
        match self.usage {
            Some(usage) => Some((usage, self.cost)),
            None => self.unpriced.then(|| (Usage::default(), None)),
        }
    }

    /// The try, which the endpoint may have billed without a report, at most `at_most`; `None` if the price is unknown.
    #[must_use]
    pub fn maybe_billed(self, at_most: Option<Money>) -> Self {
        Self { at_most, unpriced: at_most.is_none(), ..self }
    }
}

/// Provenance of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Served {
    /// Model id that the endpoint reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The endpoint's `system_fingerprint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Provider behind a gateway, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Service tier in which the call was served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The answer came from a simulated endpoint, which is noted wherever its numbers appear.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
}

/// One answered model call with its tries, tokens, cost and times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Call {
    /// Role of the model.
    pub role: Role,
    /// Number of the attempt that made the call.
    pub attempt: u32,
    /// The model.
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
    /// The provider's own usage object, so that the cost can be computed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_usage: Option<serde_json::Value>,
    /// Cost of the answer; `None` if the price is unknown.
    pub cost: Option<Money>,
    /// Cost that the provider itself reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_cost: Option<Money>,
    /// Provenance of the answer.
    #[serde(default)]
    pub served: Served,
    /// Time from sending the successful try to the last byte, in microseconds.
    pub latency_us: u64,
    /// Time from sending the successful try to the first token of the answer, in microseconds; only for streamed answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_us: Option<u64>,
    /// Time that the call waited between the try before and the successful one, in microseconds: the pause after a failure, then for an endpoint
    /// that is up, money of the budget, and limits. 0 if it was less than a millisecond.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_us: u64,
    /// Time at which the successful try was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub at: Option<Timestamp>,
    /// Delivery mode of the call.
    #[serde(default, skip_serializing_if = "Lane::is_live")]
    pub lane: Lane,
    /// The answer was taken from the response cache: nothing was sent or paid. Usage and latency are those of the original call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_cache: bool,
    /// Cost of the original call of an answer from the response cache, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Money>,
}

/// A call that was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FailedCall {
    /// Role of the model.
    pub role: Role,
    /// Number of the attempt that made the call.
    pub attempt: u32,
    /// The model.
    pub model: ModelRef,
    /// All tries; the last one is the reason.
    pub tries: Vec<Try>,
    /// The request, if it may be the reason of the failure, so that a person can send it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<ChatRequest>>,
    /// Digest of an external agent's request, so that an equal request after a restart gets the same answer.
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
    /// An external agent was started. Actions of an earlier start are not part of the result; its calls are answered again from the
    /// transcript.
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
    /// The call with its item, and the error.
    pub why: String,
    /// The last part of the program's standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub errors: String,
}

/// The append-only record of a session: every call with request, reply, usage, timing and provenance. A session is a function of its
/// transcript, so the transcript is all that is needed to continue it on another machine.
///
/// It is serialised with every request in full; `Compact` writes each message once, and both forms are read.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Transcript {
    /// Events in order.
    pub events: Vec<Event>,
}

impl Transcript {
    /// Bytes of its texts, about what it takes as a message.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let request = |request: &ChatRequest| -> u64 {
            request.messages.iter().map(|message| message.content.len() as u64).sum()
        };
        let bytes = self.events.iter().map(|event| match event {
            Event::Call(call) => request(&call.request) + call.reply.bytes(),
            Event::Failed(failed) => failed.request.as_deref().map_or(0, request),
            Event::Recorded(reply) => reply.bytes(),
            Event::Exchange(exchange) => (exchange.url.len() + exchange.response.len()) as u64,
            Event::Ended(ended) => ended.output.len() as u64,
            Event::Started(_) | Event::BenchmarkFailed(_) => 0,
        });
        bytes.sum()
    }

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

    /// The same replies without the requests, which is all that scoring may use.
    #[must_use]
    pub fn without_requests(&self) -> Self {
        let mut events = self.events.clone();
        for event in &mut events {
            match event {
                Event::Call(call) => {
                    call.request.messages.clear();
                    call.request.passed = None;
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

    /// The same calls without requests and texts: costs and provenance.
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

    /// Failed tries, including those of calls that were answered in the end, each with the number of the attempt that made it.
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
