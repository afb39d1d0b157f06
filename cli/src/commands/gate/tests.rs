use std::collections::BTreeMap;

use insta::assert_snapshot;
use rand::Rng;
use rand::SeedableRng;
use rand::rngs::StdRng;
use regatta_proto::{ModelRef, ModelSpec};

use super::*;
use crate::ended_run::testing::{Made, right};

fn policy(text: &str) -> Policy {
    Policy::parse(text).unwrap()
}

const MARGIN: &str = "metrics: { success: { margin: 5pp } }";
const EVERYTHING: &str = "metrics: { success: { margin: 5pp } }
coverage_min: 0.95
cost_max_increase: 10%
latency_p95_max_increase: 20%
latency_p95_max_s: 2
";

fn made(scores: Vec<Option<f64>>) -> Made<'static> {
    Made { scores, ..Made::default() }
}

fn judged(policy: &Policy, baseline: Made<'_>, run: Made<'_>) -> anyhow::Result<Judgement> {
    let (baseline, run) = (baseline.run("runs/last-release"), run.run("runs/tonight"));
    let cells = matched(&baseline, &run, &Chosen::default())?;
    Question { policy, baseline: &baseline, run: &run, cells: &cells, models: Models::All }.judge(None)
}

fn verdict(policy: &str, baseline: Made<'_>, run: Made<'_>) -> Verdict {
    judged(&self::policy(policy), baseline, run).unwrap().verdict
}

#[test]
fn the_same_answers_on_many_items_go() {
    assert_eq!(verdict(MARGIN, made(right(150, 200)), made(right(150, 200))), Verdict::Go);
}

#[test]
fn a_clear_loss_does_not_go() {
    assert_eq!(verdict(MARGIN, made(right(150, 200)), made(right(100, 200))), Verdict::NoGo);
}

#[test]
fn a_loss_that_may_be_chance_is_inconclusive() {
    assert_eq!(verdict(MARGIN, made(right(15, 20)), made(right(13, 20))), Verdict::Inconclusive);
}

#[test]
fn what_costs_too_much_or_takes_too_long_does_not_go_and_what_was_not_measured_is_inconclusive() {
    let base = || made(right(150, 200));
    assert_eq!(verdict(EVERYTHING, base(), base()), Verdict::Go);
    let dear = Made { nanodollars: 2_500_000, ..base() };
    assert_eq!(verdict(EVERYTHING, base(), dear), Verdict::NoGo);
    let slow = Made { latency_us: 2_100_000, ..base() };
    assert_eq!(verdict(EVERYTHING, base(), slow), Verdict::NoGo);
    let mut scores = right(150, 200);
    scores[..20].fill(None);
    assert_eq!(verdict(EVERYTHING, base(), made(scores)), Verdict::Inconclusive);
    // Items that the run left out altogether are missing too.
    assert_eq!(verdict(EVERYTHING, base(), made(right(150, 180))), Verdict::Inconclusive);
}

#[test]
fn what_the_run_lacks_of_the_baseline_does_not_go_unseen() {
    let (mut baseline, run) =
        (made(right(150, 200)).run("runs/last-release"), made(right(150, 200)).run("runs/tonight"));
    let judge = |baseline: &EndedRun, models: Models| {
        let cells = matched(baseline, &run, &Chosen::default()).unwrap();
        Question { policy: &policy(MARGIN), baseline, run: &run, cells: &cells, models }.judge(None).unwrap()
    };
    assert_eq!(judge(&baseline, Models::All).verdict, Verdict::Go);
    let other: ModelSpec = ModelSpec::from("openai/gpt-4".parse::<ModelRef>().unwrap());
    baseline.lock.models.push(other);
    let judged = judge(&baseline, Models::All);
    let missing: Vec<String> =
        judged.checks.iter().filter(|check| check.what == "part of the run").map(|check| check.cell.clone()).collect();
    assert_eq!((judged.verdict, missing.len()), (Verdict::Inconclusive, 1));
    assert!(missing[0].ends_with("openai/gpt-4"), "{missing:?}");
    // Whoever names the model asks about nothing else.
    assert_eq!(judge(&baseline, Models::Named).verdict, Verdict::Go);
    let (name, lock) =
        baseline.lock.benchmarks.first_key_value().map(|(name, lock)| (name.clone(), lock.clone())).unwrap();
    baseline.lock.models.pop();
    baseline.lock.benchmarks.insert("other".parse().unwrap(), lock);
    assert_eq!(judge(&baseline, Models::Named).verdict, Verdict::Inconclusive, "a benchmark beside {name}");
}

