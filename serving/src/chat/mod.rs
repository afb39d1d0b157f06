//! OpenAI's chat completions.

pub(crate) mod answer;
pub(crate) mod request;
mod thoughts;
