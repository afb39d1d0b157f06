//! Thinking: the parameters of Bedrock's models, and the reasoning in answers.
//!
//! Reasoning is stored in the format of Anthropic's blocks (`wire::anthropic::blocks`), so the same rules return it to its place, and
//! Claude can read it at every endpoint.

use regatta_proto::Thinking;
use serde_json::{Map, Value, json};

use crate::wire::anthropic::generation::Generation;
use crate::wire::anthropic::thinking::Plan;

/// The thinking parameters of a request: the model's own fields, and the limit that they require.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// `additionalModelRequestFields`.
    pub(super) fields: Map<String, Value>,
    pub(super) max_tokens: Option<u32>,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
}

impl Asked {
    /// # Errors
    /// When the model has no parameter for it.
    pub(super) fn new(model: &str, request: &regatta_proto::ChatRequest) -> Result<Self, String> {
        let sampling = &request.sampling;
        let mut asked = Self {
            fields: Map::new(),
            max_tokens: sampling.max_tokens,
            temperature: sampling.temperature,
            top_p: sampling.top_p,
        };
        if model.contains("claude") {
            let plan = Plan::new(model, request.thinking, sampling)?;
            (asked.temperature, asked.top_p) = (plan.temperature, plan.top_p);
            if let Some(mode) = plan.mode {
                // Reasoning counts towards the limit, so the limit has to be sent.
                asked.max_tokens = Some(plan.max_tokens);
                asked.fields.insert("thinking".to_owned(), json!(mode));
            }
            if let Some(effort) = plan.effort {
                asked.fields.insert("output_config".to_owned(), json!({"effort": effort}));
            }
            return Ok(asked);
        }
        let word = match request.thinking {
            // Models of other families think only when asked, or always.
            None | Some(Thinking::Off) => return Ok(asked),
            Some(Thinking::Low) => "low",
            Some(Thinking::Medium) => "medium",
            Some(Thinking::High) => "high",
            Some(Thinking::Tokens(_)) => {
                return Err(format!(
                    "{model} cannot be told how many tokens to think with; ask for `low`, `medium` or `high`"
                ));
            }
        };
        if model.contains("nova-2") {
            let config = json!({"type": "enabled", "maxReasoningEffort": word});
            asked.fields.insert("reasoningConfig".to_owned(), config);
        } else if model.contains("gpt-oss") {
            asked.fields.insert("reasoning_effort".to_owned(), json!(word));
        } else {
            return Err(format!(
                "how to tell {model} to think is not known; put its own field into additionalModelRequestFields of the \
                 endpoint's `body`"
            ));
        }
        Ok(asked)
    }
}

/// `true` if the model family supports cache points.
pub(super) fn knows_cache_points(model: &str) -> bool {
    model.contains("nova") || Generation::of(model).caches_on_bedrock()
}

/// Converts `reasoningContent` of an answer to one of Anthropic's blocks.
pub(super) fn block(content: &Value) -> Option<Value> {
    if let Some(text) = content.pointer("/reasoningText/text").and_then(Value::as_str) {
        return Some(match content.pointer("/reasoningText/signature").and_then(Value::as_str) {
            Some(signature) => json!({"type": "thinking", "thinking": text, "signature": signature}),
            None => json!({"type": "thinking", "thinking": text}),
        });
    }
    let data = content.get("redactedContent").and_then(Value::as_str)?;
    Some(json!({"type": "redacted_thinking", "data": data}))
}

/// Converts one of Anthropic's blocks to `reasoningContent`; `None` for one without a signature, which models do not accept.
pub(super) fn content(block: &Value) -> Option<Value> {
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    match (text("thinking"), text("signature"), text("data")) {
        (Some(thinking), Some(signature), _) if !signature.is_empty() => {
            Some(json!({"reasoningText": {"text": thinking, "signature": signature}}))
        }
        (_, _, Some(data)) => Some(json!({"redactedContent": data})),
        _ => None,
    }
}
