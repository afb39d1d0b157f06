//! Attributes: names with typed values.

use serde_json::{Value, json};

/// Attributes of a span, an event or a resource. What is not known is left out.
#[derive(Default)]
pub(super) struct Attributes(Vec<Value>);

impl Attributes {
    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.push(key, json!({"stringValue": value}));
    }

    /// Integers are texts in this encoding: JSON's numbers have 53 bits.
    pub(super) fn integer(&mut self, key: &str, value: impl Into<u64>) {
        self.push(key, json!({"intValue": value.into().to_string()}));
    }

    pub(super) fn float(&mut self, key: &str, value: f64) {
        self.push(key, json!({"doubleValue": value}));
    }

    pub(super) fn boolean(&mut self, key: &str, value: bool) {
        self.push(key, json!({"boolValue": value}));
    }

    pub(super) fn texts<'t>(&mut self, key: &str, values: impl IntoIterator<Item = &'t str>) {
        let values: Vec<Value> = values.into_iter().map(|value| json!({"stringValue": value})).collect();
        self.push(key, json!({"arrayValue": {"values": values}}));
    }

    pub(super) fn maybe_text(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    pub(super) fn maybe_integer(&mut self, key: &str, value: Option<impl Into<u64>>) {
        if let Some(value) = value {
            self.integer(key, value);
        }
    }

    pub(super) fn maybe_float(&mut self, key: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.float(key, value);
        }
    }

    fn push(&mut self, key: &str, value: Value) {
        self.0.push(json!({"key": key, "value": value}));
    }

    pub(super) fn into_document(self) -> Value {
        self.0.into()
    }
}
