//! The one error table: what counts as which class, and what follows from a class.
//!
//! [`TABLE`] has a row for each class. Which class an answer is, is said by two further tables below it: [`STATUSES`], and [`WORDS`] with
//! what providers say in theirs. A new way of a provider to say something known is a line in [`WORDS`].

use std::ops::RangeInclusive;
use std::time::Duration;

use regatta_proto::{Cause, ErrorClass, Try, Usage};
use serde_json::Value;

/// Whose trouble a class is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The endpoint or the way to it.
    Endpoint,
    /// Credentials, money, model name or parameters of the spec.
    Operator,
    /// The model under test.
    Model,
}

/// What follows from a class of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The class.
    pub class: ErrorClass,
    /// Its word in transcripts, logs and metrics.
    pub word: &'static str,
    /// Whether the same request is tried again.
    pub retried: bool,
    /// Whether a long run of such failures holds the whole endpoint, so that its calls wait until it is back (see `breaker`).
    pub holds_endpoint: bool,
    /// Whether the request itself may be to blame, when the endpoint answers others meanwhile (see `quarantine`).
    pub counts_as_poison: bool,
    /// Whether the endpoint may have billed the try without telling: it was sent, and its answer was lost. Of a failure to connect, when
    /// the connection was lost after the request may have gone out.
    pub maybe_billed: bool,
    /// Whether a call given up with this class keeps its request in the transcript: it may be to blame, and people will want to send it again.
    pub keeps_request: bool,
    /// Whose trouble it is.
    pub fault: Fault,
    /// Why the session was not measured, or failed, when its call was given up with this class.
    pub cause: Cause,
    /// When it happens, in one sentence for the documentation.
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
    row(ErrorClass::ContentFilter, "content_filter",  [NO,     NO,   NO,    NO,  YES], Fault::Model,    Cause::ContentFilter,
        "The provider's filter refuses the conversation."),
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

/// The class of an answer with such a status, unless [`WORDS`] knows better; the first line that holds counts.
const STATUSES: [(RangeInclusive<u16>, ErrorClass); 10] = [
    (401..=401, ErrorClass::Auth),
    (402..=402, ErrorClass::Quota),
    (403..=403, ErrorClass::Auth),
    (404..=404, ErrorClass::NotFound),
    // A redirect is not followed: the address is wrong.
    (300..=399, ErrorClass::NotFound),
    (429..=429, ErrorClass::RateLimited),
    // The server's own time-out and a conflict with another request: neither is the request's fault.
    (408..=409, ErrorClass::Server),
    (400..=499, ErrorClass::BadRequest),
    (500..=599, ErrorClass::Server),
    (0..=u16::MAX, ErrorClass::BadResponse),
];

/// What providers say in the body of an error.
struct Saying {
    class: ErrorClass,
    /// It goes before a status of 4xx, which providers use for many things. Otherwise it counts only where no status tells: in a 200.
    goes_before_status: bool,
    /// Parts of a `code`, `type` or `status`, one of which occurs, in lower case.
    codes: &'static [&'static str],
    /// Parts of the sentence for people: all of one line occur, in lower case.
    texts: &'static [&'static [&'static str]],
}

