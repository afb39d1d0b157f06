//! Reads a streamed answer: blocks that begin, grow and end. Source: Anthropic's guide to streaming messages.

use std::collections::BTreeMap;

use regatta_proto::{ErrorClass, Usage};
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};

use super::answer::completion;
use super::blocks::Piece;
use super::usage;
use crate::errors::Failure;
use crate::wire::size::{bytes_of, merge};
use crate::wire::tool_calls::RawCall;
use crate::wire::{Completion, Part, ReadContext, ServerEvent, StreamReader, trouble};

/// The parts received so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The message without its content.
    message: Option<Map<String, Value>>,
    /// Blocks by index.
    blocks: BTreeMap<u64, Open>,
    /// The final token counts have arrived. Those at the beginning cover the prompt alone.
    is_metered: bool,
    /// Of the message and its blocks.
    bytes: usize,
}

/// A block that may still grow.
#[derive(Debug)]
enum Open {
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
        json: String,
    },
    /// `redacted_thinking`, which is sent in one piece, or a kind without a meaning here.
    Whole(Value),
}

impl StreamReader for Reader {
    fn event(&mut self, event: &ServerEvent<'_>, context: &ReadContext<'_>) -> Result<Part, Failure> {
        let mut data: Value = serde_json::from_str(event.data).map_err(|error| {
            let detail =
                context.secret.detail(&format!("an event of the stream is not JSON ({error}): {}", event.data));
            trouble::in_stream(ErrorClass::BadResponse, detail)
        })?;
        let kind = data.get("type").and_then(Value::as_str).unwrap_or(event.name).to_owned();
        if let Some(failure) = trouble::of_event(&data, kind == "error", usage::BILL, context) {
            // The output before the error was generated, and may be billed.
            return Err(Failure { maybe_billed: self.message.is_some(), ..failure });
        }
        Ok(match kind.as_str() {
            "message_start" => {
                let message = data.get_mut("message").map(Value::take).unwrap_or_default();
                self.bytes += bytes_of(&message);
                if let Value::Object(message) = message {
                    self.message = Some(message);
                }
                Part::Other
            }
            "content_block_start" => self.begin(&mut data),
            "content_block_delta" => self.grow(&data),
            "message_delta" => {
                self.message_delta(data);
                Part::Other
            }
            "message_stop" => Part::End,
            _ => Part::Other,
        })
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn usage(&self) -> Option<Usage> {
        usage::billed(self.message.as_ref().filter(|_| self.is_metered)?.get("usage")?)
    }

    fn tier(&self) -> Option<&str> {
        usage::tier(self.message.as_ref()?.get("usage")?)
    }

    fn end(self: Box<Self>, headers: &HeaderMap, context: &ReadContext<'_>) -> Result<Completion, Failure> {
        let broken = |detail: &str| trouble::in_stream(ErrorClass::BadResponse, detail.to_owned());
        let message = self.message.ok_or_else(|| broken("the stream ended before a message began"))?;
        if message.get("stop_reason").is_none_or(Value::is_null) {
            return Err(broken("the stream ended before the answer did"));
        }
        let pieces = self.blocks.into_values().filter_map(Open::close).collect();
        Ok(completion(&Value::Object(message), pieces, headers, context))
    }
}

impl Reader {
    fn begin(&mut self, data: &mut Value) -> Part {
        let (Some(index), Some(mut block)) = (index(data), data.get_mut("content_block").map(Value::take)) else {
            return Part::Other;
        };
        self.bytes += bytes_of(&block);
        let mut text = |name: &str| match block.get_mut(name).map(Value::take) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let open = match text("type").as_str() {
            "text" => Open::Text(text("text")),
            "thinking" => Open::Thinking { thinking: text("thinking"), signature: text("signature") },
            "tool_use" => {
                let (id, name) = (text("id"), text("name"));
                let input = block.get_mut("input").map(Value::take).unwrap_or_default();
                Open::ToolUse { id, name, input, json: String::new() }
            }
            kind => {
                let kind = Value::from(kind);
                if let Some(place) = block.get_mut("type") {
                    *place = kind;
                }
                Open::Whole(block)
            }
        };
        let part = open.is_answer();
        self.blocks.insert(index, open);
        part
    }

    fn grow(&mut self, data: &Value) -> Part {
        let Some(block) = index(data).and_then(|index| self.blocks.get_mut(&index)) else {
            return Part::Other;
        };
        let text = |path: &str| data.pointer(path).and_then(Value::as_str);
        let (grown, delta) = match block {
            Open::Text(all) => (all, text("/delta/text")),
            Open::Thinking { thinking, signature } => match text("/delta/signature") {
                // It is no visible part of the answer.
                Some(delta) => {
                    self.bytes += delta.len();
                    signature.push_str(delta);
                    return Part::Other;
                }
                None => (thinking, text("/delta/thinking")),
            },
            Open::ToolUse { json, .. } => (json, text("/delta/partial_json")),
            Open::Whole(_) => return Part::Other,
        };
        let delta = delta.unwrap_or_default();
        self.bytes += delta.len();
        grown.push_str(delta);
        if delta.is_empty() { Part::Other } else { Part::Answer }
    }

    /// Later counts are cumulative: they replace earlier ones, except where they are absent.
    fn message_delta(&mut self, mut data: Value) {
        let Some(message) = &mut self.message else { return };
        if let Some(Value::Object(delta)) = data.get_mut("delta").map(Value::take) {
            merge(message, delta.into_iter().filter(|(_, value)| !value.is_null()), &mut self.bytes);
        }
        if let Some(Value::Object(meters)) = data.get_mut("usage").map(Value::take) {
            let usage = message.entry("usage").or_insert_with(|| json!({}));
            if let Value::Object(usage) = usage {
                self.is_metered = true;
                merge(usage, meters.into_iter().filter(|(_, value)| !value.is_null()), &mut self.bytes);
            }
        }
    }
}

impl Open {
    fn is_answer(&self) -> Part {
        match self {
            Self::Text(text) | Self::Thinking { thinking: text, .. } if text.is_empty() => Part::Other,
            Self::Whole(block) if block.get("type").is_none_or(|kind| kind != "redacted_thinking") => Part::Other,
            _ => Part::Answer,
        }
    }

    fn close(self) -> Option<Piece> {
        match self {
            Self::Text(text) => Some(Piece::Text(text)),
            Self::Thinking { thinking, signature } => {
                Some(Piece::Thought(json!({"type": "thinking", "thinking": thinking, "signature": signature})))
            }
            Self::ToolUse { id, name, input, json } if json.is_empty() => {
                Piece::read(json!({"type": "tool_use", "id": id, "name": name, "input": input}))
            }
            // Arguments cut off by the token limit are no JSON; the harness gets what the model wrote.
            Self::ToolUse { id, name, json, .. } => Some(Piece::ToolUse(RawCall { id, name, arguments: json })),
            Self::Whole(block) => Piece::read(block),
        }
    }
}

fn index(data: &Value) -> Option<u64> {
    data.get("index").and_then(Value::as_u64)
}
