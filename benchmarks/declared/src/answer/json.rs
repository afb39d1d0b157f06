//! A place in a JSON value (RFC 6901).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A JSON pointer, as `/answer/0/name`; empty for the whole value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer(String);

impl Pointer {
    /// The value there, unless it is null.
    pub(super) fn find(&self, value: &Value) -> Option<Value> {
        value.pointer(&self.0).filter(|value| !value.is_null()).cloned()
    }
}

impl<'de> Deserialize<'de> for Pointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() || text.starts_with('/') {
            Ok(Self(text))
        } else {
            let hint = text.trim_start_matches("$.").trim_start_matches('$').replace(['.', '['], "/").replace(']', "");
            Err(D::Error::custom(format!(
                "{text:?} must be a JSON pointer; write \"/{hint}\", or \"\" for the whole value"
            )))
        }
    }
}
