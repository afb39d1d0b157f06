//! Errors with the time to wait in their details.

use std::time::Duration;

use serde_json::Value;

use super::usage::BILL;
use crate::errors::Failure;
use crate::transport::Answer;
use crate::wire::{ReadContext, trouble};

/// The failure of an answer with an error status.
pub(super) fn of_status(answer: &Answer, context: &ReadContext<'_>) -> Failure {
    waiting(trouble::of_status(answer, BILL, context), || serde_json::from_slice(&answer.body).ok())
}

/// The failure of a 200 without a usable answer.
pub(super) fn of_success(answer: &Answer, problem: &str, context: &ReadContext<'_>) -> Failure {
    waiting(trouble::of_success(answer, problem, BILL, context), || serde_json::from_slice(&answer.body).ok())
}

/// The failure in an event of a stream; `None` if the event is no error.
pub(super) fn of_event(event: &Value, context: &ReadContext<'_>) -> Option<Failure> {
    let failure = trouble::of_event(event, false, BILL, context)?;
    Some(waiting(failure, || Some(event.clone())))
}

fn waiting(failure: Failure, body: impl FnOnce() -> Option<Value>) -> Failure {
    let retry_after = failure.retry_after.or_else(|| body().as_ref().and_then(retry_delay));
    Failure { retry_after, ..failure }
}

/// The delay in `google.rpc.RetryInfo`, as in `"34.07s"`. Errors of streams come in a list.
fn retry_delay(body: &Value) -> Option<Duration> {
    let body = body.get(0).unwrap_or(body);
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}
