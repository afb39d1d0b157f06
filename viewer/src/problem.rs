//! Errors that become pages.

use axum::http::StatusCode;
use regatta_backends::{BlobError, LedgerError};
use regatta_catalog::{CatalogError, SegmentError};
use regatta_scorer::ScorerError;

use crate::drifts::DriftError;
use crate::source::AnnotationPlace;
use crate::steering::Refused;

/// An error page: a status with a sentence that explains it.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    sentence: String,
}

impl Problem {
    /// 404: nothing has this name.
    pub(crate) fn missing(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, sentence: sentence.into() }
    }

    /// 400: the address is malformed or contradicts itself.
    pub(crate) fn wrong(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, sentence: sentence.into() }
    }

    /// 403: the request comes from a host or origin that is not allowed.
    pub(crate) fn refused(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, sentence: sentence.into() }
    }

    /// 401: the request has no token that is accepted.
    pub(crate) fn no_token(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::UNAUTHORIZED, sentence: sentence.into() }
    }

    /// 503: too many streams are open.
    pub(crate) fn busy(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, sentence: sentence.into() }
    }

    /// 408: the request took too long.
    pub(crate) fn too_slow(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::REQUEST_TIMEOUT, sentence: sentence.into() }
    }

    /// 413: the request is too long.
    pub(crate) fn too_large(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::PAYLOAD_TOO_LARGE, sentence: sentence.into() }
    }

    /// 503: the annotation could not be written.
    pub(crate) fn unsaved(place: &AnnotationPlace, error: &(dyn std::error::Error + 'static)) -> Self {
        let error = regatta_proto::causes(error);
        let sentence = format!("the annotation was not saved: failed to write {place}: {error}");
        tracing::error!(error = %sentence, "failed to write an annotation");
        Self { status: StatusCode::SERVICE_UNAVAILABLE, sentence }
    }

    fn of_store(error: &(dyn std::error::Error + 'static)) -> Self {
        let sentence = regatta_proto::causes(error);
        tracing::error!(error = %sentence, "failed to show a page");
        Self { status: StatusCode::SERVICE_UNAVAILABLE, sentence }
    }

    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn sentence(&self) -> &str {
        &self.sentence
    }
}

impl From<Refused> for Problem {
    fn from(Refused { status, reason }: Refused) -> Self {
        Self { status, sentence: reason }
    }
}

impl From<DriftError> for Problem {
    fn from(error: DriftError) -> Self {
        match &error {
            DriftError::Busy => Self::busy(error.to_string()),
            DriftError::Failed(_) => Self::of_store(&error),
        }
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        match &error {
            LedgerError::UnknownSweep { .. } => Self::missing(error.to_string()),
            _ => Self::of_store(&error),
        }
    }
}

impl From<CatalogError> for Problem {
    fn from(error: CatalogError) -> Self {
        Self::of_store(&error)
    }
}

impl From<BlobError> for Problem {
    fn from(error: BlobError) -> Self {
        Self::of_store(&error)
    }
}

impl From<SegmentError> for Problem {
    fn from(error: SegmentError) -> Self {
        Self::of_store(&error)
    }
}

impl From<tokio::task::JoinError> for Problem {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::of_store(&error)
    }
}

impl From<ScorerError> for Problem {
    fn from(error: ScorerError) -> Self {
        Self::of_store(&error)
    }
}

/// The response for a path without a route.
pub(crate) async fn no_page() -> Problem {
    Problem::missing("there is no such page")
}
