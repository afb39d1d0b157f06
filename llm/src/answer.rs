//! Answers to an evaluator's questions.

use std::collections::HashMap;

use regatta_proto::{AskedQuestion, CostSum, Digest, ErrorClass, Usage, Verdict};

/// Results of a list of questions. Each question is either in `verdicts` or in `unanswered`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answers {
    /// Answers, by question digest, in the order asked.
    pub verdicts: Vec<(Digest, Verdict)>,
    /// Questions without an answer, in the order asked.
    pub unanswered: Vec<Unanswered>,
    /// The models or the encoder that answered, in one line for reports.
    pub served: String,
    /// Tokens of the calls.
    pub usage: Usage,
    /// Cost of the calls.
    pub cost: CostSum,
}

/// A question without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// The question.
    pub asked: AskedQuestion,
    /// The error class, as of a call.
    pub class: ErrorClass,
    /// The reason, in one line.
    pub reason: String,
}

/// A failure to answer a question, or to embed its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) class: ErrorClass,
    pub(crate) reason: String,
}

impl Trouble {
    /// The error for a kind of endpoint that cannot answer a kind of question.
    pub(crate) fn unfit(reason: &str) -> Self {
        Self { class: ErrorClass::BadRequest, reason: reason.to_owned() }
    }
}

impl Answers {
    /// Merges the answers to two parts of a list of questions, in the order of the list.
    pub(crate) fn merged(questions: &[AskedQuestion], parts: [Self; 2]) -> Self {
        let mut merged = Self::default();
        let (mut verdicts, mut troubles, mut served) = (HashMap::new(), HashMap::new(), Vec::new());
        for part in parts {
            merged.usage += part.usage;
            merged.cost += part.cost;
            verdicts.extend(part.verdicts);
            troubles.extend(
                part.unanswered
                    .into_iter()
                    .map(|one| (one.asked.digest, Trouble { class: one.class, reason: one.reason })),
            );
            if !served.contains(&part.served) {
                served.push(part.served);
            }
        }
        merged.served = served.join(", ");
        for asked in questions {
            // Equal questions have equal answers.
            match (verdicts.get(&asked.digest), troubles.get(&asked.digest)) {
                (Some(verdict), _) => merged.enter(asked, Ok(verdict.clone())),
                (None, Some(trouble)) => merged.enter(asked, Err(trouble.clone())),
                (None, None) => {}
            }
        }
        merged
    }

    /// Adds the answer to one question.
    pub(crate) fn enter(&mut self, asked: &AskedQuestion, answer: Result<Verdict, Trouble>) {
        match answer {
            Ok(verdict) => self.verdicts.push((asked.digest, verdict)),
            Err(Trouble { class, reason }) => {
                self.unanswered.push(Unanswered { asked: asked.clone(), class, reason });
            }
        }
    }
}
