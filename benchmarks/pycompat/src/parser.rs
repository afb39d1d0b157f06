//! `json.loads`.

use super::character::of_surrogate;
use super::json::{DIGITS_MAX, Int, Json, Object};

/// Greatest depth of nested arrays and objects: Python's recursion limit of 1000, less the frames that are there already.
const DEPTH_MAX: usize = 990;

/// Reason why Python refuses a text. Code that catches only the first kind lets the others escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// `JSONDecodeError`: it is not JSON.
    NotJson,
    /// `ValueError`: an integer has more digits than Python reads; this many.
    LongInteger(usize),
    /// `RecursionError`: arrays or objects are nested deeper than Python reads.
    TooDeep,
}

/// The value that the text holds, and nothing but white space around it. `None` for anything that Python refuses.
pub fn parse(text: &str) -> Option<Json> {
    parse_or_refuse(text).ok()
}

/// The value that the text holds, or why Python refuses it.
pub fn parse_or_refuse(text: &str) -> Result<Json, Refusal> {
    let mut parser = Parser { text, at: 0, refusal: Refusal::NotJson };
    parser.skip_space();
    let value = parser.value(0).ok_or(parser.refusal)?;
    parser.skip_space();
    if parser.at == text.len() { Ok(value) } else { Err(Refusal::NotJson) }
}

/// The value that the text begins with, after white space; what follows it is not looked at.
pub fn parse_prefix(text: &str) -> Option<Json> {
    let mut parser = Parser { text, at: 0, refusal: Refusal::NotJson };
    parser.skip_space();
    parser.value(0)
}

