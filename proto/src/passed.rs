//! Fields of a client's request that Regatta hands on without understanding them.

use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Upper bound of the tokens of an image. A model that counts one of 2,048 by 768 pixels as 48,169 tokens is the one that counts most.
pub(crate) const IMAGE_TOKENS: u64 = 50_000;

/// Wire format in which a client of the agent bridge writes its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ClientFormat {
    /// OpenAI's chat completions.
    Chat,
    /// Anthropic's messages.
    Messages,
    /// OpenAI's responses.
    Responses,
}

impl fmt::Display for ClientFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chat => "OpenAI's chat completions",
            Self::Messages => "Anthropic's messages",
            Self::Responses => "OpenAI's responses",
        })
    }
}

/// Fields of a request as its client wrote them. Only an endpoint of the same format is sent them: what they mean elsewhere, nobody knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Passed {
    /// Format of the request.
    pub format: ClientFormat,
    /// Fields of the request's body. They take the place of fields of the same name; a `null` takes one out.
    pub fields: BTreeMap<String, Value>,
}

impl Passed {
    /// Upper bound of the tokens that texts and addresses in the fields add to the prompt. Images of the conversation are no text.
    #[must_use]
    pub fn prompt_bytes(&self) -> u64 {
        let all: u64 = self.fields.iter().map(|(name, value)| name.len() as u64 + bytes(value)).sum();
        let conversations = ["messages", "input"].into_iter().filter_map(|name| self.fields.get(name)?.as_array());
        all.saturating_sub(conversations.flatten().map(image_bytes).sum())
    }

    /// Upper bound of the tokens of images and files in the fields, beyond their bytes.
    #[must_use]
    pub fn media_tokens(&self) -> u64 {
        self.fields.values().map(media_tokens).sum()
    }

    /// Names of the fields, for people.
    #[must_use]
    pub fn names(&self) -> String {
        let names: Vec<String> = self.fields.keys().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    }
}

fn bytes(value: &Value) -> u64 {
    /// Tokens of something that the prompt refers to by its address; the largest of the usual images take about as many.
    const REFERENCE: u64 = 4_096;
    /// Tokens around a value.
    const FRAME: u64 = 4;
    let inner = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) if text.starts_with("http://") || text.starts_with("https://") => {
            text.len() as u64 + REFERENCE
        }
        Value::String(text) => text.len() as u64,
        Value::Array(values) => values.iter().map(bytes).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() as u64 + bytes(value)).sum(),
    };
    inner + FRAME
}

/// Bytes of the files, in base64, of images in a message or in the result of a tool. A model is charged for them as [`medium`] counts them,
/// however many bytes they have. The same anywhere else, as in the schema of a tool, is a text.
fn image_bytes(message: &Value) -> u64 {
    let lists = ["content", "output"].into_iter().filter_map(|name| message.get(name)?.as_array());
    let bytes = lists.flatten().map(|part| match kind(part) {
        "tool_result" => image_bytes(part),
        of => file_of_image(of, part).map_or(0, |file| file.len() as u64),
    });
    bytes.sum()
}

fn kind(part: &Value) -> &str {
    part.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The file of a part of the type `kind`, if that is an image whose bytes are in the request.
fn file_of_image<'p>(kind: &str, part: &'p Value) -> Option<&'p str> {
    let (url, source) = (part.get("image_url"), part.get("source"));
    let url = match kind {
        "image_url" => url?.get("url")?.as_str()?,
        "input_image" => url?.as_str()?,
        "image" if self::kind(source?) == "base64" => return source?.get("data")?.as_str(),
        _ => return None,
    };
    url.starts_with("data:image/").then_some(url)
}

fn media_tokens(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        Value::Array(values) => values.iter().map(media_tokens).sum(),
        Value::Object(part) => medium(part) + part.values().map(media_tokens).sum::<u64>(),
    }
}