#[test]
fn a_run_of_which_too_little_was_measured_is_inconclusive_without_a_limit_of_the_policy() {
    let mut scores = right(150, 200);
    scores[..50].fill(None);
    assert_eq!(verdict(MARGIN, made(right(150, 200)), made(scores)), Verdict::Inconclusive);
}

#[test]
fn missing_sessions_that_could_turn_a_verdict_make_it_inconclusive() {
    // Equal wherever both have a score; but if all that is missing had been wrong, it would be ten points worse.
    let mut scores = right(150, 200);
    assert_eq!(verdict(MARGIN, made(right(150, 200)), made(scores.clone())), Verdict::Go);
    scores[..20].fill(None);
    assert_eq!(verdict(MARGIN, made(right(150, 200)), made(scores.clone())), Verdict::Inconclusive);
    // So it is where the baseline lacks them.
    scores.iter_mut().skip(150).take(20).for_each(|score| *score = None);
    assert_eq!(verdict(MARGIN, made(scores), made(right(150, 200))), Verdict::Inconclusive);
    // Far worse over the sessions of both, and not at all if what is missing had been right.
    let mut scores = right(112, 200);
    scores[150..188].fill(None);
    let checks = judged(&policy(MARGIN), made(right(150, 200)), made(scores)).unwrap().checks;
    assert_eq!(checks[0].verdict, Verdict::Inconclusive, "{checks:?}");
    // A loss that is one whatever is missing stays one.
    let mut scores = right(80, 200);
    scores[190..].fill(None);
    assert_eq!(verdict(MARGIN, made(right(150, 200)), made(scores)), Verdict::NoGo);
}

#[test]
fn too_few_sessions_of_both_are_inconclusive_though_each_run_has_enough() {
    let (mut before, mut after) = (right(0, 200), right(200, 200));
    before[..30].fill(None);
    after[170..].fill(None);
    let checks = judged(&policy(MARGIN), made(before), made(after)).unwrap().checks;
    assert_eq!(checks[0].verdict, Verdict::Inconclusive);
    assert_eq!(checks[0].detail, "70.0 % of the sessions have a score in both; at least 80.0 %");
}

#[test]
fn a_loss_that_holds_whatever_is_missing_is_one_however_much_is() {
    // If all 60 that are missing had been right, it would still be 35 points worse.
    let mut scores = right(20, 200);
    scores[140..].fill(None);
    let checks = judged(&policy(MARGIN), made(right(150, 200)), made(scores)).unwrap().checks;
    assert_eq!(checks[0].verdict, Verdict::NoGo, "{checks:?}");
    assert_eq!(checks[1].verdict, Verdict::Inconclusive, "coverage: {checks:?}");
}

#[test]
fn runs_of_different_tests_are_not_judged_by_their_scores() {
    fn each(lock: &mut regatta_proto::SweepLock, change: fn(&mut regatta_proto::BenchmarkLock)) {
        lock.benchmarks.values_mut().for_each(change);
    }
    let changed = |change: fn(&mut regatta_proto::SweepLock)| {
        let baseline = made(right(150, 200)).run("runs/last-release");
        let mut run = made(right(150, 200)).run("runs/tonight");
        change(&mut run.lock);
        let cells = matched(&baseline, &run, &Chosen::default()).unwrap();
        let question =
            Question { policy: &policy(MARGIN), baseline: &baseline, run: &run, cells: &cells, models: Models::All };
        let judged = question.judge(None).unwrap();
        let said = judged.checks.iter().filter(|check| check.what == "the same test").map(|check| check.detail.clone());
        (judged.verdict, said.collect::<Vec<_>>().join("; "))
    };
    assert_eq!(changed(|_| ()), (Verdict::Go, String::new()));
    let (verdict, said) = changed(|lock| each(lock, |of| of.dataset = Digest::of(b"other golds")));
    assert!(verdict == Verdict::Inconclusive && said.starts_with("data changed: "), "{said}");
    let (verdict, said) =
        changed(|lock| each(lock, |of| of.judge = Some(regatta_proto::Judge::Plain("openai/o".parse().unwrap()))));
    assert!(verdict == Verdict::Inconclusive && said.starts_with("judge changed: none in the baseline"), "{said}");
    let (verdict, said) = changed(|lock| lock.filtered = regatta_proto::Filtered::Missing);
    assert!(verdict == Verdict::Inconclusive && said.starts_with("filtered changed: "), "{said}");
    // Neither prices nor what the run adds make it another test.
    assert_eq!(changed(|lock| each(lock, |of| of.limit = Some(500))).0, Verdict::Go);
    assert_eq!(changed(|lock| lock.models.iter_mut().for_each(|model| model.price = None)).0, Verdict::Go);
}

