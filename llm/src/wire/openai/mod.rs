//! OpenAI's chat completions and embeddings, and everything compatible: vLLM, SGLang, LiteLLM, OpenRouter, Together, DeepSeek, Azure.
//!
//! Facts from the providers' API references. What differs between them is data: the address and key in `open`, words of requests in
//! `dialect`, places of figures in `usage`.

pub(crate) mod dialect;
pub(crate) mod embeddings;
pub(crate) mod logprobs;
mod loose;
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

/// The newest version of Azure's deployments that is no preview.
const AZURE_API_VERSION: &str = "2024-10-21";

/// The format, as one address speaks it.
#[derive(Debug, Clone)]
pub(crate) struct OpenAi {
    place: Place,
    dialect: Dialect,
}

/// Where the model's name goes.
#[derive(Debug, Clone)]
enum Place {
    /// Into the body alone.
    Body,
    /// Into the path, with a query: Azure's deployments.
    Path { api_version: String },
}

impl OpenAi {
    /// The format at the address `base`.
    pub(crate) fn new(base: &str) -> Self {
        Self { place: Place::Body, dialect: Dialect::of(base) }
    }

    /// The format as Azure speaks it at the address `base`: by deployments, in the version of `spec`; or, where the address ends in
    /// `/openai/v1`, like everybody else.
    pub(crate) fn azure(base: &str, spec: &EndpointSpec) -> Self {
        if base.ends_with("/openai/v1") {
            return Self { place: Place::Body, dialect: Dialect::Plain };
        }
        let api_version = spec.api_version.clone().unwrap_or_else(|| AZURE_API_VERSION.to_owned());
        Self { place: Place::Path { api_version }, dialect: Dialect::Plain }
    }

    /// The request for the vectors of `texts`.
    ///
    /// # Errors
    /// Never, in fact: texts are always JSON.
    pub(crate) fn embeddings(&self, model: &str, texts: &[&str]) -> Result<Outgoing, String> {
        let body = embeddings::body(model, texts).map_err(|error| unwritable(&error))?;
        Ok(self.outgoing(model, "embeddings", body))
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

/// A request that JSON cannot hold.
pub(crate) fn unwritable(error: &serde_json::Error) -> String {
    format!("the request cannot be written as JSON: {error}")
}

/// A segment of a path, or a value in a query: everything but letters, digits, `-`, `.`, `_` and `~` is encoded.
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
