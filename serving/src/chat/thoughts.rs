//! The model's reasoning, in fields that OpenAI's format lacks: `reasoning_content` (DeepSeek, SGLang, vLLM) or `reasoning` (OpenRouter)
//! for the text, and OpenRouter's `reasoning_details` for the part that only the provider can read.

use std::sync::Arc;

use regatta_proto::Reasoning;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::fields::Fields;

/// The `format` of details that hold an opaque text of ours.
const OURS: &str = "regatta";

/// Details that hold `opaque`.
pub(super) fn details(opaque: &str) -> Value {
    json!([{"type": "reasoning.encrypted", "format": OURS, "index": 0, "data": opaque}])
}

#[derive(Deserialize)]
struct Detail {
    format: Option<String>,
    data: Option<Arc<str>>,
}

/// Takes the reasoning out of an assistant's message. Details in another format than ours are kept as they are.
pub(super) fn take(message: &mut Fields<'_>) -> Result<Option<Reasoning>, ApiError> {
    let (one, other) = (message.text("reasoning_content")?, message.text("reasoning")?);
    let text = one.or(other);
    let opaque = message.raw("reasoning_details").map(|details| ours(details).unwrap_or_else(|| details.get().into()));
    Ok((text.is_some() || opaque.is_some()).then(|| Reasoning { text: text.unwrap_or_default().into(), opaque }))
}

fn ours(details: &RawValue) -> Option<Arc<str>> {
    let details: Vec<Detail> = serde_json::from_str(details.get()).ok()?;
    details.into_iter().find(|detail| detail.format.as_deref() == Some(OURS))?.data
}
