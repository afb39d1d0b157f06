//! The error table: which failures belong to which class, and the consequences of each class.
//!
//! [`TABLE`] has a row for each class. Two further tables below it map answers to a [`ProviderEvent`], and so to a class: [`STATUSES`] by
//! status, and [`WORDS`] by the provider's message. A new message for a known event is a line in [`WORDS`].

use std::ops::RangeInclusive;
use std::time::Duration;

use regatta_proto::{Cause, ErrorClass, Try, Usage};
use serde_json::Value;

use crate::events::{EventRule, ProviderEvent};
use crate::limits;

/// The party at fault for a class of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The endpoint or the network.
    Endpoint,
    /// Credentials, money, model name or parameters of the spec.
    Operator,
    /// The model under test.
    Model,
    /// A filter between the model and us, or the model's own refusal; no wire format tells them apart. `filtered` in the spec determines
    /// the outcome.
    Filter,
}

/// Consequences of a class of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The class.
    pub class: ErrorClass,
    /// Name of the class in transcripts, logs and metrics.
    pub word: &'static str,
    /// The same request is tried again.
    pub retried: bool,
    /// A long run of such failures opens the endpoint's circuit breaker, so that its calls wait until it is back (see `breaker`).
    pub holds_endpoint: bool,
    /// The request itself may be to blame if the endpoint answers others meanwhile (see `quarantine`).
    pub counts_as_poison: bool,
    /// The endpoint may have billed the try without reporting it: it was sent, and its answer was lost. For a failure to connect, only if
    /// the connection was lost after the request may have been sent.
    pub maybe_billed: bool,
    /// A call given up with this class keeps its request in the transcript, because the request may be to blame, and people will want to
    /// send it again.
    pub keeps_request: bool,
    /// The party at fault.
    pub fault: Fault,
    /// Cause of the session's outcome, if its call was given up with this class.
    pub cause: Cause,
    /// The conditions of the class, in one sentence for the documentation.
    pub meaning: &'static str,
}

const fn row(
    class: ErrorClass,
    word: &'static str,
    [retried, holds_endpoint, counts_as_poison, maybe_billed, keeps_request]: [bool; 5],
    fault: Fault,
    cause: Cause,
    meaning: &'static str,
) -> Rule {
    Rule { class, word, retried, holds_endpoint, counts_as_poison, maybe_billed, keeps_request, fault, cause, meaning }
}

const YES: bool = true;
const NO: bool = false;

