//! Python literals: what a model writes where a framework evaluates it, and how values are printed.

use std::fmt::Write;

use num_bigint::BigInt;

use super::json::Int;
use super::repr::{repr_float, repr_text};
use super::value::{Dict, Value};

/// Deepest nesting of brackets: the interpreter's own limit.
const DEPTH_MAX: usize = 200;
/// Most digits of an integer: the interpreter's own limit.
const DIGITS_MAX: usize = 4300;

/// The value of a literal of dicts, lists, texts, numbers, `True`, `False` and `None`, which may stand in parentheses. `None` for all else, also
/// for what Python would evaluate (tuples, sets, bytes, names, calls, sums) and for texts that it could not print (lone surrogates).
/// Takes time and memory proportional to `text`.
pub fn literal(text: &str) -> Option<Value> {
    // The end of a source for Python, even inside of a text.
    if text.contains('\0') {
        return None;
    }
    let mut reader = Reader { rest: text };
    let value = reader.value(0)?;
    reader.skip_blanks();
    // A comment may follow, as long as the line is.
    let is_over = reader.rest.is_empty() || (reader.rest.starts_with('#') && !reader.rest.contains(['\n', '\r']));
    is_over.then_some(value)
}

/// `repr(value)`.
pub fn repr(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// `str(value)`.
pub fn display(value: &Value) -> String {
    value.as_str().map_or_else(|| repr(value), str::to_owned)
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::None => out.push_str("None"),
        Value::Bool(bool) => out.push_str(if *bool { "True" } else { "False" }),
        Value::Int(int) => out.push_str(int.decimal()),
        Value::Float(float) => out.push_str(&repr_float(*float)),
        Value::Str(text) => out.push_str(&repr_text(text)),
        Value::List(values) => {
            out.push('[');
            for (position, value) in values.iter().enumerate() {
                out.push_str(if position > 0 { ", " } else { "" });
                write(value, out);
            }
            out.push(']');
        }
        Value::Dict(dict) => {
            out.push('{');
            for (position, (key, value)) in dict.iter().enumerate() {
                out.push_str(if position > 0 { ", " } else { "" });
                write(key, out);
                out.push_str(": ");
                write(value, out);
            }
            out.push('}');
        }
        // No literal makes these; they are named, and never looked into.
        other => {
            // Writing to a text cannot fail.
            let _ = write!(out, "<{}>", other.type_name());
        }
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\u{c}']);
    }

    /// Skips blanks and reads `expected`; false, with only the blanks skipped, if another character comes next.
    fn take(&mut self, expected: char) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// A value; `depth` brackets are open.
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.skip_blanks();
        let first = self.rest.chars().next()?;
        match first {
            '{' | '[' | '(' if depth >= DEPTH_MAX => None,
            '{' => self.dict(depth),
            '[' => self.list(depth),
            '(' => {
                self.take('(');
                let value = self.value(depth + 1)?;
                self.take(')').then_some(value)
            }
            '+' | '-' => self.signed(),
            '0'..='9' | '.' => self.number(),
            '\'' | '"' => self.texts(),
            _ if self.rest.get(..2).is_some_and(|start| start.ends_with(['\'', '"'])) => self.texts(),
            _ => self.name(),
        }
    }

    fn dict(&mut self, depth: usize) -> Option<Value> {
        self.take('{');
        let mut dict = Dict::default();
        while !self.take('}') {
            let key = self.value(depth + 1)?;
            if !self.take(':') {
                return None;
            }
            let value = self.value(depth + 1)?;
            if !dict.insert(key, value) {
                return None;
            }
            if !self.take(',') {
                return self.take('}').then_some(Value::Dict(dict));
            }
        }
        Some(Value::Dict(dict))
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.take('[');
        let mut values = Vec::new();
        while !self.take(']') {
            values.push(self.value(depth + 1)?);
            if !self.take(',') {
                return self.take(']').then_some(Value::List(values));
            }
        }
        Some(Value::List(values))
    }

    fn name(&mut self) -> Option<Value> {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        match name {
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "None" => Some(Value::None),
            _ => None,
        }
    }

    fn signed(&mut self) -> Option<Value> {
        let mut negative = false;
        loop {
            if self.take('-') {
                negative = !negative;
            } else if !self.take('+') {
                break;
            }
        }
        let number = self.number()?;
        Some(match number {
            Value::Int(int) if negative && int.decimal() != "0" => {
                Value::Int(Int::from_json(&format!("-{}", int.decimal())))
            }
            Value::Float(float) if negative => Value::Float(-float),
            number => number,
        })
    }

    /// A number without a sign.
    fn number(&mut self) -> Option<Value> {
        let mut end = 0;
        let mut before = ' ';
        let is_hex = self.rest.starts_with("0x") || self.rest.starts_with("0X");
        for c in self.rest.chars() {
            let is_sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !is_hex;
            if !(c.is_ascii_alphanumeric() || c == '_' || c == '.' || is_sign) {
                break;
            }
            before = c;
            end += c.len_utf8();
        }
        let (token, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        number(token)
    }

    /// Texts beside each other, which are one.
    fn texts(&mut self) -> Option<Value> {
        let mut text = String::new();
        let mut is_read = false;
        loop {
            self.skip_blanks();
            let is_raw = match self.rest.chars().next() {
                Some('\'' | '"') => false,
                Some(prefix @ ('r' | 'R' | 'u' | 'U'))
                    if self.rest.get(1..2).is_some_and(|c| c == "'" || c == "\"") =>
                {
                    self.rest = self.rest.get(1..)?;
                    prefix.eq_ignore_ascii_case(&'r')
                }
                _ => return is_read.then_some(Value::Str(text)),
            };
            self.text(is_raw, &mut text)?;
            is_read = true;
        }
    }

    fn text(&mut self, is_raw: bool, out: &mut String) -> Option<()> {
        let quote = self.rest.get(..1)?;
        let triple = quote.repeat(3);
        let end = if self.rest.starts_with(&triple) { triple.as_str() } else { quote };
        self.rest = self.rest.get(end.len()..)?;
        loop {
            if let Some(rest) = self.rest.strip_prefix(end) {
                self.rest = rest;
                return Some(());
            }
            let mut chars = self.rest.chars();
            match chars.next()? {
                '\\' if is_raw => {
                    out.push('\\');
                    out.push(chars.next()?);
                    self.rest = chars.as_str();
                }
                '\\' => {
                    self.rest = chars.as_str();
                    self.escape(out)?;
                }
                // The end of a line for Python, which ends a text only in three quotes; nobody writes it there.
                '\n' | '\r' => return None,
                c => {
                    out.push(c);
                    self.rest = chars.as_str();
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Option<()> {
        let mut chars = self.rest.chars();
        let escaped = chars.next()?;
        self.rest = chars.as_str();
        let code = match escaped {
            '\\' | '\'' | '"' => escaped,
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => self.code(2)?,
            'u' => self.code(4)?,
            'U' => self.code(8)?,
            '0'..='7' => {
                let more = self.rest.bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                let (digits, rest) = self.rest.split_at_checked(more)?;
                self.rest = rest;
                char::from_u32(u32::from_str_radix(&format!("{escaped}{digits}"), 8).ok()?)?
            }
            // A character by its name, and a line that goes on.
            'N' | '\n' | '\r' => return None,
            other => {
                out.push('\\');
                other
            }
        };
        out.push(code);
        Some(())
    }

    fn code(&mut self, digits: usize) -> Option<char> {
        let (code, rest) = self.rest.split_at_checked(digits)?;
        if !code.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.rest = rest;
        char::from_u32(u32::from_str_radix(code, 16).ok()?)
    }
}

/// The number that `token` denotes.
fn number(token: &str) -> Option<Value> {
    let radix = match token.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 10,
    };
    if token.len() > 2 * DIGITS_MAX || token.ends_with('_') || token.contains("__") {
        return None;
    }
    if radix != 10 {
        let digits = token.get(2..)?.replace('_', "");
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            return None;
        }
        let decimal = BigInt::parse_bytes(digits.as_bytes(), radix)?.to_string();
        return (decimal.len() <= DIGITS_MAX).then(|| Value::Int(Int::from_json(&decimal)));
    }
    // An underscore stands between digits.
    let bytes = token.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    for (at, _) in token.match_indices('_') {
        if at == 0 || !is_digit(at - 1) || !is_digit(at + 1) {
            return None;
        }
    }
    let plain = token.replace('_', "");
    if plain.bytes().all(|byte| byte.is_ascii_digit()) {
        let significant = plain.trim_start_matches('0');
        if significant.is_empty() {
            return (!plain.is_empty()).then(|| Value::Int(Int::from(0)));
        }
        // A leading zero is a mistake, unless all are zeros.
        let is_integer = significant.len() == plain.len() && plain.len() <= DIGITS_MAX;
        return is_integer.then(|| Value::Int(Int::from_json(&plain)));
    }
    let mantissa = plain.split(['e', 'E']).next()?;
    let is_float = mantissa.bytes().any(|byte| byte.is_ascii_digit())
        && plain.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !is_float {
        return None;
    }
    plain.parse().ok().map(Value::Float)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<String> {
        literal(text).map(|value| repr(&value))
    }

    #[test]
    fn literals_are_read_as_python_reads_them() {
        for (text, value) in [
            ("{\"response\": 'it\\'s'}", "{'response': \"it's\"}"),
            (
                "{'a': [1, 2.50, -3, 1_000, 0x1F, 1e3, .5, 5.], 'b': {}, }",
                "{'a': [1, 2.5, -3, 1000, 31, 1000.0, 0.5, 5.0], 'b': {}}",
            ),
            ("[True, False, None, [], ]", "[True, False, None, []]"),
            (" ( {'a' : 'b' 'c' \"d\"} ) ", "{'a': 'bcd'}"),
            ("'\\x41\\u00e9\\U0001f600\\101\\q\\0'", "'Aé😀A\\\\q\\x00'"),
            ("r'\\d' u'x' '''a'b'''", "\"\\\\dxa'b\""),
            ("{1: 'a', 1.0: 'b', True: 'c'}", "{1: 'c'}"),
            ("--1", "1"),
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("000", "0"),
            ("1e999", "inf"),
            ("{} # as it is", "{}"),
        ] {
            assert_eq!(read(text).as_deref(), Some(value), "{text}");
        }
    }

    #[test]
    fn all_else_is_no_literal() {
        for text in [
            "",
            "{",
            "}",
            "{'a'}",
            "{'a': 1",
            "[1 2]",
            "[,]",
            "(1, 2)",
            "()",
            "true",
            "null",
            "x",
            "f'x'",
            "#'x'",
            "b'x'",
            "'a",
            "'a\nb'",
            "1 + 1",
            "__import__('os')",
            "{[]: 1}",
            "{'a': 1} x",
            "01",
            "1__0",
            "1_",
            "0x",
            "1j",
            "1.2.3",
            "'\\ud83d'",
            "'\\x4'",
            "'\\N{DOT}'",
            "-True",
            "'''a'",
            "'\0'",
            "1e",
            "e1",
            ".",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn nesting_and_digits_are_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(read(&nested(DEPTH_MAX)).is_some() && read(&nested(DEPTH_MAX + 1)).is_none());
        assert_eq!(read(&"[".repeat(1 << 20)), None);
        assert!(read(&"9".repeat(DIGITS_MAX)).is_some() && read(&"9".repeat(DIGITS_MAX + 1)).is_none());
    }

    #[test]
    fn a_text_displays_as_itself_and_all_else_as_it_is_written() {
        let shown = |text: &str| literal(text).map(|value| display(&value));
        assert_eq!(shown("'it\\'s'").as_deref(), Some("it's"));
        assert_eq!(shown("['a', None]").as_deref(), Some("['a', None]"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(texts in proptest::collection::vec(any::<String>(), 0..4), int in any::<i64>()) {
            let texts: Vec<Value> = texts.into_iter().map(Value::Str).collect();
            let dict: Dict = [(Value::Str("texts".to_owned()), Value::List(texts)), (Value::Int(Int::from(int)), Value::None)].into_iter().collect();
            let value = Value::Dict(dict);
            let again = literal(&repr(&value));
            prop_assert!(again.is_some_and(|again| again.equals(&value)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\](){}'\"\\\\a-zA-Z0-9_.,: +-]{0,40}") {
            let _ = literal(&text);
        }
    }
}
