//! Canaries that are answered otherwise, and how often that happens by itself.

use regatta_proto::Digest;
use serde_json::json;

use super::*;

/// A night whose canaries are answered with these texts.
pub(super) fn answered(name: &str, answers: &[&str]) -> EndedRun {
    let mut run = night(name, made(), "j");
    let session = |(at, answer): (usize, &&str)| json!({ "item": format!("item-{at:03}"), "trial": 0, "answers": Digest::of(answer.as_bytes()) });
    run.summary.canaries = serde_json::from_value(json!([{
        "benchmark": "worfbench", "setting": "two-shot", "model": "openai/gpt-5",
        "sessions": answers.iter().enumerate().map(session).collect::<Vec<_>>(),
    }]))
    .unwrap();
    run
}

fn cold(mut run: EndedRun) -> EndedRun {
    run.lock.models[0].temperature = Some(0.0);
    run
}

#[test]
fn canaries_that_were_answered_the_same_for_nights_and_are_not_any_more_speak_of_another_model() {
    let night = |name: &str, answers: &[&str]| cold(answered(name, answers));
    let drift = drift(&[
        night("n-1", &["a"; 8]),
        night("n-2", &["a"; 8]),
        night("n-3", &["a"; 8]),
        night("n-4", &["b", "b", "b", "b", "b", "b", "b", "a"]),
        night("n-5", &["b", "b", "b", "b", "b", "b", "b", "a"]),
    ]);
    assert_eq!(causes(&drift), [vec![], vec![], vec![], vec![Cause::Model], vec![]]);
    let expected = format!(
        "{CELL}: canaries answered otherwise than the night before: 0 of 16 in the 2 nights before it → 7 of 8"
    );
    assert_eq!(findings(&drift.nights[3]), [(Cause::Model, expected)]);
    assert!(rendering::text(&drift).contains("3 nights are like the one before"), "{}", rendering::text(&drift));
    // Later nights are held against the model that answers since.
    assert_eq!(drift.nights[4].canaries[0].nights_before, 0);
}

#[test]
fn answers_that_vary_by_themselves_are_told_with_how_much_they_did_and_are_no_finding() {
    let texts = ["a", "b", "c", "d"].map(|text| [text; 8]);
    let nights: Vec<EndedRun> = texts.iter().map(|answers| answered(answers[0], answers)).collect();
    let drift = drift(&nights);
    assert_eq!(causes(&drift), [vec![], vec![], vec![], vec![]]);
    let told = drift.nights[3].canaries[0].told().unwrap();
    let expected = format!(
        "{CELL}: 8 of 8 answered otherwise than the night before (16 of 16 in 2 nights before; the spec sets no temperature, so answers may vary \
         by themselves)"
    );
    assert_eq!(told, expected);
}

#[test]
fn without_a_night_before_a_change_is_told_and_blamed_on_nothing() {
    let drift = drift(&[cold(answered("n-1", &["a"; 8])), cold(answered("n-2", &["b"; 8]))]);
    assert_eq!(causes(&drift), [vec![], vec![]]);
    let text = rendering::text(&drift);
    let told =
        "8 of 8 answered otherwise than the night before (no night before tells how often that happens by itself)";
    assert!(text.contains(told), "{text}");
}

#[test]
fn other_answers_of_a_model_that_says_it_is_another_are_explained_and_another_limit_explains_none() {
    let same = || cold(answered("n-1", &["a"; 8]));
    let other = || cold(answered("n-4", &["b"; 8]));
    let mut declared = other();
    declared.attempts.iter_mut().for_each(|attempt| attempt.served = Some(vec!["gpt-5-2026-09-09".to_owned()]));
    let of_declared = drift(&[same(), same(), same(), declared]);
    assert!(of_declared.nights[3].canaries[0].is_explained);
    assert_eq!(of_declared.nights[3].findings.len(), 1);
    let mut fewer = other();
    for benchmark in fewer.lock.benchmarks.values_mut() {
        benchmark.sample = Some(190);
        benchmark.items.values_mut().for_each(|items| *items = 190);
    }
    let of_fewer = drift(&[same(), same(), same(), fewer]);
    assert_eq!(causes(&of_fewer)[3], [Cause::Data, Cause::Model]);
}

#[test]
fn runs_of_before_there_were_canaries_have_none_to_compare() {
    let drift = drift(&[night("n-1", made(), "j"), answered("n-2", &["a"; 8])]);
    assert!(drift.nights[1].canaries.is_empty());
}
