//! Reads a whole answer.

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::blocks::{Piece, finish, reply};
use super::usage;
use crate::errors::Failure;
use crate::transport::Answer;
use crate::wire::provenance::{Told, served};
use crate::wire::{Completion, ReadContext, hints, openai, trouble};
use crate::withheld::{Withheld, finish_of};

/// Reads an answer of any status.
///
/// # Errors
/// A classified failure, if the answer is not usable.
pub(super) fn read(answer: &Answer, context: &ReadContext<'_>) -> Result<Completion, Failure> {
    if !(200..300).contains(&answer.status) {
        return Err(trouble::of_status(answer, usage::BILL, context));
    }
    let unusable = |problem: &str| trouble::of_success(answer, problem, usage::BILL, context);
    let mut body: Value =
        serde_json::from_slice(&answer.body).map_err(|error| unusable(&format!("not a message: {error}")))?;
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(unusable("the answer holds an error"));
    }
    let Some(Value::Array(content)) = body.get_mut("content").map(Value::take) else {
        return Err(unusable("the answer holds no content"));
    };
    Ok(completion(&body, content.into_iter().filter_map(Piece::read).collect(), &answer.headers, context))
}

/// Builds the answer from `pieces` and the rest of a `message`.
pub(super) fn completion(
    message: &Value,
    pieces: Vec<Piece>,
    headers: &HeaderMap,
    context: &ReadContext<'_>,
) -> Completion {
    let text = |path: &str| message.pointer(path).and_then(Value::as_str);
    let raw_usage = message.get("usage").filter(|usage| !usage.is_null());
    let (tokens, usage_is_known) = raw_usage.map(usage::read).unwrap_or_default();
    let told =
        Told { model: text("/model"), id: text("/id"), tier: raw_usage.and_then(usage::tier), ..Told::default() };
    let withheld = Withheld::by_word(text("/stop_reason"));
    Completion {
        reply: reply(pieces, finish_of(withheld.as_ref(), finish(text("/stop_reason")))),
        withheld,
        usage: tokens,
        usage_is_known,
        raw_usage: raw_usage.cloned(),
        reported_cost: openai::usage::cost_in(headers),
        served: served(headers, told, context.secret),
        first_token: None,
        hints: hints::of(headers, context.clock),
    }
}