/// The table, in the order of the classes.
#[rustfmt::skip]
pub const TABLE: [Rule; 14] = [
    //  class                       word               retried holds poison billed? keeps  fault         outcome's cause
    row(ErrorClass::Connection,    "connection",      [YES,    YES,  NO,    NO,  NO],  Fault::Endpoint, Cause::EndpointUnavailable,
        "The endpoint cannot be reached: refused, reset, name not resolved, TLS failure."),
    row(ErrorClass::Timeout,       "timeout",         [YES,    NO,   YES,   YES, YES], Fault::Endpoint, Cause::Timeout,
        "No connection, no first byte or no end of the answer in time."),
    row(ErrorClass::RateLimited,   "rate_limited",    [YES,    NO,   NO,    NO,  NO],  Fault::Endpoint, Cause::RateLimited,
        "The endpoint refuses the call for being one too many; the whole fleet slows down."),
    row(ErrorClass::Server,        "server",          [YES,    NO,   YES,   NO,  YES], Fault::Endpoint, Cause::EndpointUnavailable,
        "The endpoint fails on its side, or says that it is overloaded, with an error status or inside a 200."),
    row(ErrorClass::BadResponse,   "bad_response",    [YES,    NO,   YES,   YES, YES], Fault::Endpoint, Cause::BadResponse,
        "The answer breaks off, is not JSON, or lacks what the format promises."),
    row(ErrorClass::Auth,          "auth",            [NO,     NO,   NO,    NO,  NO],  Fault::Operator, Cause::Auth,
        "The endpoint refuses the credentials."),
    row(ErrorClass::NotFound,      "not_found",       [NO,     NO,   NO,    NO,  NO],  Fault::Operator, Cause::ModelNotFound,
        "The endpoint knows neither such a model nor such a path."),
    row(ErrorClass::BadRequest,    "bad_request",     [NO,     NO,   NO,    NO,  YES], Fault::Operator, Cause::RequestRefused,
        "The endpoint refuses the request as such."),
    row(ErrorClass::ContextLength, "context_length",  [NO,     NO,   NO,    NO,  YES], Fault::Model,    Cause::ContextLength,
        "The conversation does not fit into the model's context."),
    row(ErrorClass::ContentFilter, "content_filter",  [NO,     NO,   NO,    NO,  YES], Fault::Filter,   Cause::ContentFilter,
        "The provider's filter refuses the conversation or withholds the answer, or the answer is declined."),
    row(ErrorClass::Quota,         "quota",           [NO,     NO,   NO,    NO,  NO],  Fault::Operator, Cause::Quota,
        "The account has no money left at the provider, or may not spend more."),
    row(ErrorClass::Poison,        "poison",          [NO,     NO,   NO,    NO,  YES], Fault::Endpoint, Cause::Poison,
        "The same request has failed too often in the whole fleet, while others were answered: it is not sent any more."),
    row(ErrorClass::Budget,        "budget",          [NO,     NO,   NO,    NO,  NO],  Fault::Operator, Cause::Budget,
        "The sweep's budget does not allow the call: it is not sent."),
    row(ErrorClass::CacheMiss,     "cache_miss",      [NO,     NO,   NO,    NO,  NO],  Fault::Operator, Cause::CacheMiss,
        "Calls are replayed from the cache, which does not have this one: it is not sent."),
];

/// The row of a class.
#[must_use]
pub const fn rule(class: ErrorClass) -> &'static Rule {
    &TABLE[class as usize]
}

impl EventRule {
    /// The party at fault; `None` if the call has an answer.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        self.class.map(|class| rule(class).fault)
    }
}

/// Events by status, unless [`WORDS`] matches; the first line that contains the status counts.
const STATUSES: [(RangeInclusive<u16>, ProviderEvent); 11] = [
    (401..=401, ProviderEvent::CredentialsRefused),
    (402..=402, ProviderEvent::OutOfCredit),
    (403..=403, ProviderEvent::CredentialsRefused),
    (404..=404, ProviderEvent::ModelUnknown),
    // Redirects are not followed, because the address is wrong then.
    (300..=399, ProviderEvent::ModelUnknown),
    (429..=429, ProviderEvent::RateLimited),
    (413..=413, ProviderEvent::RequestTooLarge),
    // The server's own time-out, and a conflict with another request; neither is the request's fault.
    (408..=409, ProviderEvent::ServerTrouble),
    (400..=499, ProviderEvent::RequestRefused),
    (500..=599, ProviderEvent::ServerTrouble),
    (0..=u16::MAX, ProviderEvent::Unreadable),
];

/// A way in which providers report an event in the body of an error.
struct Saying {
    event: ProviderEvent,
    /// Takes precedence over a status of 4xx, which providers use for many things. If `false`, it counts only in a 200, where no status
    /// tells.
    goes_before_status: bool,
    /// Parts of a `code`, `type` or `status` in lower case; one must occur.
    codes: &'static [&'static str],
    /// Parts of the message in lower case; all of one line must occur.
    texts: &'static [&'static [&'static str]],
}

