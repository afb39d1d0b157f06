//! The characters of a text, one after the other, with the place of the next one.

use super::super::character::is_surrogate;
use super::{CHARACTERS_MAX, YamlError};

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of characters before it.
    pub(super) index: usize,
    /// Line, from 0.
    pub(super) line: usize,
    /// Column from 0, in characters; byte order marks do not count.
    pub(super) column: usize,
}

impl Place {
    /// An error here.
    pub(super) const fn error(self, problem: &'static str) -> YamlError {
        YamlError::Yaml { line: self.line + 1, column: self.column + 1, problem }
    }
}

/// A text being read. Its end reads as `'\0'`, which cannot occur in it.
#[derive(Debug)]
pub(super) struct Reader {
    characters: Vec<char>,
    place: Place,
}

impl Reader {
    /// A reader of the text, if it has none but printable characters.
    pub(super) fn new(text: &str) -> Result<Self, YamlError> {
        let mut reader = Self { characters: Vec::new(), place: Place { index: 0, line: 0, column: 0 } };
        if text.chars().count() > CHARACTERS_MAX {
            return Err(YamlError::TooLarge);
        }
        reader.characters = text.chars().collect();
        if let Some(bad) = reader.characters.iter().position(|&c| !is_printable(c)) {
            reader.advance(bad);
            return Err(reader.place.error("a character that may not occur"));
        }
        Ok(reader)
    }

    /// Position of the next character.
    pub(super) const fn place(&self) -> Place {
        self.place
    }

    /// The next character.
    pub(super) fn next(&self) -> char {
        self.ahead(0)
    }

    /// The character after so many others.
    pub(super) fn ahead(&self, count: usize) -> char {
        self.characters.get(self.place.index + count).copied().unwrap_or('\0')
    }

    /// Passes so many characters.
    pub(super) fn advance(&mut self, count: usize) {
        for _ in 0..count {
            let c = self.next();
            self.place.index += 1;
            if is_break(c) && !(c == '\r' && self.next() == '\n') {
                self.place.line += 1;
                self.place.column = 0;
            } else if c != '\u{feff}' {
                self.place.column += 1;
            }
        }
    }

    /// Passes all spaces.
    pub(super) fn skip_spaces(&mut self) {
        while self.next() == ' ' {
            self.advance(1);
        }
    }

    /// Passes the rest of the line, without its end.
    pub(super) fn skip_line(&mut self) {
        while !is_break_or_end(self.next()) {
            self.advance(1);
        }
    }

    /// Number of characters before the next one that is not `wanted`.
    pub(super) fn count(&self, mut wanted: impl FnMut(char) -> bool) -> usize {
        let mut count = 0;
        while self.ahead(count) != '\0' && wanted(self.ahead(count)) {
            count += 1;
        }
        count
    }

    /// Takes so many characters.
    pub(super) fn take(&mut self, count: usize) -> String {
        let end = (self.place.index + count).min(self.characters.len());
        let taken = self.characters.get(self.place.index..end).unwrap_or_default().iter().collect();
        self.advance(count);
        taken
    }

    /// Takes the end of a line: `\n` for any of the usual ones, the separators U+2028 and U+2029 as they are.
    pub(super) fn take_break(&mut self) -> Option<char> {
        let c = self.next();
        if !is_break(c) {
            return None;
        }
        self.advance(if c == '\r' && self.ahead(1) == '\n' { 2 } else { 1 });
        Some(if matches!(c, '\u{2028}' | '\u{2029}') { c } else { '\n' })
    }

    /// True if `---` or `...` comes next, as a word of its own.
    pub(super) fn at_document_mark(&self) -> bool {
        self.at_mark('-') || self.at_mark('.')
    }

    /// True if this character comes next three times, as a word of its own.
    pub(super) fn at_mark(&self, c: char) -> bool {
        (0..3).all(|ahead| self.ahead(ahead) == c) && is_blank_or_end(self.ahead(3))
    }
}

/// True if the character may occur in a text.
fn is_printable(c: char) -> bool {
    !is_surrogate(c) && matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}

/// The end of a line.
pub(super) const fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The end of a line or of the text.
pub(super) const fn is_break_or_end(c: char) -> bool {
    is_break(c) || c == '\0'
}

/// A space, or the end of a line or of the text.
pub(super) const fn is_space_or_end(c: char) -> bool {
    is_break_or_end(c) || c == ' '
}

/// A space, a tab, or the end of a line or of the text.
pub(super) const fn is_blank_or_end(c: char) -> bool {
    is_space_or_end(c) || c == '\t'
}

/// True if the character may occur in a name.
pub(super) const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}
