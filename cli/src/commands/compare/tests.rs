use std::collections::BTreeMap;

use insta::assert_snapshot;

use super::*;
use crate::ended_run::testing::{Made, right};

fn document<'a>(a: &'a EndedRun, b: &'a EndedRun, chosen: &Chosen) -> anyhow::Result<Compared<'a>> {
    let cells = matched(a, b, chosen)?;
    Ok(Compared {
        a: &a.name,
        b: &b.name,
        level: level(a, b),
        changes: changes(a, b, &cells)?,
        stopped_by_scores: stopped_by_scores(a, b),
        cells: compared(a, b, cells),
    })
}

#[test]
fn the_cost_of_a_run_without_an_answer_is_none_and_not_unknown() {
    let before = Made { scores: right(10, 10), ..Made::default() }.run("runs/before");
    let after = Made { scores: vec![None; 10], ..Made::default() }.run("runs/after");
    let text = render(&document(&before, &after, &Chosen::default()).unwrap());
    let cost = text.lines().find(|line| line.contains("cost of 1,000 sessions")).unwrap();
    assert!(cost.contains('–') && !cost.contains("unknown"), "{text}");
}

#[test]
fn of_runs_that_stopped_by_their_scores_it_is_said_that_p_values_are_too_certain() {
    let made = || Made { scores: right(10, 20), ..Made::default() };
    let (before, mut after) = (made().run("runs/before"), made().run("runs/after"));
    let shown = |after: &EndedRun| render(&document(&before, after, &Chosen::default()).unwrap());
    assert!(!shown(&after).contains("a question (decide) was asked"));
    let decide = serde_json::json!({ "asked": { "question": "best", "margin": "2pp" }, "first_trials": 1 });
    after.lock.decide = Some(serde_json::from_value(decide).unwrap());
    assert!(
        shown(&after).contains("\nThe sessions of B hang on scores, because a question (decide) was asked"),
        "{}",
        shown(&after)
    );
}

#[test]
fn a_value_that_no_single_item_has_is_not_counted_by_items() {
    let flips = ItemFlips { metric: "score".to_owned(), without: 64, ..ItemFlips::default() };
    assert_eq!(changed_items(&flips), "items by score: no single item has a value of it in both\n");
}

#[test]
fn two_runs_are_shown_with_what_changed_and_which_items_flipped() {
    let before = Made { scores: right(30, 50), ..Made::default() }.run("runs/before");
    let mut scores = right(42, 48);
    scores[0] = Some(0.0);
    scores[1] = None;
    let after = Made {
        scores,
        regatta: "0.2.0",
        nanodollars: 2_500_000,
        latency_us: 1_200_000,
        served: "gpt-5-2026-06-01",
        ..Made::default()
    };
    let after = after.run("runs/after");
    assert_snapshot!(render(&document(&before, &after, &Chosen::default()).unwrap()));
}

#[test]
fn below_the_least_coverage_of_either_run_a_comparison_is_withheld_and_its_bounds_are_shown() {
    let before = Made { scores: right(30, 50), ..Made::default() }.run("runs/before");
    let mut scores = right(42, 50);
    scores[45..].fill(None);
    let mut after = Made { scores, ..Made::default() }.run("runs/after");
    let shown = |a: &EndedRun, b: &EndedRun| render(&document(a, b, &Chosen::default()).unwrap());
    let usual = shown(&before, &after);
    assert!(!usual.contains("withheld") && usual.contains("90.0 % of the sessions have a score in both"), "{usual}");
    after.lock.coverage_min = 0.95;
    for strict in [shown(&before, &after), shown(&after, &before)] {
        assert!(
            strict.contains("withheld") && strict.contains("90.0 % of the sessions have a score in both"),
            "{strict}"
        );
    }
}

#[test]
fn two_runs_are_compared_at_the_higher_level_of_both() {
    let before = Made { scores: right(30, 50), ..Made::default() }.run("runs/before");
    let mut after = Made { scores: right(42, 48), ..Made::default() }.run("runs/after");
    let interval = |a: &EndedRun, b: &EndedRun| {
        let found = document(a, b, &Chosen::default()).unwrap();
        let difference = found.cells[0].metrics[0].difference.unwrap();
        (render(&found), difference.high.unwrap() - difference.low.unwrap())
    };
    let (usual, width) = interval(&before, &after);
    after.summary.level = Level::new(0.99).unwrap();
    let (strict, wider) = interval(&before, &after);
    let (mirrored, as_wide) = interval(&after, &before);
    assert!(
        usual.contains("[95 % interval]") && strict.contains("[99 % interval]") && mirrored.contains("[99 % interval]")
    );
    assert!(wider > width && (wider - as_wide).abs() < 1e-12, "{width} {wider} {as_wide}");
}

