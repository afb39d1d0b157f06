//! Selection of a part of a data set's items.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Prefix of a number of items to take from the front.
const FIRST: &str = "first:";

/// A part of a benchmark's items, in each of its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// So many items in total (`20`), drawn by the sweep's seed with the weights of the tasks in the data set.
    Sample(u32),
    /// The first so many items of each task (`first:20`), in the order of the data set, regardless of the tasks' weights.
    First(u32),
}

impl Limit {
    /// The number in the spec.
    #[must_use]
    pub const fn count(self) -> u32 {
        match self {
            Self::Sample(count) | Self::First(count) => count,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sample(count) => write!(f, "{count}"),
            Self::First(count) => write!(f, "{FIRST}{count}"),
        }
    }
}

impl FromStr for Limit {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, limit): (&str, fn(u32) -> Self) = match text.strip_prefix(FIRST) {
            Some(digits) => (digits, Self::First),
            None => (text, Self::Sample),
        };
        let count = digits.parse().ok().filter(|count| *count > 0);
        count.map(limit).ok_or_else(|| {
            format!(
                "{text:?} is no limit; write a number from 1 (so many items in all, drawn by the seed), or first:N (the first N of each \
                 task)"
            )
        })
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Sample(count) => serializer.serialize_u32(*count),
            Self::First(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LimitVisitor)
    }
}

struct LimitVisitor;

impl Visitor<'_> for LimitVisitor {
    type Value = Limit;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of items, or first:N")
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<Limit, E> {
        self.visit_str(&count.to_string())
    }

    fn visit_i64<E: de::Error>(self, count: i64) -> Result<Limit, E> {
        self.visit_str(&count.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Limit, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Limit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "So many items in all, drawn by the sweep's seed with the weights of the tasks; or `first:N`, the first N of each task.",
            "anyOf": [{ "type": "integer", "minimum": 1, "maximum": u32::MAX }, { "type": "string", "pattern": "^(first:)?[0-9]+$" }]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_sample_and_first_is_said() {
        for (written, limit, read) in [("20", Limit::Sample(20), "20"), ("first:3", Limit::First(3), "\"first:3\"")] {
            assert_eq!((written.parse(), limit.to_string().as_str()), (Ok(limit), written));
            assert_eq!(serde_json::to_string(&limit).unwrap(), read);
            assert_eq!(serde_yaml_ng::from_str::<Limit>(written).unwrap(), limit);
            assert_eq!(serde_json::from_str::<Limit>(read).unwrap(), limit);
        }
    }

    #[test]
    fn what_is_no_number_of_items_is_refused_with_what_to_write() {
        for bad in ["0", "first:0", "-3", "last:3", "first:", "1.5", ""] {
            assert!(bad.parse::<Limit>().unwrap_err().contains("write a number from 1"), "{bad}");
        }
        let error = serde_yaml_ng::from_str::<Limit>("-3").unwrap_err().to_string();
        assert!(error.contains("\"-3\" is no limit"), "{error}");
    }
}
