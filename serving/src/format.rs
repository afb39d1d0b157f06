//! The formats of requests and answers.

use crate::error::Dialect;

/// The wire format of a request to a chat model and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// OpenAI's chat completions.
    Chat,
    /// Anthropic's messages.
    Messages,
    /// OpenAI's responses.
    Responses,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Messages, Self::Responses];

    /// Path at which the format is served.
    #[must_use]
    pub const fn route(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
        }
    }

    /// The format served at `path`, which may lack the version, for clients whose base address has or lacks it.
    #[must_use]
    pub fn at(path: &str) -> Option<Self> {
        let is_at = |format: &Self| format.route() == path || format.route().strip_prefix("/v1") == Some(path);
        Self::ALL.into_iter().find(is_at)
    }

    /// The provider whose errors and headers the format has.
    #[must_use]
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::Messages => Dialect::Anthropic,
            Self::Chat | Self::Responses => Dialect::Openai,
        }
    }
}
