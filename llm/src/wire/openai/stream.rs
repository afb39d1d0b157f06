//! Reads a chat answer that is streamed.

use std::borrow::Cow;
use std::collections::HashMap;

use regatta_proto::{ErrorClass, TokenLogprob, Usage};
use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::errors::Failure;
use crate::wire::provenance::Told;
use crate::wire::size::bytes_of;
use crate::wire::tool_calls::RawCall;
use crate::wire::{Completion, Part, ReadContext, ServerEvent, StreamReader, trouble};

use super::loose::Text;
use super::message::Message;
use super::response::{Parts, completion, text};
use super::{logprobs, usage};

/// Data of the last event of a stream.
const DONE: &str = "[DONE]";

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    system_fingerprint: Text<'a>,
    #[serde(borrow, default)]
    service_tier: Text<'a>,
    #[serde(borrow, default)]
    provider: Text<'a>,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Value>,
    /// Groq's position of the usage.
    x_groq: Option<Value>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<Message<'a>>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
    logprobs: Option<Value>,
    /// Moonshot's position of the usage.
    usage: Option<Value>,
    error: Option<IgnoredAny>,
}

/// The parts received so far.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    origin: Origin,
    text: Option<String>,
    refusal: Option<String>,
    thought: String,
    thought_details: Vec<Value>,
    calls: Vec<RawCall>,
    /// Position of the last call with an index.
    positions: HashMap<u64, usize>,
    finish: Option<String>,
    logprobs: Option<Vec<TokenLogprob>>,
    usage: Option<Value>,
    /// Size of the texts and lists above, in bytes.
    bytes: usize,
    has_choice: bool,
    is_done: bool,
}

#[derive(Debug, Default)]
struct Origin {
    id: Option<String>,
    model: Option<String>,
    fingerprint: Option<String>,
    tier: Option<String>,
    provider: Option<String>,
}

impl StreamReader for Reader {
    fn event(&mut self, event: &ServerEvent<'_>, context: &ReadContext<'_>) -> Result<Part, Failure> {
        let data = event.data.trim();
        if data == DONE {
            self.is_done = true;
            return Ok(Part::End);
        }
        if data.is_empty() {
            return Ok(Part::Other);
        }
        let is_named_error = event.name == "error";
        match serde_json::from_str::<Chunk<'_>>(data) {
            Ok(chunk) if !is_named_error && chunk.is_sound() => Ok(self.take(chunk)),
            Ok(_) => {
                let failure = self.failure(data, is_named_error, context);
                // Neither a part of the answer nor an error: an event of a new kind.
                failure.map_or(Ok(Part::Other), Err)
            }
            Err(error) => Err(self.failure(data, is_named_error, context).unwrap_or_else(|| {
                let detail = context
                    .secret
                    .detail(&format!("an event of the stream is no chunk of a chat completion ({error}): {data}"));
                trouble::in_stream(ErrorClass::BadResponse, detail)
            })),
        }
    }

    fn bytes(&self) -> usize {
        self.bytes + self.calls.len() * size_of::<RawCall>() + self.usage.as_ref().map_or(0, bytes_of)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage.as_ref().and_then(usage::billed)
    }

    fn tier(&self) -> Option<&str> {
        self.origin.tier.as_deref()
    }

    fn end(self: Box<Self>, headers: &HeaderMap, context: &ReadContext<'_>) -> Result<Completion, Failure> {
        let broken = |detail: &str| trouble::in_stream(ErrorClass::BadResponse, detail.to_owned());
        if self.finish.is_none() && !self.is_done {
            return Err(broken("the stream ended before the answer did"));
        }
        if !self.has_choice {
            return Err(broken("the stream held no part of an answer"));
        }
        let Self { origin, text, refusal, thought, thought_details, calls, finish, logprobs, usage, .. } = *self;
        let thought_details = Value::Array(thought_details);
        let parts = Parts {
            text: text.map(Cow::Owned),
            refusal: refusal.map(Cow::Owned),
            thought: &thought,
            thought_details: Some(&thought_details),
            calls,
            finish: finish.as_deref(),
            logprobs,
        };
        let withheld = parts.withheld();
        let reply = parts.reply()?;
        let told = Told {
            model: origin.model.as_deref(),
            fingerprint: origin.fingerprint.as_deref(),
            id: origin.id.as_deref(),
            provider: origin.provider.as_deref(),
            tier: origin.tier.as_deref(),
        };
        Ok(completion((reply, withheld), told, usage, headers, context))
    }
}

impl Chunk<'_> {
    /// `true` if it is a part of the answer or information about it, and no error.
    fn is_sound(&self) -> bool {
        let choices = self.choices.iter().flatten();
        let has_error = self.error.is_some() || choices.clone().any(|choice| choice.error.is_some());
        !has_error && (self.choices.is_some() || self.usage.is_some())
    }
}

impl Reader {
    fn failure(&self, data: &str, is_named_error: bool, context: &ReadContext<'_>) -> Option<Failure> {
        let event = serde_json::from_str::<Value>(data).ok().or_else(|| is_named_error.then(|| Value::from(data)))?;
        trouble::of_event(&event, is_named_error, usage::BILL, context)
    }

