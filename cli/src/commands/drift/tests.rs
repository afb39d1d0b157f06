mod canaries;
mod plots;
mod slow_nights;

use std::collections::BTreeSet;

use regatta_proto::Judge;

use super::finding::{Cause, Evidence};
use super::*;
use crate::ended_run::testing::{Made, right};

const JUDGE: &str = "openai/gpt-5-mini";

/// A night of 200 items at one model, whose judge's endpoint says that `judge` has answered. Times vary a little from item to item.
fn night(name: &str, made: Made<'_>, judge: &str) -> EndedRun {
    let mut run = made.run(name);
    for (at, attempt) in run.attempts.iter_mut().enumerate() {
        // A few percent, and other items each night.
        let hash = regatta_proto::Digest::of(format!("{name}{at}").as_bytes());
        let varied = |latency: u64| latency + latency * u64::from(hash.bytes()[0]) / 5_000;
        attempt.latency_us = attempt.latency_us.map(varied);
    }
    for benchmark in run.lock.benchmarks.values_mut() {
        benchmark.judge = Some(Judge::Plain(JUDGE.parse().unwrap()));
    }
    run.summary.judges = serde_json::from_value(serde_json::json!([{
        "judge": JUDGE, "served": [judge], "usage": { "input": 1, "output": 1 }, "cost": { "known": 1, "unknown_calls": 0 },
    }]))
    .unwrap();
    run
}

fn made() -> Made<'static> {
    Made { scores: right(150, 200), ..Made::default() }
}

fn drift(runs: &[EndedRun]) -> Drift {
    let (mut before, mut history) = (None, History::default());
    let nights = runs.iter().map(|run| super::night(before.replace(run), run, &mut history).unwrap()).collect();
    Drift { of: "nightly".to_owned(), nights }
}

fn causes(drift: &Drift) -> Vec<Vec<Cause>> {
    let distinct = |night: &Night| night.findings.iter().map(|finding| finding.cause).collect::<BTreeSet<_>>();
    drift.nights.iter().map(|night| distinct(night).into_iter().collect()).collect()
}

#[test]
fn over_five_nights_a_changed_model_a_changed_judge_and_a_slow_provider_are_named() {
    let other =
        || Made { served: "gpt-5-2026-03-01 fp_44709d6fcb", scores: right(120, 200), output_tokens: 260, ..made() };
    let slow = || Made { latency_us: 3_000_000, ..other() };
    let mut drift = drift(&[
        night("nightly-1", made(), "gpt-5-mini-2026-01-01"),
        night("nightly-2", made(), "gpt-5-mini-2026-01-01"),
        // Longer answers also take longer: that is the model's doing.
        night("nightly-3", Made { latency_us: 1_900_000, ..other() }, "gpt-5-mini-2026-01-01"),
        night("nightly-4", Made { latency_us: 1_900_000, scores: right(90, 200), ..other() }, "gpt-5-mini-2026-02-02"),
        night("nightly-5", Made { scores: right(90, 200), ..slow() }, "gpt-5-mini-2026-02-02"),
    ]);
    let expected = [vec![], vec![], vec![Cause::Model], vec![Cause::Judge], vec![Cause::Provider]];
    assert_eq!(causes(&drift), expected);
    assert_eq!(drift.nights.iter().map(|night| night.times.len()).collect::<Vec<_>>(), [0, 0, 1, 0, 1]);
    insta::assert_snapshot!(rendering::text(&drift));
    // So small a number has digits that the rounding of logarithms decides about.
    let p = drift.nights[4].findings[0].p_holm.replace(0.001);
    assert!(p.is_some_and(|p| p < 1e-6), "{p:?}");
    insta::assert_json_snapshot!(drift);
}

#[test]
fn a_model_that_is_changed_without_a_word_is_known_by_its_tokens() {
    let longer = Made { output_tokens: 230, latency_us: 1_700_000, ..made() };
    let drift = drift(&[night("n-1", made(), "j"), night("n-2", longer, "j")]);
    assert_eq!(causes(&drift)[1], [Cause::Model]);
    assert_eq!(drift.nights[1].findings[0].evidence, Evidence::Measured);
}

#[test]
fn another_gateway_or_tier_is_the_providers_and_not_the_models() {
    let served = |served| Made { served, ..made() };
    let drift = drift(&[
        night("n-1", served("llama-3.3-70b by DeepInfra"), "j"),
        night("n-2", served("llama-3.3-70b by Together"), "j"),
        night("n-3", served("llama-3.3-70b by Together [flex]"), "j"),
    ]);
    assert_eq!(causes(&drift), [vec![], vec![Cause::Provider], vec![Cause::Provider]]);
}

