//! The wire formats that an endpoint speaks.

pub(crate) mod chat;
pub(crate) mod chat_request;
pub(crate) mod embeddings;

/// What a request and its answer look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's embeddings.
    Embeddings,
}

impl Format {
    /// Where it is served.
    pub(crate) const fn route(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Embeddings => "/v1/embeddings",
        }
    }

    /// The format served at `path`.
    pub(crate) fn at(path: &str) -> Option<Self> {
        [Self::Chat, Self::Embeddings].into_iter().find(|format| format.route() == path)
    }
}
