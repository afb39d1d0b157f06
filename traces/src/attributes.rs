//! Attributes: names with typed values.

use opentelemetry::{Array, KeyValue, StringValue, Value};

/// Attributes of a span or an event. What is not known is left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attributes(Vec<KeyValue>);

impl Attributes {
    /// Adds a text.
    pub fn text(&mut self, key: &'static str, value: impl Into<String>) {
        self.0.push(KeyValue::new(key, value.into()));
    }

    /// Adds a number; one beyond 2⁶³ is that.
    pub fn integer(&mut self, key: &'static str, value: impl Into<u64>) {
        self.0.push(KeyValue::new(key, i64::try_from(value.into()).unwrap_or(i64::MAX)));
    }

    /// Adds a fraction.
    pub fn float(&mut self, key: &'static str, value: f64) {
        self.0.push(KeyValue::new(key, value));
    }

    /// Adds a yes or no.
    pub fn boolean(&mut self, key: &'static str, value: bool) {
        self.0.push(KeyValue::new(key, value));
    }

    /// Adds a list of texts.
    pub fn texts<'t>(&mut self, key: &'static str, values: impl IntoIterator<Item = &'t str>) {
        let values: Vec<StringValue> = values.into_iter().map(|value| value.to_owned().into()).collect();
        self.0.push(KeyValue::new(key, Value::Array(Array::String(values))));
    }

    /// Adds a text that may be unknown.
    pub fn maybe_text(&mut self, key: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    /// Adds a number that may be unknown.
    pub fn maybe_integer(&mut self, key: &'static str, value: Option<impl Into<u64>>) {
        if let Some(value) = value {
            self.integer(key, value);
        }
    }

    /// Adds a fraction that may be unknown.
    pub fn maybe_float(&mut self, key: &'static str, value: Option<f64>) {
        if let Some(value) = value {
            self.float(key, value);
        }
    }

    /// The attributes, in the order in which they were added.
    #[must_use]
    pub fn as_slice(&self) -> &[KeyValue] {
        &self.0
    }

    pub(crate) fn into_vec(self) -> Vec<KeyValue> {
        self.0
    }
}
