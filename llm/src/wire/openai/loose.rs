//! Deserialises fields that servers fill inconsistently, with borrowed text, so that they never make a scorable answer unusable.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A text; any other value counts as absent, because a field that is not scored must not spoil an answer.
#[derive(Default)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl Text<'_> {
    /// The text, unless it is absent or empty.
    pub(crate) fn some(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Loose).map(|found| Self(found.text()))
    }
}

/// Deserialises `content`: a text, null, or parts whose texts are joined.
pub(crate) fn content<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    match deserializer.deserialize_any(Loose)? {
        Found::Other => Err(de::Error::custom("`content` is neither text, null nor a list of parts")),
        Found::Parts(parts) if parts.is_empty() => Ok(None),
        found => Ok(found.text()),
    }
}

enum Found<'a> {
    Text(Cow<'a, str>),
    Null,
    Parts(Vec<Cow<'a, str>>),
    Other,
}

impl<'a> Found<'a> {
    fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Parts(parts) => Some(Cow::Owned(parts.concat())),
            Self::Null | Self::Other => None,
        }
    }
}

/// One part of a content list; parts other than text, such as images, count as empty.
struct Part<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartVisitor;
        impl<'de> Visitor<'de> for PartVisitor {
            type Value = Part<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a part with a text")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Part<'de>, E> {
                Ok(Part(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Part<'de>, E> {
                Ok(Part(Cow::Owned(text.to_owned())))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part<'de>, A::Error> {
                let mut text = Text::default();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    if key == "text" {
                        text = map.next_value()?;
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Part(text.0.unwrap_or_default()))
            }
        }
        deserializer.deserialize_any(PartVisitor)
    }
}

struct Loose;

impl<'de> Visitor<'de> for Loose {
    type Value = Found<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Found<'de>, E> {
        Ok(Found::Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Found<'de>, E> {
        Ok(Found::Text(Cow::Owned(text.to_owned())))
    }
    fn visit_unit<E>(self) -> Result<Found<'de>, E> {
        Ok(Found::Null)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Found<'de>, E> {
        Ok(Found::Other)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Found<'de>, E> {
        Ok(Found::Other)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Found<'de>, E> {
        Ok(Found::Other)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Found<'de>, E> {
        Ok(Found::Other)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found<'de>, A::Error> {
        let mut parts = Vec::new();
        while let Some(Part(text)) = seq.next_element()? {
            parts.push(text);
        }
        Ok(Found::Parts(parts))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Found::Other)
    }
}
