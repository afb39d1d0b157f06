//! The append-only record of a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ChatRequest, CostSum, Finish, ModelRef, Money, Reply, Usage};

/// Who was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The model under test.
    Agent,
    /// A model or encoder that answers an evaluator's questions.
    Judge,
}

/// What kind of trouble a try ran into. Which of them are retried is said once, in the error table of the `llm` crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
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
}

/// One failed try at a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
}

/// What really answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// The answer came from a simulated endpoint; said wherever its numbers appear.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
}

/// One answered model call with everything it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// What answered.
    #[serde(default)]
    pub served: Served,
    /// From sending the successful try to the last byte, in microseconds.
    pub latency_us: u64,
}

/// A call that was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailedCall {
    /// Who was asked.
    pub role: Role,
    /// The attempt that tried.
    pub attempt: u32,
    /// The model asked.
    pub model: ModelRef,
    /// Every try, the last one being the reason.
    pub tries: Vec<Try>,
}

/// One entry of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A model answered.
    Call(Box<Call>),
    /// A call was given up.
    Failed(FailedCall),
    /// An answer that was recorded elsewhere and is scored here, without a call.
    Recorded(Reply),
}

/// The append-only record of a session: every call with request, reply, usage, timing and provenance. A session is a function of
/// its transcript, so this is also all that is needed to continue it on another machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Transcript {
    /// What happened, in order.
    pub events: Vec<Event>,
}

impl Transcript {
    /// A transcript of one reply that was recorded elsewhere.
    #[must_use]
    pub fn of_recorded(text: Option<&str>) -> Self {
        let reply = Reply { text: text.map(Into::into), finish: Finish::Stop };
        Self { events: vec![Event::Recorded(reply)] }
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
            if let Event::Call(call) = event {
                call.request.messages.clear();
                call.raw_usage = None;
            }
        }
        Self { events }
    }

    /// Failed tries, those of calls that were answered in the end included, with the attempt that made them.
    pub fn failed_tries(&self) -> impl Iterator<Item = (u32, &Try)> {
        self.events.iter().flat_map(|event| {
            let (attempt, tries) = match event {
                Event::Call(call) => (call.attempt, call.tries.as_slice()),
                Event::Failed(failed) => (failed.attempt, failed.tries.as_slice()),
                Event::Recorded(_) => (0, [].as_slice()),
            };
            tries.iter().map(move |one| (attempt, one))
        })
    }

    /// Tokens and money that `attempt` alone paid for. Usage a broken answer still reported is counted, at an unknown price.
    #[must_use]
    pub fn spent_by(&self, attempt: u32) -> (Usage, CostSum) {
        let mut usage = Usage::default();
        let mut cost = CostSum::default();
        for call in self.calls().filter(|call| call.attempt == attempt) {
            usage += call.usage;
            cost.add_call(call.cost);
        }
        for (_, failed) in self.failed_tries().filter(|(number, _)| *number == attempt) {
            if let Some(billed) = failed.usage {
                usage += billed;
                cost.add_call(None);
            }
        }
        (usage, cost)
    }
}
