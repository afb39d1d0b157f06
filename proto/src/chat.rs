//! One chat request and its reply, independent of any provider's wire format.

use std::sync::Arc;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::passed::IMAGE_TOKENS;
use crate::{Image, MemberName, Passed};

/// Role of a message's author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// System instructions.
    System,
    /// The person (or the benchmark).
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// One message of a conversation. The text is shared, because thousands of requests carry the same examples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ChatMessage {
    /// Role of the author.
    pub role: ChatRole,
    /// Text of the message.
    pub content: Arc<str>,
    /// Images before the text; only in messages of the role `user`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Tool calls of the model in this message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Id of the call whose result this message is; only in messages of the role `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Arc<str>>,
    /// The model's reasoning before the message; sent back to providers that require it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Sets a cache breakpoint after this message, for providers that cache only up to explicit breakpoints.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cache_until_here: bool,
}

impl ChatMessage {
    /// A message of `role` with this text.
    #[must_use]
    pub fn new(role: ChatRole, content: impl Into<Arc<str>>) -> Self {
        Self {
            role,
            content: content.into(),
            images: Vec::new(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            reasoning: None,
            cache_until_here: false,
        }
    }

    /// The message for people: a line for each image, then the text.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut shown: String = self.images.iter().map(|image| format!("({image})\n")).collect();
        shown.push_str(&self.content);
        shown
    }
}

/// A tool call that a model requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ToolCall {
    /// The provider's id of the call; if the provider gives none, a generated one, unique within the reply.
    pub id: Arc<str>,
    /// Name of the tool.
    pub name: Arc<str>,
    /// Arguments as the model wrote them; usually, but not always, JSON.
    pub arguments: Arc<str>,
}

/// Reasoning of a model before its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Reasoning {
    /// The text, as far as the provider shows it.
    pub text: Arc<str>,
    /// A signature or an encrypted form that only the provider can read, and that must be sent back with the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Arc<str>>,
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Tool {
    /// Name of the tool.
    pub name: Arc<str>,
    /// Description of the tool, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Arc<str>>,
    /// JSON Schema of the arguments, an object.
    pub parameters: Arc<serde_json::Value>,
}

/// Requirement to call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must not call a tool.
    None,
    /// The model must call at least one tool.
    Required,
    /// The model must call this tool.
    Named(Arc<str>),
}

impl ToolChoice {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// Format that the answer must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OutputSchema {
    /// Name of the schema; letters, digits, `_` and `-`.
    pub name: Arc<str>,
    /// JSON Schema of the answer.
    pub schema: Arc<serde_json::Value>,
}

/// Amount of thinking, for models that have such a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// No thinking, as far as the provider allows that.
    Off,
    /// Low effort.
    Low,
    /// Medium effort.
    Medium,
    /// High effort.
    High,
    /// At most this many tokens.
    Tokens(u32),
}

/// Sampling parameters. An absent one means the provider's default.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Sampling {
    /// Temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling (`top_p`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Most tokens to generate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Seed sent to the provider; only if the benchmark's protocol sends one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// A request to a chat model. A provider that does not support a field refuses the call by name, or ignores the field if that is harmless;
/// each wire format documents which.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ChatRequest {
    /// The member of a team of agents that asks; absent for a single agent. Not sent to providers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberName>,
    /// The conversation so far.
    pub messages: Vec<ChatMessage>,
    /// Sampling parameters.
    #[serde(default)]
    pub sampling: Sampling,
    /// Stop sequences: texts that end the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<Arc<str>>,
    /// Tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Requirement to call a tool.
    #[serde(default, skip_serializing_if = "ToolChoice::is_auto")]
    pub tool_choice: ToolChoice,
    /// Allows several tool calls in one answer; the provider's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Format that the answer must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSchema>,
    /// Amount of thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// Returns log-probabilities of this many candidates per token of the answer (0: of the token itself only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<u8>,
    /// Fields that the client of an external agent wrote and that none of the others carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Arc<Passed>>,
}

impl ChatRequest {
    /// A plain request with messages and sampling parameters.
    #[must_use]
    pub fn new(messages: Vec<ChatMessage>, sampling: Sampling) -> Self {
        Self { messages, sampling, ..Self::default() }
    }

