//! The judge of arguments: what it is asked, what it said, and the value F1 that comes of it (docs/benchmarks/orchestrationbench.md §5.5,
//! §6, §8).

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

/// The kind of its questions; they are about one item each.
pub(crate) const KIND: &str = "arguments";

/// What a judge is asked: its conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conversation {
    /// Instructions and history.
    pub(crate) before: Vec<ChatMessage>,
    /// The keys with their values.
    pub(crate) prompt: String,
}

/// Where counts of values come from that only a judge can give.
#[derive(Clone, Copy)]
pub(crate) enum Judging<'v> {
    /// From nowhere: such values are all wrong, as with the official code's `skip_llm_eval`.
    Skip,
    /// From a judge's answers.
    Verdicts(&'v dyn Verdicts),
}

/// The question about the arguments of `item`. A reply is taken as it is: what cannot be read of it counts as not said.
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
    /// What was said about `item`.
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

    /// Whether a judge is asked at all.
    pub(crate) const fn is_asked(&self) -> bool {
        matches!(self, Self::Verdicts(_))
    }
}
