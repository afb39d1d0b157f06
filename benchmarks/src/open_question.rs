//! Questions for judges that are open before predictions can be scored, as lines that people or programs answer.

use std::collections::BTreeSet;

use regatta_proto::{Evaluator, ItemIndex, Question, Setting, Transcript};
use serde_json::{Map, Value, json};

use crate::predictions::{PredictionsError, scoring, shown};
use crate::recorded::subject;
use crate::{RecordedVerdicts, Scoring, Suite};

/// A question without a recorded verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Id of the first item that asks it.
    pub item: String,
    /// The question.
    pub question: Question,
}

/// Questions that `verdicts` leave open and `predictions` cannot be scored without, each once. Their answers may lead to further ones.
///
/// # Errors
/// When a prediction cannot be scored whatever judges say.
pub fn open_questions(
    suite: &dyn Suite,
    setting: Option<&Setting>,
    evaluator: Evaluator,
    predictions: &[(ItemIndex, Transcript)],
    verdicts: &RecordedVerdicts,
) -> Result<Vec<OpenQuestion>, PredictionsError> {
    let (mut open, mut seen) = (Vec::new(), BTreeSet::new());
    for (item, transcript) in predictions {
        let questions = match scoring(suite, setting, evaluator, *item, transcript, verdicts)? {
            Scoring::Needs(questions) => questions,
            Scoring::Scored(_) | Scoring::Unfit(_) | Scoring::Failed(_) => continue,
        };
        for question in questions {
            if verdicts.missing(&question).is_some() && seen.insert(question.digest()) {
                open.push(OpenQuestion { item: shown(suite, *item), question });
            }
        }
    }
    Ok(open)
}

impl OpenQuestion {
    /// The question as a line of a file of verdicts that lacks its answer: `sim` of similarities, `response` of arguments (of a step of
    /// `OrchestrationBench`), `responses` of all other judgements.
    #[must_use]
    pub fn to_line(&self) -> Value {
        match &self.question {
            Question::Similarity { left, right } => {
                json!({ "item": self.item, "pred_texts": left, "gold_texts": right })
            }
            Question::Judgement { kind, about, before, prompt, accept, .. } => {
                let mut line: Map<String, Value> = subject(kind, about);
                if !before.is_empty() {
                    line.insert("before".to_owned(), json!(before));
                }
                line.insert("prompt".to_owned(), json!(prompt));
                if !accept.is_empty() {
                    line.insert("accept".to_owned(), json!(accept));
                }
                Value::Object(line)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::Verdict;

    use super::*;
    use crate::Verdicts;

    fn judgement(kind: &str, about: &[&str]) -> Question {
        Question::Judgement {
            kind: kind.to_owned(),
            about: about.iter().map(|&one| one.to_owned()).collect(),
            before: Vec::new(),
            prompt: "Is it?".to_owned(),
            swapped: None,
            accept: Vec::new(),
            replies_max: 1,
        }
    }

    /// The verdict on `question` once its line was given an answer.
    fn answered(question: &Question, field: &str, answer: Value) -> Option<Verdict> {
        let open = OpenQuestion { item: "i".to_owned(), question: question.clone() };
        let mut line = open.to_line();
        line[field] = answer;
        RecordedVerdicts::read("verdicts.jsonl", line.to_string().as_bytes()).unwrap().answer(question)
    }

    #[test]
    fn a_line_with_its_answer_is_a_recorded_verdict() {
        let replies = Some(Verdict::Replies { replies: vec!["yes".to_owned()] });
        for question in [
            judgement("completion", &["i"]),
            judgement("fuzzy", &["api", "parameter", "a", "b"]),
            judgement("rubric", &["good", "i", "42"]),
        ] {
            assert_eq!(answered(&question, "responses", json!(["yes"])), replies, "{question:?}");
        }
        assert_eq!(answered(&judgement("arguments", &["EN/1/7"]), "response", json!("yes")), replies);
        let pair = Question::Similarity { left: vec!["a".to_owned()], right: vec!["b".to_owned()] };
        let half = Some(Verdict::Similarity { micro: vec![vec![500_000]] });
        assert_eq!(answered(&pair, "sim", json!([[0.5]])), half);
    }

    #[test]
    fn an_answer_that_was_given_counts_as_recorded() {
        let question = judgement("completion", &["i"]);
        let mut verdicts = RecordedVerdicts::default();
        assert!(verdicts.missing(&question).is_some());
        let verdict = Verdict::Replies { replies: vec!["no".to_owned()] };
        verdicts.add(&question, verdict.clone());
        assert!(verdicts.missing(&question).is_none());
        assert_eq!(verdicts.answer(&question), Some(verdict));
    }
}
