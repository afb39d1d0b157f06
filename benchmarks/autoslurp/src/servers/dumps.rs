//! JSON as Flask writes it: no blanks, keys sorted at every level, nothing but ASCII.

use std::fmt::Write;
use std::ops::RangeInclusive;

use regatta_pycompat::{Json, Object, repr_float};

/// Characters that stand for lone surrogates in texts of [`regatta_pycompat::parse`], each 0x100000 above its surrogate.
const SURROGATES: RangeInclusive<char> = '\u{10d800}'..='\u{10dfff}';

/// Writes values that were read from one text.
#[derive(Debug)]
pub(super) struct Dumps {
    out: String,
    /// True if [`SURROGATES`] stand for lone surrogates, false if for themselves.
    has_surrogates: bool,
}

impl Dumps {
    /// A writer for values that were read from `source`.
    pub(super) fn new(source: &str) -> Self {
        // The characters where lone surrogates are kept can also be meant. A text that has both is read as if it had the characters.
        let escaped = |text: &str| ["\\udbf6", "\\udbf7"].iter().any(|high| text.contains(high));
        let is_meant = source.contains(|c| SURROGATES.contains(&c)) || escaped(&source.to_ascii_lowercase());
        Self { out: String::new(), has_surrogates: !is_meant }
    }

    /// The written text.
    pub(super) fn into_text(self) -> String {
        self.out
    }

    /// Writes something that is JSON already.
    pub(super) fn raw(&mut self, json: &str) {
        self.out.push_str(json);
    }

    /// Writes a text.
    pub(super) fn text(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                ' '..='~' => self.out.push(c),
                c if self.has_surrogates && SURROGATES.contains(&c) => self.unit(self.code(c)),
                c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| self.unit(u32::from(*unit))),
            }
        }
        self.out.push('"');
    }

    fn unit(&mut self, unit: u32) {
        // Writing to a text cannot fail.
        let _ = write!(self.out, "\\u{unit:04x}");
    }

    /// The code point that Python has for a character.
    fn code(&self, c: char) -> u32 {
        let code = u32::from(c);
        if self.has_surrogates && SURROGATES.contains(&c) { code - 0x10_0000 } else { code }
    }

    /// Writes a value. Whoever calls has made sure that it is not too deep.
    pub(super) fn value(&mut self, value: &Json) {
        match value {
            Json::Null => self.raw("null"),
            Json::Bool(true) => self.raw("true"),
            Json::Bool(false) => self.raw("false"),
            Json::Int(int) => self.raw(int.decimal()),
            Json::Float(float) if float.is_nan() => self.raw("NaN"),
            Json::Float(f64::INFINITY) => self.raw("Infinity"),
            Json::Float(f64::NEG_INFINITY) => self.raw("-Infinity"),
            Json::Float(float) => self.raw(&repr_float(*float)),
            Json::String(text) => self.text(text),
            Json::List(values) => {
                self.out.push('[');
                for (at, value) in values.iter().enumerate() {
                    self.separate(at);
                    self.value(value);
                }
                self.out.push(']');
            }
            Json::Object(object) => self.object(object),
        }
    }

    fn object(&mut self, object: &Object) {
        let mut entries: Vec<(&str, &Json)> = object.iter().collect();
        entries.sort_by(|(a, _), (b, _)| a.chars().map(|c| self.code(c)).cmp(b.chars().map(|c| self.code(c))));
        self.entries(&entries);
    }

    /// Writes an object whose entries are sorted already.
    pub(super) fn entries(&mut self, entries: &[(&str, &Json)]) {
        self.out.push('{');
        for (at, (key, value)) in entries.iter().enumerate() {
            self.separate(at);
            self.text(key);
            self.out.push(':');
            self.value(value);
        }
        self.out.push('}');
    }

    fn separate(&mut self, at: usize) {
        if at > 0 {
            self.out.push(',');
        }
    }
}

#[cfg(test)]
mod tests {
    use regatta_pycompat::parse;

    use super::*;

    fn again(json: &str) -> String {
        let mut dumps = Dumps::new(json);
        dumps.value(&parse(json).unwrap());
        dumps.into_text()
    }

    #[test]
    fn there_are_no_blanks_and_keys_are_sorted_at_every_level() {
        assert_eq!(
            again(r#"{ "b": [ {"d": 1, "c": null} ], "a": {} , "B": [] }"#),
            r#"{"B":[],"a":{},"b":[{"c":null,"d":1}]}"#
        );
    }

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        let json = "[1e999,-1e999,-0,-0.0,1E5,1e16,0.1e-6,123456789012345678901234567890,NaN,true,false]";
        let written = "[Infinity,-Infinity,0,-0.0,100000.0,1e+16,1e-07,123456789012345678901234567890,NaN,true,false]";
        assert_eq!(again(json), written);
    }

    #[test]
    fn whatever_is_not_plain_ascii_is_escaped() {
        assert_eq!(
            again("\"\\\"\\\\/\\n\\r\\t\\b\\f\\u0000\u{7f}é😀\\u2028\""),
            r#""\"\\/\n\r\t\b\f\u0000\u007f\u00e9\ud83d\ude00\u2028""#
        );
    }

    #[test]
    fn lone_surrogates_come_back_and_sort_before_what_follows_them() {
        let json = r#"{"\ue000":1,"\ud800":2,"\ud83d\ude00":3,"\ud7ff":4}"#;
        assert_eq!(again(json), r#"{"\ud7ff":4,"\ud800":2,"\ue000":1,"\ud83d\ude00":3}"#);
        assert_eq!(again("\"\u{10d800}\""), r#""\udbf6\udc00""#);
        assert_eq!(again(r#""\uDBF6\uDC00""#), r#""\udbf6\udc00""#);
    }
}
