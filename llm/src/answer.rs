//! Answers to an evaluator's questions.

use regatta_proto::{AskedQuestion, CostSum, Digest, ErrorClass, Usage, Verdict};

/// Everything that came of a list of questions. Each question is either in `verdicts` or in `unanswered`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answers {
    /// Answers, by question digest, in the order asked.
    pub verdicts: Vec<(Digest, Verdict)>,
    /// Questions without an answer, in the order asked.
    pub unanswered: Vec<Unanswered>,
    /// What answered, in one line for reports.
    pub served: String,
    /// Tokens of the calls.
    pub usage: Usage,
    /// Their cost.
    pub cost: CostSum,
}

/// A question without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// The question.
    pub asked: AskedQuestion,
    /// The class of trouble, as for a call.
    pub class: ErrorClass,
    /// Why, in one line.
    pub reason: String,
}

/// Why a text or a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) class: ErrorClass,
    pub(crate) reason: String,
}

impl Trouble {
    /// This kind of endpoint cannot answer this kind of question.
    pub(crate) fn unfit(reason: &str) -> Self {
        Self { class: ErrorClass::BadRequest, reason: reason.to_owned() }
    }
}

impl Answers {
    /// Enters the answer to one question.
    pub(crate) fn enter(&mut self, asked: &AskedQuestion, answer: Result<Verdict, Trouble>) {
        match answer {
            Ok(verdict) => self.verdicts.push((asked.digest, verdict)),
            Err(Trouble { class, reason }) => {
                self.unanswered.push(Unanswered { asked: asked.clone(), class, reason });
            }
        }
    }
}
