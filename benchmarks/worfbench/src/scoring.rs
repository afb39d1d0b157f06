//! From a reply to scores, or to the one question that must be answered first.

use std::collections::HashSet;

use regatta_benchmarks::{Score, Scores, Scoring, Verdicts, flat_value};
use regatta_proto::{Evaluator, Question, Verdict};
use serde::Serialize;

use super::averages::Means;
use super::data::Record;
use super::error::ScoreError;
use super::similarity::Similarities;
use super::task::Task;
use super::{official, paper, parse_official, parse_paper};

/// Names of the six flat values of either evaluator, in the order of [`Means`].
pub(crate) const VALUE_NAMES: [&str; 6] =
    ["precision_chain", "recall_chain", "f1_chain", "precision_graph", "recall_graph", "f1_graph"];

/// An item's entry in the golden files.
#[derive(Serialize)]
struct Detail<S> {
    task: Task,
    #[serde(flatten)]
    score: S,
}

/// Scores a reply; `None` stands for a reply that is no text. One question covers all evaluators.
pub(crate) fn score(
    record: &Record,
    evaluators: &[Evaluator],
    reply: Option<&str>,
    verdicts: &dyn Verdicts,
) -> Scoring {
    let question = question(record, evaluators, reply);
    let similarities = answered(question.as_ref(), verdicts);
    let scores = similarities.and_then(|known| scores(record, evaluators, reply, &known).ok());
    match scores {
        Some(scores) => Scoring::Scored(scores),
        None => Scoring::Needs(question.into_iter().collect()),
    }
}

/// The similarities that `evaluators` asked for, where they are answered.
pub(crate) fn known_similarities(
    record: &Record,
    evaluators: &[Evaluator],
    reply: Option<&str>,
    verdicts: &dyn Verdicts,
) -> Option<Similarities> {
    answered(question(record, evaluators, reply).as_ref(), verdicts)
}

fn answered(question: Option<&Question>, verdicts: &dyn Verdicts) -> Option<Similarities> {
    match question {
        None => Some(Similarities::default()),
        Some(question) => verdicts.answer(question).and_then(|verdict| similarities(question, &verdict)),
    }
}

/// The scores of a reply that no parser can read.
#[expect(clippy::expect_used, reason = "an empty map of scores would count as a score of nothing")]
pub(crate) fn score_failure(record: &Record, evaluators: &[Evaluator]) -> Scores {
    let scores = scores(record, evaluators, None, &Similarities::default());
    scores.expect("the gold was checked when it was loaded, and nothing is compared")
}

fn scores(
    record: &Record,
    evaluators: &[Evaluator],
    reply: Option<&str>,
    known: &Similarities,
) -> Result<Scores, ScoreError> {
    let mut scores = Scores::new();
    for evaluator in evaluators {
        let score = match evaluator {
            // The published code runs as it is: there is nothing to repair.
            Evaluator::Official | Evaluator::OfficialFixed => {
                let score = official::score(reply, &record.gold, known)?;
                entry(record.task, score.values(), score)
            }
            _ => {
                let score = paper::score(reply, &record.gold, known)?;
                entry(record.task, score.values(), score)
            }
        };
        scores.insert(*evaluator, score);
    }
    Ok(scores)
}

#[expect(clippy::expect_used, reason = "a score without its detail could not be looked into")]
fn entry(task: Task, means: impl Means, score: impl Serialize) -> Score {
    let values = VALUE_NAMES.iter().map(|name| (*name).to_owned()).zip(means.to_numbers()).collect();
    Score { values, detail: serde_json::to_value(Detail { task, score }).expect("numbers and texts are JSON") }
}

/// The values that averages are taken of, back from a score.
pub(crate) fn means_of<M: Means>(score: &Score) -> M {
    M::from_numbers(VALUE_NAMES.map(|name| flat_value(&score.values, name)))
}

/// The distinct texts that `evaluators` find in the reply, against those they find in the gold, in order of first
/// appearance. `None` when nobody finds any in the reply: then there is nothing to compare.
fn question(record: &Record, evaluators: &[Evaluator], reply: Option<&str>) -> Option<Question> {
    let reply = reply?;
    let (mut left, mut right) = (Texts::default(), Texts::default());
    for evaluator in evaluators {
        match evaluator {
            Evaluator::Official | Evaluator::OfficialFixed => {
                if let Some(predicted) = parse_official::parse(reply) {
                    left.add(predicted.nodes);
                    right.add(parse_official::parse(&record.gold)?.nodes);
                }
            }
            _ => {
                if let Some(predicted) = parse_paper::parse(reply) {
                    left.add(predicted.nodes);
                    right.add(parse_paper::parse(&record.gold)?.nodes);
                }
            }
        }
    }
    (!left.in_order.is_empty()).then(|| Question::Similarity { left: left.owned(), right: right.owned() })
}

/// Distinct texts in order of first appearance.
#[derive(Default)]
struct Texts<'a> {
    in_order: Vec<&'a str>,
    seen: HashSet<&'a str>,
}

impl<'a> Texts<'a> {
    fn add(&mut self, texts: Vec<&'a str>) {
        for text in texts {
            if self.seen.insert(text) {
                self.in_order.push(text);
            }
        }
    }

    fn owned(self) -> Vec<String> {
        self.in_order.into_iter().map(str::to_owned).collect()
    }
}

/// A verdict as the scoring core takes it; `None` when it does not fit its question.
fn similarities(question: &Question, verdict: &Verdict) -> Option<Similarities> {
    let (Question::Similarity { left, right }, Verdict::Similarity { micro }) = (question, verdict) else {
        return None;
    };
    Similarities::new(left, right, micro).ok()
}
