//! Instructions that can be checked without a judge, in the manner of IFEval.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::answer::PlainPattern;

#[expect(clippy::expect_used, reason = "a constant that every test compiles")]
static HIGHLIGHT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\*\*[^*\n]+\*\*|\*[^*\n]+\*").expect("it is well-formed"));

/// Instructions of one item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Constraints(Vec<Constraint>);

/// One instruction, as `{"words_min": 30}`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Constraint {
    /// At least this many words.
    WordsMin(usize),
    /// At most this many words.
    WordsMax(usize),
    /// At least this many sentences.
    SentencesMin(usize),
    /// At most this many sentences.
    SentencesMax(usize),
    /// So many paragraphs, with empty lines between them.
    Paragraphs(usize),
    /// So many lines that begin with `*`, `-` or a bullet.
    Bullets(usize),
    /// At least this many pieces in `*stars*`.
    HighlightsMin(usize),
    /// At least this many `[placeholders]`.
    PlaceholdersMin(usize),
    /// The words are there, in whatever case.
    Contains(Words),
    /// None of the words is there.
    Lacks(Words),
    /// A word is there at least so often.
    Repeats {
        /// The word.
        word: String,
        /// Number of times.
        times: usize,
    },
    /// A pattern matches somewhere.
    Matches(PlainPattern),
    /// The answer begins so.
    StartsWith(String),
    /// The answer ends so, a closing quote aside.
    EndsWith(String),
    /// All letters are of this case.
    Case(Case),
    /// There is no comma.
    NoCommas(Yes),
    /// It is a JSON value, in a fence or bare.
    Json(Yes),
    /// It has a title in `<<double angle brackets>>`.
    Title(Yes),
    /// All of it stands in double quotes.
    Quoted(Yes),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Case {
    Lower,
    Upper,
}

/// One text or several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

impl Words {
    fn all(&self) -> &[String] {
        match self {
            Self::One(word) => std::slice::from_ref(word),
            Self::Several(words) => words,
        }
    }
}

/// Always `true`: what is not asked for is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Yes;

impl<'de> Deserialize<'de> for Yes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said = bool::deserialize(deserializer)?;
        if said { Ok(Self) } else { Err(serde::de::Error::custom("must be true; leave out what is not asked for")) }
    }
}

impl Constraints {
    /// Reads the list in a column.
    ///
    /// # Errors
    /// With the instruction that is unknown or malformed.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let list =
            value.as_array().filter(|list| !list.is_empty()).ok_or("must be a list of instructions, at least one")?;
        let read = |one: &Value| Constraint::deserialize(one).map_err(|error| format!("{one}: {error}"));
        list.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Number of constraints that `answer` keeps.
    pub(super) fn kept(&self, answer: &str) -> usize {
        self.0.iter().filter(|constraint| constraint.is_kept(answer.trim())).count()
    }
}

impl Constraint {
    fn is_kept(&self, answer: &str) -> bool {
        let lower = || answer.to_lowercase();
        match self {
            Self::WordsMin(least) => words(answer).count() >= *least,
            Self::WordsMax(most) => words(answer).count() <= *most,
            Self::SentencesMin(least) => sentences(answer) >= *least,
            Self::SentencesMax(most) => sentences(answer) <= *most,
            Self::Paragraphs(count) => paragraphs(answer) == *count,
            Self::Bullets(count) => answer.lines().filter(|line| is_bullet(line)).count() == *count,
            Self::HighlightsMin(least) => highlights(answer) >= *least,
            Self::PlaceholdersMin(least) => between(answer, '[', ']') >= *least,
            Self::Contains(wanted) => wanted.all().iter().all(|word| lower().contains(&word.to_lowercase())),
            Self::Lacks(unwanted) => !unwanted.all().iter().any(|word| has_word(answer, word)),
            Self::Repeats { word, times } => lower().matches(&word.to_lowercase()).count() >= *times,
            Self::Matches(pattern) => pattern.0.is_match(answer),
            Self::StartsWith(beginning) => answer.starts_with(beginning.as_str()),
            Self::EndsWith(ending) => answer.trim_end_matches('"').trim_end().ends_with(ending.trim()),
            Self::Case(Case::Lower) => has_letters(answer) && !answer.chars().any(char::is_uppercase),
            Self::Case(Case::Upper) => has_letters(answer) && !answer.chars().any(char::is_lowercase),
            Self::NoCommas(Yes) => !answer.contains(','),
            Self::Json(Yes) => is_json(answer),
            Self::Title(Yes) => has_title(answer),
            Self::Quoted(Yes) => answer.len() > 1 && answer.starts_with('"') && answer.ends_with('"'),
        }
    }
}

