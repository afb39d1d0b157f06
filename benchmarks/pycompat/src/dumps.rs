//! `json.dumps(value, ensure_ascii=False)`: Python's default layout with everything but ASCII kept.

use super::repr::repr_float;
use super::yaml::Value;

/// The text, or the type of what JSON cannot say (Python raises `TypeError`, for a value inside itself `ValueError`).
pub fn dumps(value: &Value) -> Result<String, &'static str> {
    let mut out = String::new();
    write(value, &mut out)?;
    Ok(out)
}

/// A text as JSON. Python and Rust escape the same characters in the same way.
pub fn dumps_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn write(value: &Value, out: &mut String) -> Result<(), &'static str> {
    match value {
        Value::List(values) => {
            out.push('[');
            for (position, value) in values.iter().enumerate() {
                separate(position, out);
                write(value, out)?;
            }
            out.push(']');
        }
        Value::Pair(pair) => {
            out.push('[');
            write(&pair.0, out)?;
            separate(1, out);
            write(&pair.1, out)?;
            out.push(']');
        }
        Value::Dict(dict) => {
            out.push('{');
            for (position, (key, value)) in dict.iter().enumerate() {
                separate(position, out);
                // What is no text as a key is written as it would be as a value, in quotes.
                out.push_str(&dumps_text(&scalar(key).ok_or(key.type_name())?));
                out.push_str(": ");
                write(value, out)?;
            }
            out.push('}');
        }
        Value::Str(text) => out.push_str(&dumps_text(text)),
        other => out.push_str(&scalar(other).ok_or(other.type_name())?),
    }
    Ok(())
}

fn separate(position: usize, out: &mut String) {
    if position > 0 {
        out.push_str(", ");
    }
}

/// JSON of a value without members, a text without its quotes; `None` for a value with members.
fn scalar(value: &Value) -> Option<String> {
    Some(match value {
        Value::None => "null".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Int(int) => int.decimal().to_owned(),
        Value::Float(float) if float.is_nan() => "NaN".to_owned(),
        Value::Float(float) if float.is_infinite() => if *float > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        Value::Float(float) => repr_float(*float),
        Value::Str(text) => text.clone(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::yaml::{Date, Dict};
    use super::*;

    fn again(json: &str) -> String {
        dumps(&super::super::parse(json).unwrap().into()).unwrap()
    }

    #[test]
    fn the_layout_is_that_of_python() {
        assert_eq!(
            again("{\"가\":[1,2.0,1e-7,-1e22],\"b\":{},\"c\":[]}"),
            "{\"가\": [1, 2.0, 1e-07, -1e+22], \"b\": {}, \"c\": []}"
        );
        assert_eq!(again("[null,true,NaN,-Infinity]"), "[null, true, NaN, -Infinity]");
        assert_eq!(again("\"\\u0001\\u007f\\n\\\"\\\\/\""), "\"\\u0001\u{7f}\\n\\\"\\\\/\"");
    }

    #[test]
    fn keys_that_are_no_texts_become_texts() {
        let keys = [Value::None, Value::Bool(true), Value::Float(1.5)];
        let dict: Dict = keys.into_iter().map(|key| (key, Value::None)).collect();
        assert_eq!(dumps(&Value::Dict(dict)).unwrap(), "{\"null\": null, \"true\": null, \"1.5\": null}");
    }

    #[test]
    fn what_json_cannot_say_is_named() {
        let day = Value::Date(Date::new(2025, 8, 1).unwrap());
        assert_eq!(dumps(&Value::List(vec![day.clone()])), Err("date"));
        assert_eq!(dumps(&Value::Dict([(day, Value::None)].into_iter().collect())), Err("date"));
        assert_eq!(dumps(&Value::Set(Vec::new())), Err("set"));
    }
}