#[test]
fn another_model_in_a_cast_that_plays_is_another_test() {
    let with_casts = |name: &str, casts: serde_json::Value| {
        let setting: regatta_proto::Setting = "two-shot/cast=tuned".parse().unwrap();
        let mut run = made(right(150, 200)).run(name);
        for of in run.lock.benchmarks.values_mut() {
            of.settings = vec![setting.clone()];
            of.items = BTreeMap::from([(setting.clone(), 200)]);
            of.casts = serde_json::from_value(casts.clone()).unwrap();
        }
        for of in run.measures.benchmarks.values_mut() {
            let metrics = std::mem::take(&mut of.settings).into_values();
            of.settings = metrics.map(|metrics| (setting.clone(), metrics)).collect();
        }
        run.results.iter_mut().for_each(|line| line.setting = setting.clone());
        run.summary.rows.iter_mut().for_each(|row| row.setting = setting.clone());
        run
    };
    let judged = |casts: serde_json::Value| {
        let small = serde_json::json!({ "tuned": { "planner": { "id": "openai/small" } } });
        let (baseline, run) = (with_casts("runs/last-release", small), with_casts("runs/tonight", casts));
        let cells = matched(&baseline, &run, &Chosen::default()).unwrap();
        let question =
            Question { policy: &policy(MARGIN), baseline: &baseline, run: &run, cells: &cells, models: Models::All };
        let judged = question.judge(None).unwrap();
        let said = judged.checks.iter().filter(|check| check.what == "the same test").map(|check| check.detail.clone());
        (judged.verdict, said.collect::<Vec<_>>().join("; "))
    };
    let (verdict, said) = judged(serde_json::json!({ "tuned": { "planner": { "id": "openai/large" } } }));
    assert_eq!(verdict, Verdict::Inconclusive);
    assert_eq!(said, "casts, tuned.planner, id changed: openai/small in the baseline, openai/large in the run");
    // A cast that plays in no setting of both is none of theirs, and a price is no answer.
    let further = serde_json::json!({
        "tuned": { "planner": { "id": "openai/small", "price": { "input_per_mtok": 1, "output_per_mtok": 2 } } },
        "other": { "planner": { "id": "openai/large" } },
    });
    assert_eq!(judged(further), (Verdict::Go, String::new()));
}

#[test]
fn runs_that_stopped_by_their_scores_are_judged_by_no_test_of_samples_of_a_fixed_size() {
    let decide: regatta_proto::DecideLock = serde_json::from_value(serde_json::json!({
        "asked": { "question": "best", "margin": "2pp" }, "first_trials": 1,
    }))
    .unwrap();
    for (stopped, which) in [([true, false], "the baseline has a question"), ([false, true], "the run has a question")]
    {
        // A clear loss, by a sample of fixed size.
        let mut baseline = made(right(150, 200)).run("runs/last-release");
        let mut run = made(right(100, 200)).run("runs/tonight");
        baseline.lock.decide = stopped[0].then(|| decide.clone());
        run.lock.decide = stopped[1].then(|| decide.clone());
        let cells = matched(&baseline, &run, &Chosen::default()).unwrap();
        let question =
            Question { policy: &policy(MARGIN), baseline: &baseline, run: &run, cells: &cells, models: Models::All };
        let judged = question.judge(None).unwrap();
        let check = judged.checks.iter().find(|check| check.what == "a sample of fixed size").unwrap();
        assert!(check.detail.starts_with(which), "{}", check.detail);
        let loss = judged.checks.iter().find(|check| check.detail.contains("worse by more than the margin")).unwrap();
        assert!(
            loss.detail.ends_with("; no verdict, because the size of a sample was not fixed beforehand"),
            "{}",
            loss.detail
        );
        assert_eq!((loss.verdict, judged.verdict), (Verdict::Inconclusive, Verdict::Inconclusive));
    }
}

