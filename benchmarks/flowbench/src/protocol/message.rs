//! Messages of a conversation.

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The user, or who plays it.
    User,
    /// The agent.
    Assistant,
    /// The tool of this name, or who plays it.
    Function(String),
}

impl Speaker {
    /// The word for it in transcripts and files (docs/benchmarks/flowbench.md §2.2).
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
    /// The tool's name, without a leading `functions.`.
    pub(crate) name: String,
    /// The text of the arguments; `None` when the text after the label is no group of braces that can be read.
    pub(crate) arguments: Option<String>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// Who said it.
    pub(crate) speaker: Speaker,
    /// What was said; `None` only in transcripts that were recorded elsewhere.
    pub(crate) content: Option<String>,
    /// The call in it; of the agent's messages only.
    pub(crate) call: Option<ToolCall>,
}

impl Message {
    /// What the user says.
    pub(crate) fn user(content: impl Into<String>) -> Self {
        Self { speaker: Speaker::User, content: Some(content.into()), call: None }
    }

    /// What the agent says.
    pub(crate) fn assistant(content: impl Into<String>, call: Option<ToolCall>) -> Self {
        Self { speaker: Speaker::Assistant, content: Some(content.into()), call }
    }

    /// What the tool `name` returns.
    pub(crate) fn function(name: impl Into<String>, content: impl Into<String>) -> Self {
        Self { speaker: Speaker::Function(name.into()), content: Some(content.into()), call: None }
    }

    /// Whether the agent said it.
    pub(crate) const fn is_assistant(&self) -> bool {
        matches!(self.speaker, Speaker::Assistant)
    }

    /// The text, empty when there is none.
    pub(crate) fn text(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }
}
