//! Parsers that do as CPython and its libraries do: literals, JSON, ujson, YAML; and their printing.

use regatta_pycompat::{
    display, dumps, dumps_text, equal, is_numeric, literal, lower, parse, parse_or_refuse, parse_prefix, parse_ujson,
    repr, repr_float, repr_text, repr_texts, strip, texts_of_repr, yaml,
};

use crate::input::Input;

pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    match input.byte() % 6 {
        0 => literals(&input.text()),
        1 => json(&input.text()),
        2 => lists(input),
        3 => documents(&input.text()),
        4 => texts(&input.text()),
        _ => numbers(input),
    }
}

/// A literal's value is printed as a literal of the same value.
fn literals(text: &str) {
    let Some(value) = literal(text) else { return };
    let printed = repr(&value);
    // An infinity, as `1e999` makes one, is printed as a name.
    if !printed.contains("inf") {
        let again = literal(&printed).unwrap_or_else(|| panic!("{printed:?} is printed, and no literal"));
        assert_eq!(repr(&again), printed);
    }
    display(&value);
    if let Ok(written) = dumps(&value) {
        assert!(parse(&written).is_some(), "{written:?} is written, and no JSON");
    }
}

fn json(text: &str) {
    let value = parse(text);
    assert_eq!(value.is_some(), parse_or_refuse(text).is_ok());
    if let Some(value) = &value {
        assert!(parse_prefix(text.trim_start_matches([' ', '\t', '\n', '\r'])).is_some());
        // NaN is not equal to itself.
        assert!(equal(value, value) || text.contains("NaN"));
    }
    parse_ujson(text);
    parse_prefix(text);
    // Whatever another reader accepts, this one does, but for numbers without limit.
    if text.len() < 1000 && serde_json::from_str::<serde_json::Value>(text).is_ok() {
        assert!(value.is_some(), "{text:?} is JSON");
    }
}

fn lists(input: Input<'_>) {
    let texts: Vec<_> = input.texts().collect();
    let printed = repr_texts(&texts);
    let read = texts_of_repr(&printed).unwrap_or_else(|| panic!("{printed} is printed, and not read"));
    assert_eq!(read, texts);
    texts_of_repr(&input.text());
}

fn documents(text: &str) {
    if let Ok(value) = yaml::safe_load(text) {
        repr(&value);
    }
}

fn texts(text: &str) {
    assert_eq!(serde_json::from_str::<String>(&dumps_text(text)).unwrap(), text);
    if !text.contains('\0') {
        let printed = repr_text(text);
        assert_eq!(literal(&printed).and_then(|value| value.as_str().map(str::to_owned)).as_deref(), Some(text));
    }
    assert_eq!(strip(strip(text)), strip(text));
    is_numeric(text);
    lower(text);
}

fn numbers(input: Input<'_>) {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(input.0) {
        *to = *from;
    }
    let float = f64::from_bits(u64::from_le_bytes(bytes));
    if float.is_finite() {
        assert_eq!(repr_float(float).parse::<f64>().unwrap().to_bits(), float.to_bits());
    }
}
