//! Texts that people write: bounded, and without characters that act on a reader's screen.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest name of a person, in characters.
const NAME_CHARS_MAX: usize = 64;
/// Longest note, in characters.
pub(crate) const NOTE_CHARS_MAX: usize = 4_000;

/// A text that is no name or no note.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing but white space.
    #[error("{kind} is empty")]
    Empty {
        /// Kind of the text, with its article.
        kind: &'static str,
    },
    /// Too many characters.
    #[error("{kind} has {length} characters, at most {max} are allowed")]
    TooLong {
        /// Kind of the text.
        kind: &'static str,
        /// Length in characters.
        length: usize,
        /// Greatest length.
        max: usize,
    },
    /// A control character other than those that the kind may have.
    #[error("{kind} has the control character {found:?}; only {allowed} allowed")]
    Control {
        /// Kind of the text.
        kind: &'static str,
        /// The character.
        found: char,
        /// Characters that are allowed, with a verb.
        allowed: &'static str,
    },
}

/// Name of a person who annotates.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Annotator(String);

/// A note: at least one character that is no white space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Note(String);

impl Annotator {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Note {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Annotator {
    type Error = TextError;

    fn try_from(text: String) -> Result<Self, TextError> {
        const KIND: &str = "a person's name";
        let control = text.chars().find(|c| c.is_control());
        checked(text.trim(), KIND, NAME_CHARS_MAX, control, "printable characters are").map(Self)
    }
}

impl FromStr for Annotator {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for Note {
    type Error = TextError;

    /// Forms send a line's end as two characters.
    fn try_from(text: String) -> Result<Self, TextError> {
        let text = text.replace("\r\n", "\n");
        let control = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
        checked(text.trim(), "a note", NOTE_CHARS_MAX, control, "ends of lines and tabs are").map(Self)
    }
}

impl From<Annotator> for String {
    fn from(name: Annotator) -> Self {
        name.0
    }
}

impl From<Note> for String {
    fn from(note: Note) -> Self {
        note.0
    }
}

fn checked(
    text: &str,
    kind: &'static str,
    max: usize,
    control: Option<char>,
    allowed: &'static str,
) -> Result<String, TextError> {
    let length = text.chars().count();
    match control {
        Some(found) => Err(TextError::Control { kind, found, allowed }),
        None if text.is_empty() => Err(TextError::Empty { kind }),
        None if length > max => Err(TextError::TooLong { kind, length, max }),
        None => Ok(text.to_owned()),
    }
}
