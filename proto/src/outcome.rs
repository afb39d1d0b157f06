//! How a session ended.

use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ErrorClass;

/// Why a session was not measured, or failed through the model's own fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The conversation outgrew the model's context: the model's failure.
    ContextLength,
    /// The provider's filter, or the model itself, refused the conversation or withheld an answer: what that counts as, [`Filtered`] says.
    ContentFilter,
    /// The endpoint could not be reached, or answered only errors.
    EndpointUnavailable,
    /// The endpoint kept saying 429.
    RateLimited,
    /// The endpoint did not answer in time.
    Timeout,
    /// The endpoint's answers could not be read.
    BadResponse,
    /// The endpoint refused the credentials.
    Auth,
    /// The account has no money left at the provider.
    Quota,
    /// The endpoint does not know the model.
    ModelNotFound,
    /// The endpoint refused the request as such.
    RequestRefused,
    /// The same request kept failing the same way and was set aside for the whole fleet.
    Poison,
    /// The sweep's budget was used up first.
    Budget,
    /// Calls are replayed from the cache, which lacks one of this session.
    CacheMiss,
    /// The evaluator's questions could not be answered.
    JudgeUnavailable,
    /// The sweep was cancelled first.
    Cancelled,
    /// The job was delivered too often without a result and was set aside.
    Undeliverable,
    /// What had happened is not how the benchmark's session goes: another version began it, or its transcript is damaged.
    TranscriptUnfit,
    /// The external agent could not be started, or was killed by somebody else each time it was.
    AgentLost,
    /// The program of a coded benchmark did not answer, or answered one call in two ways; the transcript says how it failed.
    BenchmarkFailed,
    /// Regatta could not run or score it; a defect or a damaged store, never the model's fault.
    Internal,
}

impl Cause {
    /// The word used in files, SQL, metrics and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ContextLength => "context_length",
            Self::ContentFilter => "content_filter",
            Self::EndpointUnavailable => "endpoint_unavailable",
            Self::RateLimited => "rate_limited",
            Self::Timeout => "timeout",
            Self::BadResponse => "bad_response",
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::ModelNotFound => "model_not_found",
            Self::RequestRefused => "request_refused",
            Self::Poison => "poison",
            Self::Budget => "budget",
            Self::CacheMiss => "cache_miss",
            Self::JudgeUnavailable => "judge_unavailable",
            Self::Cancelled => "cancelled",
            Self::Undeliverable => "undeliverable",
            Self::TranscriptUnfit => "transcript_unfit",
            Self::AgentLost => "agent_lost",
            Self::BenchmarkFailed => "benchmark_failed",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Outcome of a session that a filter ended, the provider's or the model's own: no wire tells which of the two it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Filtered {
    /// A model that does not answer has not solved its item: `model_failure(content_filter)`.
    #[default]
    Wrong,
    /// A filter says nothing about the model: `not_measured(content_filter)`.
    Missing,
}

impl Filtered {
    /// `true` if it is [`Filtered::Wrong`].
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        *self == Self::Wrong
    }
}

/// How a session ended. A result is not an incident: trouble on our side or the provider's never counts as a wrong answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// The session ran to its end and can be scored.
    Measured,
    /// The model made the session impossible; counts as wrong.
    ModelFailure {
        /// How.
        cause: Cause,
    },
    /// The session says nothing about the model; never scored as wrong, never hidden.
    NotMeasured {
        /// Why.
        cause: Cause,
    },
}

impl Outcome {
    /// The outcome of a session whose call was given up with `class`. Part of the one error table; see the `llm` crate.
    #[must_use]
    pub const fn of_failure(class: ErrorClass, filtered: Filtered) -> Self {
        let cause = match class {
            ErrorClass::ContextLength => return Self::ModelFailure { cause: Cause::ContextLength },
            ErrorClass::ContentFilter => match filtered {
                Filtered::Wrong => return Self::ModelFailure { cause: Cause::ContentFilter },
                Filtered::Missing => Cause::ContentFilter,
            },
            ErrorClass::Connection | ErrorClass::Server => Cause::EndpointUnavailable,
            ErrorClass::Timeout => Cause::Timeout,
            ErrorClass::RateLimited => Cause::RateLimited,
            ErrorClass::BadResponse => Cause::BadResponse,
            ErrorClass::Auth => Cause::Auth,
            ErrorClass::NotFound => Cause::ModelNotFound,
            ErrorClass::BadRequest => Cause::RequestRefused,
            ErrorClass::Quota => Cause::Quota,
            ErrorClass::Poison => Cause::Poison,
            ErrorClass::Budget => Cause::Budget,
            ErrorClass::CacheMiss => Cause::CacheMiss,
        };
        Self::NotMeasured { cause }
    }

    /// `measured`, `model_failure` or `not_measured`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::ModelFailure { .. } => "model_failure",
            Self::NotMeasured { .. } => "not_measured",
        }
    }

    /// The cause, when there is one.
    #[must_use]
    pub const fn cause(&self) -> Option<Cause> {
        match self {
            Self::Measured => None,
            Self::ModelFailure { cause } | Self::NotMeasured { cause } => Some(*cause),
        }
    }
}
