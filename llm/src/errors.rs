//! The one error table: what counts as which class, and what follows from a class.
//!
//! The third column, the outcome of a session whose call was given up, is [`regatta_proto::Outcome::of_failure`].

use std::time::Duration;

use regatta_proto::{ErrorClass, Try, Usage};
use serde_json::Value;

/// Whose trouble a class is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The endpoint or the way to it.
    Endpoint,
    /// Credentials, model name or parameters of the spec.
    Operator,
    /// The model under test.
    Model,
}

/// What follows from a class of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Whether the same request is tried again.
    pub retried: bool,
    /// Whether a long run of such failures makes the whole endpoint count as dead, so that sessions stop retrying (see `breaker`).
    pub holds_endpoint: bool,
    /// Whose trouble it is.
    pub fault: Fault,
}

/// The table.
#[must_use]
pub const fn rule(class: ErrorClass) -> Rule {
    let (retried, holds_endpoint, fault) = match class {
        ErrorClass::Connection => (true, true, Fault::Endpoint),
        ErrorClass::Timeout | ErrorClass::RateLimited | ErrorClass::Server | ErrorClass::BadResponse => {
            (true, false, Fault::Endpoint)
        }
        ErrorClass::Auth | ErrorClass::NotFound | ErrorClass::BadRequest => (false, false, Fault::Operator),
        ErrorClass::Quota | ErrorClass::Budget | ErrorClass::CacheMiss => (false, false, Fault::Operator),
        ErrorClass::Poison => (false, false, Fault::Endpoint),
        ErrorClass::ContextLength | ErrorClass::ContentFilter => (false, false, Fault::Model),
    };
    Rule { retried, holds_endpoint, fault }
}

/// The word of a class in logs and metrics.
pub(crate) const fn word(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Connection => "connection",
        ErrorClass::Timeout => "timeout",
        ErrorClass::RateLimited => "rate_limited",
        ErrorClass::Server => "server",
        ErrorClass::BadResponse => "bad_response",
        ErrorClass::Auth => "auth",
        ErrorClass::NotFound => "not_found",
        ErrorClass::BadRequest => "bad_request",
        ErrorClass::ContextLength => "context_length",
        ErrorClass::ContentFilter => "content_filter",
        ErrorClass::Quota => "quota",
        ErrorClass::Poison => "poison",
        ErrorClass::Budget => "budget",
        ErrorClass::CacheMiss => "cache_miss",
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
            maybe_billed: matches!(class, ErrorClass::Timeout | ErrorClass::BadResponse),
        }
    }

    /// The entry of the transcript.
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

/// What an error body says, as far as it can be read.
#[derive(Debug, Default)]
pub(crate) struct ErrorInfo {
    /// Sentence for people.
    pub(crate) message: String,
    /// `code` and `type`, lower-case.
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
        let words = ["code", "type"]
            .iter()
            .filter_map(|name| error.get(*name)?.as_str())
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

    fn says(&self, parts: &[&str]) -> bool {
        self.words.iter().any(|word| parts.iter().any(|part| word.contains(part)))
    }

    fn is_context_length(&self) -> bool {
        if self.says(&["context_length_exceeded", "exceed_context_size"]) {
            return true;
        }
        let message = self.message.to_lowercase();
        CONTEXT_TEXTS.iter().any(|parts| parts.iter().all(|part| message.contains(part)))
    }
}

/// How servers say that a conversation does not fit: every part of one line occurs in the message.
const CONTEXT_TEXTS: &[&[&str]] = &[
    &["maximum context length"],   // OpenAI, vLLM, Mistral, and gateways that pass it on
    &["model's context length"],   // SGLang
    &["context window", "exceed"], // OpenAI's newer wording, Together
    &["context limit", "exceed"],  // Anthropic's wording
    &["prompt is too long"],       // Anthropic, Fireworks
    &["exceeds the available context size"], // llama.cpp
    &["inputs` tokens", "max_new_tokens` must be <="], // text-generation-inference
    &["exceeds the maximum number of tokens allowed"], // Gemini
    &["reduce the length of the messages"], // Groq, OpenAI's older wording
    &["longer than the maximum model length"], // vLLM's engine
];

/// The class of an answer with a status outside 2xx.
pub(crate) fn class_of_status(status: u16, info: Option<&ErrorInfo>) -> ErrorClass {
    match status {
        401 | 403 => ErrorClass::Auth,
        // A redirect is not followed: the address is wrong.
        404 | 300..=399 => ErrorClass::NotFound,
        // An account without money says 429 too, and says it until somebody pays.
        429 if info.is_some_and(|info| info.says(&["insufficient_quota"])) => ErrorClass::Auth,
        429 => ErrorClass::RateLimited,
        408 | 409 => ErrorClass::Server,
        400..=499 if info.is_some_and(ErrorInfo::is_context_length) => ErrorClass::ContextLength,
        400..=499 => ErrorClass::BadRequest,
        500..=599 => ErrorClass::Server,
        _ => ErrorClass::BadResponse,
    }
}

/// The class of an error object inside a 200. One that says nothing known counts as the server's.
pub(crate) fn class_of_error_in_200(info: &ErrorInfo) -> ErrorClass {
    if info.is_context_length() {
        return ErrorClass::ContextLength;
    }
    if let Some(status) = info.status {
        return class_of_status(status, Some(info));
    }
    let by_word: [(&[&str], ErrorClass); 7] = [
        (&["insufficient_quota"], ErrorClass::Auth),
        (&["rate_limit", "ratelimit", "too_many_requests", "throttl"], ErrorClass::RateLimited),
        (&["overloaded", "unavailable", "server_error", "internal", "timeout"], ErrorClass::Server),
        (&["authentication", "invalid_api_key", "permission", "unauthorized", "forbidden"], ErrorClass::Auth),
        (&["not_found", "notfound"], ErrorClass::NotFound),
        (&["invalid_request", "bad_request", "badrequest", "invalid_", "unsupported_"], ErrorClass::BadRequest),
        (&[], ErrorClass::Server),
    ];
    by_word.into_iter().find_map(|(parts, class)| info.says(parts).then_some(class)).unwrap_or(ErrorClass::Server)
}

#[cfg(test)]
mod tests {
    use regatta_proto::Outcome;

    use super::*;

    #[test]
    fn only_the_models_fault_is_a_model_failure() {
        use ErrorClass::*;
        for class in [Connection, Timeout, RateLimited, Server, BadResponse, Auth, NotFound, BadRequest, ContextLength]
        {
            let is_model_failure = matches!(Outcome::of_failure(class), Outcome::ModelFailure { .. });
            assert_eq!(rule(class).fault == Fault::Model, is_model_failure, "{class:?}");
            assert_eq!(serde_json::to_value(class).unwrap(), word(class));
        }
    }
}
