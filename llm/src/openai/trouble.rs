//! From an answer that is not what was asked for to a [`Failure`]. The slow path: it may parse the body a second time.

use regatta_proto::{Clock, ErrorClass};
use serde_json::Value;

use crate::errors::{ErrorInfo, Failure, class_of_error_in_200, class_of_status};
use crate::retry_after::retry_after;
use crate::secret::Secret;
use crate::transport::Answer;

use super::usage;

/// Explains an answer with an error status.
pub(crate) fn of_status(answer: &Answer, secret: &Secret, clock: &dyn Clock) -> Failure {
    let body = serde_json::from_slice::<Value>(&answer.body).ok();
    let info = body.as_ref().and_then(|body| ErrorInfo::find(body, true));
    let class = class_of_status(answer.status, info.as_ref());
    let detail = match (&info, redirect(answer)) {
        (_, Some(target)) => secret.detail(&format!("redirected to {target}, which is not followed; correct base_url")),
        (Some(info), None) => secret.detail(&info.message),
        (None, None) => secret.detail(&String::from_utf8_lossy(&answer.body)),
    };
    failure(answer, class, detail, body.as_ref(), clock)
}

/// Explains a 200 that holds no usable answer: `problem` is what the fast path missed.
pub(crate) fn of_success(answer: &Answer, problem: &str, secret: &Secret, clock: &dyn Clock) -> Failure {
    match serde_json::from_slice::<Value>(&answer.body) {
        Ok(body) => match ErrorInfo::find(&body, false) {
            Some(info) => {
                let class = class_of_error_in_200(&info);
                failure(answer, class, secret.detail(&info.message), Some(&body), clock)
            }
            None => failure(answer, ErrorClass::BadResponse, secret.detail(problem), Some(&body), clock),
        },
        Err(error) => {
            let start = String::from_utf8_lossy(&answer.body[..answer.body.len().min(4096)]).into_owned();
            let detail = secret.detail(&format!("the body is not JSON ({error}): {start}"));
            failure(answer, ErrorClass::BadResponse, detail, None, clock)
        }
    }
}

fn failure(answer: &Answer, class: ErrorClass, detail: String, body: Option<&Value>, clock: &dyn Clock) -> Failure {
    let billed = body.and_then(|body| body.get("usage")).map(|found| usage::read(found).0);
    Failure {
        class,
        status: Some(answer.status),
        detail,
        usage: billed.filter(|usage| *usage != regatta_proto::Usage::default()),
        retry_after: retry_after(&answer.headers, clock),
        unreached: false,
        maybe_billed: class == ErrorClass::BadResponse,
    }
}

fn redirect(answer: &Answer) -> Option<&str> {
    let is_redirect = (300..400).contains(&answer.status);
    is_redirect.then(|| answer.headers.get("location").and_then(|to| to.to_str().ok()).unwrap_or("somewhere else"))
}