#[test]
fn everything_that_a_result_can_depend_on_is_named_when_it_changed() {
    let run = |name| Made { scores: right(30, 50), ..Made::default() }.run(name);
    let (a, mut b) = (run("runs/a"), run("runs/b"));
    b.lock.seed += 1;
    b.lock.trials += 1;
    b.lock.filtered = regatta_proto::Filtered::Missing;
    for benchmark in b.lock.benchmarks.values_mut() {
        benchmark.dataset = regatta_proto::Digest::of(b"other data");
        benchmark.evaluators.push(regatta_proto::Evaluator::Exec);
        benchmark.judge = Some(regatta_proto::Judge::Plain("judges/one".parse().unwrap()));
        benchmark.listed = vec!["item-001".parse().unwrap()];
        benchmark.limit = Some(7);
        benchmark.sample = Some(9);
        benchmark.judge_price = Some(regatta_proto::Price::per_mtok(1.0, 2.0));
    }
    b.lock.endpoints.insert("judges".parse().unwrap(), b.lock.endpoints.values().next().unwrap().clone());
    b.lock.models.iter_mut().for_each(|model| model.temperature = Some(0.5));
    for endpoint in b.lock.endpoints.values_mut() {
        endpoint.base_url = Some("https://elsewhere.example".to_owned());
    }
    let found = document(&a, &b, &Chosen::default()).unwrap();
    let named: Vec<&str> = found.changes.iter().map(|change| change.what.as_str()).collect();
    assert_snapshot!(named.join("\n"));
}

#[test]
fn a_metric_without_a_session_of_both_and_a_value_that_is_withheld_are_not_shown_as_numbers() {
    let (mut first, mut second) = (right(30, 50), right(30, 50));
    first[..25].fill(None);
    second[25..].fill(None);
    let made = |scores, name| Made { scores, ..Made::default() }.run(name);
    let (mut a, b) = (made(first, "runs/a"), made(second, "runs/b"));
    a.summary.rows.iter_mut().flat_map(|row| &mut row.metrics).for_each(|metric| metric.estimate.withheld = true);
    let found = document(&a, &b, &Chosen::default()).unwrap();
    let metric = &found.cells[0].metrics[0];
    assert_eq!((metric.a, metric.b, metric.difference), (None, Some(1.0), None));
    let text = render(&found);
    assert!(text.contains("no session has a score in both"), "{text}");
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let run = || Made { scores: right(30, 50), ..Made::default() }.run("runs/same");
    let (a, b) = (run(), run());
    let found = document(&a, &b, &Chosen::default()).unwrap();
    assert_eq!(found.cells[0].flips.as_ref().unwrap().same, 50);
    assert_eq!((found.cells[0].metrics[0].difference.unwrap().value, found.cells[0].metrics[0].p_holm), (0.0, 1.0));
    // Without transcripts nobody knows whether the prompts are the same, and that is said.
    assert_eq!(found.changes.iter().map(|change| change.what.as_str()).collect::<Vec<_>>(), ["prompts"]);
}

#[test]
fn the_only_models_of_both_are_compared_whatever_their_names_and_a_wrong_name_is_refused() {
    let a = Made { scores: right(3, 8), ..Made::default() }.run("runs/a");
    let b = Made { scores: right(5, 8), model: "openai/gpt-6", ..Made::default() }.run("runs/b");
    let found = document(&a, &b, &Chosen::default()).unwrap();
    assert_eq!(found.cells[0].cell.to_string(), "worfbench · two-shot · openai/gpt-5 → openai/gpt-6");
    let chosen = Chosen { a: Some("openai/gpt-4".parse().unwrap()), b: None };
    let error = document(&a, &b, &chosen).err().unwrap().to_string();
    assert_eq!(
        error,
        "runs/a has no model openai/gpt-4 (--model-a); it has openai/gpt-5; did you mean \"openai/gpt-5\"?"
    );
}

