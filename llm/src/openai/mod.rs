//! OpenAI's wire format: chat completions and embeddings, and everything compatible.

mod client;
mod embeddings;
mod judge;
mod provenance;
mod request;
mod response;
mod session_headers;
mod trouble;
mod usage;

pub(crate) use client::Client;

#[cfg(test)]
pub(crate) use embeddings::read as read_embeddings;
#[cfg(test)]
pub(crate) use response::read as read_chat;
