//! Contents: a text, or a list of parts that hold texts.

use std::sync::Arc;

use regatta_proto::Image;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::ApiError;
use crate::fields::{Fields, Text, parse, refuse};
use crate::images::image;
use crate::reader::Reader;
use crate::refused::{DEARER, PROVIDERS_STATE};

/// Types of a text part in chat completions and messages.
pub(crate) const PLAIN: &[&str] = &["text"];

/// Types of a text part in responses, which tell who wrote it.
pub(crate) const SIDED: &[&str] = &["input_text", "output_text"];

/// The text of a content, with its parts concatenated; empty if there is none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) text: Arc<str>,
    /// A part has a cache breakpoint.
    pub(crate) cache_until_here: bool,
    /// Images, of a gist alone: a whole reading passes them on.
    pub(crate) images: Vec<Image>,
}

impl Content {
    /// Reads the content at `path`, whose texts are parts of `kinds`. With other parts it goes to the endpoint as it is.
    pub(crate) fn read(
        value: Option<&RawValue>,
        path: &str,
        kinds: &[&str],
        reader: &mut Reader,
    ) -> Result<Self, ApiError> {
        let Some(value) = value else { return Ok(Self::default()) };
        if value.get().starts_with('"') {
            let Text(text) = parse(value, path)?;
            return Ok(Self { text: text.into(), ..Self::default() });
        }
        if !value.get().starts_with('[') {
            return Err(refuse(path, "cannot be read: expected a text or a list of text parts"));
        }
        let parts: Vec<&RawValue> = parse(value, path)?;
        let (mut text, mut cache_until_here, mut images) = (String::new(), false, Vec::new());
        for (index, value) in parts.into_iter().enumerate() {
            let mut part = Fields::of(value, format!("{path}[{index}]"))?;
            let kind = part.need_text("type")?;
            if !kinds.contains(&kind.as_ref()) {
                if !reader.is_whole() {
                    let Some(image) = image(&mut part, &kind)? else {
                        return Err(part.refuse("type", &format!("is {kind:?}; only text and images can be carried")));
                    };
                    images.push(image);
                    continue;
                }
                pass_on(value, &format!("{path}[{index}]"), reader)?;
                part.finish(reader)?;
                continue;
            }
            text.push_str(&part.text("text")?.unwrap_or_default());
            cache_until_here |= part.raw("cache_control").is_some();
            // These describe a text that was answered before, and are not part of it.
            part.pass_over(&["annotations", "citations", "logprobs"]);
            part.finish(reader)?;
        }
        Ok(Self { text: text.into(), cache_until_here, images })
    }
}

/// Has a part that holds no text, as an image, go to the endpoint as it is.
///
/// # Errors
/// 400, when it is a file that the provider keeps, or a sound, whose tokens cost more than others and are told apart nowhere.
pub(crate) fn pass_on(part: &RawValue, path: &str, reader: &mut Reader) -> Result<(), ApiError> {
    let part: Value = parse(part, path)?;
    if names_a_file(&part) {
        return Err(refuse(path, PROVIDERS_STATE));
    }
    if part.get("type").and_then(Value::as_str).is_some_and(|kind| kind.contains("audio")) {
        return Err(refuse(path, DEARER));
    }
    reader.pass_on(path);
    Ok(())
}

fn names_a_file(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| (name == "file_id" && value.is_string()) || names_a_file(value))
        }
        Value::Array(values) => values.iter().any(names_a_file),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