#[test]
fn a_metric_that_there_is_not_is_refused() {
    let error = judged(&policy("metrics: { succes: { margin: 2pp } }"), made(right(3, 8)), made(right(3, 8)));
    let error = error.unwrap_err().to_string();
    assert_eq!(
        error,
        "the policy names the metric succes, which no cell has in both runs; they have success; did you mean \"success\"?"
    );
    let misspelt = policy("metrics: { success: { margin: 2pp, benchmark: worfbnch } }");
    let error = judged(&misspelt, made(right(3, 8)), made(right(3, 8))).unwrap_err().to_string();
    assert_eq!(
        error,
        "the policy's metrics.success.benchmark is worfbnch, which the runs do not share; they share worfbench; did you mean \"worfbench\"?"
    );
}

#[test]
fn a_margin_that_nothing_could_exceed_is_refused_with_the_points_that_were_meant() {
    let error = judged(&policy("metrics: { success: { margin: 5 } }"), made(right(3, 8)), made(right(3, 8)));
    let error = error.unwrap_err().to_string();
    assert_eq!(
        error,
        "the policy's margin of success does not fit: values of 0 to 1 cannot differ by more than 5; percentage points are written 5pp"
    );
}

#[test]
fn a_judgement_is_shown_to_people_pull_requests_and_ci() {
    let mut scores = right(100, 200);
    scores[..30].fill(None);
    let run = Made { nanodollars: 2_150_000, ..made(scores) };
    let judgement = judged(&policy(EVERYTHING), made(right(150, 200)), run).unwrap();
    assert_snapshot!("in_a_terminal", rendering::text(&judgement));
    assert_snapshot!("in_markdown", rendering::markdown(&judgement));
    assert_snapshot!("in_junit_xml", rendering::junit(&judgement));
}

#[test]
fn xml_carries_names_with_signs() {
    let mut judgement = judged(&policy(MARGIN), made(right(8, 8)), made(right(8, 8))).unwrap();
    judgement.run = "a<b>&\"c\"\u{1b}".to_owned();
    assert!(
        rendering::junit(&judgement)
            .contains("name=\"a&lt;b&gt;&amp;&quot;c&quot;\u{fffd} against runs/last-release\"")
    );
}

/// A night's run over `count` items of `quality`, each right by chance.
fn night(random: &mut StdRng, count: usize, quality: f64) -> Made<'static> {
    made((0..count).map(|_| Some(f64::from(u8::from(random.random_bool(quality))))).collect())
}

/// The nights of `count` on which the gate said NO-GO.
fn alarms(seed: u64, count: usize, items: usize, quality: f64, ledger: &mut Option<NightLedger>) -> usize {
    let mut random = StdRng::seed_from_u64(seed);
    let policy = policy(MARGIN);
    let said_no = |at: usize| {
        let (mut baseline, mut run) = (night(&mut random, items, 0.7), night(&mut random, items, quality));
        (baseline.nanodollars, run.nanodollars) = (at as u64, at as u64);
        let (baseline, run) = (baseline.run("runs/last-release"), run.run(&format!("night-{at}")));
        let cells = matched(&baseline, &run, &Chosen::default()).unwrap();
        let question = Question { policy: &policy, baseline: &baseline, run: &run, cells: &cells, models: Models::All };
        let judgement = match ledger {
            Some(ledger) => question.judge_in(ledger),
            None => question.judge(None),
        };
        judgement.unwrap().verdict == Verdict::NoGo
    };
    (0..count).map(said_no).filter(|is_alarm| *is_alarm).count()
}

#[test]
fn over_200_nights_of_equal_quality_there_is_no_false_alarm() {
    let mut ledger = Some(NightLedger::new(0.05));
    assert_eq!(alarms(11, 200, 60, 0.7, &mut ledger), 0);
    assert_eq!(ledger.unwrap().nights.len(), 200);
}

