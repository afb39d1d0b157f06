//! Maps whose order is that of the file, and whose keys are names.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// A name of an answer, a scorer, a metric, a split or an axis: letters, digits, `_` and `-`, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(String);

impl Name {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_good = text.len() <= NAME_BYTES_MAX
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if is_good {
            Ok(Self(text))
        } else {
            Err(D::Error::custom(format!(
                "invalid name {text:?}: write letters, digits, '_' and '-', a letter first, at most {NAME_BYTES_MAX}"
            )))
        }
    }
}

/// Values by name, in the order of the file; no name occurs twice.
#[derive(Debug, Clone)]
pub(crate) struct Named<T>(Vec<(Name, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Named<T> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Name, &T)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The names, for messages.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut found: Vec<(Name, T)> = Vec::new();
                while let Some(name) = map.next_key::<Name>()? {
                    if found.iter().any(|(other, _)| *other == name) {
                        return Err(A::Error::custom(format!("{name} is there twice")));
                    }
                    let value = map.next_value()?;
                    found.push((name, value));
                }
                Ok(Named(found))
            }
        }

        deserializer.deserialize_map(InOrder(PhantomData))
    }
}
