//! Whole runs with simulated models.

use std::collections::BTreeMap;

use regatta_benchmark_testing::{SimulatedJudge, drive};
use regatta_benchmarks::{Persona, Score, Scores, Scoring, Suite, Verdicts};
use regatta_proto::{Evaluator, ItemIndex, Question, Transcript};

use crate::harness::{miniature, published, setting};

const ALL: [Evaluator; 2] = [Evaluator::Official, Evaluator::Paper];

pub(crate) fn score(suite: &dyn Suite, item: ItemIndex, transcript: &Transcript) -> Scores {
    match suite.score(item, &ALL, &transcript.without_requests(), &SimulatedJudge(suite)) {
        Scoring::Scored(scores) => scores,
        other => panic!("{other:?}"),
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
    let of_evaluator: Vec<(ItemIndex, &Score)> =
        scores.iter().map(|(item, scores)| (*item, &scores[&evaluator])).collect();
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
    for name in ["stepwise", "end-to-end"] {
        let of = |agent| {
            let aggregate = aggregate(&*suite, &all(&*suite, name, agent), Evaluator::Official);
            aggregate["overall"]["Average"].as_f64().unwrap()
        };
        let (oracle, noisy) = (of(Persona::Oracle), of(Persona::Noisy(0.6)));
        assert!(noisy < oracle - 0.1, "{name}: {noisy} {oracle}");
    }
}

/// Plan, call/rejection, function call and average of both languages.
fn four(aggregate: &serde_json::Value) -> Vec<f64> {
    let names = ["Plan", "Call Rejection Classification Accuracy", "FC", "Average"];
    names.iter().map(|name| aggregate["overall"][name].as_f64().unwrap()).collect()
}

#[test]
fn an_oracle_whose_words_are_its_own_history_scores_what_it_scores_step_by_step() {
    let suite = miniature();
    let of = |name| four(&aggregate(&*suite, &all(&*suite, name, Persona::Oracle), Evaluator::Official));
    for (whole, steps) in of("end-to-end").into_iter().zip(of("stepwise")) {
        // End-to-end results deviate a little: a scenario does not follow its own plan, and unreached steps count as
        // missed.
        assert!((whole - steps).abs() < 0.03, "{whole} {steps}");
    }
}

#[test]
fn early_errors_change_later_steps_in_the_published_scenarios() {
    let Some(suite) = published() else { return };
    let setting = setting("end-to-end");
    let items = suite.select(&setting, &[], Some(10)).unwrap();
    assert_eq!(items.len(), 20, "ten of each language");
    let mut told = Vec::new();
    for item in items {
        let scores = score(&*suite, item, &drive(&*suite, item, &setting, Persona::Noisy(0.3), 11));
        let path = scores[&Evaluator::Official].detail["path"].clone();
        if let (Some(first), Some(changed)) = (path["first_divergent"]["step"].as_u64(), path["changed"].as_array()) {
            assert!(changed.iter().all(|step| step["step"].as_u64() > Some(first)), "{path}");
            told.push(changed.len());
        }
    }
    assert!(told.iter().filter(|changed| **changed > 0).count() >= 3, "{told:?}");
}

#[test]
fn the_same_seed_says_the_same() {
    let suite = miniature();
    for name in ["stepwise", "end-to-end"] {
        let once = || all(&*suite, name, Persona::Noisy(0.5));
        assert_eq!(once(), once());
    }
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

#[test]
#[should_panic(expected = "recognises no judgement in the prompt \"Say yes or no.\"")]
fn a_prompt_that_is_no_judgement_of_the_benchmark_is_not_left_unanswered() {
    let suite = miniature();
    let question = Question::Judgement {
        kind: "arguments".to_owned(),
        about: Vec::new(),
        before: Vec::new(),
        prompt: "Say yes or no.".to_owned(),
        swapped: None,
        accept: Vec::new(),
        replies_max: 1,
    };
    let _ = SimulatedJudge(&*suite).answer(&question);
}