#[test]
fn at_the_very_margin_at_most_one_series_of_nights_in_twenty_has_a_false_alarm() {
    // The worst case that is still no regression: 5 points below.
    const SERIES: u64 = 60;
    let has_any = |seed: &u64| alarms(*seed, 12, 12, 0.65, &mut Some(NightLedger::new(0.05))) > 0;
    let found = (0..SERIES).filter(has_any).count();
    // One in twenty are 3 of 60; 8 or more would happen by chance once in 100 times.
    assert!(found <= 7, "{found} of {SERIES}");
}

#[test]
fn without_a_ledger_each_night_alone_may_be_a_false_alarm() {
    let found = alarms(5, 200, 12, 0.65, &mut None);
    assert!(found > 2 && found <= 20, "{found} of 200");
}

#[test]
fn forty_items_without_a_difference_let_nothing_pass_by_five_points_and_four_hundred_do() {
    let of_all = |count: usize| verdict(MARGIN, made(right(count, count)), made(right(count, count)));
    assert_eq!(of_all(40), Verdict::Inconclusive, "one such night in eight hides a loss of five points");
    assert_eq!(of_all(400), Verdict::Go);
}

#[test]
fn a_real_regression_is_found_on_the_first_night_and_on_a_late_one() {
    let mut ledger = NightLedger::new(0.05);
    for at in 0..200 {
        let judged = Digest::of(format!("{at}").as_bytes());
        ledger.note(Night { judged, run: String::new(), spent: 0.0, verdict: Verdict::Go });
    }
    assert_eq!(alarms(3, 1, 400, 0.3, &mut Some(NightLedger::new(0.05))), 1);
    assert_eq!(alarms(3, 1, 400, 0.3, &mut Some(ledger)), 1);
}

#[test]
fn a_limit_on_the_run_alone_is_judged_whatever_the_baseline_knows() {
    let limits = policy("metrics: { success: { margin: 5pp } }\ncost_max_usd: 0.01\nlatency_p95_max_s: 2\n");
    let increases = policy("metrics: { success: { margin: 5pp } }\ncost_max_increase: 10%\n");
    let (mut baseline, run) =
        (made(right(150, 200)).run("runs/last-release"), made(right(150, 200)).run("runs/tonight"));
    baseline.attempts.iter_mut().for_each(|attempt| attempt.cost_nanodollars = None);
    let judged = |policy: &Policy, baseline: &EndedRun, run: &EndedRun| {
        let cells = matched(baseline, run, &Chosen::default()).unwrap();
        let models = Models::All;
        let judged = Question { policy, baseline, run, cells: &cells, models }.judge(None).unwrap();
        judged.checks.into_iter().map(|check| (check.what, check.verdict, check.detail)).collect::<Vec<_>>()
    };
    let verdicts = |found: &[(String, Verdict, String)]| found.iter().map(|check| check.1).collect::<Vec<_>>();
    assert!(verdicts(&judged(&limits, &baseline, &run)).iter().all(|verdict| *verdict == Verdict::Go));
    let says = |found: &[(String, Verdict, String)], what: &str| {
        found.iter().any(|check| check.1 == Verdict::Inconclusive && check.2 == what)
    };
    let found = judged(&increases, &baseline, &run);
    assert!(says(&found, "unknown in the baseline: a call has no known price"), "{found:?}");
    let found = judged(&limits, &run, &baseline);
    assert!(says(&found, "unknown in the run: a call has no known price"), "{found:?}");
}