/// The first line that matches counts. Between an overflow and an output limit, the numbers in the message decide; see [`limits`].
#[rustfmt::skip]
const WORDS: [Saying; 14] = [
    Saying { event: ProviderEvent::OutputLimitTooLarge, goes_before_status: true,
        codes: &[],
        texts: &[
            &["max_tokens", "too large"],             // OpenAI, vLLM
            &["max_completion_tokens", "too large"],
            &["max_output_tokens", "above maximum value"], // OpenAI's responses
            &["max_completion_tokens", "above maximum value"],
            &["max_tokens", "above maximum value"],
            &["max_tokens", "maximum allowed number of output tokens"], // Anthropic
            &["max_tokens", "exceed context limit"],  // Anthropic
            &["maxoutputtokens", "supported range"],  // Gemini
            &["max_output_tokens", "supported range"],
            &["maximum tokens you requested exceeds"], // Bedrock
            &["max_tokens", "must be less than or equal to"], // Groq
        ] },
    Saying { event: ProviderEvent::ContextOverflow, goes_before_status: true,
        codes: &["context_length_exceeded", "exceed_context_size"],
        texts: &[
            &["maximum context length"],   // OpenAI, vLLM, Mistral, and gateways that pass it on
            &["model's context length"],   // SGLang
            &["context window", "exceed"], // OpenAI's newer wording, Together
            &["context limit", "exceed"],  // Anthropic's wording
            &["prompt is too long"],       // Anthropic, Fireworks
            &["input is too long for requested model"], // Bedrock
            &["exceeds the available context size"], // llama.cpp
            &["inputs` tokens", "max_new_tokens` must be <="], // text-generation-inference
            &["exceeds the maximum number of tokens allowed"], // Gemini
            &["reduce the length of the messages"], // Groq, OpenAI's older wording
            &["longer than the maximum model length"], // vLLM's engine
        ] },
    Saying { event: ProviderEvent::PromptFiltered, goes_before_status: true,
        codes: &[
            "content_filter", "content_policy_violation", "responsibleaipolicyviolation", // OpenAI, Azure
            "invalid_prompt", "cyber_policy", // OpenAI
            "data_inspection_failed",         // DashScope
            "flagged_input",                  // OpenRouter
        ],
        texts: &[
            &["content management policy"],       // Azure
            &["input", "flagged"],                // OpenRouter
            &["prompt", "flagged"],               // OpenAI
            &["request was flagged"],
            &["content exists risk"],             // DeepSeek
            &["violates usage guidelines"],       // xAI
            &["rejected", "safety system"],       // OpenAI
        ] },
    Saying { event: ProviderEvent::AnswerFiltered, goes_before_status: true,
        codes: &[], texts: &[&["blocked by content filtering"]] }, // Anthropic, also of prompts
    Saying { event: ProviderEvent::OutOfCredit, goes_before_status: true,
        codes: &["insufficient_quota", "insufficient_balance", "billing_", "payment_required"],
        texts: &[
            &["credit balance is too low"], // Anthropic
            &["insufficient balance"],      // DeepSeek
            &["insufficient credits"],      // OpenRouter
            &["requires more credits"],     // OpenRouter
            &["billing hard limit"],        // OpenAI
        ] },
    Saying { event: ProviderEvent::CredentialsRefused, goes_before_status: true,
        codes: &[], texts: &[
            &["pass a valid api key"], // Gemini, with a 400
            &["no connected db"],      // LiteLLM's proxy, with a 400: the key is not its master key, and it has no other
        ] },
    Saying { event: ProviderEvent::ModelUnknown, goes_before_status: true,
        codes: &[], texts: &[&["invalid model name passed in"]] }, // LiteLLM's proxy, with a 400
    Saying { event: ProviderEvent::RateLimited, goes_before_status: false,
        codes: &["rate_limit", "ratelimit", "too_many_requests", "throttl", "resource_exhausted"], texts: &[] },
    Saying { event: ProviderEvent::ServerTrouble, goes_before_status: false,
        codes: &["overloaded", "unavailable", "server_error", "internal", "timeout", "deadline_exceeded"], texts: &[] },
    Saying { event: ProviderEvent::CredentialsRefused, goes_before_status: false,
        codes: &["authentication", "invalid_api_key", "permission", "unauthorized", "unauthenticated", "forbidden"], texts: &[] },
    Saying { event: ProviderEvent::ModelUnknown, goes_before_status: false,
        codes: &["not_found", "notfound"], texts: &[] },
    Saying { event: ProviderEvent::RequestTooLarge, goes_before_status: false,
        codes: &["request_too_large"], texts: &[] },
    Saying { event: ProviderEvent::RequestRefused, goes_before_status: false,
        codes: &["invalid_request", "bad_request", "badrequest", "invalid_", "unsupported_"], texts: &[] },
    // An unknown error is the server's.
    Saying { event: ProviderEvent::ServerTrouble, goes_before_status: false, codes: &[], texts: &[&[]] },
];

