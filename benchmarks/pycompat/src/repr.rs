//! `repr` of texts and floating-point numbers.

use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

/// `repr` of a text: single quotes, unless it holds some and no double ones; what cannot be printed is escaped.
pub fn repr_text(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                // Writing to a text cannot fail.
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
    out
}

/// `str` of a list of texts.
pub fn repr_texts<T: AsRef<str>>(texts: &[T]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| repr_text(text.as_ref())).collect();
    format!("[{}]", texts.join(", "))
}

/// The texts of a list that [`repr_texts`] wrote; nothing of anything else.
pub fn texts_of_repr(list: &str) -> Option<Vec<String>> {
    let mut rest = list.strip_prefix('[')?.strip_suffix(']')?.chars();
    let mut texts = Vec::new();
    while let Some(quote) = rest.next() {
        if quote != '\'' && quote != '"' {
            return None;
        }
        texts.push(text_until(quote, &mut rest)?);
        match (rest.next(), rest.as_str().strip_prefix(' ')) {
            (None, _) => break,
            (Some(','), Some(after)) if !after.is_empty() => rest = after.chars(),
            _ => return None,
        }
    }
    Some(texts)
}

/// A text up to its closing quote, escapes resolved.
fn text_until(quote: char, rest: &mut std::str::Chars<'_>) -> Option<String> {
    let mut text = String::new();
    loop {
        let c = match rest.next()? {
            c if c == quote => return Some(text),
            '\\' => match rest.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'x' => character_of(rest, 2)?,
                'u' => character_of(rest, 4)?,
                'U' => character_of(rest, 8)?,
                c => c,
            },
            c => c,
        };
        text.push(c);
    }
}

fn character_of(rest: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let (code, after) = rest.as_str().split_at_checked(digits)?;
    *rest = after.chars();
    char::from_u32(u32::from_str_radix(code, 16).ok()?)
}

/// `repr` of a floating-point number: the shortest digits that read back the same, with an exponent below 1e-4 and from 1e16 on.
pub fn repr_float(float: f64) -> String {
    if !float.is_finite() {
        let word = if float.is_nan() { "nan" } else { "inf" };
        return if float.is_sign_negative() && !float.is_nan() { format!("-{word}") } else { word.to_owned() };
    }
    let scientific = format!("{float:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(-4..16) => format!("{float:?}"),
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
        Err(_) => scientific,
    }
}

/// `str.isprintable` of one character: nothing that is a separator (but the space), a control, or unassigned.
fn is_printable(c: char) -> bool {
    static NOT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{C}\p{Z}]$").ok());
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    !NOT.as_ref().is_some_and(|not| not.is_match(c.encode_utf8(&mut [0; 4])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_are_chosen_as_python_chooses_them() {
        let written: Vec<String> = ["a", "it's", "\"", "it's \"so\"", "", "\\"].map(repr_text).to_vec();
        assert_eq!(written, ["'a'", "\"it's\"", "'\"'", "'it\\'s \"so\"'", "''", "'\\\\'"]);
        assert_eq!(repr_texts(&["a", "it's"]), "['a', \"it's\"]");
        assert_eq!(repr_texts::<&str>(&[]), "[]");
    }

    #[test]
    fn what_cannot_be_printed_is_escaped() {
        assert_eq!(repr_text("서울 é😀"), "'서울 é😀'");
        assert_eq!(repr_text("\n\r\t\0\u{7f}\u{a0}"), "'\\n\\r\\t\\x00\\x7f\\xa0'");
        assert_eq!(repr_text("\u{200b}\u{3000}\u{e000}\u{ad}"), "'\\u200b\\u3000\\ue000\\xad'");
        assert_eq!(repr_text("\u{e0001}\u{10ffff}"), "'\\U000e0001\\U0010ffff'");
    }

    proptest! {
        #[test]
        fn a_list_that_was_written_is_read_again(texts in proptest::collection::vec(any::<String>(), 0..4)) {
            prop_assert_eq!(texts_of_repr(&repr_texts(&texts)), Some(texts));
        }
    }

    #[test]
    fn what_is_no_list_of_texts_is_none() {
        for text in ["", "[", "['a'", "'a'", "[a]", "['a' 'b']", "['a',]", "['a', ]", "['\\x']", "['\\ud800']", "[1]"] {
            assert_eq!(texts_of_repr(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_have_the_shortest_digits_and_an_exponent_where_python_writes_one() {
        let numbers = [0.0, -0.0, 1.0, 15.0, 0.1, 1e-4, 1e-5, 123_456_789.125, 1e15, 9_999_999_999_999_998.0, 1e16];
        let written: Vec<String> = numbers.into_iter().map(repr_float).collect();
        let expected = ["0.0", "-0.0", "1.0", "15.0", "0.1", "0.0001", "1e-05", "123456789.125", "1000000000000000.0"];
        assert_eq!(written[..9], expected);
        assert_eq!(written[9..], ["9999999999999998.0", "1e+16"]);
        assert_eq!([1.5e300, -2.5e-7, 5e-324].map(repr_float), ["1.5e+300", "-2.5e-07", "5e-324"]);
        assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(repr_float), ["nan", "inf", "-inf"]);
    }
}