/// Tokens of a part that is no text: a large image of one colour, and a page with nothing on it, are a few bytes long and are charged all the
/// same.
fn medium(part: &Map<String, Value>) -> u64 {
    /// The pages of a file are as many as the model's window holds.
    const FILE: u64 = 1_000_000;
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    let source = part.get("source").and_then(|source| source.get("type")).and_then(Value::as_str);
    // The bytes of a document that is written out are counted.
    let is_written = matches!(source, Some("text" | "content"));
    let is = |media: &[&str]| !is_written && media.iter().any(|medium| kind.contains(medium));
    if is(&["file", "document", "video"]) {
        FILE
    } else if is(&["image", "screenshot"]) {
        IMAGE_TOKENS
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ChatMessage, ChatRequest, ChatRole, Sampling};

    fn passed(fields: Value) -> Passed {
        Passed { format: ClientFormat::Chat, fields: serde_json::from_value(fields).unwrap() }
    }

    #[test]
    fn a_request_without_passed_fields_is_written_as_before_there_were_any() {
        let request = ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "x")], Sampling::default());
        let written = serde_json::to_value(&request).unwrap();
        assert!(written.get("passed").is_none(), "digests of cached answers stay what they are");
        let with = ChatRequest { passed: Some(passed(json!({"top_k": 5})).into()), ..request };
        let written = serde_json::to_value(&with).unwrap();
        assert_eq!(written["passed"], json!({"format": "chat", "fields": {"top_k": 5}}));
        assert_eq!(serde_json::from_value::<ChatRequest>(written).unwrap(), with);
    }

    #[test]
    fn what_is_passed_counts_as_part_of_the_prompt_and_an_address_as_an_image() {
        let plain = ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "x")], Sampling::default());
        let with = |fields| ChatRequest { passed: Some(passed(fields).into()), ..plain.clone() }.prompt_bytes();
        let written = with(json!({"messages": [{"data": "0123456789"}]})) - plain.prompt_bytes();
        assert!((10..64).contains(&written), "{written}");
        assert!(with(json!({"url": "https://h/x.png"})) > plain.prompt_bytes() + 4_096);
    }

    #[test]
    fn an_image_and_a_file_count_as_the_largest_however_few_bytes_they_have() {
        let data = "data:image/png;base64,iVBORw0KGgo=";
        for (part, least) in [
            (json!({"type": "image_url", "image_url": {"url": data}}), 48_169),
            (json!({"type": "input_image", "image_url": data}), 48_169),
            (
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}),
                48_169,
            ),
            (json!({"type": "file", "file": {"filename": "a.pdf", "file_data": data}}), 1_000_000),
            (json!({"type": "document", "source": {"type": "url", "url": "https://h/x.pdf"}}), 1_000_000),
        ] {
            let counted = passed(json!({"messages": [{"role": "user", "content": [part.clone()]}]})).media_tokens();
            assert!(counted >= least, "{counted} for {part}");
        }
        let schema = json!({"type": "function", "function": {"parameters": {"type": "object"}}});
        let written = json!({"type": "document", "source": {"type": "text", "data": "x"}});
        assert_eq!(passed(json!({"tools": [schema], "messages": [written]})).media_tokens(), 0);
    }

    /// The parts in which the formats have an image whose file is `data`.
    fn images(data: &str) -> [Value; 3] {
        let url = format!("data:image/png;base64,{data}");
        [
            json!({"type": "image_url", "image_url": {"url": url}}),
            json!({"type": "input_image", "image_url": url}),
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}),
        ]
    }

    fn asking(part: &Value) -> Passed {
        passed(json!({"messages": [{"role": "user", "content": [part, {"type": "text", "text": "x"}]}]}))
    }

    #[test]
    fn the_bytes_of_an_image_in_the_conversation_are_not_charged_as_text_beside_it() {
        let counted = |passed: Passed| (passed.prompt_bytes(), passed.media_tokens());
        let long = "iVBORw0KGgo=".repeat(1000);
        for (small, large) in images("iVBORw0KGgo=").into_iter().zip(images(&long)) {
            assert_eq!(counted(asking(&small)), counted(asking(&large)), "{small}");
            assert!(asking(&large).prompt_bytes() < 200 && asking(&large).media_tokens() == 50_000, "{small}");
            for held in [
                passed(json!({"input": [{"type": "function_call_output", "call_id": "c", "output": [&large]}]})),
                asking(&json!({"type": "tool_result", "tool_use_id": "c", "content": [&large]})),
            ] {
                assert!(held.prompt_bytes() < 300, "{large}");
            }
        }
    }

    #[test]
    fn whatever_only_looks_like_an_image_is_charged_as_text() {
        let long = "iVBORw0KGgo=".repeat(1000);
        let url = format!("data:image/png;base64,{long}");
        let [image, ..] = images(&long);
        for held in [
            asking(&json!({"type": "text", "text": url})),
            asking(&json!({"type": "image_url", "image_url": {"url": long}})),
            asking(&json!({"type": "image_url", "text": url})),
            asking(&json!({"type": "image", "source": {"type": "text", "data": long}})),
            asking(&json!({"type": "tool_use", "input": {"content": [&image]}})),
            passed(json!({"tools": [{"content": [&image]}]})),
            passed(json!({"messages": [{"role": "assistant", "arguments": [&image]}]})),
        ] {
            assert!(held.prompt_bytes() > long.len() as u64, "{held:?}");
        }
    }

    #[test]
    fn names_of_fields_are_in_order() {
        assert_eq!(passed(json!({"top_k": 5, "min_p": 0.1})).names(), "`min_p`, `top_k`");
    }
}
