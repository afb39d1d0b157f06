//! Removes an endpoint's keys from all that an answer leaves behind. Every answer comes through here once, whole, so that it does not matter
//! over how many pieces of a stream a key was spread.

use std::sync::Arc;

use regatta_proto::{Reasoning, Reply, TokenLogprob, ToolCall};
use serde_json::Value;

use crate::errors::Failure;
use crate::secret::Secret;
use crate::wire::Completion;

/// An answer, or the failure of a try, without the keys of `secret`. Names in [`Completion::served`] are redacted where they are read.
///
/// # Errors
/// The failure, redacted.
pub(crate) fn redacted(read: Result<Completion, Failure>, secret: &Secret) -> Result<Completion, Failure> {
    match read {
        Ok(completion) => Ok(Completion {
            reply: reply(completion.reply, secret),
            raw_usage: completion.raw_usage.map(|usage| value(usage, secret)),
            ..completion
        }),
        Err(failure) => Err(redacted_failure(failure, secret)),
    }
}

/// The failure of a try without the keys of `secret`.
pub(crate) fn redacted_failure(failure: Failure, secret: &Secret) -> Failure {
    Failure {
        detail: secret.detail(&failure.detail).into(),
        tier: failure.tier.map(|tier| secret.name(&tier).into_boxed_str()),
        ..failure
    }
}

fn reply(reply: Reply, secret: &Secret) -> Reply {
    let text = |text: Arc<str>| secret.answer(&text).map_or(text, Arc::from);
    Reply {
        text: reply.text.map(text),
        finish: reply.finish,
        tool_calls: reply
            .tool_calls
            .into_iter()
            .map(|call| ToolCall { id: text(call.id), name: text(call.name), arguments: text(call.arguments) })
            .collect(),
        reasoning: reply
            .reasoning
            .map(|thought| Reasoning { text: text(thought.text), opaque: thought.opaque.map(text) }),
        // Without its characters a token has no probability that says anything.
        logprobs: reply.logprobs.filter(|tokens| !shows(tokens, secret)),
    }
}

/// `true` if `tokens` show a key, one by one or one after another.
fn shows(tokens: &[TokenLogprob], secret: &Secret) -> bool {
    let whole: String = tokens.iter().map(|token| token.token.as_str()).collect();
    let mut candidates = tokens.iter().flat_map(|token| &token.top);
    secret.answer(&whole).is_some() || candidates.any(|(token, _)| secret.answer(token).is_some())
}

fn value(value: Value, secret: &Secret) -> Value {
    let text = |text: String| secret.answer(&text).unwrap_or(text);
    match value {
        Value::String(string) => Value::String(text(string)),
        Value::Array(values) => values.into_iter().map(|one| self::value(one, secret)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, one)| (text(name), self::value(one, secret))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}
