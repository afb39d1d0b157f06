//! Turns the SDK's errors into a [`Failure`].

use std::error::Error;
use std::fmt::Write as _;

use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::types::error::ConverseStreamOutputError as StreamError;
use regatta_proto::{ErrorClass, TlsOptions, with_handshake_advice};
use serde_json::json;

use super::exchange::headers;
use crate::errors::{ErrorInfo, Failure, Reach, event_of_error_in_200, event_of_status};
use crate::events::ProviderEvent;
use crate::retry_after::retry_after;
use crate::wire::{ReadContext, trouble};

/// Events of exceptions whose status is ambiguous: AWS uses 400, 424 and 429 for many things.
const EVENTS: [(&str, ProviderEvent); 13] = [
    ("ThrottlingException", ProviderEvent::RateLimited),
    ("TooManyRequestsException", ProviderEvent::RateLimited),
    ("ServiceQuotaExceededException", ProviderEvent::RateLimited),
    ("ModelNotReadyException", ProviderEvent::ServerTrouble),
    ("ModelTimeoutException", ProviderEvent::ServerTrouble),
    ("ModelErrorException", ProviderEvent::ServerTrouble),
    ("ModelStreamErrorException", ProviderEvent::ServerTrouble),
    ("InternalServerException", ProviderEvent::ServerTrouble),
    ("ServiceUnavailableException", ProviderEvent::ServerTrouble),
    ("AccessDeniedException", ProviderEvent::CredentialsRefused),
    ("UnrecognizedClientException", ProviderEvent::CredentialsRefused),
    ("ExpiredTokenException", ProviderEvent::CredentialsRefused),
    ("ResourceNotFoundException", ProviderEvent::ModelUnknown),
];

/// The failure of a request without an answer.
pub(super) fn explain<E>(error: &SdkError<E, HttpResponse>, context: &ReadContext<'_>) -> Failure
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let detail = || context.secret.detail(&with_handshake_advice(chain(error), TlsOptions::OF_SYSTEM));
    match error {
        SdkError::ServiceError(service) => {
            let raw = service.raw();
            let status = raw.status().as_u16();
            let (class, detail) = classified(service.err(), service.err().code(), Some(status), context);
            Failure {
                status: Some(status),
                retry_after: retry_after(&headers(raw), context.clock),
                reach: Reach::Endpoint,
                ..Failure::unanswered(class, detail)
            }
        }
        SdkError::ResponseError(response) => {
            let status = Some(response.raw().status().as_u16());
            Failure { status, ..Failure::unanswered(ErrorClass::BadResponse, detail()) }
        }
        SdkError::TimeoutError(_) => Failure::unanswered(ErrorClass::Timeout, detail()),
        SdkError::DispatchFailure(dispatch) if dispatch.is_timeout() => {
            // No connection: nothing was sent, and the endpoint may be down.
            let unreached = chain(error).contains("connect");
            Failure {
                reach: Reach::of(unreached),
                maybe_billed: !unreached,
                ..Failure::unanswered(ErrorClass::Timeout, detail())
            }
        }
        SdkError::DispatchFailure(dispatch) if dispatch.is_io() => {
            Failure::unanswered(ErrorClass::Connection, detail())
        }
        SdkError::DispatchFailure(_) if chain(error).contains("credentials") => {
            Failure::unanswered(ErrorClass::Auth, detail())
        }
        SdkError::ConstructionFailure(_) => Failure::unanswered(ErrorClass::BadRequest, detail()),
        _ => Failure::unanswered(ErrorClass::Connection, detail()),
    }
}

/// The failure of a stream that broke off.
pub(super) fn explain_in_stream<R>(error: &SdkError<StreamError, R>, context: &ReadContext<'_>) -> Failure
where
    R: std::fmt::Debug + 'static,
{
    let (class, detail) = match error.as_service_error() {
        Some(exception) => classified(exception, name(exception), None, context),
        None => (ErrorClass::BadResponse, context.secret.detail(&chain(error))),
    };
    trouble::in_stream(class, detail)
}

/// The code of an exception in a stream, which has no field for it.
fn name(exception: &StreamError) -> Option<&str> {
    match exception {
        StreamError::InternalServerException(_) => Some("InternalServerException"),
        StreamError::ModelStreamErrorException(_) => Some("ModelStreamErrorException"),
        StreamError::ServiceUnavailableException(_) => Some("ServiceUnavailableException"),
        StreamError::ThrottlingException(_) => Some("ThrottlingException"),
        StreamError::ValidationException(_) => Some("ValidationException"),
        other => other.code(),
    }
}

fn classified<E>(
    exception: &E,
    code: Option<&str>,
    status: Option<u16>,
    context: &ReadContext<'_>,
) -> (ErrorClass, String)
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let message = exception.message().map_or_else(|| chain(exception), str::to_owned);
    let info = ErrorInfo::read(&json!({"type": code, "message": message}));
    let by_code = || EVENTS.iter().find(|(name, _)| Some(*name) == code).map(|(_, event)| *event);
    // A guardrail may refuse with the exception for missing permissions.
    let event = info.event().or_else(by_code).unwrap_or_else(|| match status {
        Some(status) => event_of_status(status, Some(&info)),
        None if code == Some("ValidationException") => event_of_status(400, Some(&info)),
        None => event_of_error_in_200(&info),
    });
    let told = info.detail(event);
    let detail = code.map_or_else(|| told.clone(), |code| format!("{code}: {told}"));
    (event.class(), context.secret.detail(&detail))
}

/// An error with its causes, because the SDK's own text is just "dispatch failure".
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |error| (*error).source()) {
        let _ = write!(text, ": {cause}");
    }
    text
}
