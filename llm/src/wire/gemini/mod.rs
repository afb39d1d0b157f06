//! Google Gemini's `generateContent`. Source: the Gemini API's reference and its guides to thinking, thought signatures, function calling
//! and structured output.
//!
//! Requests that this format cannot express are refused by name: system messages within a conversation. Left out as harmless are cache
//! marks (Gemini caches by itself), empty assistant turns, and the wish for one call of a tool at a time, because whoever has it reads the
//! first. Seeds have 31 bits; of a longer one, the lowest are sent.

mod answer;
mod contents;
mod request;
mod signatures;
mod stream;
mod thinking;
mod trouble;
mod usage;

use regatta_proto::ChatRequest;
use reqwest::header::HeaderMap;

use super::{Completion, Format, Outgoing, ReadContext, StreamReader};
use crate::errors::Failure;
use crate::transport::Answer;

/// Gemini's wire format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gemini;

impl Format for Gemini {
    fn request(&self, model: &str, request: &ChatRequest, stream: bool) -> Result<Outgoing, String> {
        let body = request::body(model, request)?;
        Ok(Outgoing { path: request::path(model, stream), headers: HeaderMap::new(), body })
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