#[test]
fn values_over_other_sessions_than_their_difference_are_said_to_be() {
    let (mut first, mut second) = (right(30, 50), right(30, 50));
    first[..10].fill(None);
    second[45..].fill(None);
    let made = |scores, name| Made { scores, ..Made::default() }.run(name);
    let (a, b) = (made(first, "runs/a"), made(second, "runs/b"));
    let text = render(&document(&a, &b, &Chosen::default()).unwrap());
    assert!(
        text.contains("A is over the 40 and B over the 45 sessions") && text.contains("over the 35 that"),
        "{text}"
    );
    let text = render(&document(&a, &a, &Chosen::default()).unwrap());
    assert!(!text.contains("A is over the"), "{text}");
}

#[test]
fn a_cost_that_one_run_knows_is_shown_beside_one_that_is_unknown() {
    let run = |name| Made { scores: right(30, 50), ..Made::default() }.run(name);
    let (a, mut b) = (run("runs/a"), run("runs/b"));
    b.attempts.iter_mut().for_each(|attempt| attempt.cost_nanodollars = None);
    let found = document(&a, &b, &Chosen::default()).unwrap();
    let text = render(&found);
    let cost = text.lines().find(|line| line.contains("cost of 1,000")).unwrap();
    assert!(cost.contains("2.0000") && cost.matches("unknown").count() == 1, "{text}");
}

#[test]
fn answers_of_the_cache_and_sessions_without_one_are_in_no_latency_and_that_is_said() {
    let made = |cached, name| Made { scores: right(30, 50), cached, ..Made::default() }.run(name);
    let (mut a, b) = (made(0, "runs/a"), made(50, "runs/b"));
    for attempt in &mut a.attempts[..20] {
        (attempt.calls, attempt.latency_us) = (0, None);
    }
    let found = document(&a, &b, &Chosen::default()).unwrap();
    let Times { a: of_a, b: of_b } = found.cells[0].seconds;
    assert_eq!((of_a.of.map(|of| (of.p50, of.sessions)), of_a.unanswered), (Some((1.5, 30)), 20));
    assert_eq!((of_b.of, of_b.cached), (None, 50));
    let text = render(&found);
    let row =
        |name: &str| text.lines().find(|line| line.contains(name)).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(row("latency p95, s")[3..], ["1.500", "cached", "–"], "{text}");
    assert_eq!(row("cost of 1,000")[5..7], ["2.0000", "cached"], "{text}");
    assert!(text.contains("A: 20 of 50 sessions ended before any call was answered, and have no latency\n"), "{text}");
    assert!(text.contains("B: 50 of 50 sessions have answers of the response cache, and no latency or cost"), "{text}");
    assert!(text.contains("latency: of 30 and 0 sessions as they ran"), "{text}");
}

#[test]
fn of_a_document_that_does_not_count_cached_answers_the_rows_without_times_may_have_some() {
    let mut old = Made { scores: right(30, 50), ..Made::default() }.run("runs/old");
    old.attempts.iter_mut().for_each(|attempt| attempt.cached_calls = None);
    let cached = |a: &EndedRun| document(a, a, &Chosen::default()).unwrap().cells[0].seconds.a.cached;
    assert_eq!(cached(&old), 50);
    let seconds = serde_json::json!({ "p50": 1.5, "p90": 1.5, "p99": 1.5 });
    old.summary.rows[0].session_seconds = serde_json::from_value(seconds).unwrap();
    assert_eq!(cached(&old), 0);
}

#[test]
fn one_group_of_items_alone_has_no_p_value_and_that_is_said() {
    let run = |scores, name| {
        let mut run = Made { scores, ..Made::default() }.run(name);
        let groups = run.results.iter().map(|line| (line.item.clone(), "all".to_owned())).collect();
        run.measures.benchmarks.values_mut().for_each(|of| of.groups = BTreeMap::clone(&groups));
        run
    };
    let (a, b) = (run(right(30, 50), "runs/a"), run(right(45, 50), "runs/b"));
    let found = document(&a, &b, &Chosen::default()).unwrap();
    assert_eq!(found.cells[0].metrics[0].difference.unwrap().p, None);
    let text = render(&found);
    let row = text.lines().find(|line| line.contains("success (official)")).unwrap();
    assert_eq!(row.split_whitespace().rev().take(2).collect::<Vec<_>>(), ["–", "–"], "{text}");
    assert!(
        text.contains("success: one group of items alone, which says nothing of how groups differ: no p-value"),
        "{text}"
    );
}

