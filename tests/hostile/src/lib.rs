//! A hostile endpoint: it plays every event of filters, limits, credentials and bills, on every wire format, whole or streamed.
//!
//! The event of a request is in the address alone, `http://HOST/EVENT/WAY/WIRE`, so that any client can be pointed at it. An event may be
//! said in several ways on one wire; [`ways`] lists them. Shapes and words are those of the providers' public documentation and of servers
//! that people run themselves; texts are our own.

mod answer;
mod errors;
mod event;
mod events;
mod server;
mod streams;

pub use event::Event;
pub use events::{Way, ways};
pub use server::Hostile;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wire {
    /// OpenAI's chat completions, and whatever speaks like it.
    OpenAi,
    /// OpenAI's responses.
    Responses,
    /// Azure OpenAI.
    Azure,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
    /// Bedrock's Converse.
    Bedrock,
}

impl Wire {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::OpenAi, Self::Responses, Self::Azure, Self::Anthropic, Self::Gemini, Self::Bedrock];

    /// Part of addresses that names it; the `kind` of an endpoint that speaks it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Responses => "openai_responses",
            Self::Azure => "azure",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
        }
    }
}
