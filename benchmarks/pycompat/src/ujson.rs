//! JSON as pandas reads it, by the reader of `ujson` that it brings along: more lenient than Python's own, and with bounds of its own.

use super::character::of_surrogate;
use super::json::{Int, Json, Object};

/// Deepest nesting of arrays and objects.
const DEPTH_MAX: usize = 1024;

/// The value that the text holds, and nothing but white space around it; `None` for anything that pandas refuses.
///
/// Other than Python's reader it takes raw control characters but NUL, a comma before the end of an object, digits in any number or none
/// wherever a number has some, and `NaN` for `null`. It refuses integers beyond 64 bits (but for those that wrap around unnoticed), and
/// forgets the first half of a pair of surrogates until another half comes, so that a lone one vanishes.
pub fn parse_ujson(text: &str) -> Option<Json> {
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    let value = reader.value(0)?;
    reader.skip_space();
    (reader.at == reader.text.len()).then_some(value)
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    /// The next byte; NUL behind the end.
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or_default()
    }

    fn next(&mut self) -> u8 {
        let byte = self.peek();
        self.at += 1;
        byte
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &[u8], value: Json) -> Option<Json> {
        let is_it = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        is_it.then(|| {
            self.at += word.len();
            value
        })
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        self.skip_space();
        match self.peek() {
            b'"' => self.string().map(Json::String),
            b'[' | b'{' if depth >= DEPTH_MAX => None,
            b'[' => self.list(depth + 1),
            b'{' => self.object(depth + 1),
            b't' => self.word(b"true", Json::Bool(true)),
            b'f' => self.word(b"false", Json::Bool(false)),
            b'n' => self.word(b"null", Json::Null),
            b'N' => self.word(b"NaN", Json::Null),
            b'I' => self.word(b"Infinity", Json::Float(f64::INFINITY)),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn list(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut list = Vec::new();
        self.skip_space();
        if self.peek() == b']' {
            self.at += 1;
            return Some(Json::List(list));
        }
        loop {
            list.push(self.value(depth)?);
            self.skip_space();
            match self.next() {
                b']' => return Some(Json::List(list)),
                b',' => {}
                _ => return None,
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut object = Object::default();
        loop {
            self.skip_space();
            match self.peek() {
                b'}' => {
                    self.at += 1;
                    return Some(Json::Object(object));
                }
                b'"' => {}
                _ => return None,
            }
            let key = self.string()?;
            self.skip_space();
            if self.next() != b':' {
                return None;
            }
            object.insert(key, self.value(depth)?);
            self.skip_space();
            match self.next() {
                b'}' => return Some(Json::Object(object)),
                b',' => {}
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.at;
        let is_negative = self.peek() == b'-';
        if is_negative {
            self.at += 1;
            if self.peek() == b'I' {
                return self.word(b"Infinity", Json::Float(f64::NEG_INFINITY));
            }
        }
        let mut int = 0_u64;
        while let digit @ b'0'..=b'9' = self.peek() {
            let next = int.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            if if is_negative { next > i64::MIN.unsigned_abs() } else { next < int } {
                return None;
            }
            int = next;
            self.at += 1;
        }
        let is_float = matches!(self.peek(), b'.' | b'e' | b'E');
        if self.peek() == b'.' {
            self.at += 1;
            self.skip_digits();
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.skip_digits();
        }
        if is_float {
            // A float that lacks digits somewhere is the integer before it, or nothing; nobody here computes with floats of a table.
            let text = self.text.get(start..self.at).and_then(|text| std::str::from_utf8(text).ok())?;
            return Some(Json::Float(text.parse().unwrap_or(int as f64)));
        }
        let sign = if is_negative && int > 0 { "-" } else { "" };
        Some(Json::Int(Int::from_json(&format!("{sign}{int}"))))
    }

    fn skip_digits(&mut self) {
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Option<String> {
        self.at += 1;
        let mut string = Vec::new();
        let mut high: Option<u32> = None;
        loop {
            match self.next() {
                0 => return None,
                b'"' => return String::from_utf8(string).ok(),
                b'\\' => {
                    let c = match self.next() {
                        byte @ (b'"' | b'\\' | b'/') => char::from(byte),
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => {
                            let unit = self.code_unit()?;
                            match (high.take(), unit) {
                                (None, 0xd800..0xdc00) => {
                                    high = Some(unit);
                                    continue;
                                }
                                (None, unit) => char::from_u32(unit).or_else(|| of_surrogate(unit))?,
                                (Some(high), 0xdc00..0xe000) => {
                                    char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (unit - 0xdc00))?
                                }
                                (Some(_), _) => return None,
                            }
                        }
                        _ => return None,
                    };
                    string.extend(c.encode_utf8(&mut [0; 4]).bytes());
                }
                byte => string.push(byte),
            }
        }
    }

    /// Exactly four hexadecimal digits.
    fn code_unit(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |unit, _| Some(unit * 16 + char::from(self.next()).to_digit(16)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dumped(text: &str) -> Option<String> {
        Some(format!("{:?}", parse_ujson(text)?))
    }

    #[test]
    fn it_takes_what_python_refuses() {
        for (lenient, strict) in [
            (r#"{"a":1,}"#, r#"{"a":1}"#),
            ("[01, 1., -, 1e]", "[1, 1.0, 0, 1.0]"),
            ("\"\u{1}\n\"", r#""\u0001\n""#),
            ("NaN", "null"),
            (r#""\ud800x""#, r#""x""#),
            (r#""\ud83dx\ude00""#, r#""x\ud83d\ude00""#),
            ("30000000000000000000", "11553255926290448384"),
        ] {
            assert_eq!(dumped(lenient), Some(format!("{:?}", super::super::parse(strict).unwrap())), "{lenient}");
        }
    }

    #[test]
    fn it_refuses_what_is_beyond_its_bounds_or_no_json() {
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse_ujson(&deep(1024)).is_some() && parse_ujson(&deep(1025)).is_none());
        for refused in [
            "18446744073709551616",
            "-9223372036854775809",
            "[1,]",
            "{,}",
            "{1:2}",
            ".5",
            "-N",
            "nul",
            "\"\0\"",
            r#""\x""#,
            r#""\u12""#,
            r#""\ud800\u0041""#,
            "1 2",
            "",
            "\u{b}1",
            "\"a",
        ] {
            assert!(parse_ujson(refused).is_none(), "{refused:?}");
        }
        assert!(parse_ujson("18446744073709551615").is_some() && parse_ujson("-9223372036854775808").is_some());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:0-9eE.+\\-NaInfituelsd\\\\ \u{e9}\n]{0,60}") {
            let _ = parse_ujson(&text);
        }
    }
}
