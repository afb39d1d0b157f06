//! Outcomes of sessions, with their causes.

use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ErrorClass;

/// Reason why a session was not measured, or failed through the model's own fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The conversation exceeded the model's context; a failure of the model.
    ContextLength,
    /// The provider's filter, or the model itself, refused the conversation or withheld an answer; [`Filtered`] determines the outcome.
    ContentFilter,
    /// The endpoint could not be reached, or answered only errors.
    EndpointUnavailable,
    /// The endpoint kept answering 429.
    RateLimited,
    /// The endpoint did not answer in time.
    Timeout,
    /// The endpoint's answers could not be read.
    BadResponse,
    /// The endpoint refused the credentials.
    Auth,
    /// The account has no credit left at the provider.
    Quota,
    /// The endpoint does not know the model.
    ModelNotFound,
    /// The endpoint refused the request as such.
    RequestRefused,
    /// The same request kept failing in the same way and was quarantined for the whole fleet.
    Poison,
    /// The sweep's budget was used up before.
    Budget,
    /// Calls are replayed from the response cache, which lacks one of this session.
    CacheMiss,
    /// The evaluator's questions could not be answered.
    JudgeUnavailable,
    /// The sweep was cancelled before.
    Cancelled,
    /// The job was delivered too often without a result and became a dead letter.
    Undeliverable,
    /// The transcript does not fit the benchmark's session: another version began it, or it is damaged.
    TranscriptUnfit,
    /// The external agent could not be started, or another process killed it at every start.
    AgentLost,
    /// The program of a coded benchmark did not answer, or answered one call in two ways; the transcript has the details.
    BenchmarkFailed,
    /// Regatta could not run or score it, because of a defect or a damaged store; never the model's fault.
    Internal,
}

impl Cause {
    /// Name in files, SQL, metrics and messages.
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

/// Outcome of a session that a filter ended, either the provider's or the model's own; no wire format tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Filtered {
    /// A model that does not answer has not solved its item: `model_failure(content_filter)`.
    #[default]
    Wrong,
    /// A filter tells nothing about the model: `not_measured(content_filter)`.
    Missing,
}

impl Filtered {
    /// `true` for [`Filtered::Wrong`].
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        *self == Self::Wrong
    }
}

/// Outcome of a session. Failures on our side or the provider's never count as a wrong answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// The session ran to its end and can be scored.
    Measured,
    /// The model made the session impossible; counts as wrong.
    ModelFailure {
        /// Cause of the failure.
        cause: Cause,
    },
    /// The session tells nothing about the model; never scored as wrong, never hidden.
    NotMeasured {
        /// Cause of the failure.
        cause: Cause,
    },
}

impl Outcome {
    /// The outcome of a session whose call was given up with `class`; part of the error table in the `llm` crate.
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

    /// The cause; `None` if the session was measured.
    #[must_use]
    pub const fn cause(&self) -> Option<Cause> {
        match self {
            Self::Measured => None,
            Self::ModelFailure { cause } | Self::NotMeasured { cause } => Some(*cause),
        }
    }
}