/// The subjects of plain refusals. The operator is at fault in either case, and the message tells what to correct.
#[rustfmt::skip]
const REFUSALS: [Saying; 2] = [
    Saying { event: ProviderEvent::RequestTooLarge, goes_before_status: true,
        codes: &["request_too_large"], texts: &[&["payload size exceeds"]] }, // Anthropic; Gemini
    Saying { event: ProviderEvent::UnknownParameter, goes_before_status: true,
        codes: &["unknown_parameter", "unsupported_parameter", "unsupported_value"], // OpenAI
        texts: &[
            &["extra inputs are not permitted"], // Anthropic, FastAPI
            &["unknown name"],                   // Gemini
            &["extraneous key"],                 // Bedrock
            &["unrecognized request argument"],  // OpenAI's older wording
        ] },
];

/// The event of an answer with a status outside 2xx.
pub(crate) fn event_of_status(status: u16, info: Option<&ErrorInfo>) -> ProviderEvent {
    let said = info.filter(|_| (400..=499).contains(&status)).and_then(ErrorInfo::event);
    let by_status = || STATUSES.iter().find(|(range, _)| range.contains(&status)).map(|(_, event)| *event);
    match said.or_else(by_status).unwrap_or(ProviderEvent::Unreadable) {
        ProviderEvent::RequestRefused => {
            info.and_then(|info| info.heard(&REFUSALS)).unwrap_or(ProviderEvent::RequestRefused)
        }
        event => event,
    }
}

/// The event of an error object inside a 200, or in the middle of a stream.
pub(crate) fn event_of_error_in_200(info: &ErrorInfo) -> ProviderEvent {
    match (info.event(), info.status) {
        (Some(event), _) => event,
        (None, Some(status)) => event_of_status(status, Some(info)),
        (None, None) => info.heard(&WORDS).unwrap_or(ProviderEvent::ServerTrouble),
    }
}

/// The content of an error body, as far as it can be read.
#[derive(Debug, Default)]
pub(crate) struct ErrorInfo {
    /// The message for people.
    pub(crate) message: String,
    /// `code`, `type` and `status`, and a nested `code`, in lower case.
    words: Vec<String>,
    /// The `code`, if it is an HTTP status.
    status: Option<u16>,
}

impl ErrorInfo {
    /// Finds the error in `body`: an object or text under `error`; the body itself, if it calls itself an error or the status is not 200;
    /// or the `detail` of common Python servers. `None` if the body has none.
    pub(crate) fn find(body: &Value, is_error_status: bool) -> Option<Self> {
        let error = match body.get("error") {
            Some(Value::Null) | None => body.pointer("/choices/0/error").filter(|error| !error.is_null()),
            found => found,
        };
        if let Some(error) = error {
            return Some(Self::read(error));
        }
        let calls_itself_error = body.get("object").and_then(Value::as_str) == Some("error");
        if calls_itself_error || (is_error_status && body.get("message").is_some()) {
            return Some(Self::read(body));
        }
        let detail = body.get("detail").filter(|_| is_error_status)?;
        Some(Self::read(detail))
    }

