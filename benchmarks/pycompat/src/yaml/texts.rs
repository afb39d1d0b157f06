//! Scalars: plain ones, quoted ones and blocks of lines.

use super::YamlError;
use super::reader::{is_blank_or_end, is_break, is_space_or_end};
use super::scanner::Scanner;

/// Offset of the characters that stand for the code points U+D800 to U+DFFF, which Python's texts may hold and Rust's may not; as in the
/// JSON reader.
const SURROGATE_HOME: u32 = 0x10_0000;

/// Treatment of a block's last end of line and of the empty lines after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chomping {
    /// `-`: all go.
    Strip,
    /// The end of the last line stays.
    Clip,
    /// `+`: all stay.
    Keep,
}

impl Scanner {
    /// A scalar without quotes, over any number of lines.
    pub(super) fn plain(&mut self) -> Result<String, YamlError> {
        let mut text = String::new();
        let indent = self.indent + 1;
        // What stands between the last word and the next, if one comes.
        let mut between = String::new();
        while self.reader.next() != '#' {
            let length = self.plain_length();
            if length == 0 {
                break;
            }
            self.simple_key_allowed = false;
            text.push_str(&between);
            text.push_str(&self.reader.take(length));
            between = self.plain_spaces();
            if between.is_empty() || (self.flow_level == 0 && self.column() < indent) {
                break;
            }
        }
        Ok(text)
    }

    /// Number of characters of a plain scalar that come next without a blank.
    fn plain_length(&self) -> usize {
        let in_flow = self.flow_level != 0;
        let mut length = 0;
        loop {
            let (c, next) = (self.reader.ahead(length), self.reader.ahead(length + 1));
            let ends = match c {
                ':' => is_blank_or_end(next) || (in_flow && matches!(next, ',' | '[' | ']' | '{' | '}')),
                ',' | '?' | '[' | ']' | '{' | '}' => in_flow,
                _ => is_blank_or_end(c),
            };
            if ends {
                return length;
            }
            length += 1;
        }
    }

    /// The blanks behind a word, folded; empty if there are none or a document begins or ends.
    fn plain_spaces(&mut self) -> String {
        let count = self.reader.count(|c| c == ' ');
        let spaces = self.reader.take(count);
        let Some(first) = self.reader.take_break() else { return spaces };
        self.simple_key_allowed = true;
        if self.reader.at_document_mark() {
            return String::new();
        }
        let mut more = String::new();
        while self.reader.next() == ' ' || is_break(self.reader.next()) {
            if let Some(line_break) = self.reader.take_break() {
                more.push(line_break);
                if self.reader.at_document_mark() {
                    return String::new();
                }
            } else {
                self.reader.advance(1);
            }
        }
        folded(Some(first), &more)
    }

    /// A scalar in single or double quotes.
    pub(super) fn quoted(&mut self, double: bool) -> Result<String, YamlError> {
        let quote = if double { '"' } else { '\'' };
        let mut text = String::new();
        self.reader.advance(1);
        self.quoted_word(double, &mut text)?;
        while self.reader.next() != quote {
            self.quoted_spaces(&mut text)?;
            self.quoted_word(double, &mut text)?;
        }
        self.reader.advance(1);
        Ok(text)
    }

