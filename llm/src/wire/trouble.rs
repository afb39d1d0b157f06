//! Turns an unusable answer into a [`Failure`]; the same for every format. This is the slow path, which may parse a body a second time.

use regatta_proto::{ErrorClass, Usage};
use serde_json::Value;

use super::{ReadContext, hints};
use crate::errors::{ErrorInfo, Failure, Reach, event_of_error_in_200, event_of_status};
use crate::retry_after::retry_after;
use crate::transport::Answer;

/// Finds the usage and the tier in a whole body or an event of one format.
#[derive(Clone, Copy)]
pub(crate) struct Bill {
    /// The tokens; `None` unless the counts that cost money are present.
    pub(crate) usage: fn(&Value) -> Option<Usage>,
    /// The service tier, which may have a price of its own.
    pub(crate) tier: fn(&Value) -> Option<&str>,
}

/// The failure of an answer with an error status.
pub(crate) fn of_status(answer: &Answer, bill: Bill, context: &ReadContext<'_>) -> Failure {
    let secret = context.secret;
    let body = serde_json::from_slice::<Value>(&answer.body).ok();
    // Gemini's streams put an error into a list.
    let body = body.map(|body| match body {
        Value::Array(mut events) if !events.is_empty() => events.swap_remove(0),
        other => other,
    });
    let body = body.map(with_upstream);
    let info = body.as_ref().and_then(|body| ErrorInfo::find(body, true));
    let event = event_of_status(answer.status, info.as_ref());
    let detail = match (&info, redirect(answer)) {
        (_, Some(target)) => secret.detail(&format!("redirected to {target}, which is not followed; correct base_url")),
        (Some(info), None) => secret.detail(&info.detail(event)),
        (None, None) => secret.detail(&String::from_utf8_lossy(&answer.body)),
    };
    failure(answer, event.class(), detail, body.as_ref(), bill, context)
}

/// The failure of a 200 without a usable answer; `problem` is the finding of the fast path.
pub(crate) fn of_success(answer: &Answer, problem: &str, bill: Bill, context: &ReadContext<'_>) -> Failure {
    let secret = context.secret;
    match serde_json::from_slice::<Value>(&answer.body) {
        Ok(body) => match ErrorInfo::find(&with_upstream(body.clone()), false) {
            Some(info) => {
                let event = event_of_error_in_200(&info);
                failure(answer, event.class(), secret.detail(&info.detail(event)), Some(&body), bill, context)
            }
            None => failure(answer, ErrorClass::BadResponse, secret.detail(problem), Some(&body), bill, context),
        },
        Err(error) => {
            let start = String::from_utf8_lossy(&answer.body[..answer.body.len().min(4096)]).into_owned();
            let detail = secret.detail(&format!("the body is not JSON ({error}): {start}"));
            failure(answer, ErrorClass::BadResponse, detail, None, bill, context)
        }
    }
}

/// The failure in an event of a stream; `is_named_so` if the event's name says that it is an error. `None` if it is none.
pub(crate) fn of_event(event: &Value, is_named_so: bool, bill: Bill, context: &ReadContext<'_>) -> Option<Failure> {
    let info = ErrorInfo::find(&with_upstream(event.clone()), is_named_so);
    let (class, message) = match (&info, is_named_so) {
        (Some(info), _) => {
            let event = event_of_error_in_200(info);
            (event.class(), info.detail(event))
        }
        (None, true) => (ErrorClass::Server, event.to_string()),
        (None, false) => return None,
    };
    let tier = (bill.tier)(event).map(Box::from);
    Some(Failure { usage: (bill.usage)(event), tier, ..in_stream(class, context.secret.detail(&message)) })
}

/// The failure of an unusable stream, with a message of our own.
pub(crate) fn in_stream(class: ErrorClass, detail: String) -> Failure {
    Failure { status: Some(200), reach: Reach::Endpoint, ..Failure::unanswered(class, detail) }
}

/// Merges the upstream provider's error, which OpenRouter attaches to its own, because class and detail need both.
fn with_upstream(mut body: Value) -> Value {
    let raw =
        body.pointer("/error/metadata/raw").map(|raw| raw.as_str().map_or_else(|| raw.to_string(), str::to_owned));
    if let (Some(raw), Some(message)) = (raw, body.pointer_mut("/error/message")) {
        *message = Value::from(format!("{}: {raw}", message.as_str().unwrap_or_default()));
    }
    body
}

fn failure(
    answer: &Answer,
    class: ErrorClass,
    detail: String,
    body: Option<&Value>,
    bill: Bill,
    context: &ReadContext<'_>,
) -> Failure {
    Failure {
        class,
        status: Some(answer.status),
        detail: detail.into(),
        usage: body.and_then(bill.usage),
        retry_after: retry_after(&answer.headers, context.clock).or_else(|| {
            hints::of(&answer.headers, context.clock).exhausted_for.filter(|_| class == ErrorClass::RateLimited)
        }),
        tier: body.and_then(bill.tier).map(Box::from),
        reach: Reach::Endpoint,
        maybe_billed: class == ErrorClass::BadResponse,
        refused: false,
    }
}

fn redirect(answer: &Answer) -> Option<&str> {
    let is_redirect = (300..400).contains(&answer.status);
    is_redirect.then(|| answer.headers.get("location").and_then(|to| to.to_str().ok()).unwrap_or("somewhere else"))
}
