//! Reads a whole answer.

use regatta_proto::{ErrorClass, Finish};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::{reasoning, usage};
use crate::errors::Failure;
use crate::transport::Answer;
use crate::wire::anthropic::blocks::{Piece, reply};
use crate::wire::provenance::{Told, served};
use crate::wire::tool_calls::RawCall;
use crate::wire::{Completion, ReadContext, hints};
use crate::withheld::{Withheld, finish_of};

/// Reads the answer of a successful exchange, or the reason why it is not here.
///
/// # Errors
/// A bad response, if it has no message.
pub(super) fn read(answer: Result<Answer, String>, context: &ReadContext<'_>) -> Result<Completion, Failure> {
    let unusable = |detail: &str| Failure {
        status: Some(200),
        ..Failure::unanswered(ErrorClass::BadResponse, context.secret.detail(detail))
    };
    let answer = answer.map_err(|problem| unusable(&problem))?;
    let mut body: Value =
        serde_json::from_slice(&answer.body).map_err(|error| unusable(&format!("the body is not JSON ({error})")))?;
    let content = body.pointer_mut("/output/message/content").map(Value::take);
    let billed = body.get("usage").map(usage::read).filter(|(_, is_known)| *is_known).map(|(usage, _)| usage);
    let Some(Value::Array(content)) = content else {
        let tier = body.pointer("/serviceTier/type").and_then(Value::as_str).map(Box::from);
        return Err(Failure { usage: billed, tier, ..unusable("the answer holds no message") });
    };
    let pieces = content.into_iter().filter_map(piece).collect();
    Ok(completion(pieces, &body, &answer.headers, context))
}

/// A block of a message; `None` for kinds that have no meaning here.
fn piece(mut block: Value) -> Option<Piece> {
    if let Some(Value::String(text)) = block.get_mut("text").map(Value::take) {
        return Some(Piece::Text(text));
    }
    if let Some(call) = block.get("toolUse") {
        let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let input = call.get("input").filter(|input| !input.is_null()).cloned().unwrap_or_else(|| json!({}));
        return Some(Piece::ToolUse(RawCall {
            id: text("toolUseId"),
            name: text("name"),
            arguments: input.to_string(),
        }));
    }
    block.get("reasoningContent").and_then(reasoning::block).map(Piece::Thought)
}

/// Builds the answer from `pieces` and the rest of the body.
pub(super) fn completion(
    pieces: Vec<Piece>,
    body: &Value,
    headers: &HeaderMap,
    context: &ReadContext<'_>,
) -> Completion {
    let text = |path: &str| body.pointer(path).and_then(Value::as_str);
    let raw_usage = body.get("usage").filter(|usage| !usage.is_null());
    let (tokens, usage_is_known) = raw_usage.map(usage::read).unwrap_or_default();
    let told = Told {
        // Only a prompt router names the model that it chose.
        model: text("/trace/promptRouter/invokedModelId"),
        tier: text("/serviceTier/type"),
        ..Told::default()
    };
    let withheld = Withheld::by_word(text("/stopReason"));
    Completion {
        reply: reply(pieces, finish_of(withheld.as_ref(), finish(text("/stopReason")))),
        withheld,
        usage: tokens,
        usage_is_known,
        raw_usage: raw_usage.cloned(),
        reported_cost: None,
        served: served(headers, told, context.secret),
        first_token: None,
        hints: hints::of(headers, context.clock),
    }
}

/// The finish for a `stopReason`, unless the answer was withheld.
fn finish(reason: Option<&str>) -> Finish {
    match reason {
        Some("end_turn" | "stop_sequence") => Finish::Stop,
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("tool_use") => Finish::ToolCalls,
        // Invalid calls and answers (`malformed_tool_use`, `malformed_model_output`), and any reason that is added.
        _ => Finish::Other,
    }
}
