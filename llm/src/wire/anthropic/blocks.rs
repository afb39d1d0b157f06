//! The content of an answer, and its way back: reasoning must be returned block by block, unchanged and in its place.
//!
//! `Reasoning::opaque` is a JSON list of these blocks. If all of them precede the rest of the answer, as they mostly do, it has nothing
//! else; otherwise the rest is included as placeholders, `{"type":"text","bytes":N}` and `{"type":"tool_use"}`.

use regatta_proto::{ChatMessage, Finish, Reasoning, Reply, ToolCall};
use serde_json::{Value, json};

use crate::wire::tool_calls::{RawCall, with_ids};

/// A block of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    /// `thinking` or `redacted_thinking`, unchanged.
    Thought(Value),
    ToolUse(RawCall),
}

impl Piece {
    /// Reads a block of a whole answer; `None` for kinds without a meaning here, such as those of the provider's own tools.
    pub(crate) fn read(mut block: Value) -> Option<Self> {
        let text = |block: &Value, name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match block.get("type")?.as_str()? {
            "text" => Some(Self::Text(text(&block, "text"))),
            "thinking" | "redacted_thinking" => Some(Self::Thought(block)),
            "tool_use" => {
                let (id, name) = (text(&block, "id"), text(&block, "name"));
                let input = block.get_mut("input").map(Value::take).filter(|input| !input.is_null());
                let arguments = input.unwrap_or_else(|| json!({})).to_string();
                Some(Self::ToolUse(RawCall { id, name, arguments }))
            }
            _ => None,
        }
    }
}

/// The finish for a `stop_reason`, unless the answer was withheld.
pub(crate) fn finish(stop_reason: Option<&str>) -> Finish {
    match stop_reason {
        Some("end_turn" | "stop_sequence") => Finish::Stop,
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("tool_use") => Finish::ToolCalls,
        _ => Finish::Other,
    }
}

/// Builds the reply from `pieces`.
pub(crate) fn reply(pieces: Vec<Piece>, finish: Finish) -> Reply {
    let reasoning = reasoning(&pieces);
    let (mut text, mut calls) = (None::<String>, Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(part) => text.get_or_insert_default().push_str(&part),
            Piece::ToolUse(call) => calls.push(call),
            Piece::Thought(_) => {}
        }
    }
    Reply { tool_calls: with_ids(calls), reasoning, ..Reply::of_text(text.as_deref(), finish) }
}

fn reasoning(pieces: &[Piece]) -> Option<Reasoning> {
    let is_thought = |piece: &&Piece| matches!(piece, Piece::Thought(_));
    let first = pieces.iter().take_while(is_thought).count();
    let all = pieces.iter().filter(is_thought).count();
    if all == 0 {
        return None;
    }
    let placeholder = |piece: &Piece| match piece {
        Piece::Thought(block) => block.clone(),
        Piece::Text(text) => json!({"type": "text", "bytes": text.len()}),
        Piece::ToolUse(_) => json!({"type": "tool_use"}),
    };
    let kept = if first == all { &pieces[..first] } else { pieces };
    let opaque = Value::Array(kept.iter().map(placeholder).collect()).to_string();
    let shown = pieces.iter().filter_map(|piece| match piece {
        Piece::Thought(block) => block.get("thinking")?.as_str().filter(|text| !text.is_empty()),
        _ => None,
    });
    let text = shown.collect::<Vec<_>>().join("\n\n");
    Some(Reasoning { text: text.into(), opaque: Some(opaque.into()) })
}

/// A block of an assistant's message in a request.
#[derive(Debug, PartialEq)]
pub(crate) enum Returned<'a> {
    Text(&'a str),
    Thought(Value),
    ToolUse(&'a ToolCall),
}

/// The blocks of an assistant's message. Reasoning of other providers, which Anthropic cannot read, is left out.
pub(crate) fn give_back(message: &ChatMessage) -> Vec<Returned<'_>> {
    let opaque = message.reasoning.as_ref().and_then(|reasoning| reasoning.opaque.as_deref());
    let (mut text, mut calls) = (&*message.content, message.tool_calls.iter());
    let mut blocks = Vec::with_capacity(message.tool_calls.len() + 2);
    for block in opaque.and_then(thoughts).unwrap_or_default() {
        match block.get("type").and_then(Value::as_str) {
            Some("text") => {
                let bytes = block.get("bytes").and_then(Value::as_u64).and_then(|bytes| usize::try_from(bytes).ok());
                // A text that was changed since is sent whole, after the reasoning.
                if let Some((part, rest)) = bytes.and_then(|bytes| text.split_at_checked(bytes)) {
                    blocks.extend(said(part));
                    text = rest;
                }
            }
            Some("tool_use") => blocks.extend(calls.next().map(Returned::ToolUse)),
            _ => blocks.push(Returned::Thought(block)),
        }
    }
    blocks.extend(said(text));
    blocks.extend(calls.map(Returned::ToolUse));
    blocks
}