#[test]
fn limits_over_answers_of_the_cache_are_inconclusive_unless_enough_was_asked() {
    let base = || made(right(150, 200));
    let with = |cached| Made { cached, ..base() };
    let of = |checks: &[Check], what: &str| {
        checks.iter().find(|check| check.what == what).map(|check| (check.verdict, check.detail.clone())).unwrap()
    };
    let limits = policy(EVERYTHING);
    let checks = judged(&limits, base(), with(200)).unwrap().checks;
    let why = "unknown in the run: 200 of 200 sessions have answers of the response cache, which took nothing of their own; at least 95.0 % \
               must have been asked";
    for what in ["latency p95", "latency p95, increase", "cost of 1,000 sessions, increase"] {
        assert_eq!(of(&checks, what), (Verdict::Inconclusive, why.to_owned()));
    }
    let checks = judged(&limits, with(200), base()).unwrap().checks;
    assert_eq!(of(&checks, "latency p95, increase").0, Verdict::Inconclusive);
    assert_eq!(of(&checks, "latency p95").0, Verdict::Go, "it needs no baseline");
    let checks = judged(&limits, base(), with(5)).unwrap().checks;
    let (verdict, detail) = of(&checks, "latency p95");
    assert!(verdict == Verdict::Go && detail.contains("over 195 sessions"), "{detail}");
    let slow = Made { latency_us: 2_100_000, ..with(5) };
    assert_eq!(of(&judged(&limits, base(), slow).unwrap().checks, "latency p95").0, Verdict::NoGo);
}

#[test]
fn an_increase_is_that_of_the_sessions_of_both_runs() {
    // The first half of the items costs a tenth of the second and takes a tenth of its time, and the run has nothing of it.
    let of_half = |scores: Vec<Option<f64>>, name: &str| {
        let mut run = made(scores).run(name);
        for attempt in &mut run.attempts[..100] {
            attempt.cost_nanodollars = attempt.cost_nanodollars.map(|cost| regatta_proto::Money(cost.0 / 10));
            attempt.latency_us = attempt.latency_us.map(|latency| latency / 10);
        }
        run
    };
    let baseline = of_half(right(200, 200), "runs/last-release");
    let run = of_half([vec![None; 100], right(100, 100)].concat(), "runs/tonight");
    let cells = matched(&baseline, &run, &Chosen::default()).unwrap();
    let limits = policy(
        "metrics: { success: { margin: 5pp } }\ncoverage_min: 0.4\ncost_max_increase: 10%\nlatency_p95_max_increase: 10%\n",
    );
    let question = Question { policy: &limits, baseline: &baseline, run: &run, cells: &cells, models: Models::All };
    let increases = question.judge(None).unwrap().checks.into_iter().filter(|check| check.what.ends_with("increase"));
    let found: Vec<(Verdict, String)> = increases.map(|check| (check.verdict, check.detail)).collect();
    assert_eq!(found.len(), 2);
    for (verdict, detail) in found {
        assert!(verdict == Verdict::Go && detail.contains("over the 100 sessions of both"), "{detail}");
    }
}

/// Has a filter end the sessions `at`, before any call was answered.
fn cut_off(run: &mut EndedRun, at: std::ops::Range<usize>) {
    for line in &mut run.results[at.clone()] {
        (line.outcome, line.cause) = ("model_failure".to_owned(), Some("content_filter".to_owned()));
    }
    for attempt in &mut run.attempts[at] {
        (attempt.calls, attempt.latency_us, attempt.cost_nanodollars) = (0, None, Some(regatta_proto::Money(0)));
    }
}

const INCREASES: &str =
    "metrics: { success: { margin: 5pp } }\ncost_max_increase: 10%\nlatency_p95_max_increase: 10%\n";

fn increases(baseline: &EndedRun, run: &EndedRun) -> Vec<(Verdict, String)> {
    let cells = matched(baseline, run, &Chosen::default()).unwrap();
    let policy = policy(INCREASES);
    let question = Question { policy: &policy, baseline, run, cells: &cells, models: Models::All };
    let checks = question.judge(None).unwrap().checks.into_iter().filter(|check| check.what.ends_with("increase"));
    checks.map(|check| (check.verdict, check.detail)).collect()
}