    fn quoted_word(&mut self, double: bool, text: &mut String) -> Result<(), YamlError> {
        loop {
            let plain = self.reader.count(|c| !is_blank_or_end(c) && !matches!(c, '\'' | '"' | '\\'));
            text.push_str(&self.reader.take(plain));
            match (double, self.reader.next()) {
                (false, '\'') if self.reader.ahead(1) == '\'' => {
                    text.push('\'');
                    self.reader.advance(2);
                }
                (true, '\'') | (false, '"' | '\\') => text.push_str(&self.reader.take(1)),
                (true, '\\') => self.escape(text)?,
                _ => return Ok(()),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), YamlError> {
        self.reader.advance(1);
        let letter = self.reader.next();
        let digits = match letter {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            c if is_break(c) => {
                self.reader.take_break();
                text.push_str(&self.quoted_breaks()?);
                return Ok(());
            }
            _ => {
                let Some(c) = escaped(letter) else { return self.error("an unknown escape") };
                text.push(c);
                self.reader.advance(1);
                return Ok(());
            }
        };
        self.reader.advance(1);
        let mut code: u32 = 0;
        for ahead in 0..digits {
            let Some(digit) = self.reader.ahead(ahead).to_digit(16) else {
                return self.error("too few hexadecimal digits in an escape");
            };
            code = code << 4 | digit;
        }
        self.reader.advance(digits);
        let home = if (0xd800..0xe000).contains(&code) { SURROGATE_HOME + code } else { code };
        // Python's `chr` names the two kinds of too large a number differently.
        let kind = if i32::try_from(code).is_ok() { "ValueError" } else { "OverflowError" };
        text.push(char::from_u32(home).ok_or(YamlError::Exception { kind })?);
        Ok(())
    }

    fn quoted_spaces(&mut self, text: &mut String) -> Result<(), YamlError> {
        let count = self.reader.count(|c| matches!(c, ' ' | '\t'));
        let spaces = self.reader.take(count);
        if self.reader.next() == '\0' {
            return self.error("the text ends inside quotes");
        }
        match self.reader.take_break() {
            Some(first) => {
                let more = self.quoted_breaks()?;
                text.push_str(&folded(Some(first), &more));
            }
            None => text.push_str(&spaces),
        }
        Ok(())
    }

    fn quoted_breaks(&mut self) -> Result<String, YamlError> {
        let mut breaks = String::new();
        loop {
            if self.reader.at_document_mark() {
                return self.error("a document ends inside quotes");
            }
            let blanks = self.reader.count(|c| matches!(c, ' ' | '\t'));
            self.reader.advance(blanks);
            let Some(line_break) = self.reader.take_break() else { return Ok(breaks) };
            breaks.push(line_break);
        }
    }

    /// A block of lines, after `|` or `>`.
    pub(super) fn block(&mut self, folds: bool) -> Result<String, YamlError> {
        self.reader.advance(1);
        let (chomping, increment) = self.block_header()?;
        self.rest_of_line()?;
        let least = (self.indent + 1).max(1);
        let (indent, mut breaks) = if let Some(increment) = increment {
            let indent = least + increment - 1;
            (indent, self.block_breaks(indent))
        } else {
            let (breaks, deepest) = self.block_indentation();
            (least.max(deepest), breaks)
        };
        let mut text = String::new();
        let mut last = None;
        while self.column() == indent && self.reader.next() != '\0' {
            text.push_str(&breaks);
            let flush = !matches!(self.reader.next(), ' ' | '\t');
            let length = self.reader.count(|c| !is_break(c));
            text.push_str(&self.reader.take(length));
            last = self.reader.take_break();
            breaks = self.block_breaks(indent);
            if self.column() != indent || self.reader.next() == '\0' {
                break;
            }
            if folds && last == Some('\n') && flush && !matches!(self.reader.next(), ' ' | '\t') {
                if breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.extend(last);
            }
        }
        if chomping != Chomping::Strip {
            text.extend(last);
        }
        if chomping == Chomping::Keep {
            text.push_str(&breaks);
        }
        Ok(text)
    }

    /// Chomping and indentation in either order.
    fn block_header(&mut self) -> Result<(Chomping, Option<i64>), YamlError> {
        let mut chomping = self.chomping();
        let increment = match self.reader.next() {
            '0' => return self.error("a block's indentation of 0"),
            c => c.to_digit(10).map(i64::from),
        };
        if increment.is_some() {
            self.reader.advance(1);
            chomping = chomping.or_else(|| self.chomping());
        }
        if !is_space_or_end(self.reader.next()) {
            return self.error("a block's first line has more than its indicators");
        }
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    fn chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.reader.next() {
            '+' => Chomping::Keep,
            '-' => Chomping::Strip,
            _ => return None,
        };
        self.reader.advance(1);
        Some(chomping)
    }

    /// The empty lines before a block's first, and the deepest column that spaces reach in them and in it.
    fn block_indentation(&mut self) -> (String, i64) {
        let (mut breaks, mut deepest) = (String::new(), 0);
        while self.reader.next() == ' ' || is_break(self.reader.next()) {
            if let Some(line_break) = self.reader.take_break() {
                breaks.push(line_break);
            } else {
                self.reader.advance(1);
                deepest = deepest.max(self.column());
            }
        }
        (breaks, deepest)
    }

    /// The empty lines before a block's next one, whose indentation is passed.
    fn block_breaks(&mut self, indent: i64) -> String {
        let mut breaks = String::new();
        loop {
            while self.column() < indent && self.reader.next() == ' ' {
                self.reader.advance(1);
            }
            let Some(line_break) = self.reader.take_break() else { return breaks };
            breaks.push(line_break);
        }
    }
}

/// One end of line becomes a space; of more, all but the first stay. A separator always stays.
fn folded(first: Option<char>, more: &str) -> String {
    match first {
        Some('\n') if more.is_empty() => " ".to_owned(),
        Some('\n') => more.to_owned(),
        first => first.into_iter().chain(more.chars()).collect(),
    }
}

/// Character that a backslash and `letter` stand for; `None` if they stand for none.
const fn escaped(letter: char) -> Option<char> {
    Some(match letter {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        ' ' | '"' | '\\' | '/' => letter,
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        _ => return None,
    })
}
