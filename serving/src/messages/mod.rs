//! Anthropic's messages.

pub(crate) mod answer;
mod conversation;
pub(crate) mod request;

/// The key under which a model's arguments are sent when they are no JSON object, which an `input` always is. (Anthropic's guide to
/// fine-grained tool streaming.)
const NO_OBJECT: &str = "INVALID_JSON";