#[test]
fn too_few_sessions_of_both_show_no_increase_and_none() {
    // Dear and slow wherever a filter ended the baseline, and like it everywhere else.
    let mut baseline = made(right(150, 200)).run("runs/last-release");
    let dear = |mut run: EndedRun| {
        for attempt in &mut run.attempts[70..] {
            attempt.cost_nanodollars = attempt.cost_nanodollars.map(|cost| regatta_proto::Money(cost.0 * 50));
            attempt.latency_us = attempt.latency_us.map(|latency| latency * 50);
        }
        run
    };
    let run = dear(made(right(150, 200)).run("runs/tonight"));
    assert!(increases(&baseline, &run).iter().all(|(verdict, _)| *verdict == Verdict::NoGo));
    cut_off(&mut baseline, 70..200);
    for (before, now) in [(&baseline, &run), (&run, &baseline)] {
        for (verdict, detail) in increases(before, now) {
            let few = "35.0 % of the sessions with answers in either run (70 of 200) have answers of their own in both; at least 80.0 %";
            assert!(verdict == Verdict::Inconclusive && detail.starts_with(few), "{detail}");
            assert!(detail.contains("observed") && detail.contains("(+10 %)"), "{detail}");
        }
    }
    // What has answers in neither run has no cost to compare, and what the run adds has none before.
    let mut same = made(right(150, 200)).run("runs/tonight");
    cut_off(&mut same, 70..200);
    let same = increases(&baseline, &same);
    assert!(
        same.iter().all(|(verdict, detail)| *verdict == Verdict::Go && detail.contains("the 70 sessions")),
        "{same:?}"
    );
    let fewer = increases(&made(right(50, 50)).run("runs/last-release"), &made(right(150, 200)).run("runs/tonight"));
    assert!(fewer.iter().all(|(verdict, _)| *verdict == Verdict::Go), "{fewer:?}");
}

#[test]
fn an_increase_without_a_session_of_both_says_so() {
    let (mut baseline, mut run) =
        (made(right(150, 200)).run("runs/last-release"), made(right(150, 200)).run("runs/tonight"));
    cut_off(&mut baseline, 100..200);
    cut_off(&mut run, 0..100);
    for (verdict, detail) in increases(&baseline, &run) {
        let none = "0.0 % of the sessions with answers in either run (0 of 200) have answers of their own in both; at least 80.0 %";
        assert_eq!((verdict, detail.as_str()), (Verdict::Inconclusive, none));
    }
    cut_off(&mut baseline, 0..100);
    for (verdict, detail) in increases(&baseline, &run) {
        let none = "unknown in the baseline: 200 of 200 sessions were ended by a filter";
        assert_eq!((verdict, detail.as_str()), (Verdict::Inconclusive, none));
    }
}

#[test]
fn a_limit_of_time_is_held_against_the_sessions_that_were_answered() {
    let (baseline, mut run) = (
        made(right(150, 200)).run("runs/last-release"),
        Made { latency_us: 2_100_000, ..made(right(150, 200)) }.run("runs/tonight"),
    );
    let latency = |run: &EndedRun| {
        let cells = matched(&baseline, run, &Chosen::default()).unwrap();
        let limits = policy(EVERYTHING);
        let question = Question { policy: &limits, baseline: &baseline, run, cells: &cells, models: Models::All };
        let checks = question.judge(None).unwrap().checks;
        checks.into_iter().find(|check| check.what == "latency p95").map(|check| (check.verdict, check.detail)).unwrap()
    };
    // Counted as taking no time, these would bring the percentile down to nothing.
    for attempt in &mut run.attempts[..195] {
        (attempt.calls, attempt.latency_us) = (0, None);
    }
    assert_eq!(latency(&run).0, Verdict::NoGo);
    for attempt in &mut run.attempts {
        (attempt.calls, attempt.latency_us) = (0, None);
    }
    let (verdict, why) = latency(&run);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert_eq!(why, "unknown in the run: 200 of 200 sessions ended before any call was answered");
}

#[test]
fn one_group_of_items_alone_is_inconclusive_and_the_reason_is_said() {
    let run = |name| {
        let mut run = made(right(150, 200)).run(name);
        let groups: BTreeMap<_, _> = run.results.iter().map(|line| (line.item.clone(), "all".to_owned())).collect();
        run.measures.benchmarks.values_mut().for_each(|of| of.groups = groups.clone());
        run
    };
    let (baseline, run) = (run("runs/last-release"), run("runs/tonight"));
    let cells = matched(&baseline, &run, &Chosen::default()).unwrap();
    let question =
        Question { policy: &policy(MARGIN), baseline: &baseline, run: &run, cells: &cells, models: Models::All };
    let check = question.judge(None).unwrap().checks.remove(0);
    assert_eq!(check.verdict, Verdict::Inconclusive);
    assert_eq!(check.detail, "one group of items alone, which says nothing of how groups differ");
}