    fn take(&mut self, chunk: Chunk<'_>) -> Part {
        let origin = &mut self.origin;
        for (place, told) in [
            (&mut origin.id, &chunk.id),
            (&mut origin.model, &chunk.model),
            (&mut origin.fingerprint, &chunk.system_fingerprint),
            (&mut origin.tier, &chunk.service_tier),
            (&mut origin.provider, &chunk.provider),
        ] {
            if let Some(told) = told.some().filter(|told| place.as_deref() != Some(*told)) {
                *place = Some(told.to_owned());
            }
        }
        let elsewhere = chunk.x_groq.and_then(|mut groq| groq.get_mut("usage").map(Value::take));
        let mut told_usage = chunk.usage.or(elsewhere);
        let mut part = Part::Other;
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            self.has_choice = true;
            told_usage = told_usage.or(choice.usage);
            if let Some(delta) = choice.delta
                && self.grow(delta)
            {
                part = Part::Answer;
            }
            if let Some(tokens) = choice.logprobs.as_ref().and_then(logprobs::read) {
                self.bytes += choice.logprobs.as_ref().map_or(0, bytes_of);
                self.logprobs.get_or_insert_default().extend(tokens);
            }
            if let Some(finish) = choice.finish_reason.some() {
                self.finish = Some(finish.to_owned());
            }
        }
        if let Some(told) = told_usage.filter(Value::is_object) {
            self.usage = Some(told);
        }
        part
    }

    /// Adds a piece of the message; returns `true` if it had any content.
    fn grow(&mut self, delta: Message<'_>) -> bool {
        let mut grew = false;
        if let Some(piece) = delta.content {
            grew |= !piece.is_empty();
            self.bytes += piece.len();
            self.text.get_or_insert_default().push_str(&piece);
        }
        if let Some(piece) = delta.refusal.some() {
            self.bytes += piece.len();
            self.refusal.get_or_insert_default().push_str(piece);
            grew = true;
        }
        // Servers in transition between the two names send both.
        if let Some(piece) = delta.reasoning_content.some().or(delta.reasoning.some()) {
            self.bytes += piece.len();
            self.thought.push_str(piece);
            grew = true;
        }
        if let Some(Value::Array(details)) = delta.reasoning_details {
            grew |= !details.is_empty();
            self.bytes += details.iter().map(bytes_of).sum::<usize>();
            details.into_iter().for_each(|detail| self.grow_details(detail));
        }
        if let Some(Value::Array(calls)) = delta.tool_calls {
            for call in calls.iter().filter(|call| call.is_object()) {
                self.grow_call(call);
                grew = true;
            }
        }
        if let Some(function) = delta.function_call.filter(Value::is_object) {
            self.grow_call(&serde_json::json!({"index": 0, "function": function}));
            grew = true;
        }
        grew
    }

    fn grow_call(&mut self, delta: &Value) {
        let (index, id) = (delta.get("index").and_then(Value::as_u64), text(delta.get("id")));
        let position = match index {
            Some(index) => self.positions.get(&index).copied(),
            None => self.calls.len().checked_sub(1),
        };
        // A new id begins a new call, also at servers that send the index 0 for every call.
        let goes_on = |call: &RawCall| id.is_empty() || call.id.is_empty() || call.id == id;
        let position =
            position.filter(|position| self.calls.get(*position).is_some_and(goes_on)).unwrap_or_else(|| {
                self.calls.push(RawCall::default());
                self.calls.len() - 1
            });
        if let Some(index) = index {
            self.positions.insert(index, position);
        }
        let Some(call) = self.calls.get_mut(position) else { return };
        if call.id.is_empty() {
            self.bytes += id.len();
            call.id = id;
        }
        let (function, arguments) = match delta.get("custom") {
            Some(custom) => (Some(custom), "input"),
            None => (delta.get("function"), "arguments"),
        };
        let field = |name: &str| text(function.and_then(|function| function.get(name)));
        let name = field("name");
        // The name is sent once, in pieces, or whole with every piece of the arguments.
        if call.name != name {
            self.bytes += name.len();
            call.name.push_str(&name);
        }
        let arguments = field(arguments);
        call.arguments.push_str(&arguments);
        self.bytes += arguments.len();
    }

    /// OpenRouter streams reasoning in entries that grow by index, and must be sent back as if they had been whole.
    fn grow_details(&mut self, detail: Value) {
        let Value::Object(detail) = detail else { return };
        let place = |entry: &Map<String, Value>| (entry.get("index").cloned(), entry.get("type").cloned());
        let grown = self.thought_details.last_mut().and_then(Value::as_object_mut);
        let Some(grown) = grown.filter(|grown| grown.contains_key("index") && place(grown) == place(&detail)) else {
            self.thought_details.push(Value::Object(detail));
            return;
        };
        for (name, value) in detail {
            match (grown.get_mut(&name), value) {
                (Some(Value::String(whole)), Value::String(piece)) if matches!(&*name, "text" | "summary" | "data") => {
                    whole.push_str(&piece);
                }
                (_, Value::Null) => {}
                (_, value) => drop(grown.insert(name, value)),
            }
        }
    }
}
