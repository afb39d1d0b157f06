//! Values that axes of settings have.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A value of an axis: a text, a number, or yes or no.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AxisValue(Value);

impl AxisValue {
    /// The value as templates have it.
    pub(crate) const fn value(&self) -> &Value {
        &self.0
    }
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::String(text) => f.write_str(text),
            other => other.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for AxisValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Self(Value::deserialize(deserializer)?);
        let is_scalar = matches!(value.0, Value::String(_) | Value::Number(_) | Value::Bool(_));
        let text = value.to_string();
        let is_slug = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        if is_scalar && is_slug && !text.is_empty() {
            Ok(value)
        } else {
            Err(D::Error::custom(format!("invalid value {text} of a setting: write letters, digits, '.', '_' and '-'")))
        }
    }
}
