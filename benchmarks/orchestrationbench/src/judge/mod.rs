//! The judge of arguments: its questions, its answers, and the value F1 that results
//! (docs/benchmarks/orchestrationbench.md §5.5, §6, §8).

mod count;
mod panel;
mod reply;
#[cfg(test)]
mod tests;
mod value_score;

use regatta_proto::{ChatMessage, Question, Verdict};

pub(crate) use self::panel::Heard;
pub(crate) use self::value_score::{Credit, ValueScore, value_score};
use regatta_benchmarks::Verdicts;

/// Kind of the judge's questions; each is about one item.
pub(crate) const KIND: &str = "arguments";

/// Conversation of a question to the judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conversation {
    /// Instructions and history.
    pub(crate) before: Vec<ChatMessage>,
    /// The keys with their values.
    pub(crate) prompt: String,
}

/// Source of the counts that need a judge.
#[derive(Clone, Copy)]
pub(crate) enum Judging<'v> {
    /// No judge: unsettled values count as wrong, as with the official code's `skip_llm_eval`.
    Skip,
    /// Recorded or live answers of judges.
    Verdicts(&'v dyn Verdicts),
}

/// Makes the question about the arguments of `item`. Any reply is accepted; parts that cannot be parsed count as not
/// answered.
pub(crate) fn question(item: &str, conversation: Conversation) -> Question {
    Question::Judgement {
        kind: KIND.to_owned(),
        about: vec![item.to_owned()],
        before: conversation.before,
        prompt: conversation.prompt,
        swapped: None,
        accept: Vec::new(),
        replies_max: 1,
    }
}

impl Judging<'_> {
    /// Returns the judges' answers about `item`.
    ///
    /// # Errors
    /// With the question, when there is no answer yet.
    pub(crate) fn hear(&self, item: &str, conversation: impl FnOnce() -> Conversation) -> Result<Heard, Box<Question>> {
        let Self::Verdicts(verdicts) = self else { return Ok(Heard::nothing()) };
        let question = question(item, conversation());
        match verdicts.answer(&question) {
            Some(verdict @ (Verdict::Replies { .. } | Verdict::Panel { .. })) => Ok(Heard::new(verdict)),
            Some(Verdict::Similarity { .. }) | None => Err(Box::new(question)),
        }
    }

    /// Returns `true` if a judge is asked.
    pub(crate) const fn is_asked(&self) -> bool {
        matches!(self, Self::Verdicts(_))
    }
}
