//! One chat request and its reply, independent of any provider's wire format.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// Instructions.
    System,
    /// The person (or the benchmark).
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation. The text is shared, because thousands of requests carry the same examples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatMessage {
    /// Who wrote it.
    pub role: ChatRole,
    /// What it says.
    pub content: Arc<str>,
}

impl ChatMessage {
    /// A message of `role`.
    #[must_use]
    pub fn new(role: ChatRole, content: impl Into<Arc<str>>) -> Self {
        Self { role, content: content.into() }
    }
}

/// How to sample. Absent means the provider's default.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    /// Temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Most tokens to generate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Seed sent to the provider; only where the benchmark's protocol sends one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// What is asked of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatRequest {
    /// The conversation so far.
    pub messages: Vec<ChatMessage>,
    /// How to sample.
    #[serde(default)]
    pub sampling: Sampling,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    Stop,
    /// The token limit cut it off.
    Length,
    /// The provider's filter withheld text.
    ContentFilter,
    /// Something else, or not said.
    Other,
}

/// What the model answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// The text; `None` when the answer holds none (a recorded `null`, or a filtered answer).
    pub text: Option<Arc<str>>,
    /// Why it stopped.
    pub finish: Finish,
}