#[test]
fn sessions_that_a_filter_ended_do_not_make_a_run_cheap() {
    let before = Made { scores: right(30, 50), ..Made::default() }.run("runs/before");
    let mut after = Made { scores: right(30, 50), ..Made::default() }.run("runs/after");
    // One that the filter let ask a first question, and many that it refused at once.
    for line in &mut after.results[..20] {
        (line.outcome, line.cause) = ("model_failure".to_owned(), Some("content_filter".to_owned()));
    }
    for attempt in &mut after.attempts[1..20] {
        (attempt.calls, attempt.latency_us, attempt.cost_nanodollars) = (0, None, Some(regatta_proto::Money(0)));
    }
    let found = document(&before, &after, &Chosen::default()).unwrap();
    let cost = found.cells[0].cost.as_ref().unwrap();
    assert!([cost.a.mean, cost.b.mean].iter().all(|mean| (mean - 0.002).abs() < 1e-9), "{cost:?}");
    assert!(cost.difference.value.abs() < 1e-9, "{cost:?}");
    assert_eq!((cost.b.sessions, found.cells[0].seconds.b.of.map(|of| of.sessions)), (30, Some(30)));
    let text = render(&found);
    assert!(text.contains("B: 20 of 50 sessions were ended by a filter"), "{text}");
}

#[test]
fn sessions_without_a_grade_are_counted_where_values_of_both_are_shown() {
    let run = |name: &str, graded: usize| {
        let mut run = Made { scores: right(30, 50), ..Made::default() }.run(name);
        for definition in run.measures.benchmarks.values_mut().flat_map(|of| of.settings.values_mut()).flatten() {
            definition.missing_if = [("success".to_owned(), "success_ungraded".to_owned())].into();
        }
        for values in
            run.results.iter_mut().skip(graded).flat_map(|line| &mut line.scores).flat_map(BTreeMap::values_mut)
        {
            values.remove("success");
            values.insert("success_ungraded".to_owned(), 1.0);
        }
        run
    };
    let (before, after) = (run("runs/before", 50), run("runs/after", 30));
    let found = document(&before, &after, &Chosen::default()).unwrap();
    let metric = &found.cells[0].metrics[0];
    assert_eq!((metric.scored.a, metric.scored.b, metric.scored.both), (50, 30, 30));
    let text = render(&found);
    assert!(
        text.contains(
            "success: of sessions with a score, and as far as a grade is needed, A is over the 50 and B over the 30"
        ),
        "{text}"
    );
    let all = render(&document(&before, &before, &Chosen::default()).unwrap());
    assert!(!all.contains("a grade"), "{all}");
}

/// The run with the sessions `at` ended by `cause`, and with `flags`.
fn cut_off(run: &mut EndedRun, at: std::ops::Range<usize>, cause: &str, flags: &[regatta_proto::Flag]) {
    for line in &mut run.results[at.clone()] {
        (line.outcome, line.cause, line.flags) = ("model_failure".to_owned(), Some(cause.to_owned()), flags.to_vec());
    }
    for attempt in &mut run.attempts[at] {
        (attempt.calls, attempt.latency_us, attempt.cost_nanodollars) = (0, None, Some(regatta_proto::Money(0)));
    }
}

#[test]
fn sessions_that_a_model_refused_are_not_said_to_be_ended_by_a_filter() {
    use regatta_proto::Flag;
    let before = Made { scores: right(30, 50), ..Made::default() }.run("runs/before");
    let after = |cuts: &[(std::ops::Range<usize>, &str, &[Flag])]| {
        let mut after = Made { scores: right(30, 50), ..Made::default() }.run("runs/after");
        for (at, cause, flags) in cuts {
            cut_off(&mut after, at.clone(), cause, flags);
        }
        let text = render(&document(&before, &after, &Chosen::default()).unwrap());
        let note = text.lines().find(|line| line.contains("ended by")).unwrap_or_default().to_owned();
        assert!(note.ends_with(": they are in neither latency nor cost"), "{text}");
        note.trim_end_matches(": they are in neither latency nor cost").to_owned()
    };
    let filtered = || (0..12, "content_filter", &[Flag::Filtered][..]);
    let refused = || (20..23, "content_filter", &[Flag::Refused][..]);
    let long = || (30..35, "context_length", &[][..]);
    assert_snapshot!(
        [
            after(&[filtered()]),
            after(&[refused()]),
            after(&[long()]),
            after(&[(0..1, "content_filter", &[Flag::Refused])]),
            after(&[filtered(), refused()]),
            after(&[filtered(), long()]),
            after(&[filtered(), refused(), long()]),
        ]
        .join("\n"),
        @r"
    B: 12 of 50 sessions were ended by a filter
    B: 3 of 50 sessions were ended by a refusal of the model
    B: 5 of 50 sessions were ended by the length of the context
    B: 1 of 50 sessions was ended by a refusal of the model
    B: 15 of 50 sessions were ended by a filter (12) or a refusal of the model (3)
    B: 17 of 50 sessions were ended by a filter (12) or the length of the context (5)
    B: 20 of 50 sessions were ended by a filter (12), the length of the context (5) or a refusal of the model (3)
    "
    );
}

