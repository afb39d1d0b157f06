//! OpenAI's responses. Facts from OpenAI's API reference.
//!
//! Nothing is stored at the provider (`store: false`): a conversation is sent whole, with the encrypted reasoning of earlier turns. Stop
//! sequences cannot be expressed in this format and are refused by name. A seed is left out, because the provider has none and samples
//! randomly.

mod answer;
mod request;
mod stream;

use regatta_proto::ChatRequest;
use reqwest::header::HeaderMap;

use crate::errors::Failure;
use crate::transport::Answer;
use crate::wire::{Completion, Format, Outgoing, ReadContext, StreamReader};

/// The wire format of OpenAI's responses.
#[derive(Debug)]
pub(crate) struct Responses;

impl Format for Responses {
    fn request(&self, model: &str, request: &ChatRequest, stream: bool) -> Result<Outgoing, String> {
        let body = request::body(model, request, stream)?;
        Ok(Outgoing { path: "/responses".to_owned(), headers: HeaderMap::new(), body })
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
