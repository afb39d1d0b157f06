//! Sizes in memory of JSON that a reader keeps.

use serde_json::{Map, Value};

/// Bytes that `value` takes, about: its texts, its names, and the values themselves.
pub(crate) fn bytes_of(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(bytes_of).sum(),
            Value::Object(map) => map.iter().map(|(name, value)| entry(name, value)).sum(),
        }
}

/// Replaces entries of `map`, which is among what `bytes` counts.
pub(crate) fn merge(map: &mut Map<String, Value>, entries: impl Iterator<Item = (String, Value)>, bytes: &mut usize) {
    for (name, value) in entries {
        if let Some(replaced) = map.get(&name) {
            *bytes = bytes.saturating_sub(entry(&name, replaced));
        }
        *bytes += entry(&name, &value);
        map.insert(name, value);
    }
}

fn entry(name: &str, value: &Value) -> usize {
    size_of::<String>() + name.len() + bytes_of(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn many_small_values_take_more_than_their_text() {
        assert_eq!(bytes_of(&json!("ten bytes.")), size_of::<Value>() + 10);
        assert_eq!(bytes_of(&json!([[], [], []])), 4 * size_of::<Value>());
        assert_eq!(bytes_of(&json!({"ab": null})), 2 * size_of::<Value>() + size_of::<String>() + 2);
    }

    #[test]
    fn what_is_replaced_counts_no_longer() {
        let (mut map, mut bytes) = (Map::new(), 0);
        merge(&mut map, [("id".to_owned(), json!("a long one"))].into_iter(), &mut bytes);
        merge(&mut map, [("id".to_owned(), json!("x"))].into_iter(), &mut bytes);
        assert_eq!((bytes, map["id"].as_str()), (entry("id", &json!("x")), Some("x")));
    }
}
