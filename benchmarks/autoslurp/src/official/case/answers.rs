//! Recorded answers of judges in a case, by question.

use std::collections::HashMap;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, lines};
use regatta_proto::Question;

use super::{Inputs, text_or_null, whole};
use crate::official::judge::Answer;

/// Answers by scenario (empty where there is but one), item, kind and attempt.
pub(super) struct Answers(HashMap<(String, u32, String, String), Answer>);

impl Answers {
    /// Reads `judge.jsonl`; a case without it has none.
    pub(super) fn read(inputs: &Inputs<'_>) -> Result<Self, DataError> {
        let mut answers = HashMap::new();
        let file = SourceLocation::file(inputs.origin, "judge.jsonl");
        for line in lines(&file, inputs.judge.unwrap_or_default()) {
            let (place, line) = line?;
            let scenario = text_or_null(&place, &line, "scenario")?.unwrap_or_default().to_owned();
            let kind = place.text(&line, "stage")?.to_owned();
            let attempt = whole(&place, &line, "attempt")?.to_string();
            let answer = match text_or_null(&place, &line, "error")? {
                Some(_) => Answer::Raised,
                None => Answer::Said {
                    content: text_or_null(&place, &line, "content")?.map(str::to_owned),
                    refusal: text_or_null(&place, &line, "refusal")?.map(str::to_owned),
                },
            };
            answers.insert((scenario, whole(&place, &line, "item")?, kind, attempt), answer);
        }
        Ok(Self(answers))
    }

    /// The answer to a question about an item.
    pub(super) fn to(&self, scenario: &str, item: u32, question: &Question) -> Option<Answer> {
        let Question::Judgement { kind, about, .. } = question else { return None };
        let attempt = about.last()?.clone();
        self.0.get(&(scenario.to_owned(), item, kind.clone(), attempt)).cloned()
    }
}

/// The error for questions that nobody answered.
pub(super) fn not_recorded(place: &SourceLocation<'_>, questions: &[Question]) -> DataError {
    let asked: Vec<String> = questions
        .iter()
        .filter_map(|question| match question {
            Question::Judgement { kind, about, .. } => Some(format!("{kind:?} about {about:?}")),
            Question::Similarity { .. } => None,
        })
        .collect();
    place.problem(format!("judge.jsonl has no answer to {}", asked.join(", ")))
}
