//! Anthropic's messages. Source: Anthropic's API reference and its guides to extended and adaptive thinking, prompt caching, structured
//! outputs and streaming; `anthropic-version` 2023-06-01.
//!
//! Requests that this format cannot express are refused by name: log-probabilities, and sampling beside thinking other than Anthropic's
//! defaults. A seed is left out, because the provider samples randomly with or without one. `parallel_tool_calls: true` is the default and
//! is left out. Assistant turns without text or call are left out, because empty turns are refused. The last system block always has a
//! cache breakpoint, because all sessions of a benchmark share it.

mod answer;
pub(crate) mod blocks;
mod conversation;
pub(crate) mod generation;
mod request;
mod stream;
pub(crate) mod thinking;
mod usage;

use regatta_proto::ChatRequest;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::{Completion, Format, Outgoing, ReadContext, StreamReader};
use crate::errors::Failure;
use crate::transport::Answer;

/// The API version that requests name.
pub(crate) const VERSION: (HeaderName, HeaderValue) =
    (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));

/// Anthropic's wire format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anthropic;

impl Format for Anthropic {
    fn request(&self, model: &str, request: &ChatRequest, stream: bool) -> Result<Outgoing, String> {
        let body = request::body(model, request, stream)?;
        Ok(Outgoing { path: "/messages".to_owned(), headers: HeaderMap::from_iter([VERSION]), body })
    }

    fn answer(&self, answer: &Answer, context: &ReadContext<'_>) -> Result<Completion, Failure> {
        answer::read(answer, context)
    }

    fn stream(&self) -> Box<dyn StreamReader> {
        Box::<stream::Reader>::default()
    }
}

#[cfg(test)]
mod tests;
