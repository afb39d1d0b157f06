//! Reads a streamed answer, event by event as the SDK decodes it.

use std::collections::BTreeMap;

use aws_sdk_bedrockruntime::operation::converse_stream::ConverseStreamOutput;
use aws_sdk_bedrockruntime::types::{
    CacheTtl, ContentBlockDelta, ContentBlockStart, ConverseStreamMetadataEvent, ConverseStreamOutput as Event,
    ReasoningContentBlockDelta, TokenUsage,
};
use aws_smithy_types::base64;
use regatta_memory::HeldBytes;
use regatta_proto::ErrorClass;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::answer::completion;
use super::exchange::Exchange;
use super::failure::explain_in_stream;
use crate::errors::Failure;
use crate::received::Received;
use crate::wire::anthropic::blocks::Piece;
use crate::wire::tool_calls::RawCall;
use crate::wire::{Completion, ReadContext, trouble};

/// Longest answer read, in bytes; one beyond it is a bad response.
pub(super) const ANSWER_MAX: usize = 64 << 20;

/// Reads a stream to its end.
///
/// # Errors
/// When it breaks off, has an exception, or ends before the answer does.
pub(super) async fn read(
    output: ConverseStreamOutput,
    exchange: &Exchange,
    sent_at: Instant,
    context: &ReadContext<'_>,
    mut held: HeldBytes,
) -> Result<Received<Completion>, Failure> {
    let mut stream = output.stream;
    let mut gathered = Gathered::default();
    let mut first_token = None;
    let broken = |detail: &str| trouble::in_stream(ErrorClass::BadResponse, detail.to_owned());
    let headers = exchange.answered_headers().ok_or_else(|| broken("there was no answer"))?;
    loop {
        let event = match stream.recv().await {
            Ok(Some(event)) => event,
            Ok(None) => break,
            Err(_) if gathered.is_complete() => break,
            Err(error) => {
                let failure = explain_in_stream(&error, context);
                return Err(Failure { maybe_billed: failure.maybe_billed || first_token.is_some(), ..failure });
            }
        };
        let before = gathered.bytes;
        if gathered.take(event) {
            first_token.get_or_insert_with(|| sent_at.elapsed());
        }
        if gathered.bytes > ANSWER_MAX {
            return Err(broken(&format!("the answer is larger than {ANSWER_MAX} bytes")));
        }
        // The next event is not received before there is room.
        let more = (gathered.bytes - before) as u64;
        held.grow(more).await.map_err(|error| broken(&format!("the answer cannot be held: {error}")))?;
    }
    if gathered.stop_reason.is_none() {
        return Err(broken("the stream ended before the answer did"));
    }
    let Gathered { blocks, stop_reason, metadata, .. } = gathered;
    let mut body = metadata;
    body.insert("stopReason".to_owned(), json!(stop_reason));
    let pieces = blocks.into_values().map(Open::close).collect();
    let value = Completion { first_token, ..completion(pieces, &Value::Object(body), &headers, context) };
    Ok(Received { value, held })
}

/// The parts received so far.
#[derive(Debug, Default)]
struct Gathered {
    /// Blocks by index.
    blocks: BTreeMap<i32, Open>,
    stop_reason: Option<String>,
    /// The metadata, in the form of a whole answer.
    metadata: Map<String, Value>,
    bytes: usize,
}

/// A block that may still grow.
#[derive(Debug)]
enum Open {
    Text(String),
    Thinking { text: String, signature: Option<String> },
    Redacted(Vec<u8>),
    ToolUse(RawCall),
}

impl Gathered {
    /// `true` if the answer and its usage have arrived.
    fn is_complete(&self) -> bool {
        self.stop_reason.is_some() && self.metadata.contains_key("usage")
    }

    /// Adds an event. Returns `true` if it has a part of the answer itself.
    fn take(&mut self, event: Event) -> bool {
        match event {
            Event::ContentBlockStart(start) => {
                let Some(ContentBlockStart::ToolUse(call)) = start.start else { return false };
                self.bytes += call.tool_use_id.len() + call.name.len();
                let call = RawCall { id: call.tool_use_id, name: call.name, arguments: String::new() };
                self.blocks.insert(start.content_block_index, Open::ToolUse(call));
                true
            }
            Event::ContentBlockDelta(event) => {
                event.delta.is_some_and(|delta| self.grow(event.content_block_index, delta))
            }
            Event::MessageStop(stop) => {
                self.stop_reason = Some(stop.stop_reason.as_str().to_owned());
                false
            }
            Event::Metadata(metadata) => {
                self.metadata = told(&metadata);
                false
            }
            _ => false,
        }
    }

