//! JSON on one line in Python's layout: separators `, ` and `: `, non-ASCII characters not escaped.

use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;

/// Serialises `value` on one line, such as `{"a": [1, 2]}`.
#[expect(clippy::expect_used, reason = "an empty text would be another prompt")]
pub(crate) fn one_line(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    value.serialize(&mut serializer).expect("JSON values have text keys, and a vector takes everything");
    String::from_utf8(bytes).expect("JSON is written in UTF-8")
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn separators_have_a_blank_and_letters_stay_as_they_are() {
        let value = json!({"b": ["é：", 1, 2.5, null, {}], "a": {"c": "\"\n"}});
        assert_eq!(one_line(&value), r#"{"b": ["é：", 1, 2.5, null, {}], "a": {"c": "\"\n"}}"#);
    }
}
