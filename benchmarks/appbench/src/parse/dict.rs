//! A Python dictionary of texts: a later value replaces an earlier one, and keeps its place.

use std::collections::HashMap;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// Values by key, in the order in which keys came first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dict<V> {
    entries: Vec<(String, V)>,
    places: HashMap<String, usize>,
}

impl<V> Default for Dict<V> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: HashMap::new() }
    }
}

impl<V> Dict<V> {
    /// Sets the value of `key`.
    pub(crate) fn insert(&mut self, key: String, value: V) {
        if let Some((_, old)) = self.places.get(&key).and_then(|place| self.entries.get_mut(*place)) {
            *old = value;
        } else {
            self.places.insert(key.clone(), self.entries.len());
            self.entries.push((key, value));
        }
    }

    /// The value of `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&V> {
        self.places.get(key).and_then(|place| self.entries.get(*place)).map(|(_, value)| value)
    }

    /// Keys and values in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &V)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl<V> FromIterator<(String, V)> for Dict<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(entries: I) -> Self {
        let mut dict = Self::default();
        entries.into_iter().for_each(|(key, value)| dict.insert(key, value));
        dict
    }
}

impl<V: Serialize> Serialize for Dict<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