#[test]
fn another_version_and_other_data_are_told_apart() {
    let newer = Made { regatta: "0.2.0", ..made() };
    let mut fresh = night("n-3", Made { regatta: "0.2.0", ..made() }, "j");
    for benchmark in fresh.lock.benchmarks.values_mut() {
        benchmark.dataset = regatta_proto::Digest::of(b"new data");
    }
    let drift = drift(&[night("n-1", made(), "j"), night("n-2", newer, "j"), fresh]);
    assert_eq!(causes(&drift), [vec![], vec![Cause::Harness], vec![Cause::Data]]);
}

#[test]
fn scores_that_move_alone_are_unexplained_and_small_shifts_are_nothing() {
    let worse = Made { scores: right(100, 200), ..made() };
    let slower = Made { latency_us: 1_650_000, output_tokens: 205, ..made() };
    let drift = drift(&[night("n-1", made(), "j"), night("n-2", slower, "j"), night("n-3", worse, "j")]);
    let found = causes(&drift);
    assert_eq!((&found[1], &found[2]), (&vec![], &vec![Cause::Unexplained]));
}

#[test]
fn another_treatment_of_filtered_sessions_is_the_harness_and_a_night_without_a_score_is_named() {
    let mut lenient = night("n-2", made(), "j");
    lenient.lock.filtered = regatta_proto::Filtered::Missing;
    let mut silent = night("n-3", Made { scores: vec![None; 200], ..made() }, "j");
    silent.lock.filtered = regatta_proto::Filtered::Missing;
    let drift = drift(&[night("n-1", made(), "j"), lenient, silent]);
    assert_eq!(causes(&drift), [vec![], vec![Cause::Harness], vec![Cause::Unexplained]]);
    let text = rendering::text(&drift);
    assert!(
        text.contains("filtered: ")
            && text.contains("sessions without a score (not_measured): 0 of 200 → 200 of 200 (measured"),
        "{text}"
    );
}

#[test]
fn a_night_that_the_cache_answered_is_no_other_model_and_has_no_time_and_that_is_said() {
    let cached = Made { cached: 200, output_tokens: 0, ..made() };
    let drift = drift(&[night("n-1", made(), "j"), night("n-2", cached, "j")]);
    assert_eq!(causes(&drift), [vec![], vec![]]);
    let text = rendering::text(&drift);
    assert!(text.contains("not compared; now, 200 of 200 sessions have answers of the response cache"), "{text}");
}

