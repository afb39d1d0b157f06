//! OpenAI's embeddings: requests.

use std::borrow::Cow;
use std::fmt;

use regatta_proto::Usage;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::api_error::ApiError;
use crate::draft::{Content, Draft};
use crate::formats::Format;
use crate::formats::embeddings_answer::Encoding;
use crate::lexical::LEXICAL_DIMENSIONS;
use crate::model::check_embedding_model;
use crate::tokens::count_tokens;

/// Most texts in a request, as at OpenAI.
const MAX_TEXTS: usize = 2048;

#[derive(Deserialize)]
struct WireCall<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    input: Texts,
    #[serde(default)]
    encoding_format: Encoding,
    dimensions: Option<usize>,
}

/// One text, or several.
struct Texts(Vec<String>);

/// Drafts the answer to the request `body`.
pub(crate) fn draft(body: &[u8]) -> Result<Draft, ApiError> {
    let WireCall { model, input: Texts(texts), encoding_format: encoding, dimensions } = WireCall::parse(body)?;
    let dimensions = dimensions.unwrap_or(LEXICAL_DIMENSIONS);
    let input = texts.iter().map(|text| count_tokens(text)).sum();
    Ok(Draft {
        format: Format::Embeddings,
        model: model.into_owned(),
        usage: Usage { input, ..Usage::default() },
        item: None,
        streaming: None,
        content: Content::Vectors { texts, encoding, dimensions },
        keeping: None,
    })
}

impl<'a> WireCall<'a> {
    fn parse(body: &'a [u8]) -> Result<Self, ApiError> {
        let call: Self = serde_json::from_slice(body)
            .map_err(|error| ApiError::bad_request(None, format!("failed to read the embeddings request: {error}")))?;
        check_embedding_model(&call.model)?;
        if call.dimensions.is_some_and(|dimensions| !(1..=LEXICAL_DIMENSIONS).contains(&dimensions)) {
            let message = format!("`lexical` has {LEXICAL_DIMENSIONS} dimensions; ask for 1 to {LEXICAL_DIMENSIONS}");
            return Err(ApiError::bad_request(Some("dimensions"), message));
        }
        let texts = &call.input.0;
        if texts.is_empty() || texts.len() > MAX_TEXTS || texts.iter().any(String::is_empty) {
            let message = format!("`input` is one text or 1 to {MAX_TEXTS} of them, none of them empty");
            return Err(ApiError::bad_request(Some("input"), message));
        }
        Ok(call)
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextsVisitor;

        impl<'de> Visitor<'de> for TextsVisitor {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts (token numbers are not simulated)")
            }

            fn visit_str<E>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Texts(texts))
            }
        }

        deserializer.deserialize_any(TextsVisitor)
    }
}
