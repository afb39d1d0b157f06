//! OpenAI's responses.

pub(crate) mod answer;
mod conversation;
pub(crate) mod forms;
pub(crate) mod request;
pub(crate) mod store;
