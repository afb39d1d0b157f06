//! Contents that are a text, or a list of parts that hold texts.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What a format calls a part that holds a text.
pub(super) trait TextParts {
    const KINDS: &'static [&'static str];
}

/// Chat completions and messages.
pub(super) struct PlainParts;

impl TextParts for PlainParts {
    const KINDS: &'static [&'static str] = &["text"];
}

/// Responses, which tell apart who wrote a part.
pub(super) struct SidedParts;

impl TextParts for SidedParts {
    const KINDS: &'static [&'static str] = &["input_text", "output_text"];
}

/// The text of a content, of its parts together, or of `null`.
pub(super) struct Content<K> {
    pub(super) text: Arc<str>,
    kinds: PhantomData<K>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    text: Cow<'a, str>,
}

impl<K> Content<K> {
    pub(super) fn from_text(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), kinds: PhantomData }
    }
}

impl<K> Default for Content<K> {
    fn default() -> Self {
        Self::from_text("")
    }
}

impl<'de, K: TextParts> Deserialize<'de> for Content<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor<K>(PhantomData<K>);

        impl<'de, K: TextParts> Visitor<'de> for ContentVisitor<K> {
            type Value = Content<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of text parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Content<K>, E> {
                Ok(Content::from_text(text))
            }

            fn visit_unit<E>(self) -> Result<Content<K>, E> {
                Ok(Content::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content<K>, A::Error> {
                let mut text = String::new();
                while let Some(part) = parts.next_element::<Part<'_>>()? {
                    if !K::KINDS.contains(&part.kind.as_ref()) {
                        return Err(A::Error::custom(format!(
                            "a part of type {:?}; only text is simulated",
                            part.kind
                        )));
                    }
                    text.push_str(&part.text);
                }
                Ok(Content::from_text(text))
            }
        }

        deserializer.deserialize_any(ContentVisitor(PhantomData))
    }
}