    /// Bytes of the whole prompt: an upper bound of its tokens for any tokenizer, including a few for each message and tool, but for those of
    /// [images and files](Self::media_tokens).
    #[must_use]
    pub fn prompt_bytes(&self) -> u64 {
        /// Tokens around a message or a tool.
        const FRAME: u64 = 16;
        let text = |text: &str| text.len() as u64;
        let messages = self.messages.iter().map(|message| {
            let calls = message.tool_calls.iter().map(|call| text(&call.name) + text(&call.arguments) + FRAME);
            let reasoning = message.reasoning.as_ref().map_or(0, |thought| text(&thought.text));
            text(&message.content) + calls.sum::<u64>() + reasoning + FRAME
        });
        let json = |value: &serde_json::Value| text(&value.to_string());
        let tools = self.tools.iter().map(|tool| {
            text(&tool.name) + tool.description.as_deref().map_or(0, text) + json(&tool.parameters) + FRAME
        });
        let output = self.output.as_ref().map_or(0, |output| json(&output.schema) + FRAME);
        let passed = self.passed.as_ref().map_or(0, |passed| passed.prompt_bytes());
        messages.sum::<u64>() + tools.sum::<u64>() + output + passed
    }

    /// Upper bound of the tokens of images and files in the prompt, beyond its bytes.
    #[must_use]
    pub fn media_tokens(&self) -> u64 {
        let passed = self.passed.as_ref().map_or(0, |passed| passed.media_tokens());
        let images = self.images().count() as u64;
        passed.saturating_add(images.saturating_mul(IMAGE_TOKENS))
    }

    /// Images of all messages, in order.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        self.messages.iter().flat_map(|message| &message.images)
    }

    /// Bytes of the prompt as it is sent, about: its texts, and its images in base64.
    #[must_use]
    pub fn sent_bytes(&self) -> u64 {
        self.images().fold(self.prompt_bytes(), |bytes, image| bytes.saturating_add(image.base64_bytes()))
    }
}

/// Reason why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The answer is complete.
    Stop,
    /// The token limit cut it off.
    Length,
    /// The model calls tools.
    ToolCalls,
    /// The provider's filter, or the model itself, withheld the answer.
    ContentFilter,
    /// Another reason, or none was reported.
    Other,
}

/// Log-probability of one token of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TokenLogprob {
    /// The token.
    pub token: String,
    /// Natural log-probability of the token.
    pub logprob: f64,
    /// The most likely candidates at this position, each with its log-probability.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<(String, f64)>,
}

/// The answer of a chat model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Reply {
    /// The text; `None` if the answer has none (a recorded `null`, tool calls alone, or a filtered answer).
    pub text: Option<Arc<str>>,
    /// Reason why the model stopped.
    pub finish: Finish,
    /// Tool calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The model's reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Log-probabilities of the answer's tokens, if requested and supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Vec<TokenLogprob>>,
}

impl Reply {
    /// Bytes that it takes in memory, about: its texts, and places of those that come in numbers.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        /// Bytes of a tool call without its texts.
        const CALL: u64 = 160;
        /// Bytes of a token, and of each candidate for it, without their texts.
        const TOKEN: u64 = 96;
        const CANDIDATE: u64 = 64;
        let text = |text: &str| text.len() as u64;
        let optional = |text: Option<&Arc<str>>| text.map_or(0, |text| text.len() as u64);
        let calls = self.tool_calls.iter();
        let calls = calls.map(|call| CALL + text(&call.id) + text(&call.name) + text(&call.arguments));
        let reasoning = self.reasoning.as_ref();
        let reasoning = reasoning.map_or(0, |thought| text(&thought.text) + optional(thought.opaque.as_ref()));
        let logprobs = self.logprobs.iter().flatten().map(|token| {
            let top = token.top.iter().map(|(candidate, _)| CANDIDATE + text(candidate));
            TOKEN + text(&token.token) + top.sum::<u64>()
        });
        optional(self.text.as_ref()) + calls.sum::<u64>() + reasoning + logprobs.sum::<u64>()
    }

    /// A reply that has only text.
    #[must_use]
    pub fn of_text(text: Option<&str>, finish: Finish) -> Self {
        Self { text: text.map(Into::into), finish, tool_calls: Vec::new(), reasoning: None, logprobs: None }
    }

    /// A complete reply that has only text.
    #[must_use]
    pub fn said(text: impl Into<Arc<str>>) -> Self {
        Self { text: Some(text.into()), ..Self::of_text(None, Finish::Stop) }
    }

    /// A reply with `tool_calls`, which must not be empty.
    #[must_use]
    pub fn calling(text: Option<&str>, tool_calls: Vec<ToolCall>) -> Self {
        Self { tool_calls, ..Self::of_text(text, Finish::ToolCalls) }
    }

    /// Bytes of the text, and of the names and arguments of the calls.
    #[must_use]
    pub fn answer_bytes(&self) -> u64 {
        let calls = self.tool_calls.iter().map(|call| call.name.len() as u64 + call.arguments.len() as u64);
        self.text.as_ref().map_or(0, |text| text.len() as u64) + calls.sum::<u64>()
    }
}