#[test]
fn fewer_sessions_with_a_score_and_more_that_a_filter_ended_are_named() {
    let scores = [vec![None; 60], right(110, 140)].concat();
    let away = Made { scores, ..made() };
    let mut filtered = night("n-3", made(), "j");
    for line in &mut filtered.results[100..160] {
        (line.outcome, line.cause) = ("model_failure".to_owned(), Some("content_filter".to_owned()));
    }
    let drift = drift(&[night("n-1", made(), "j"), night("n-2", away, "j"), filtered]);
    assert_eq!(causes(&drift)[1..], [vec![Cause::Unexplained], vec![Cause::Provider, Cause::Unexplained]]);
    let text = rendering::text(&drift);
    for said in [
        "sessions without a score (not_measured): 0 of 200 → 60 of 200 (measured, p < 0.001)",
        "sessions that ended by a filter, of those with a score or so ended in both nights: 0 of 140 → 60 of 140 (measured, p < 0.001)",
    ] {
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn sessions_that_a_filter_refused_do_not_make_a_night_fast_or_its_model_another_one() {
    let mut refused = night("n-2", made(), "j");
    for attempt in &mut refused.attempts[..120] {
        (attempt.calls, attempt.latency_us, attempt.usage) = (0, None, Some(regatta_proto::Usage::default()));
    }
    let drift = drift(&[night("n-1", made(), "j"), refused]);
    assert_eq!(causes(&drift), [vec![], vec![]]);
    assert_eq!(drift.nights[1].times, []);
}

/// The night with a metric that lacks the sessions whose judge gave no grade, which are all from `graded` on.
fn judged(mut run: EndedRun, graded: usize) -> EndedRun {
    for definition in run.measures.benchmarks.values_mut().flat_map(|of| of.settings.values_mut()).flatten() {
        definition.missing_if = [("success".to_owned(), "success_ungraded".to_owned())].into();
    }
    for line in run.results.iter_mut().skip(graded) {
        for values in line.scores.iter_mut().flat_map(|scores| scores.values_mut()) {
            values.remove("success");
            values.insert("success_ungraded".to_owned(), 1.0);
        }
    }
    run
}

#[test]
fn a_judge_that_stops_grading_is_named_though_every_session_has_a_score() {
    let night = |name: &str, graded: usize| judged(night(name, made(), "j"), graded);
    let drift = drift(&[night("n-1", 200), night("n-2", 200), night("n-3", 0), night("n-4", 150), night("n-5", 148)]);
    assert_eq!(causes(&drift), [vec![], vec![], vec![Cause::Judge], vec![Cause::Judge], vec![]]);
    let text = rendering::text(&drift);
    assert!(
        text.contains("sessions with a grade, of those with a score in both nights (success): 200 of 200 → 0 of 200"),
        "{text}"
    );
}

#[test]
fn a_judge_that_grades_right_answers_alone_is_named() {
    let drift = drift(&[judged(night("n-1", made(), "j"), 200), judged(night("n-2", made(), "j"), 150)]);
    assert_eq!(causes(&drift), [vec![], vec![Cause::Judge]]);
    assert_eq!(drift.nights[1].scores, [], "the sessions that both nights graded have the same grades");
}

/// Ends the sessions `at` as `outcome` by `cause`, without a score where they were not measured.
fn ended(run: &mut EndedRun, at: std::ops::Range<usize>, outcome: &str, cause: Option<&str>) {
    for line in &mut run.results[at] {
        (line.outcome, line.cause) = (outcome.to_owned(), cause.map(str::to_owned));
        if outcome != "model_failure" {
            line.scores = None;
        }
    }
}

fn findings(of: &Night) -> Vec<(Cause, String)> {
    of.findings.iter().map(|found| (found.cause, format!("{}: {} → {}", found.what, found.before, found.now))).collect()
}

const CELL: &str = "worfbench · two-shot · openai/gpt-5";

#[test]
fn refusals_of_the_model_are_the_models_and_a_filter_and_the_context_are_the_providers() {
    let mut refused = night("n-2", made(), "j");
    ended(&mut refused, 20..60, "model_failure", Some("content_filter"));
    refused.results[20..60].iter_mut().for_each(|line| line.flags = vec![regatta_proto::Flag::Refused]);
    let mut long = night("n-3", made(), "j");
    ended(&mut long, 20..60, "model_failure", Some("context_length"));
    let drift = drift(&[night("n-1", made(), "j"), refused, long]);
    let of = |what: &str, shares: &str| {
        format!("{CELL}: sessions that ended by {what}, of those with a score or so ended in both nights: {shares}")
    };
    assert_eq!(findings(&drift.nights[1]), [(Cause::Model, of("a refusal of the model", "0 of 200 → 40 of 200"))]);
    assert_eq!(
        findings(&drift.nights[2]),
        [
            (Cause::Model, of("a refusal of the model", "40 of 200 → 0 of 200")),
            (Cause::Provider, of("the length of the context", "0 of 200 → 40 of 200")),
        ]
    );
}

#[test]
fn a_filter_does_not_hide_that_the_sessions_that_were_answered_became_worse() {
    let filtered = |name: &str, scores| {
        let mut run = night(name, Made { scores, ..made() }, "j");
        ended(&mut run, 100..160, "model_failure", Some("content_filter"));
        for line in &mut run.results[100..160] {
            line.scores.iter_mut().flat_map(|scores| scores.values_mut()).for_each(|values| {
                values.insert("success".to_owned(), 0.0);
            });
        }
        run
    };
    let drift = drift(&[
        night("n-1", made(), "j"),
        filtered("n-2", right(150, 200)),
        night("n-3", made(), "j"),
        filtered("n-4", right(50, 200)),
    ]);
    let causes = causes(&drift);
    assert_eq!(causes[1], [Cause::Provider], "the filter explains all of it");
    assert_eq!(causes[3], [Cause::Provider, Cause::Unexplained]);
    let unexplained = findings(&drift.nights[3]).pop().unwrap().1;
    let expected = format!(
        "{CELL}: success (official), over the 140 sessions that neither night cut off: scores of the same sessions → moved, and nothing \
         that was served did"
    );
    assert_eq!(unexplained, expected);
    let text = rendering::text(&drift);
    assert!(text.contains("success (official), over the 140 sessions that neither night cut off -35.7 ["), "{text}");
    assert!(text.contains("success (official) -50.0 ["), "{text}");
    // Nor do refusals.
    let mut refused = filtered("n-2", right(50, 200));
    refused.results[100..160].iter_mut().for_each(|line| line.flags = vec![regatta_proto::Flag::Refused]);
    let drift = self::drift(&[night("n-1", made(), "j"), refused]);
    assert_eq!(self::causes(&drift)[1], [Cause::Model, Cause::Unexplained]);
}

/// Both runs as one, of two models.
fn joined(mut one: EndedRun, mut other: EndedRun) -> EndedRun {
    for line in &mut other.results {
        line.cell = 1;
    }
    for attempt in &mut other.attempts {
        attempt.cell = 1;
    }
    one.lock.models.append(&mut other.lock.models);
    one.summary.rows.append(&mut other.summary.rows);
    one.results.append(&mut other.results);
    one.attempts.append(&mut other.attempts);
    one
}

#[test]
fn what_changed_of_one_model_explains_nothing_of_another() {
    let of = |name: &str, served, scores: [usize; 2]| {
        let [one, other] = scores.map(|count| Made { scores: right(count, 200), ..Made::default() });
        let one = Made { served, ..one };
        let other = Made { model: "openai/gpt-6", served: "gpt-6", ..other };
        joined(night(name, one, "j"), night(name, other, "j"))
    };
    let drift = drift(&[
        of("n-1", "gpt-5-2026-01-01", [150, 150]),
        of("n-2", "gpt-5-2026-03-01", [100, 150]),
        of("n-3", "gpt-5-2026-05-01", [100, 100]),
    ]);
    assert_eq!(causes(&drift)[1..], [vec![Cause::Model], vec![Cause::Model, Cause::Unexplained]]);
    let unexplained = findings(&drift.nights[2]).pop().unwrap().1;
    assert!(unexplained.starts_with("worfbench · two-shot · openai/gpt-6: success"), "{unexplained}");
}

#[test]
fn sessions_without_a_score_are_told_by_what_the_results_name() {
    let lacking = |name: &str, outcome: &str, cause: Option<&str>| {
        let mut run = night(name, made(), "j");
        ended(&mut run, 0..60, outcome, cause);
        run
    };
    let told = |lacking: EndedRun| findings(&drift(&[night("n-1", made(), "j"), lacking]).nights[1]);
    let of = |why: &str| format!("{CELL}: sessions without a score ({why}): 0 of 200 → 60 of 200");
    for (cause, expected) in [
        ("judge_unavailable", Cause::Judge),
        ("endpoint_unavailable", Cause::Provider),
        ("rate_limited", Cause::Provider),
        ("budget", Cause::Harness),
        ("agent_lost", Cause::Harness),
        ("of_a_later_version", Cause::Unexplained),
    ] {
        assert_eq!(told(lacking("n-2", "not_measured", Some(cause))), [(expected, of(cause))]);
    }
    let mut stopped = lacking("n-2", "not_run", None);
    stopped.summary.state = regatta_proto::SweepState::StoppedByBudget;
    assert_eq!(told(stopped), [(Cause::Harness, of("not_run: stopped_by_budget"))]);
    // What a filter ended is the filter's, be it wrong or missing.
    let filtered = told(lacking("n-2", "not_measured", Some("content_filter")));
    let expected = format!(
        "{CELL}: sessions that ended by a filter, of those with a score or so ended in both nights: 0 of 200 → 60 of 200"
    );
    assert_eq!(filtered, [(Cause::Provider, expected)]);
    // Several causes are told apart, and what one of them is the reason of is no other's.
    let mut several = lacking("n-2", "not_measured", Some("judge_unavailable"));
    ended(&mut several, 60..100, "not_measured", Some("timeout"));
    ended(&mut several, 100..120, "not_measured", Some("rate_limited"));
    let expected = [
        (Cause::Judge, of("judge_unavailable")),
        (Cause::Provider, format!("{CELL}: sessions without a score (rate_limited, timeout): 0 of 200 → 60 of 200")),
    ];
    assert_eq!(told(several), expected);
}

#[test]
fn shares_are_of_the_sessions_that_their_test_is_of() {
    let mut before = night("n-1", made(), "j");
    ended(&mut before, 40..80, "model_failure", Some("content_filter"));
    let mut now = night("n-2", made(), "j");
    ended(&mut now, 0..60, "not_measured", Some("timeout"));
    let told = findings(&drift(&[before, now]).nights[1]);
    assert!(told.iter().any(|(_, text)| text.ends_with("in both nights: 20 of 140 → 0 of 140")), "{told:?}");
}
