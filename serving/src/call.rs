//! A request to a chat model, in whatever format it came.

use std::borrow::Cow;

use regatta_proto::ChatRequest;
use serde_json::value::RawValue;

use crate::error::ApiError;
use crate::fields::Reader;
use crate::format::Format;
use crate::{chat, messages, responses};

/// How much of a request is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Everything; what cannot be carried is refused by name.
    Whole,
    /// What simulated models look at: messages, the names of tools, and how to sample. All other fields are ignored, whatever they hold.
    Gist,
}

/// A request to a chat model.
#[derive(Debug)]
pub struct ChatCall<'a> {
    /// The model's name, as the client wrote it.
    pub model: Cow<'a, str>,
    /// What is asked.
    pub request: ChatRequest,
    /// How to stream the answer, if at all.
    pub streaming: Option<Streaming>,
    /// The tools as they were written.
    pub tools: Option<&'a RawValue>,
    /// `metadata` as it was written.
    pub metadata: Option<&'a RawValue>,
    /// What was said and is not carried, though somebody could care; sorted.
    pub left_out: Vec<&'static str>,
}

/// How an answer is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streaming {
    /// Whether OpenAI's chat completions end with a chunk that tells the usage; the other formats always tell it.
    pub include_usage: bool,
}

impl<'a> ChatCall<'a> {
    /// Reads the body of a request in `format`.
    ///
    /// # Errors
    /// 400, naming the field at fault: what the format does not know, and, read whole, what a [`ChatRequest`] cannot carry.
    pub fn parse(format: Format, body: &'a [u8], reading: Reading) -> Result<Self, ApiError> {
        let mut reader = Reader::new(reading);
        let mut call = match format {
            Format::Chat => chat::request::parse(body, &mut reader),
            Format::Messages => messages::request::parse(body, &mut reader),
            Format::Responses => responses::request::parse(body, &mut reader),
        }?;
        call.left_out = reader.left_out.into_iter().collect();
        Ok(call)
    }
}
