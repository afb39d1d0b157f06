//! OpenAI's responses. Facts from OpenAI's API reference.
//!
//! Nothing is stored at the provider (`store: false`): a conversation is sent whole, with the encrypted thoughts of earlier turns. What
//! this format cannot say: texts that end the answer, which are refused by name. A seed is left out: the provider has none, and draws as it
//! likes.

mod answer;
mod request;
mod stream;

use regatta_proto::ChatRequest;
use reqwest::header::HeaderMap;

use crate::errors::Failure;
use crate::transport::Answer;
use crate::wire::{Completion, Format, Outgoing, ReadContext, StreamReader};

/// The format.
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