struct Parser<'a> {
    text: &'a str,
    /// Byte position; always that of a character.
    at: usize,
    /// Reason why there is no value, when there is none.
    refusal: Refusal,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, expected: u8) -> Option<()> {
        (self.peek()? == expected).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str, value: Json) -> Option<Json> {
        self.rest().starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        match self.peek()? {
            b'"' => self.string().map(Json::String),
            b'{' | b'[' if depth >= DEPTH_MAX => self.refuse(Refusal::TooDeep),
            b'{' => self.object(depth + 1).map(Json::Object),
            b'[' => self.list(depth + 1).map(Json::List),
            b'n' => self.word("null", Json::Null),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'N' => self.word("NaN", Json::Float(f64::NAN)),
            b'I' => self.word("Infinity", Json::Float(f64::INFINITY)),
            b'-' if self.rest().starts_with("-I") => self.word("-Infinity", Json::Float(f64::NEG_INFINITY)),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn object(&mut self, depth: usize) -> Option<Object> {
        self.take(b'{')?;
        let mut object = Object::default();
        self.skip_space();
        if self.take(b'}').is_some() {
            return Some(object);
        }
        loop {
            let key = self.string()?;
            self.skip_space();
            self.take(b':')?;
            self.skip_space();
            object.insert(key, self.value(depth)?);
            self.skip_space();
            if self.take(b'}').is_some() {
                return Some(object);
            }
            self.take(b',')?;
            self.skip_space();
        }
    }

    fn list(&mut self, depth: usize) -> Option<Vec<Json>> {
        self.take(b'[')?;
        let mut list = Vec::new();
        self.skip_space();
        if self.take(b']').is_some() {
            return Some(list);
        }
        loop {
            list.push(self.value(depth)?);
            self.skip_space();
            if self.take(b']').is_some() {
                return Some(list);
            }
            self.take(b',')?;
            self.skip_space();
        }
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.at;
        let _negative = self.take(b'-');
        match self.peek()? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return None,
        }
        let integer_end = self.at;
        if self.peek() == Some(b'.') && self.digit_follows(1) {
            self.at += 1;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.text.as_bytes().get(self.at + 1), Some(b'+' | b'-')));
            if self.digit_follows(1 + sign) {
                self.at += 1 + sign;
                self.digits();
            }
        }
        let text = self.text.get(start..self.at)?;
        if self.at > integer_end {
            return text.parse().ok().map(Json::Float);
        }
        let digits = text.trim_start_matches('-').len();
        if digits > DIGITS_MAX {
            return self.refuse(Refusal::LongInteger(digits));
        }
        Some(Json::Int(Int::from_json(text)))
    }

    fn refuse(&mut self, refusal: Refusal) -> Option<Json> {
        self.refusal = refusal;
        None
    }

    fn digits(&mut self) {
        while self.digit_follows(0) {
            self.at += 1;
        }
    }

    fn digit_follows(&self, ahead: usize) -> bool {
        self.text.as_bytes().get(self.at + ahead).is_some_and(u8::is_ascii_digit)
    }

    fn string(&mut self) -> Option<String> {
        self.take(b'"')?;
        let mut string = String::new();
        loop {
            let rest = self.rest();
            // These bytes occur in UTF-8 as themselves only.
            let plain = rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20)?;
            string.push_str(rest.get(..plain)?);
            self.at += plain + 1;
            match rest.as_bytes().get(plain)? {
                b'"' => return Some(string),
                b'\\' => string.push(self.escape()?),
                _ => return None,
            }
        }
    }

    /// The character of an escape whose backslash has been read.
    fn escape(&mut self) -> Option<char> {
        let letter = self.peek()?;
        let c = match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.code_unit_escape();
            }
            _ => return None,
        };
        self.at += 1;
        Some(c)
    }

    fn code_unit_escape(&mut self) -> Option<char> {
        let first = self.code_unit()?;
        if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.code_unit()?;
            if (0xdc00..0xe000).contains(&second) {
                return char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00));
            }
            self.at = before;
        }
        char::from_u32(first).or_else(|| of_surrogate(first))
    }

    /// Exactly four hexadecimal digits.
    fn code_unit(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(json: &str) -> Option<String> {
        parse(json).and_then(|value| value.as_str().map(str::to_owned))
    }

    #[test]
    fn the_form_of_a_number_decides_its_type() {
        let of = |json| parse(json).unwrap();
        assert!(matches!(of("1"), Json::Int(_)) && matches!(of("-12"), Json::Int(_)));
        assert!(["1.0", "1e2", "1E+2", "-0.5e-3"].into_iter().all(|json| matches!(of(json), Json::Float(_))));
        assert!(matches!(of("1e999"), Json::Float(float) if float == f64::INFINITY));
        assert!(matches!(of("NaN"), Json::Float(float) if float.is_nan()));
        assert!(matches!(of("-Infinity"), Json::Float(float) if float == f64::NEG_INFINITY));
        for refused in ["01", "1.", ".5", "+1", "-", "1e", "nan", "infinity", "-NaN", "1_0"] {
            assert!(parse(refused).is_none(), "{refused}");
        }
    }

    #[test]
    fn integers_have_at_most_4300_digits() {
        assert!(parse(&format!("-{}", "9".repeat(4300))).is_some());
        assert!(parse(&"9".repeat(4301)).is_none());
        assert!(parse(&format!("{}.5", "9".repeat(9999))).is_some(), "floats have no such limit");
    }

    #[test]
    fn texts_know_escapes_and_refuse_raw_control_characters() {
        assert_eq!(text(r#""\"\\\/\b\f\n\r\t\u00e9\u2014\uD83D\ude42""#).as_deref(), Some("\"\\/\u{8}\u{c}\n\r\té—🙂"));
        assert_eq!(text("\"\u{7f}\u{2028}\"").as_deref(), Some("\u{7f}\u{2028}"));
        for refused in ["\"\n\"", "\"\u{1f}\"", r#""\x41""#, r#""\u12""#, r#""\u+123""#, r#""\U0041bc""#, "\"a", "'a'"]
        {
            assert!(parse(refused).is_none(), "{refused:?}");
        }
    }

    #[test]
    fn lone_surrogates_stay_different_from_each_other() {
        let (high, low) = (text(r#""\ud800""#).unwrap(), text(r#""\udc00""#).unwrap());
        assert!(high != low && high.chars().count() == 1);
        assert_eq!(text(r#""\ud800\u0041""#).unwrap(), format!("{high}A"));
    }

    #[test]
    fn only_white_space_may_surround_the_value() {
        assert!(parse(" \t\r\n{ \"a\" : [ ] , \"b\" : { } }\n").is_some());
        for refused in
            ["", " ", "{} x", "\u{a0}{}", "\u{feff}{}", "{}{}", "{\"a\":1,}", "[1,]", "{,}", "{a:1}", "{1:1}", "[1"]
        {
            assert!(parse(refused).is_none(), "{refused:?}");
        }
    }

    #[test]
    fn nesting_has_a_limit_and_does_not_exhaust_the_stack() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(DEPTH_MAX)).is_some());
        assert!(parse(&nested(DEPTH_MAX + 1)).is_none());
        assert!(parse(&"{\"a\":".repeat(200_000)).is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "[\\[\\]{}\",:0-9eE.+\\-NaInfituels\\\\ \u{e9}\n]{0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_serde_writes_is_read(texts in proptest::collection::vec(".*", 0..5), number: i64) {
            let written = serde_json::json!({ "texts": texts, "number": number }).to_string();
            let read = parse(&written).and_then(Json::into_object).unwrap();
            let Some(Json::List(list)) = read.get("texts") else { panic!("no list") };
            prop_assert_eq!(list.iter().filter_map(Json::as_str).collect::<Vec<_>>(), texts);
            prop_assert!(matches!(read.get("number"), Some(Json::Int(int)) if *int == Int::from_json(&number.to_string())));
        }
    }
}
