//! The answer to a chat request, read with borrowed fields.

use std::borrow::Cow;
use std::fmt;

use regatta_proto::{Clock, Finish, Reply, Served, Usage};
use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::errors::Failure;
use crate::secret::Secret;
use crate::transport::Answer;

use super::{provenance, trouble, usage};

/// A chat answer that can be used.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) reply: Reply,
    pub(crate) usage: Usage,
    /// Whether the meters that cost money were told.
    pub(crate) usage_is_known: bool,
    pub(crate) raw_usage: Option<Value>,
    pub(crate) served: Served,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    system_fingerprint: Text<'a>,
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    usage: Option<Value>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "content")]
    content: Option<Cow<'a, str>>,
}

/// Reads an answer of any status.
///
/// # Errors
/// Whatever keeps it from being used, classified.
pub(crate) fn read(answer: &Answer, secret: &Secret, clock: &dyn Clock) -> Result<Completion, Failure> {
    if !(200..300).contains(&answer.status) {
        return Err(trouble::of_status(answer, secret, clock));
    }
    let body: Body<'_> = serde_json::from_slice(&answer.body)
        .map_err(|error| trouble::of_success(answer, &format!("not a chat completion: {error}"), secret, clock))?;
    let usable = |choice: &&Choice<'_>| choice.error.is_none() && body.error.is_none();
    let Some(choice) = body.choices.first().filter(usable) else {
        return Err(trouble::of_success(answer, "the answer holds no choice", secret, clock));
    };
    let finish = match choice.finish_reason.0.as_deref() {
        Some("stop") => Finish::Stop,
        Some("length") => Finish::Length,
        Some("content_filter") => Finish::ContentFilter,
        _ => Finish::Other,
    };
    let reply = Reply::of_text(choice.message.content.as_deref(), finish);
    let (tokens, usage_is_known) = body.usage.as_ref().map_or((Usage::default(), false), usage::read);
    let served = provenance::served(
        &answer.headers,
        body.model.0.as_deref(),
        body.system_fingerprint.0.as_deref(),
        body.id.0.as_deref(),
        secret,
    );
    Ok(Completion { reply, usage: tokens, usage_is_known, raw_usage: body.usage, served })
}

/// A text, or anything else, which then is as good as absent: a field nobody scores must not spoil an answer.
#[derive(Default)]
pub(super) struct Text<'a>(pub(super) Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Loose).map(|found| Self(found.text()))
    }
}

/// `content`: a text, null, or parts whose texts are joined.
fn content<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, str>>, D::Error> {
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

/// One part of a content list; parts that are not text (an image, say) count as empty.
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