/// Runs of letters, digits and underscores.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Texts that end in `.`, `!` or `?` before a space or the end; what is left over is one too.
fn sentences(text: &str) -> usize {
    let mut count = 0;
    let mut open = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        open |= c.is_alphanumeric();
        let ends = matches!(c, '.' | '!' | '?') && chars.peek().is_none_or(|next| next.is_whitespace());
        if ends && open {
            count += 1;
            open = false;
        }
    }
    count + usize::from(open)
}

fn paragraphs(text: &str) -> usize {
    let mut count = 0;
    let mut open = false;
    for line in text.lines() {
        let is_empty = line.trim().is_empty();
        count += usize::from(!is_empty && !open);
        open = !is_empty;
    }
    count
}

fn is_bullet(line: &str) -> bool {
    let line = line.trim_start();
    ["* ", "- ", "• "].iter().any(|mark| line.starts_with(mark))
}

/// Pieces between single or double stars, with something between them.
fn highlights(text: &str) -> usize {
    HIGHLIGHT.find_iter(text).filter(|piece| !piece.as_str().trim_matches('*').trim().is_empty()).count()
}

fn between(text: &str, open: char, close: char) -> usize {
    let rest = text.split(open).skip(1);
    rest.filter(|piece| piece.split_once(close).is_some_and(|(inside, _)| !inside.trim().is_empty())).count()
}

fn has_word(text: &str, word: &str) -> bool {
    let wanted: Vec<String> = words(word).map(str::to_lowercase).collect();
    let present: Vec<String> = words(text).map(str::to_lowercase).collect();
    !wanted.is_empty() && present.windows(wanted.len()).any(|window| window == wanted)
}

fn has_letters(text: &str) -> bool {
    text.chars().any(char::is_alphabetic)
}

fn is_json(text: &str) -> bool {
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inside = inside.map(|rest| rest.split_once('\n').map_or(rest, |(_, body)| body));
    serde_json::from_str::<serde::de::IgnoredAny>(inside.unwrap_or(text).trim()).is_ok()
}

fn has_title(text: &str) -> bool {
    let inside = text.split_once("<<").and_then(|(_, rest)| rest.split_once(">>"));
    inside.is_some_and(|(title, _)| !title.trim().is_empty() && !title.contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(constraint: &str, answer: &str) -> bool {
        let list = serde_json::from_str(&format!("[{constraint}]")).unwrap();
        Constraints::read(&list).unwrap().kept(answer) == 1
    }

    #[test]
    fn an_instruction_is_kept_by_one_answer_and_not_by_another() {
        let cases = [
            (r#"{"words_min": 3}"#, "one, two three", "one two"),
            (r#"{"words_max": 2}"#, "one two", "one two three"),
            (r#"{"sentences_min": 2}"#, "It is 3.5 m. Yes!", "It is 3.5 m"),
            (r#"{"sentences_max": 1}"#, "It is 3.5 m", "Yes. No."),
            (r#"{"paragraphs": 2}"#, "a\nb\n\nc", "a\nb"),
            (r#"{"bullets": 2}"#, "* a\n- b", "* a\n*b*"),
            (r#"{"highlights_min": 2}"#, "*a* and **b**", "*a* and b"),
            (r#"{"placeholders_min": 1}"#, "Dear [name]", "Dear []"),
            (r#"{"contains": ["tea", "Milk"]}"#, "Tea with milk", "tea"),
            (r#"{"lacks": "tea"}"#, "a steam engine", "Tea!"),
            (r#"{"repeats": {"word": "tea", "times": 2}}"#, "tea and Tea", "tea"),
            (r#"{"matches": "^\\d+$"}"#, "12", "12a"),
            (r#"{"starts_with": "Dear"}"#, "Dear A", "A"),
            (r#"{"ends_with": "Bye."}"#, "\"So: Bye.\"", "Bye"),
            (r#"{"case": "lower"}"#, "no capitals", "No"),
            (r#"{"case": "upper"}"#, "ALL 3", "12"),
            (r#"{"no_commas": true}"#, "a b", "a, b"),
            (r#"{"json": true}"#, "```json\n{\"a\": 1}\n```", "{a: 1}"),
            (r#"{"title": true}"#, "<<A day>>\nIt", "<< >>"),
            (r#"{"quoted": true}"#, "\"a\"", "\""),
        ];
        for (constraint, kept, broken) in cases {
            assert!(keeps(constraint, kept), "{constraint} is kept by {kept:?}");
            assert!(!keeps(constraint, broken), "{constraint} is broken by {broken:?}");
        }
    }

    #[test]
    fn an_instruction_that_is_unknown_or_malformed_is_named() {
        let refused = |text: &str| Constraints::read(&serde_json::from_str(text).unwrap()).unwrap_err();
        let said =
            [r#"[{"word_min": 3}]"#, r#"[{"words_min": "3"}]"#, "[]", r#"[{"json": false}]"#, r#"[{"matches": "("}]"#];
        insta::assert_snapshot!(said.map(refused).join("\n"));
    }
}
