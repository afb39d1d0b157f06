//! The body of a chat request, written straight to bytes.

use bytes::Bytes;
use regatta_proto::{ChatMessage, ChatRequest};
use serde::Serialize;

/// Families that refuse `max_tokens` and want `max_completion_tokens`, which older and other servers do not know.
const COMPLETION_TOKEN_FAMILIES: [&str; 4] = ["gpt-5", "o1", "o3", "o4"];

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: &'a [ChatMessage],
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

/// Writes the body.
///
/// # Errors
/// When a number is not finite.
pub(crate) fn body(model: &str, request: &ChatRequest) -> Result<Bytes, serde_json::Error> {
    let sampling = &request.sampling;
    let (max_tokens, max_completion_tokens) =
        if wants_completion_tokens(model) { (None, sampling.max_tokens) } else { (sampling.max_tokens, None) };
    let texts: usize = request.messages.iter().map(|message| message.content.len() + 40).sum();
    let mut bytes = Vec::with_capacity(256 + texts + texts / 16);
    serde_json::to_writer(
        &mut bytes,
        &Body {
            model,
            messages: &request.messages,
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            max_tokens,
            max_completion_tokens,
            seed: sampling.seed,
        },
    )?;
    Ok(bytes.into())
}

fn wants_completion_tokens(model: &str) -> bool {
    COMPLETION_TOKEN_FAMILIES
        .iter()
        .any(|family| model.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.'])))
}

#[cfg(test)]
mod tests {
    use regatta_proto::{ChatRole, Sampling};

    use super::*;

    fn text(model: &str, sampling: Sampling) -> String {
        let messages =
            vec![ChatMessage::new(ChatRole::System, "be \"brief\""), ChatMessage::new(ChatRole::User, "héllo\n")];
        String::from_utf8(body(model, &ChatRequest::new(messages, sampling)).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn what_is_not_asked_for_is_not_sent() {
        insta::assert_snapshot!(text("m", Sampling::default()), @r#"{"model":"m","messages":[{"role":"system","content":"be \"brief\""},{"role":"user","content":"héllo\n"}]}"#);
    }

    #[test]
    fn sampling_is_sent_as_given() {
        let sampling = Sampling { temperature: Some(0.0), top_p: Some(0.95), max_tokens: Some(512), seed: Some(7) };
        insta::assert_snapshot!(text("m", sampling), @r#"{"model":"m","messages":[{"role":"system","content":"be \"brief\""},{"role":"user","content":"héllo\n"}],"temperature":0.0,"top_p":0.95,"max_tokens":512,"seed":7}"#);
    }

    #[test]
    fn reasoning_families_get_their_own_name_for_the_token_limit() {
        let sampling = Sampling { max_tokens: Some(9), ..Sampling::default() };
        for (model, field) in [
            ("gpt-5", "max_completion_tokens"),
            ("gpt-5.4-mini", "max_completion_tokens"),
            ("o3-mini", "max_completion_tokens"),
            ("gpt-4o", "max_tokens"),
            ("o3x", "max_tokens"),
            ("openai/o3", "max_tokens"),
        ] {
            assert!(text(model, sampling).contains(&format!("\"{field}\":9")), "{model}");
        }
    }
}