#[test]
fn costs_and_times_over_sessions_of_which_none_is_in_both_are_said_to_be() {
    let run = |name| Made { scores: right(30, 50), ..Made::default() }.run(name);
    let (mut a, mut b) = (run("runs/a"), run("runs/b"));
    cut_off(&mut a, 0..30, "content_filter", &[]);
    cut_off(&mut b, 30..50, "content_filter", &[]);
    let text = render(&document(&a, &b, &Chosen::default()).unwrap());
    for said in [
        "cost: A over the 20 and B over the 30 sessions that it has answers of its own of; none is in both, so that they are not compared\n",
        "latency: of 20 and 30 sessions as they ran, none of them in both;",
    ] {
        assert!(text.contains(said), "{text}");
    }
    let row = text.lines().find(|line| line.contains("latency p50, s")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>()[3..], ["1.500", "1.500", "–"], "{text}");
    cut_off(&mut b, 30..30, "content_filter", &[]);
    let some = {
        let mut b = run("runs/b");
        cut_off(&mut b, 40..50, "content_filter", &[]);
        render(&document(&a, &b, &Chosen::default()).unwrap())
    };
    assert!(some.contains("latency: of 20 and 40 sessions as they ran, 10 of them in both;"), "{some}");
    // Where one price is unknown, the other is over the sessions that its run has answers of.
    b.attempts.iter_mut().for_each(|attempt| attempt.cost_nanodollars = None);
    let text = render(&document(&a, &b, &Chosen::default()).unwrap());
    assert!(text.contains("cost: A over the 20 sessions that it has answers of its own of\n"), "{text}");
}

#[test]
fn an_average_is_said_to_be_over_the_sessions_of_each_of_its_parts() {
    let run = |name: &str, ungraded: std::ops::Range<usize>, wrong: usize| {
        let mut run = Made { scores: right(50, 50), ..Made::default() }.run(name);
        for definition in run.measures.benchmarks.values_mut().flat_map(|of| of.settings.values_mut()).flatten() {
            let parts = ["grade", "exact"].map(|value| regatta_benchmarks::Measure::Mean { value: value.to_owned() });
            definition.measure = regatta_benchmarks::Measure::Average { of: parts.to_vec() };
            definition.missing_if = [("grade".to_owned(), "grade_ungraded".to_owned())].into();
        }
        for (at, line) in run.results.iter_mut().enumerate() {
            for values in line.scores.iter_mut().flat_map(BTreeMap::values_mut) {
                let is_ungraded = ungraded.contains(&at);
                *values =
                    [("exact", f64::from(u8::from(at >= wrong))), ("grade_ungraded", f64::from(u8::from(is_ungraded)))]
                        .into_iter()
                        .chain((!is_ungraded).then_some(("grade", 1.0)))
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect();
            }
        }
        run
    };
    let (before, after) = (run("runs/before", 0..4, 4), run("runs/after", 2..6, 0));
    let text = render(&document(&before, &after, &Chosen::default()).unwrap());
    for said in [
        "success: of sessions with a score, and as far as a grade is needed, A is over the 46 and B over the 46 that have one, each run by \
         itself; the difference is over the 44 that have one in both, and where no grade is needed over the 50 with a score in both\n",
        "success: 88.0 % of the sessions have a score in both: +4.0 [",
        " over what is scored in both, p = ",
        "items by success: 0 better in B, 0 worse, 44 the same, 6 without a value in both",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}