/// The first saying that is heard counts.
#[rustfmt::skip]
const WORDS: [Saying; 10] = [
    Saying { class: ErrorClass::ContextLength, goes_before_status: true,
        codes: &["context_length_exceeded", "exceed_context_size", "request_too_large"],
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
    Saying { class: ErrorClass::ContentFilter, goes_before_status: true,
        codes: &["content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed"],
        texts: &[
            &["content management policy"],       // Azure
            &["blocked by content filtering"],    // Anthropic
            &["moderation", "input was flagged"], // OpenRouter
        ] },
    Saying { class: ErrorClass::Quota, goes_before_status: true,
        codes: &["insufficient_quota", "insufficient_balance", "billing_", "payment_required"],
        texts: &[
            &["credit balance is too low"], // Anthropic
            &["insufficient balance"],      // DeepSeek
            &["insufficient credits"],      // OpenRouter
            &["requires more credits"],     // OpenRouter
            &["billing hard limit"],        // OpenAI
        ] },
    Saying { class: ErrorClass::Auth, goes_before_status: true,
        codes: &[], texts: &[&["pass a valid api key"]] }, // Gemini, with a 400
    Saying { class: ErrorClass::RateLimited, goes_before_status: false,
        codes: &["rate_limit", "ratelimit", "too_many_requests", "throttl", "resource_exhausted"], texts: &[] },
    Saying { class: ErrorClass::Server, goes_before_status: false,
        codes: &["overloaded", "unavailable", "server_error", "internal", "timeout", "deadline_exceeded"], texts: &[] },
    Saying { class: ErrorClass::Auth, goes_before_status: false,
        codes: &["authentication", "invalid_api_key", "permission", "unauthorized", "unauthenticated", "forbidden"], texts: &[] },
    Saying { class: ErrorClass::NotFound, goes_before_status: false,
        codes: &["not_found", "notfound"], texts: &[] },
    Saying { class: ErrorClass::BadRequest, goes_before_status: false,
        codes: &["invalid_request", "bad_request", "badrequest", "invalid_", "unsupported_"], texts: &[] },
    // An error that says nothing known is the server's.
    Saying { class: ErrorClass::Server, goes_before_status: false, codes: &[], texts: &[&[]] },
];

/// The class of an answer with a status outside 2xx.
pub(crate) fn class_of_status(status: u16, info: Option<&ErrorInfo>) -> ErrorClass {
    let by_words = |info: &ErrorInfo| WORDS.iter().find(|saying| saying.goes_before_status && info.says(saying));
    let said = info.filter(|_| (400..=499).contains(&status)).and_then(by_words).map(|saying| saying.class);
    let by_status = || STATUSES.iter().find(|(range, _)| range.contains(&status)).map(|(_, class)| *class);
    said.or_else(by_status).unwrap_or(ErrorClass::BadResponse)
}

/// The class of an error object inside a 200, or in the middle of a stream.
pub(crate) fn class_of_error_in_200(info: &ErrorInfo) -> ErrorClass {
    let said = |before: bool| WORDS.iter().find(|saying| saying.goes_before_status >= before && info.says(saying));
    match (said(true), info.status) {
        (Some(saying), _) => saying.class,
        (None, Some(status)) => class_of_status(status, Some(info)),
        (None, None) => said(false).map_or(ErrorClass::Server, |saying| saying.class),
    }
}

/// What an error body says, as far as it can be read.
#[derive(Debug, Default)]
pub(crate) struct ErrorInfo {
    /// Sentence for people.
    pub(crate) message: String,
    /// `code`, `type` and `status`, and the `code` inside of it, lower-case.
    words: Vec<String>,
    /// A `code` that is an HTTP status.
    status: Option<u16>,
}

impl ErrorInfo {
    /// Reads the error of `body`: an object or text under `error`, the body itself where it calls itself an error or is not a 200, or
    /// the `detail` of common Python servers. `None` when the body holds none.
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

    fn read(error: &Value) -> Self {
        let message = match (error.get("message").and_then(Value::as_str), error) {
            (Some(message), _) => message.to_owned(),
            (None, Value::String(text)) => text.clone(),
            (None, other) => other.to_string(),
        };
        let words = ["/code", "/type", "/status", "/innererror/code"]
            .iter()
            .filter_map(|path| error.pointer(path)?.as_str())
            .map(str::to_ascii_lowercase)
            .collect::<Vec<_>>();
        let code = error.get("code");
        let status = code
            .and_then(Value::as_u64)
            .or_else(|| code?.as_str()?.parse().ok())
            .and_then(|number| u16::try_from(number).ok())
            .filter(|number| (400..600).contains(number));
        Self { message, words, status }
    }

    fn says(&self, saying: &Saying) -> bool {
        if saying.codes.iter().any(|part| self.words.iter().any(|word| word.contains(part))) {
            return true;
        }
        let message = self.message.to_lowercase();
        saying.texts.iter().any(|parts| parts.iter().all(|part| message.contains(part)))
    }
}

/// One failed try before it is written down.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub(crate) class: ErrorClass,
    pub(crate) status: Option<u16>,
    /// One bounded line without secrets.
    pub(crate) detail: String,
    /// What the endpoint billed all the same.
    pub(crate) usage: Option<Usage>,
    /// How long the endpoint asks to be left alone.
    pub(crate) retry_after: Option<Duration>,
    /// No connection came about: the endpoint may be dead.
    pub(crate) unreached: bool,
    /// The request was sent and nobody knows whether its answer is billed: it broke off, or did not come in time.
    pub(crate) maybe_billed: bool,
}

impl Failure {
    /// A failure without an answer.
    pub(crate) fn unanswered(class: ErrorClass, detail: String) -> Self {
        Self {
            class,
            status: None,
            detail,
            usage: None,
            retry_after: None,
            unreached: rule(class).holds_endpoint,
            maybe_billed: rule(class).maybe_billed,
        }
    }

    /// The entry of the transcript. What it cost is entered by who knows prices.
    pub(crate) fn into_try(self, latency: Duration) -> Try {
        let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        Try {
            class: self.class,
            status: self.status,
            detail: self.detail,
            latency_us,
            usage: self.usage,
            cost: None,
            at_most: None,
        }
    }
}

#[cfg(test)]
mod tests;
