//! JSON as models write it: in prose or in a fence, with single quotes, trailing commas, comments, Python's words, or without its last
//! brackets. What is not clear is not read: a text that is cut off, or a name that is no value.

use serde_json::{Map, Number, Value};

/// Deepest nesting that is read.
const DEPTH_MAX: usize = 64;
/// Beginnings of a value that are tried.
const TRIES_MAX: usize = 64;

/// The value that `text` is; or else the first object or list that it holds.
pub(crate) fn find_json(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let starts = || text.match_indices(['{', '[']).map(|(at, _)| at).take(TRIES_MAX);
    let strict = |at: usize| serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok();
    let first = starts().next()?;
    // The first that is good as it is; a repaired one only where it begins earlier.
    let repaired = Reader { text, at: first }.value(0);
    strict(first)
        .or(repaired)
        .or_else(|| starts().skip(1).find_map(strict))
        .or_else(|| starts().skip(1).find_map(|at| Reader { text, at }.value(0)))
}

/// A reader that forgives.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.at += wanted.len_utf8();
        }
        is_there
    }

    fn skip_spaces_and_comments(&mut self) {
        loop {
            while self.peek().is_some_and(char::is_whitespace) {
                self.next();
            }
            let rest = &self.text[self.at..];
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += length;
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.skip_spaces_and_comments();
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.list(depth),
            '"' | '\'' => self.text().map(Value::String),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.next();
        let mut fields = Map::new();
        loop {
            self.skip_spaces_and_comments();
            if self.peek().is_none() || self.take('}') {
                return Some(Value::Object(fields));
            }
            let name = match self.peek()? {
                '"' | '\'' => self.text()?,
                _ => self.bare(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))?.to_owned(),
            };
            self.skip_spaces_and_comments();
            if !self.take(':') {
                return None;
            }
            let value = self.value(depth + 1)?;
            fields.insert(name, value);
            self.comma('}')?;
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.next();
        let mut values = Vec::new();
        loop {
            self.skip_spaces_and_comments();
            if self.peek().is_none() || self.take(']') {
                return Some(Value::Array(values));
            }
            values.push(self.value(depth + 1)?);
            self.comma(']')?;
        }
    }

    /// A comma; or else the end, which is not taken.
    fn comma(&mut self, end: char) -> Option<()> {
        self.skip_spaces_and_comments();
        (self.take(',') || self.peek().is_none_or(|c| c == end)).then_some(())
    }

    /// A text in the quotes that it begins with. Line breaks in it stand for themselves.
    fn text(&mut self) -> Option<String> {
        let quote = self.next()?;
        let mut text = String::new();
        loop {
            match self.next()? {
                c if c == quote => return Some(text),
                '\\' => text.push(self.escaped()?),
                c => text.push(c),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        Some(match self.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let first = self.hex()?;
                if (0xD800..0xDC00).contains(&first) && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    let second = self.hex()?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                    char::from_u32(0x10000 + ((first - 0xD800) << 10) + second)?
                } else {
                    char::from_u32(first)?
                }
            }
            c => c,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    fn bare(&mut self, is_part: impl Fn(char) -> bool) -> Option<&str> {
        let from = self.at;
        while self.peek().is_some_and(&is_part) {
            self.next();
        }
        (self.at > from).then(|| &self.text[from..self.at])
    }

    fn word(&mut self) -> Option<Value> {
        let word = self.bare(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.'))?;
        match word {
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            "null" | "None" => Some(Value::Null),
            number if number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) => {
                let number = number.trim_start_matches('+');
                let exact = serde_json::from_str::<Number>(number).ok();
                exact.or_else(|| Number::from_f64(number.parse().ok()?)).map(Value::Number)
            }
            _ => None,
        }
    }
}

/// The value that `text` begins with, read by the forgiving reader alone.
#[cfg(test)]
pub(super) fn read_forgiving(text: &str) -> Option<Value> {
    Reader { text, at: 0 }.value(0)
}
