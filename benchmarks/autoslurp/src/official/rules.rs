//! Differences between the eight scripts (docs/benchmarks/autoslurp.md §5.3).

use regatta_proto::{Evaluator, Script};

use super::evidence::Shape;
use super::log::Dropped;
use super::stat::Words;

/// A script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    /// Name of the script; `None` is `eval/eval.py`.
    pub(super) script: Option<Script>,
    /// Lines of the log that the script does not read.
    pub(super) dropped: Dropped,
    /// Pattern by which it finds the predicted intent.
    pub(super) shape: Shape,
    /// True if an external prediction for a local item is wrong at once.
    pub(super) classes_must_agree: bool,
    /// Tokens of which one must be in the log of an external item that was predicted as external; `None` for most scripts.
    pub(super) external_tokens: Option<&'static [&'static str]>,
    /// Tokens of which one must be in a log without a predicted intent.
    pub(super) fallback_tokens: &'static [&'static str],
    /// True if the last answer of a server is judged, up to its last brace; false if the first, up to the end of its line.
    pub(super) last_response: bool,
    /// Line that is printed where no server answered.
    pub(super) no_response: &'static str,
    /// Line that is printed where there is neither an intent nor an answer.
    pub(super) no_evidence: &'static str,
    /// Line that is printed where the classes of intents differ.
    pub(super) other_class: &'static str,
    /// `true` if the row of the data set is looked at for judges alone, so that a missing one ends the run after what was printed before.
    pub(super) row_is_read_late: bool,
    /// True if the final judge of a local item is asked again when asking it fails.
    pub(super) local_is_retried: bool,
    /// Characters of the log that the final judge of an external item is given when it is asked again.
    pub(super) external_tail_chars: usize,
    /// True if that judge is then told the date.
    pub(super) retry_tells_date: bool,
    /// Words that the script's `stat.py` searches for.
    pub(super) words: Words,
    /// True if the script's `stat.py` takes the first separator for the end of an item, one without a verdict.
    pub(super) first_separator_is_an_error: bool,
}

/// Characters of the log that the final judge is given when it is asked again.
pub(super) const TAIL_CHARS: usize = 16_000;

const ANSWERS: &[&str] = &["\"results\"", "\"data\"", "\"success\""];
const ANSWERS_AND_PLACES: &[&str] = &["\"results\"", "\"data\"", "\"success\"", "\"latitude\""];
const ANSWERS_AND_CHAT: &[&str] = &["\"results\"", "\"data\"", "\"success\"", "\"amount\"", "general_quirky"];

impl Rules {
    /// Rules of a script.
    pub(super) const fn of(script: Option<Script>) -> Self {
        let official = Self {
            script,
            dropped: Dropped::Nothing,
            shape: Shape::Url,
            classes_must_agree: true,
            external_tokens: None,
            fallback_tokens: ANSWERS,
            last_response: false,
            no_response: "the result is wrong",
            no_evidence: "the result is wrong. no server response.",
            other_class: "the result is wrong. intent error.",
            row_is_read_late: false,
            local_is_retried: true,
            external_tail_chars: TAIL_CHARS,
            retry_tells_date: false,
            words: Words::Plain,
            first_separator_is_an_error: true,
        };
        let deepseek = Self {
            no_response: "the result is <Wrong>",
            no_evidence: "the result is <Wrong>. no server response.",
            other_class: "the result is <Wrong>. intent error.",
            words: Words::Bracketed,
            ..official
        };
        match script {
            None => Self {
                fallback_tokens: ANSWERS_AND_CHAT,
                no_response: "the result is wrong, no server response",
                ..official
            },
            Some(Script::Langgraph) => {
                Self { dropped: Dropped::Packages, shape: Shape::LastWord, external_tokens: Some(ANSWERS), ..official }
            }
            Some(Script::Agentlite) => Self { dropped: Dropped::Packages, shape: Shape::WordAtEnd, ..official },
            Some(Script::Camelai) => Self {
                dropped: Dropped::LibraryLines,
                shape: Shape::WordBeforeEscape,
                classes_must_agree: false,
                row_is_read_late: true,
                local_is_retried: false,
                ..official
            },
            Some(Script::LanggraphDeepseek) => Self {
                dropped: Dropped::Packages,
                shape: Shape::LastField,
                external_tokens: Some(ANSWERS_AND_PLACES),
                first_separator_is_an_error: false,
                ..deepseek
            },
            Some(Script::AgentliteDeepseek) => Self {
                dropped: Dropped::Packages,
                shape: Shape::WordAtEnd,
                first_separator_is_an_error: false,
                ..deepseek
            },
            Some(Script::CamelaiDeepseek) => Self {
                dropped: Dropped::LibraryLines,
                shape: Shape::Word,
                classes_must_agree: false,
                row_is_read_late: true,
                last_response: true,
                local_is_retried: false,
                ..deepseek
            },
            Some(Script::AutogenDeepseek) => Self {
                shape: Shape::WordOfLine,
                fallback_tokens: ANSWERS_AND_CHAT,
                no_response: "the result is <Wrong>, no server response",
                external_tail_chars: 2 * TAIL_CHARS,
                retry_tells_date: true,
                ..deepseek
            },
        }
    }

    /// The evaluator that follows it.
    pub(super) fn evaluator(&self) -> Evaluator {
        self.script.map_or(Evaluator::Official, Evaluator::OfficialOf)
    }
}
