//! Schemas of the predicted tools by key: checks that make a judge unnecessary (docs/benchmarks/orchestrationbench.md
//! §5.5).

use serde_json::{Map, Value};

use super::integer::is_integer;
use super::pattern::matches_at_start;
use super::reason::Reason;
use crate::data::Agents;

/// Properties of the predicted tools that exist, in the order of the calls.
pub(crate) struct Schemas<'a> {
    properties: Vec<&'a Map<String, Value>>,
}

impl<'a> Schemas<'a> {
    /// Collects the schemas of the tools with these names, of whatever agent.
    pub(crate) fn new<'n>(agents: &'a Agents, names: impl Iterator<Item = &'n str>) -> Self {
        let mut seen = std::collections::HashSet::new();
        let properties = names
            .filter(|name| seen.insert(*name))
            .filter_map(|name| agents.tool(name)?.parameters.get("properties")?.as_object())
            .collect();
        Self { properties }
    }

    fn of_key<'s>(&'s self, key: &'s str) -> impl Iterator<Item = &'a Map<String, Value>> + 's {
        self.properties.iter().filter_map(move |properties| properties.get(key)?.as_object())
    }

    /// Returns the reason if the predicted values of a key are wrong without asking a judge. `predicted` are the
    /// values in the prediction alone, `missing` is the number of values in the gold alone.
    pub(crate) fn settles(&self, key: &str, predicted: &[String], missing: usize) -> Option<Reason> {
        if !self.has_type(key, predicted) {
            return Some(Reason::TypeMismatch);
        }
        if predicted.len() == missing && self.is_enum(key) {
            return Some(Reason::EnumExactComparison);
        }
        let pattern = self.of_key(key).find_map(|property| property.get("pattern")?.as_str());
        // The official code unescapes a doubly escaped pattern once.
        let pattern = pattern?.replace(r"\\", r"\");
        let fits = |value: &String| matches_at_start(&pattern, value).unwrap_or(true);
        (!predicted.iter().all(fits)).then_some(Reason::PatternMismatch)
    }

    /// Checks against the first declared type. The values are texts by now, so only strings and readable integers can
    /// pass.
    fn has_type(&self, key: &str, predicted: &[String]) -> bool {
        let declared = self.of_key(key).find_map(|property| property.get("type"));
        let declared = match declared {
            Some(Value::Array(types)) => types.first().map_or(Some("string"), Value::as_str),
            Some(Value::String(name)) => Some(name.as_str()),
            _ => None,
        };
        match declared {
            Some("integer") => predicted.iter().all(|value| is_integer(value)),
            Some("number" | "boolean" | "array" | "object") => predicted.is_empty(),
            _ => true,
        }
    }

    fn is_enum(&self, key: &str) -> bool {
        self.of_key(key).any(|property| {
            property.contains_key("enum") || property.get("items").is_some_and(|items| items.get("enum").is_some())
        })
    }
}
