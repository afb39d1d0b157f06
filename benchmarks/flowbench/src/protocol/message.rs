//! Messages of a conversation.

/// Speaker of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The user, simulated or not.
    User,
    /// The agent.
    Assistant,
    /// The tool with this name, simulated or not.
    Function(String),
}

impl Speaker {
    /// Name in transcripts and files (docs/benchmarks/flowbench.md §2.2).
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Function(_) => "function",
        }
    }
}

/// A call of a tool, as the agent wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolCall {
    /// Name of the tool, without a leading `functions.`.
    pub(crate) name: String,
    /// Text of the arguments; `None` when the text after the label is not a readable group of braces.
    pub(crate) arguments: Option<String>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// Speaker of the message.
    pub(crate) speaker: Speaker,
    /// Text of the message; `None` only in transcripts that were recorded elsewhere.
    pub(crate) content: Option<String>,
    /// Tool call in the message; of the agent's messages only.
    pub(crate) call: Option<ToolCall>,
}

impl Message {
    /// Makes a message of the user.
    pub(crate) fn user(content: impl Into<String>) -> Self {
        Self { speaker: Speaker::User, content: Some(content.into()), call: None }
    }

    /// Makes a message of the agent.
    pub(crate) fn assistant(content: impl Into<String>, call: Option<ToolCall>) -> Self {
        Self { speaker: Speaker::Assistant, content: Some(content.into()), call }
    }

    /// Makes a message with a result of the tool `name`.
    pub(crate) fn function(name: impl Into<String>, content: impl Into<String>) -> Self {
        Self { speaker: Speaker::Function(name.into()), content: Some(content.into()), call: None }
    }

    /// Returns `true` for a message of the agent.
    pub(crate) const fn is_assistant(&self) -> bool {
        matches!(self.speaker, Speaker::Assistant)
    }

    /// Returns the text, or an empty one.
    pub(crate) fn text(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }
}
