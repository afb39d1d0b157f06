//! Arguments of a simulated call, with mistakes.

use serde_json::{Map, Value, json};

use super::Mistakes;

/// Returns arguments like `gold` with mistakes: a key left out or added, a value changed, invalid JSON.
pub(super) fn disturbed(gold: &str, mistakes: &mut Mistakes) -> String {
    let Ok(mut arguments) = serde_json::from_str::<Map<String, Value>>(gold) else { return gold.to_owned() };
    let keys: Vec<String> = arguments.keys().cloned().collect();
    let mut is_changed = false;
    for key in &keys {
        if mistakes.happens(0.15) {
            arguments.shift_remove(key);
            is_changed = true;
        } else if mistakes.happens(0.3)
            && let Some(value) = arguments.get_mut(key)
        {
            *value = other(value, mistakes);
            is_changed = true;
        }
    }
    if mistakes.happens(0.1) {
        arguments.insert("note".to_owned(), json!("as the user said"));
        is_changed = true;
    }
    // Unchanged arguments keep their white space.
    let text = if is_changed { Value::Object(arguments).to_string() } else { gold.to_owned() };
    if mistakes.happens(0.03) { broken(&text, mistakes) } else { text }
}

/// Returns a different value: one that a judge may accept as equal, or that rules tell apart.
fn other(value: &Value, mistakes: &mut Mistakes) -> Value {
    match value {
        Value::String(text) => match mistakes.pick(5) {
            0 => json!(text.to_uppercase()),
            1 => json!(format!("{text} please")),
            2 => json!(text.split(' ').rev().collect::<Vec<_>>().join(" ")),
            3 => json!([text]),
            _ => Value::Null,
        },
        Value::Number(number) => match mistakes.pick(2) {
            0 => json!(number.to_string()),
            _ => json!(number.as_f64().map(|number| number + 1.0)),
        },
        Value::Bool(bool) => json!(!bool),
        Value::Array(values) => json!(values.iter().skip(1).collect::<Vec<_>>()),
        Value::Object(_) => json!(value.to_string()),
        Value::Null => json!(""),
    }
}

fn broken(text: &str, mistakes: &mut Mistakes) -> String {
    match mistakes.pick(4) {
        0 => text.chars().take(text.chars().count() / 2).collect(),
        1 => text.replace('"', "'"),
        2 => "null".to_owned(),
        _ => format!("[{text}]"),
    }
}
