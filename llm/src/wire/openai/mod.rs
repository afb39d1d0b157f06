//! OpenAI's chat completions and embeddings, and every compatible server: vLLM, SGLang, LiteLLM, OpenRouter, Together, DeepSeek, Azure.
//!
//! Facts from the providers' API references. Differences between servers are data: address and key in `open`, fields of requests in
//! `dialect`, fields of usage in `usage`.

pub(crate) mod dialect;
pub(crate) mod embeddings;
pub(crate) mod logprobs;
mod loose;
mod message;
pub(crate) mod request;
mod response;
mod stream;
pub(crate) mod usage;

use bytes::Bytes;
use regatta_proto::{ChatRequest, EndpointSpec};
use reqwest::header::HeaderMap;

use crate::errors::Failure;
use crate::transport::Answer;
use crate::wire::{Completion, Format, Outgoing, ReadContext, StreamReader};

use dialect::Dialect;

/// The newest stable version of Azure's deployment API.
const AZURE_API_VERSION: &str = "2024-10-21";

/// The wire format for one address.
#[derive(Debug, Clone)]
pub(crate) struct OpenAi {
    place: Place,
    dialect: Dialect,
}

/// Position of the model's name in a request.
#[derive(Debug, Clone)]
enum Place {
    /// Into the body alone.
    Body,
    /// Into the path, with the version as a query, for Azure's deployments.
    Path { api_version: String },
}

impl OpenAi {
    /// The format for the address `base`.
    pub(crate) fn new(base: &str) -> Self {
        Self { place: Place::Body, dialect: Dialect::of(base) }
    }

    /// The format of Azure at the address `base`: deployments, with the version of `spec`; or plain OpenAI, if the address ends in
    /// `/openai/v1`.
    pub(crate) fn azure(base: &str, spec: &EndpointSpec) -> Self {
        if base.ends_with("/openai/v1") {
            return Self { place: Place::Body, dialect: Dialect::Plain };
        }
        let api_version = spec.api_version.clone().unwrap_or_else(|| AZURE_API_VERSION.to_owned());
        Self { place: Place::Path { api_version }, dialect: Dialect::Plain }
    }

    /// The embeddings request for `texts`.
    ///
    /// # Errors
    /// Never, because a text can always be written as JSON.
    pub(crate) fn embeddings(&self, model: &str, texts: &[&str]) -> Result<Outgoing, String> {
        let body = embeddings::body(model, texts).map_err(|error| unwritable(&error))?;
        Ok(self.outgoing(model, "embeddings", body))
    }

    /// The path of the list of models.
    pub(crate) fn models_path(&self) -> String {
        match &self.place {
            Place::Body => "/models".to_owned(),
            Place::Path { api_version } => format!("/openai/models?api-version={}", segment(api_version)),
        }
    }

    fn outgoing(&self, model: &str, operation: &str, body: Bytes) -> Outgoing {
        let path = match &self.place {
            Place::Body => format!("/{operation}"),
            Place::Path { api_version } => {
                format!("/openai/deployments/{}/{operation}?api-version={}", segment(model), segment(api_version))
            }
        };
        Outgoing { path, headers: HeaderMap::new(), body }
    }
}

impl Format for OpenAi {
    fn request(&self, model: &str, request: &ChatRequest, stream: bool) -> Result<Outgoing, String> {
        let body = request::body(model, request, stream, self.dialect)?;
        Ok(self.outgoing(model, "chat/completions", body))
    }

    fn answer(&self, answer: &Answer, context: &ReadContext<'_>) -> Result<Completion, Failure> {
        response::read(answer, context)
    }

    fn stream(&self) -> Box<dyn StreamReader> {
        Box::new(stream::Reader::default())
    }
}

/// The message for a request that cannot be written as JSON.
pub(crate) fn unwritable(error: &serde_json::Error) -> String {
    format!("the request cannot be written as JSON: {error}")
}

/// Percent-encodes a segment of a path or a value of a query: everything but letters, digits, `-`, `.`, `_` and `~`.
fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
