//! Models: an endpoint plus a model name and parameters.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{EndpointName, IdError, Price, Thinking};

/// `endpoint/model`: the part before the first slash names the endpoint, the rest is the provider's own model name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct ModelRef {
    /// Name of the endpoint that serves the model.
    pub endpoint: EndpointName,
    /// The provider's name of the model; may contain slashes.
    pub model: String,
}

impl FromStr for ModelRef {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let Some((endpoint, model)) = text.split_once('/') else {
            return Err(match text.is_empty() {
                true => IdError::Empty { kind: "the model" },
                false => IdError::NoEndpoint { text: text.to_owned() },
            });
        };
        if model.is_empty() {
            return Err(IdError::Empty { kind: "the model name of `endpoint/model`" });
        }
        if model.len() > crate::MAX_ID_LENGTH {
            return Err(IdError::TooLong { kind: "model name", length: model.len() });
        }
        if let Some(found) = model.chars().find(|c| c.is_control() || is_reordering(*c)) {
            let (text, allowed) = (model.to_owned(), "any printable characters");
            return Err(IdError::BadCharacter { kind: "model name", text, found, allowed });
        }
        Ok(Self { endpoint: endpoint.parse()?, model: model.to_owned() })
    }
}
/// `true` for characters that change the order in which text is displayed.
const fn is_reordering(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl TryFrom<String> for ModelRef {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}
impl From<ModelRef> for String {
    fn from(model: ModelRef) -> Self {
        model.to_string()
    }
}
impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.endpoint, self.model)
    }
}

/// A model under test. In a spec either just `endpoint/model` or a mapping with these fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ModelSpec {
    /// `endpoint/model`.
    pub id: ModelRef,
    /// Overrides the benchmark's temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Overrides the benchmark's top_p.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Overrides the benchmark's limit of generated tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Amount of thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// Budget for this model in dollars, in addition to the sweep's budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// Identity of the model across endpoints: models of equal family at several endpoints are compared as providers. Default: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Price, if the price table does not have the model or has a wrong price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

impl ModelSpec {
    /// Identity of the model across endpoints.
    #[must_use]
    pub fn family(&self) -> &str {
        self.family.as_deref().unwrap_or(&self.id.model)
    }
}

impl From<ModelRef> for ModelSpec {
    fn from(id: ModelRef) -> Self {
        Self {
            id,
            temperature: None,
            top_p: None,
            max_tokens: None,
            thinking: None,
            budget_usd: None,
            family: None,
            price: None,
        }
    }
}

// Written by hand, because an untagged enum would lose the line of an error inside it.
impl<'de> Deserialize<'de> for ModelSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            id: ModelRef,
            temperature: Option<f64>,
            top_p: Option<f64>,
            max_tokens: Option<u32>,
            thinking: Option<Thinking>,
            budget_usd: Option<f64>,
            family: Option<String>,
            price: Option<Price>,
        }
        struct TextOrFields;
        impl<'de> Visitor<'de> for TextOrFields {
            type Value = ModelSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`endpoint/model`, or a mapping with the field `id`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ModelSpec, E> {
                text.parse::<ModelRef>().map(ModelSpec::from).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ModelSpec, A::Error> {
                let fields = Fields::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ModelSpec {
                    id: fields.id,
                    temperature: fields.temperature,
                    top_p: fields.top_p,
                    max_tokens: fields.max_tokens,
                    thinking: fields.thinking,
                    budget_usd: fields.budget_usd,
                    family: fields.family,
                    price: fields.price,
                })
            }
        }
        deserializer.deserialize_any(TextOrFields)
    }
}