#[test]
fn coverage_is_that_of_the_metrics_that_the_policy_names() {
    // A judge gave half of the grades that another metric on leaderboards is made of.
    let half_graded = || {
        let mut run = made(right(150, 200)).run("runs/tonight");
        let row = &mut run.summary.rows[0];
        let mut quality = row.metrics[0].clone();
        (quality.metric, quality.estimate.coverage) = ("quality".to_owned(), 0.5);
        row.metrics.push(quality);
        row.coverage = 0.5;
        run
    };
    let (baseline, run) = (made(right(150, 200)).run("runs/last-release"), half_graded());
    let coverage = |run: &EndedRun| {
        let cells = matched(&baseline, run, &Chosen::default()).unwrap();
        let limits = policy(MARGIN);
        let question = Question { policy: &limits, baseline: &baseline, run, cells: &cells, models: Models::All };
        let checks = question.judge(None).unwrap().checks;
        checks.into_iter().find(|check| check.what == "coverage").map(|check| (check.verdict, check.detail)).unwrap()
    };
    let (verdict, detail) = coverage(&run);
    assert_eq!(verdict, Verdict::Go);
    assert!(detail.starts_with("100.0 % of the sessions have a score"), "{detail}");
    let mut lacking = half_graded();
    lacking.summary.rows[0].metrics[0].estimate.coverage = 0.5;
    let (verdict, detail) = coverage(&lacking);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(detail.starts_with("50.0 % of the sessions have a value of success"), "{detail}");
}

/// A run that asked of `openai/new` against `openai/old`, where the old one is better by `value`, and by so many parts at least and at most.
fn asked(question: &str, [value, low, high]: [f64; 3]) -> EndedRun {
    let mut run = made(right(150, 200)).run("runs/tonight");
    let decided = serde_json::json!({
        "question": question, "margin": "2pp", "confidence": 0.95, "over": "new_items", "ended": "decided", "sessions": 400,
        "sessions_max": 1600, "cost": { "known": 0, "unknown_calls": 0 },
        "contests": [{
            "benchmark": "worfbench", "setting": "two-shot", "evaluator": "official", "metric": "success", "unit": "percent",
            "range": [0.0, 1.0], "decided": true, "rounds": 3, "units": 800, "contestants": [],
            "sequences": [{
                "one": "openai/old", "other": "openai/new", "value": value, "low": low, "high": high, "relation": "open", "points": [],
            }],
        }],
    });
    run.summary.decided = Some(serde_json::from_value(decided).unwrap());
    run
}

#[test]
fn a_runs_own_question_gives_a_verdict_by_its_margin() {
    for (ends, verdict) in [
        ([0.0, -0.03, 0.015], Verdict::Go),
        ([0.05, 0.03, 0.07], Verdict::NoGo),
        // Worse, and by no more than the margin as far as is known.
        ([0.02, 0.01, 0.03], Verdict::Inconclusive),
    ] {
        assert_eq!(decided::judge(&asked("against openai/old", ends)).unwrap().verdict, verdict, "{ends:?}");
    }
    let shown = rendering::text(&decided::judge(&asked("against openai/old", [0.05, 0.03, 0.07])).unwrap());
    assert_eq!(
        shown,
        "NO-GO: runs/tonight against openai/old\nworfbench · two-shot · openai/new\n  NO-GO         success (official): -5.0 [-7.0, \
         -3.0], margin 2.0, in 400 of 1600 sessions: worse by more than the margin\nby the run's own question: all of this is right with a \
         probability of 95 % at least, however often it was looked at"
    );
    // The other way round the new one is the baseline.
    let turned = decided::judge(&asked("against openai/new", [0.05, 0.03, 0.07])).unwrap();
    assert_eq!((turned.verdict, turned.baseline.as_str()), (Verdict::Go, "openai/new"));
}

#[test]
fn a_run_without_a_baseline_in_its_question_is_not_judged_by_it() {
    let error = decided::judge(&asked("best", [0.0, -0.01, 0.01])).unwrap_err().to_string();
    assert!(error.contains("is best, which names no baseline"), "{error}");
    let error = decided::judge(&made(right(150, 200)).run("runs/tonight")).unwrap_err().to_string();
    assert!(error.starts_with("runs/tonight has no question"), "{error}");
}