    fn grow(&mut self, index: i32, delta: ContentBlockDelta) -> bool {
        let before = self.bytes;
        match delta {
            ContentBlockDelta::Text(delta) => {
                self.bytes += delta.len();
                if let Open::Text(text) = self.blocks.entry(index).or_insert_with(|| Open::Text(String::new())) {
                    text.push_str(&delta);
                }
            }
            ContentBlockDelta::ToolUse(delta) => {
                self.bytes += delta.input.len();
                if let Some(Open::ToolUse(call)) = self.blocks.get_mut(&index) {
                    call.arguments.push_str(&delta.input);
                }
            }
            ContentBlockDelta::ReasoningContent(delta) => return self.think(index, delta),
            _ => {}
        }
        self.bytes > before
    }

    fn think(&mut self, index: i32, delta: ReasoningContentBlockDelta) -> bool {
        let new = || Open::Thinking { text: String::new(), signature: None };
        match delta {
            ReasoningContentBlockDelta::Text(delta) => {
                self.bytes += delta.len();
                if let Open::Thinking { text, .. } = self.blocks.entry(index).or_insert_with(new) {
                    text.push_str(&delta);
                }
                !delta.is_empty()
            }
            ReasoningContentBlockDelta::Signature(delta) => {
                self.bytes += delta.len();
                if let Open::Thinking { signature, .. } = self.blocks.entry(index).or_insert_with(new) {
                    signature.get_or_insert_default().push_str(&delta);
                }
                // It is no visible part of the answer.
                false
            }
            ReasoningContentBlockDelta::RedactedContent(delta) => {
                self.bytes += delta.as_ref().len();
                let open = self.blocks.entry(index).or_insert_with(|| Open::Redacted(Vec::new()));
                if let Open::Redacted(data) = open {
                    data.extend_from_slice(delta.as_ref());
                }
                true
            }
            _ => false,
        }
    }
}

impl Open {
    fn close(self) -> Piece {
        match self {
            Self::Text(text) => Piece::Text(text),
            Self::Thinking { text, signature: Some(signature) } => {
                Piece::Thought(json!({"type": "thinking", "thinking": text, "signature": signature}))
            }
            Self::Thinking { text, signature: None } => Piece::Thought(json!({"type": "thinking", "thinking": text})),
            Self::Redacted(data) => Piece::Thought(json!({"type": "redacted_thinking", "data": base64::encode(data)})),
            Self::ToolUse(mut call) => {
                if call.arguments.is_empty() {
                    call.arguments.push_str("{}");
                }
                Piece::ToolUse(call)
            }
        }
    }
}

/// The last event's metadata, in the form of a whole answer.
fn told(metadata: &ConverseStreamMetadataEvent) -> Map<String, Value> {
    let mut told = Map::new();
    if let Some(usage) = &metadata.usage {
        told.insert("usage".to_owned(), meters(usage));
    }
    if let Some(tier) = &metadata.service_tier {
        told.insert("serviceTier".to_owned(), json!({"type": tier.r#type.as_str()}));
    }
    let router = metadata.trace.as_ref().and_then(|trace| trace.prompt_router.as_ref());
    if let Some(model) = router.and_then(|router| router.invoked_model_id.as_ref()) {
        told.insert("trace".to_owned(), json!({"promptRouter": {"invokedModelId": model}}));
    }
    told
}

fn meters(usage: &TokenUsage) -> Value {
    let mut meters = json!({
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.total_tokens,
    });
    if let Some(read) = usage.cache_read_input_tokens {
        meters["cacheReadInputTokens"] = json!(read);
    }
    if let Some(written) = usage.cache_write_input_tokens {
        meters["cacheWriteInputTokens"] = json!(written);
    }
    if let Some(details) = &usage.cache_details {
        let detail = |ttl: &CacheTtl, tokens: i32| json!({"ttl": ttl.as_str(), "inputTokens": tokens});
        meters["cacheDetails"] = details.iter().map(|one| detail(&one.ttl, one.input_tokens)).collect();
    }
    meters
}
