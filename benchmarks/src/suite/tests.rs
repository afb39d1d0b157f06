use regatta_proto::{ChatRequest, Evaluator, ItemIndex, Role, SessionSeed, Setting, Transcript};

use super::*;
use crate::{Item, NoVerdicts, Persona, Score, Scores, Scoring, SelectError, Step, Verdicts};

/// A data set that has all that is asked for, and nothing else. Its only score is `right`.
struct Plain(Vec<Item>);

impl Dataset for Plain {
    fn items(&self) -> &[Item] {
        &self.0
    }

    fn select(&self, _: &Setting, _: &[String], _: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        Ok(vec![ItemIndex(0)])
    }
}

impl Sessions for Plain {
    fn next(&self, _: ItemIndex, _: &Setting, _: &Transcript) -> Step {
        Step::Done
    }
}

impl Evaluation for Plain {
    fn score(&self, _: ItemIndex, evaluators: &[Evaluator], _: &Transcript, _: &dyn Verdicts) -> Scoring {
        Scoring::Scored(scores(evaluators, 1.0))
    }

    fn score_failure(&self, _: ItemIndex, evaluators: &[Evaluator]) -> Scores {
        scores(evaluators, 0.0)
    }

    fn is_judged(&self, _: Evaluator, _: &str) -> bool {
        false
    }
}

impl Tables for Plain {}
impl Predictions for Plain {}
impl Simulated for Plain {}
impl Pictures for Plain {}

fn score(right: f64) -> Score {
    Score { values: [("right".to_owned(), right)].into(), detail: serde_json::Value::Null }
}

fn scores(evaluators: &[Evaluator], right: f64) -> Scores {
    evaluators.iter().map(|evaluator| (*evaluator, score(right))).collect()
}

fn plain() -> Box<dyn Suite> {
    Box::new(Plain(vec![Item { id: "one".parse().unwrap(), task: "any".into(), group: None }]))
}

fn setting() -> Setting {
    "any".parse().unwrap()
}

#[test]
fn predictions_are_refused_where_no_format_of_them_is_defined() {
    let error = plain().read_predictions("mine.jsonl", b"{}").unwrap_err().to_string();
    assert_eq!(error, "predictions: mine.jsonl, whole file: this benchmark reads no predictions of other systems");
}

#[test]
fn a_data_set_that_simulates_nobody_has_empty_replies_and_no_right_one() {
    let (suite, request) = (plain(), ChatRequest::default());
    let reply = suite.simulate(ItemIndex(0), &setting(), Role::Agent, Persona::Oracle, SessionSeed(1), &request);
    assert_eq!(reply.answer_bytes(), 0);
    assert_eq!(suite.right_reply(ItemIndex(0), &setting(), &request), None);
    assert_eq!(suite.recognise(&request), None);
}

#[test]
fn metrics_and_aggregates_are_means_where_nothing_else_is_defined() {
    let suite = plain();
    let metrics = suite.metrics(&setting(), Evaluator::Official);
    assert_eq!(metrics.iter().map(|metric| metric.name.as_str()).collect::<Vec<_>>(), ["right"]);
    let (right, wrong) = (score(1.0), score(0.0));
    let table = suite.tabulate(Evaluator::Official, &[vec![(ItemIndex(0), &right)], vec![(ItemIndex(0), &wrong)]]);
    assert_eq!(table.aggregate, serde_json::json!({"sessions": 2, "means": {"right": 0.5}}));
}

#[test]
fn who_needs_one_part_is_given_that_part() {
    fn scored(part: &dyn Evaluation) -> Scoring {
        part.score_session(ItemIndex(0), &setting(), &[Evaluator::Official], &Transcript::default(), &NoVerdicts)
    }
    assert_eq!(scored(&*plain()), Scoring::Scored(scores(&[Evaluator::Official], 1.0)));
}
