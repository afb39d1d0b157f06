//! OpenAI's wire format: chat completions and embeddings, and everything compatible.

mod client;
mod embeddings;
mod provenance;
mod request;
mod response;
mod session_headers;
mod trouble;
mod usage;

pub(crate) use client::Client;
