//! The whole benchmark with simulated models.

use std::collections::BTreeMap;

use regatta_benchmarks::{Persona, Score, Scores, Scoring, Suite, Verdicts};
use regatta_proto::{Evaluator, ItemIndex, Question, SessionSeed, Transcript, Verdict};

use crate::driving::drive;
use crate::harness::{miniature, published, setting};

const ALL: [Evaluator; 2] = [Evaluator::Official, Evaluator::Paper];

/// A judge that the suite itself plays.
struct SimulatedJudge<'s>(&'s dyn Suite);

impl Verdicts for SimulatedJudge<'_> {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        let Question::Judgement { prompt, .. } = question else { return None };
        let reply = self.0.simulate_judge(prompt, Persona::Oracle, SessionSeed(1));
        Some(Verdict::Replies { replies: vec![reply.expect("every prompt of the benchmark is recognised")] })
    }
}

fn score(suite: &dyn Suite, item: ItemIndex, transcript: &Transcript) -> Scores {
    match suite.score(item, &ALL, &transcript.without_requests(), &SimulatedJudge(suite)) {
        Scoring::Scored(scores) => scores,
        Scoring::Needs(questions) => panic!("{questions:?}"),
    }
}

fn all(suite: &dyn Suite, name: &str, agent: Persona) -> Vec<(ItemIndex, Scores)> {
    let setting = setting(name);
    let items = suite.select(&setting, &[], None).unwrap();
    let scored = items.into_iter().map(|item| (item, score(suite, item, &drive(suite, item, &setting, agent, 7))));
    scored.collect()
}

/// The aggregate of one trial.
fn aggregate(suite: &dyn Suite, scores: &[(ItemIndex, Scores)], evaluator: Evaluator) -> serde_json::Value {
    let of_evaluator: Vec<(ItemIndex, &Score)> = scores.iter().map(|(item, scores)| (*item, &scores[&evaluator])).collect();
    suite.tabulate(evaluator, &[of_evaluator]).aggregate
}

#[test]
fn the_oracle_scores_exactly_the_ceilings_of_the_published_data() {
    let Some(suite) = published() else { return };
    let scores = all(&*suite, "stepwise", Persona::Oracle);
    assert_eq!(scores.len(), 1236 + 1267, "every call of both languages");
    let aggregate = aggregate(&*suite, &scores, Evaluator::Official);
    for (language, plan, call_rejection, function_call, average) in
        [("EN", 0.9977, 0.983, 0.9909, 0.9905), ("KO", 1.0, 0.9866, 0.991, 0.9925)]
    {
        let key = &aggregate[language]["overall_statistics"]["key_metrics"];
        assert_eq!(key["Plan"], plan, "{language}");
        assert_eq!(key["Call Rejection Classification Accuracy"], call_rejection, "{language}");
        assert_eq!(key["FC"], function_call, "{language}");
        assert_eq!(key["Average"], average, "{language}");
    }
}

#[test]
fn noise_lowers_every_number() {
    let suite = miniature();
    let of = |agent| {
        let aggregate = aggregate(&*suite, &all(&*suite, "stepwise", agent), Evaluator::Official);
        aggregate["overall"]["Average"].as_f64().unwrap()
    };
    let (oracle, noisy) = (of(Persona::Oracle), of(Persona::Noisy(0.6)));
    assert!(noisy < oracle - 0.1, "{noisy} {oracle}");
}

#[test]
fn the_same_seed_says_the_same() {
    let suite = miniature();
    let once = |agent| all(&*suite, "stepwise", agent);
    assert_eq!(once(Persona::Noisy(0.5)), once(Persona::Noisy(0.5)));
}

#[test]
fn a_request_is_recognised_as_that_of_its_step() {
    let suite = miniature();
    let setting = setting("stepwise");
    for item in suite.select(&setting, &[], None).unwrap() {
        let regatta_benchmarks::Step::Ask(_, request) = suite.next(item, &setting, &Transcript::default()) else {
            panic!("{item:?} asks nobody");
        };
        assert_eq!(suite.recognise(&request), Some(item));
    }
}

#[test]
fn a_step_that_is_never_answered_is_wrong_but_no_decision() {
    let suite = miniature();
    let items = suite.select(&setting("stepwise"), &[], None).unwrap();
    let mut seen = BTreeMap::new();
    for item in items {
        let failed = suite.score_failure(item, &ALL);
        for (name, value) in &failed[&Evaluator::Official].values {
            seen.entry(name.clone()).or_insert_with(Vec::new).push(*value);
        }
    }
    assert!(seen["plan_failures"].iter().all(|failures| *failures == 1.0));
    assert!(seen["answered"].iter().all(|answered| *answered == 0.0));
}
