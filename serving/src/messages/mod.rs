//! Anthropic's messages.

pub(crate) mod answer;
mod conversation;
pub(crate) mod request;

/// The key of what a model wrote as arguments when that is no object, which an `input` always is. (Anthropic's guide to fine-grained tool
/// streaming.)
const NO_OBJECT: &str = "INVALID_JSON";
