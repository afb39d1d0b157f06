//! One chat request and its reply, independent of any provider's wire format.

use std::sync::Arc;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MemberName;

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// Instructions.
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
    /// Who wrote it.
    pub role: ChatRole,
    /// What it says.
    pub content: Arc<str>,
    /// Calls that the model made in this message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that this message is the result of; of a tool's messages only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<Arc<str>>,
    /// What the model thought before it; given back to providers that ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Everything up to here is worth caching, for providers that cache only what is marked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cache_until_here: bool,
}

impl ChatMessage {
    /// A message of `role`.
    #[must_use]
    pub fn new(role: ChatRole, content: impl Into<Arc<str>>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            reasoning: None,
            cache_until_here: false,
        }
    }
}

/// A call of a tool that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ToolCall {
    /// The provider's id of the call; made up, unique within the reply, where the provider gives none.
    pub id: Arc<str>,
    /// Name of the tool.
    pub name: Arc<str>,
    /// Arguments as the model wrote them; mostly, but not always, JSON.
    pub arguments: Arc<str>,
}

/// What a model thought before it answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Reasoning {
    /// As far as the provider shows it.
    pub text: Arc<str>,
    /// A signature or an encrypted form that only the provider can read, and wants back with the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Arc<str>>,
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Tool {
    /// Its name.
    pub name: Arc<str>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Arc<str>>,
    /// JSON Schema of its arguments, an object.
    pub parameters: Arc<serde_json::Value>,
}

/// Whether a model has to call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It must not.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(Arc<str>),
}

impl ToolChoice {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// The form that an answer must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OutputSchema {
    /// Name of the schema; letters, digits, `_` and `-`.
    pub name: Arc<str>,
    /// JSON Schema of the answer.
    pub schema: Arc<serde_json::Value>,
}

/// How much a model should think, for those that can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// Not at all, as far as the provider allows.
    Off,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// At most this many tokens.
    Tokens(u32),
}

/// How to sample. Absent means the provider's default.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
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

/// What is asked of a model. Providers that do not offer a field refuse the call by name, or leave it out where that is harmless; the
/// wire format of each says which.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ChatRequest {
    /// Which member of a team of agents asks; none where the agent under test is one alone. No provider is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberName>,
    /// The conversation so far.
    pub messages: Vec<ChatMessage>,
    /// How to sample.
    #[serde(default)]
    pub sampling: Sampling,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<Arc<str>>,
    /// Tools that may be called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Whether one has to be called.
    #[serde(default, skip_serializing_if = "ToolChoice::is_auto")]
    pub tool_choice: ToolChoice,
    /// Whether several may be called at once; the provider's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The form that the answer must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSchema>,
    /// How much to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// Log-probabilities of this many candidates per token of the answer (0: of the token itself only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<u8>,
}

impl ChatRequest {
    /// A plain request: messages and sampling.
    #[must_use]
    pub fn new(messages: Vec<ChatMessage>, sampling: Sampling) -> Self {
        Self { messages, sampling, ..Self::default() }
    }

    /// Bytes of everything the model reads: no tokenizer makes more tokens than bytes of them, plus a few for each message and tool.
    #[must_use]
    pub fn prompt_bytes(&self) -> u64 {
        /// Tokens that frame a message or a tool.
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
        messages.sum::<u64>() + tools.sum::<u64>() + output
    }
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    Stop,
    /// The token limit cut it off.
    Length,
    /// It wants tools to be called.
    ToolCalls,
    /// The provider's filter, or the model itself, withheld the answer.
    ContentFilter,
    /// Something else, or not said.
    Other,
}

/// One token of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TokenLogprob {
    /// The token.
    pub token: String,
    /// Its natural log-probability.
    pub logprob: f64,
    /// The likeliest candidates at its place, with theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<(String, f64)>,
}

/// What the model answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Reply {
    /// The text; `None` when the answer holds none (a recorded `null`, tool calls alone, or a filtered answer).
    pub text: Option<Arc<str>>,
    /// Why it stopped.
    pub finish: Finish,
    /// Tools it wants to be called, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What it thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Log-probabilities of its tokens, where asked for and offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Vec<TokenLogprob>>,
}

impl Reply {
    /// A reply of text alone.
    #[must_use]
    pub fn of_text(text: Option<&str>, finish: Finish) -> Self {
        Self { text: text.map(Into::into), finish, tool_calls: Vec::new(), reasoning: None, logprobs: None }
    }

    /// A reply of text alone that came to its end.
    #[must_use]
    pub fn said(text: impl Into<Arc<str>>) -> Self {
        Self { text: Some(text.into()), ..Self::of_text(None, Finish::Stop) }
    }

    /// A reply that wants `tool_calls`, which are not none, to be made.
    #[must_use]
    pub fn calling(text: Option<&str>, tool_calls: Vec<ToolCall>) -> Self {
        Self { tool_calls, ..Self::of_text(text, Finish::ToolCalls) }
    }

    /// Bytes of its text, and of names and arguments of its calls.
    #[must_use]
    pub fn answer_bytes(&self) -> u64 {
        let calls = self.tool_calls.iter().map(|call| call.name.len() as u64 + call.arguments.len() as u64);
        self.text.as_ref().map_or(0, |text| text.len() as u64) + calls.sum::<u64>()
    }
}