    /// Reads the content of an `error` object.
    pub(crate) fn read(error: &Value) -> Self {
        let message = match (error.get("message").and_then(Value::as_str), error) {
            (Some(message), _) => message.to_owned(),
            (None, Value::String(text)) => text.clone(),
            (None, other) => other.to_string(),
        };
        let mut words = ["/code", "/type", "/status", "/innererror/code"]
            .iter()
            .filter_map(|path| error.pointer(path)?.as_str())
            .map(str::to_ascii_lowercase)
            .collect::<Vec<_>>();
        // A gateway's moderation repeats the text that it objects to.
        words.extend(error.pointer("/metadata/flagged_input").map(|_| "flagged_input".to_owned()));
        let code = error.get("code");
        let status = code
            .and_then(Value::as_u64)
            .or_else(|| code?.as_str()?.parse().ok())
            .and_then(|number| u16::try_from(number).ok())
            .filter(|number| (400..600).contains(number));
        Self { message, words, status }
    }

    /// The event that takes precedence over the status, if there is one.
    pub(crate) fn event(&self) -> Option<ProviderEvent> {
        let saying = WORDS.iter().find(|saying| saying.goes_before_status && self.says(saying))?;
        Some(limits::decided(saying.event, &self.message))
    }

    fn heard(&self, sayings: &[Saying]) -> Option<ProviderEvent> {
        sayings.iter().find(|saying| self.says(saying)).map(|saying| saying.event)
    }

    /// Advice to the operator about `event`, then the provider's own words.
    pub(crate) fn detail(&self, event: ProviderEvent) -> String {
        match limits::advice(event, &self.message) {
            Some(advice) => format!("{advice}: {}", self.message),
            None => self.message.clone(),
        }
    }

    fn says(&self, saying: &Saying) -> bool {
        if saying.codes.iter().any(|part| self.words.iter().any(|word| word.contains(part))) {
            return true;
        }
        let message = self.message.to_lowercase();
        saying.texts.iter().any(|parts| parts.iter().all(|part| message.contains(part)))
    }
}

/// A failed try, before it becomes an entry of the transcript.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub(crate) class: ErrorClass,
    pub(crate) status: Option<u16>,
    /// One line of bounded length, without secrets.
    pub(crate) detail: Box<str>,
    /// Tokens that the endpoint billed all the same.
    pub(crate) usage: Option<Usage>,
    /// The service tier of `usage`, if reported.
    pub(crate) tier: Option<Box<str>>,
    /// Time for which the endpoint asks not to be called.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) reach: Reach,
    /// The request was sent, and its answer may be billed: it broke off, or did not arrive in time.
    pub(crate) maybe_billed: bool,
    /// The model declined, in its provider's field for refusals.
    pub(crate) refused: bool,
}

/// Distance that a failed request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To the endpoint, or maybe.
    Endpoint,
    /// No connection was made, so the endpoint may be down.
    Nobody,
    /// This process stood still, and nothing was sent. That is nobody's fault, and no try.
    StoodStill,
}

impl Reach {
    pub(crate) const fn of(unreached: bool) -> Self {
        if unreached { Self::Nobody } else { Self::Endpoint }
    }

    pub(crate) const fn is_unreached(self) -> bool {
        matches!(self, Self::Nobody)
    }
}

impl Failure {
    /// A failure without a response.
    pub(crate) fn unanswered(class: ErrorClass, detail: String) -> Self {
        Self {
            class,
            status: None,
            detail: detail.into(),
            usage: None,
            tier: None,
            retry_after: None,
            reach: Reach::of(rule(class).holds_endpoint),
            maybe_billed: rule(class).maybe_billed,
            refused: false,
        }
    }

    /// The entry of the transcript. The caller, which knows prices, adds the cost.
    pub(crate) fn into_try(self, latency: Duration) -> Try {
        let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        Try {
            class: self.class,
            status: self.status,
            detail: self.detail.into(),
            latency_us,
            usage: self.usage,
            cost: None,
            at_most: None,
            unpriced: false,
            refused: self.refused,
            waited_us: 0,
        }
    }
}

#[cfg(test)]
mod tests;