/// The API refuses texts without a visible character.
fn said(text: &str) -> Option<Returned<'_>> {
    (!text.trim().is_empty()).then_some(Returned::Text(text))
}

/// The blocks in an `opaque` text; `None` if another format wrote it.
fn thoughts(opaque: &str) -> Option<Vec<Value>> {
    let blocks: Vec<Value> = serde_json::from_str(opaque).ok()?;
    let ours = ["thinking", "redacted_thinking", "text", "tool_use"];
    let is_ours = |block: &Value| block.get("type").and_then(Value::as_str).is_some_and(|kind| ours.contains(&kind));
    blocks.iter().all(is_ours).then_some(blocks)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regatta_proto::ChatRole;

    use super::*;

    fn thought(text: &str) -> Piece {
        Piece::Thought(json!({"type": "thinking", "thinking": text, "signature": format!("s-{text}")}))
    }

    fn call(id: &str) -> Piece {
        Piece::ToolUse(RawCall { id: id.to_owned(), name: "f".to_owned(), arguments: "{}".to_owned() })
    }

    fn message(reply: &Reply) -> ChatMessage {
        ChatMessage {
            tool_calls: reply.tool_calls.clone(),
            reasoning: reply.reasoning.clone(),
            ..ChatMessage::new(ChatRole::Assistant, reply.text.clone().unwrap_or_default())
        }
    }

    #[test]
    fn thoughts_that_came_first_are_kept_alone() {
        let reply = reply(vec![thought("a"), thought("b"), Piece::Text("x".into()), call("1")], Finish::ToolCalls);
        let reasoning = reply.reasoning.clone().unwrap();
        assert_eq!(&*reasoning.text, "a\n\nb");
        insta::assert_snapshot!(reasoning.opaque.unwrap(), @r#"[{"type":"thinking","thinking":"a","signature":"s-a"},{"type":"thinking","thinking":"b","signature":"s-b"}]"#);
    }

    #[test]
    fn thoughts_between_texts_and_calls_find_their_places_again() {
        let pieces =
            [thought("a"), Piece::Text("é1".into()), call("1"), thought("b"), Piece::Text("2".into()), call("2")];
        let reply = reply(pieces.to_vec(), Finish::ToolCalls);
        assert_eq!(reply.text.as_deref(), Some("é12"));
        let message = message(&reply);
        let kinds: Vec<String> = give_back(&message)
            .iter()
            .map(|block| match block {
                Returned::Text(text) => format!("text {text}"),
                Returned::Thought(block) => format!("thought {}", block["thinking"].as_str().unwrap()),
                Returned::ToolUse(call) => format!("call {}", call.id),
            })
            .collect();
        assert_eq!(kinds, ["thought a", "text é1", "call 1", "thought b", "text 2", "call 2"]);
    }

    #[test]
    fn thoughts_of_other_providers_are_not_given_back() {
        for opaque in ["", "CiQBjz1rX3", "{\"calls\":{}}", "[1]", "[{\"type\":\"reasoning\"}]"] {
            let message = ChatMessage {
                reasoning: Some(Reasoning { text: "hm".into(), opaque: Some(opaque.into()) }),
                ..ChatMessage::new(ChatRole::Assistant, "yes")
            };
            assert_eq!(give_back(&message), [Returned::Text("yes")], "{opaque}");
        }
    }

    proptest! {
        /// Holds however the text was changed since.
        #[test]
        fn nothing_of_a_message_is_lost_or_doubled_on_its_way_back(
            kinds in prop::collection::vec((0..3u8, "[a-zé]{1,4}"), 0..8),
            changed in prop::option::of("[a-zé]{1,9}"),
        ) {
            let pieces: Vec<Piece> = kinds.iter().enumerate().map(|(index, (kind, text))| match kind {
                0 => Piece::Text(text.clone()),
                1 => thought(text),
                _ => call(&index.to_string()),
            }).collect();
            let reply = reply(pieces.clone(), Finish::Stop);
            let mut message = message(&reply);
            if let Some(text) = &changed {
                message.content = text.as_str().into();
            }
            let (mut text, mut calls, mut thoughts) = (String::new(), Vec::new(), Vec::new());
            for block in give_back(&message) {
                match block {
                    Returned::Text(part) => text.push_str(part),
                    Returned::ToolUse(call) => calls.push(call.clone()),
                    Returned::Thought(block) => thoughts.push(Piece::Thought(block)),
                }
            }
            prop_assert_eq!(&*text, &*message.content);
            prop_assert_eq!(calls, message.tool_calls);
            let all: Vec<Piece> = pieces.into_iter().filter(|piece| matches!(piece, Piece::Thought(_))).collect();
            prop_assert_eq!(thoughts, all);
        }
    }
}
