//! Structural edits of JSON documents: what a broken, an older or a malicious writer makes of a good one.

use serde_json::{Map, Value};

use crate::input::Input;

/// Most edits of one document.
const EDITS_MAX: usize = 8;

/// `document` after the edits that `input` describes, one a record: the position of a value in the document (two bytes), the kind of the
/// edit (one byte), and its operand.
pub(crate) fn edited(mut document: Value, input: Input<'_>) -> Value {
    for record in input.records().take(EDITS_MAX) {
        let mut record = Input(record);
        let position = usize::from(u16::from_le_bytes([record.byte(), record.byte()]));
        let kind = record.byte();
        let other = copy_of(&document, usize::from(record.0.first().copied().unwrap_or(0)));
        let mut left = position % values(&document);
        if let Some(value) = nth(&mut document, &mut left) {
            edit(value, kind, record, other);
        }
    }
    document
}

fn edit(value: &mut Value, kind: u8, mut operand: Input<'_>, other: Value) {
    let number = usize::from(operand.0.first().copied().unwrap_or(0));
    match kind % 8 {
        0 => *value = Value::Null,
        1 => *value = Value::from(operand.text()),
        2 => *value = serde_json::from_slice(operand.0).unwrap_or_else(|_| Value::from(number)),
        3 => *value = other,
        4 => match value {
            Value::Array(items) if !items.is_empty() => drop(items.remove(number % items.len())),
            Value::Object(fields) => *fields = without(fields, number),
            scalar => *scalar = Value::Bool(number.is_multiple_of(2)),
        },
        5 => match value {
            Value::Array(items) => items.push(other),
            Value::Object(fields) => {
                operand.byte();
                fields.insert(operand.text().into_owned(), other);
            }
            scalar => *scalar = other,
        },
        6 => match value {
            Value::Array(items) => items.reverse(),
            Value::String(text) => *text = text.chars().rev().collect(),
            Value::Number(_) => *value = Value::from(-1),
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        },
        _ => match value {
            Value::String(text) => {
                let at = text.char_indices().map(|(at, _)| at).nth(number).unwrap_or(text.len());
                operand.byte();
                text.insert_str(at, &operand.text());
            }
            Value::Array(items) => items.truncate(number),
            Value::Number(_) => *value = Value::from(u64::MAX),
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        },
    }
}

fn without(fields: &Map<String, Value>, number: usize) -> Map<String, Value> {
    let left_out = number % fields.len().max(1);
    let kept = fields.iter().enumerate().filter(|(at, _)| *at != left_out);
    kept.map(|(_, (name, value))| (name.clone(), value.clone())).collect()
}

/// Number of values in `document`, itself among them.
fn values(document: &Value) -> usize {
    1 + match document {
        Value::Array(items) => items.iter().map(values).sum::<usize>(),
        Value::Object(fields) => fields.values().map(values).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The value before which there are `left` others.
fn nth<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(fields) => fields.values_mut().find_map(|field| nth(field, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn copy_of(document: &Value, number: usize) -> Value {
    let mut copy = document.clone();
    let mut left = number % values(document);
    nth(&mut copy, &mut left).map(|value| value.take()).unwrap_or(Value::Null)
}
