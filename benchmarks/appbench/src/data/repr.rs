//! Values as Python's `repr` writes them, which is how official prompts show the descriptions of apps.

use regatta_pycompat::repr_text;
use serde_json::Value;

/// Deepest nesting that is written; descriptions have four levels, and JSON itself is read to 128.
const DEPTH_MAX: usize = 128;

/// `repr` of a value.
pub(super) fn repr(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value, 0);
    text
}

fn write_value(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Null => text.push_str("None"),
        Value::Bool(true) => text.push_str("True"),
        Value::Bool(false) => text.push_str("False"),
        Value::Number(number) => text.push_str(&number.to_string()),
        Value::String(string) => text.push_str(&repr_text(string)),
        Value::Array(_) | Value::Object(_) if depth == DEPTH_MAX => text.push_str("..."),
        Value::Array(values) => {
            text.push('[');
            for (at, value) in values.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { ", " });
                write_value(text, value, depth + 1);
            }
            text.push(']');
        }
        Value::Object(entries) => {
            text.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { ", " });
                text.push_str(&repr_text(key));
                text.push_str(": ");
                write_value(text, value, depth + 1);
            }
            text.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_python_does() {
        let value = json!({"a": [true, false, null, 3], "it's": "\"both' \\", "x": {}});
        assert_eq!(repr(&value), r#"{'a': [True, False, None, 3], "it's": '"both\' \\', 'x': {}}"#);
        assert_eq!(repr(&json!("\t\r\n\u{1}é\u{a0}\u{200b}好\u{e0001}")), r"'\t\r\n\x01é\xa0\u200b好\U000e0001'");
    }
}
