//! Reading an answer out of a reply: steps, each of which takes what the one before it found. A step that finds nothing makes the reply
//! unreadable, which is another thing than a wrong answer.

mod choice;
mod code;
mod json;
mod number;
mod pattern;
mod repair;

use serde::Deserialize;
use serde_json::Value;

pub(crate) use self::choice::Letters;
pub(crate) use self::code::Language;
pub(crate) use self::json::Pointer;
pub(crate) use self::number::read_number;
pub(crate) use self::pattern::{Pattern, PlainPattern};
pub(crate) use self::repair::find_json;

/// Longest reply that is read, in bytes; of a longer one its end.
const REPLY_BYTES_MAX: usize = 1 << 20;

/// One step from a reply to its answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// The match of a pattern.
    Regex(Pattern),
    /// A number.
    Number(Take),
    /// One of some letters.
    Choice(Letters),
    /// A fenced block of code.
    Code(Language),
    /// A value in JSON that the text holds, repaired where that is clear.
    Json(Pointer),
    /// The first of several ways that finds something.
    AnyOf(Vec<Vec<Step>>),
}

/// Match that counts where a text has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Take {
    /// The first.
    First,
    /// The last, because models reason before they answer.
    #[default]
    Last,
}

impl Take {
    fn of<T>(self, mut finds: impl Iterator<Item = T>) -> Option<T> {
        match self {
            Self::First => finds.next(),
            Self::Last => finds.last(),
        }
    }
}

/// An answer as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// A text.
    Text(String),
    /// A value that was written as JSON.
    Json(Value),
}

impl Answer {
    /// The text, without spaces around; JSON as it is written, but a text of it without its quotes.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) | Self::Json(Value::String(text)) => text.trim().to_owned(),
            Self::Json(value) => value.to_string(),
        }
    }

    /// The JSON value; of a text the one that it holds.
    pub(crate) fn json(&self) -> Option<Value> {
        match self {
            Self::Json(value) => Some(value.clone()),
            Self::Text(text) => find_json(text),
        }
    }
}

/// The answer that `steps` find in a reply.
pub(crate) fn read(steps: &[Step], reply: &str) -> Option<Answer> {
    follow(steps, Answer::Text(end_of(reply).to_owned()))
}

fn follow(steps: &[Step], from: Answer) -> Option<Answer> {
    steps.iter().try_fold(from, |so_far, step| step.apply(so_far))
}

impl Step {
    fn apply(&self, from: Answer) -> Option<Answer> {
        match self {
            Self::Regex(pattern) => pattern.find(&from.text()).map(Answer::Text),
            Self::Number(take) => number::find(&from.text(), *take).map(Answer::Text),
            Self::Choice(letters) => letters.find(&from.text()).map(|letter| Answer::Text(letter.to_string())),
            Self::Code(language) => language.find(&from.text()).map(Answer::Text),
            Self::Json(pointer) => pointer.find(&from.json()?).map(Answer::Json),
            Self::AnyOf(ways) => ways.iter().find_map(|way| follow(way, from.clone())),
        }
    }
}

fn end_of(reply: &str) -> &str {
    let mut from = reply.len().saturating_sub(REPLY_BYTES_MAX);
    while !reply.is_char_boundary(from) {
        from += 1;
    }
    &reply[from..]
}

#[cfg(test)]
mod tests;
