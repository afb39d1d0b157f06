//! Query strings as Flask reads them.

/// Names and values in their order, percent escapes resolved.
///
/// Only `&` separates; `+` is a space; a name without `=` has the empty value. Escaped bytes that are not UTF-8 stay escaped, in upper case.
/// A character that should have been escaped and was not comes as the bytes of its UTF-8 read as Latin-1, as HTTP servers of Python do.
pub(super) fn parameters(query: &str) -> impl Iterator<Item = (String, String)> {
    query.split('&').filter(|part| !part.is_empty()).map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (text(name), text(value))
    })
}

fn text(escaped: &str) -> String {
    unescape(&escaped.replace('+', " "))
}

/// The text with its percent escapes resolved; a `%` without two digits after it is itself.
pub(super) fn unescape(escaped: &str) -> String {
    let mut text = String::with_capacity(escaped.len());
    // Bytes that have been read and are to be read as UTF-8 together.
    let mut bytes = Vec::new();
    let mut rest = escaped.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if !first.is_ascii() {
            decode(&mut bytes, &mut text);
            text.push(char::from(first));
        } else if let (b'%', Some((byte, after))) = (first, escaped_byte(after)) {
            bytes.push(byte);
            rest = after;
        } else {
            bytes.push(first);
        }
    }
    decode(&mut bytes, &mut text);
    text
}

/// The byte that two hexadecimal digits are, and what follows them.
fn escaped_byte(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let ([high, low], rest) = bytes.split_first_chunk()?;
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some((digit(*high)? << 4 | digit(*low)?, rest))
}

fn decode(bytes: &mut Vec<u8>, text: &mut String) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02X}")));
    }
    bytes.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Vec<(String, String)> {
        parameters(query).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_part_is_a_name_and_a_value() {
        assert_eq!(
            read("&&a&=b&c==&c=2&d=x;e=y"),
            pairs(&[("a", ""), ("", "b"), ("c", "="), ("c", "2"), ("d", "x;e=y")])
        );
        assert_eq!(read("a+b=c%2Bd%20e"), pairs(&[("a b", "c+d e")]));
    }

    #[test]
    fn what_is_no_escape_stays_as_it_is() {
        assert_eq!(read("a=%uz&b=%4&c=%&d=%%41"), pairs(&[("a", "%uz"), ("b", "%4"), ("c", "%"), ("d", "%A")]));
    }

    #[test]
    fn escaped_bytes_that_are_not_utf8_stay_escaped_in_upper_case() {
        assert_eq!(
            read("a=%ff%e4%b8&b=%ed%a0%80&c=%c0%80&d=%e4%b8%ad"),
            pairs(&[("a", "%FF%E4%B8"), ("b", "%ED%A0%80"), ("c", "%C0%80"), ("d", "中"),])
        );
    }

    #[test]
    fn a_character_that_is_not_escaped_is_read_byte_by_byte() {
        assert_eq!(read("a=é&b=é%A9"), pairs(&[("a", "Ã©"), ("b", "Ã©%A9")]));
    }
}
