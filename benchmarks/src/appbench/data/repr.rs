//! Values as Python's `repr` writes them, which is how official prompts show the descriptions of apps.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Deepest nesting that is written; descriptions have four levels, and JSON itself is read to 128.
const DEPTH_MAX: usize = 128;

/// What `str.isprintable` refuses: control and format characters, private use, unassigned ones, separators.
static UNPRINTABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{C}\p{Z}]$").ok());

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
        Value::String(string) => write_text(text, string),
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
                write_text(text, key);
                text.push_str(": ");
                write_value(text, value, depth + 1);
            }
            text.push('}');
        }
    }
}

/// Single quotes, unless that needs escapes and double quotes do not.
fn write_text(text: &mut String, string: &str) {
    let quote = if string.contains('\'') && !string.contains('"') { '"' } else { '\'' };
    text.push(quote);
    for c in string.chars() {
        match c {
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\\' => text.push_str("\\\\"),
            _ if c == quote => text.extend(['\\', c]),
            _ if is_printable(c) => text.push(c),
            _ => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(text, "\\x{code:02x}"),
                    0x100..=0xffff => write!(text, "\\u{code:04x}"),
                    _ => write!(text, "\\U{code:08x}"),
                };
            }
        }
    }
    text.push(quote);
}

fn is_printable(c: char) -> bool {
    let mut buffer = [0; 4];
    c == ' ' || !UNPRINTABLE.as_ref().is_some_and(|class| class.is_match(c.encode_utf8(&mut buffer)))
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
