use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use regatta_proto::{BenchmarkName, CostSum, Money};

use super::*;
use crate::comparison::{Comparison, Provider};
use crate::failures::Failure;
use crate::standings::standings;
use crate::statistics::{Difference, Gaps, PairedRatio, RatioOfRun};
use crate::summary::LeaderboardRow;
use crate::tabulation::tests::harness::{all_measured, documents, lock, summary, sweep, sweep_of_both};
use crate::tradeoffs::Tradeoff;

/// Two models of one benchmark, of which no comparison has been made yet.
fn two() -> Summary {
    summary(&documents(&sweep(lock(&["x/one", "x/two"])), &all_measured))
}

/// The ratio of two amounts, with an interval that reaches from nine to eleven tenths of it.
fn ratio(of: [f64; 2]) -> PairedRatio {
    let value = of[1] / of[0];
    let p = if (0.9..1.1).contains(&value) { 0.3 } else { 0.001 };
    PairedRatio {
        value,
        low: Some(0.9 * value),
        high: Some(1.1 * value),
        p: Some(p),
        p_holm: Some(p),
        n: 4,
        clusters: 4,
    }
}

/// The same with a difference of the first from the second, and what a session of each costs and takes.
fn compared(difference: (f64, f64, f64), p_holm: f64, dollars: [f64; 2], seconds: [f64; 2]) -> Summary {
    let mut summary = two();
    let pair = &mut summary.pairs[0].pairs[0];
    let (value, low, high) = difference;
    pair.difference = Difference { value, low: Some(low), high: Some(high), ..pair.difference };
    pair.p_holm = Some(p_holm);
    for (at, name) in ["x/one", "x/two"].into_iter().enumerate() {
        let standing = summary.standings.iter_mut().find(|of| of.model.to_string() == name).unwrap();
        standing.cost_per_session = Money::from_dollars(dollars[at]);
    }
    let tradeoff = |first: &str, other: &str, turn: bool| {
        let of = |[one, two]: [f64; 2]| Some(ratio(if turn { [two, one] } else { [one, two] }));
        Tradeoff {
            first: first.parse().unwrap(),
            other: other.parse().unwrap(),
            seconds: of(seconds).map(|PairedRatio { value, n, .. }| RatioOfRun { value, n }),
            cost: of(dollars),
        }
    };
    summary.tradeoffs = vec![tradeoff("x/one", "x/two", false), tradeoff("x/two", "x/one", true)];
    summary
}

fn provider(model: &str, of: &Summary) -> Provider {
    Provider {
        model: model.parse().unwrap(),
        simulated: false,
        quality: Vec::new(),
        sessions: of.sessions,
        cost: CostSum::default(),
        cost_per_session: None,
        cost_per_success: None,
        calls: 0,
        latency: None,
        first_token: None,
        tokens_per_second: None,
        errors: BTreeMap::new(),
        served: BTreeMap::new(),
    }
}

#[test]
fn an_alternative_is_told_with_its_quality_money_and_time() {
    let found = compared((0.01, -0.02, 0.04), 0.4, [0.01, 0.0026], [1.0, 4.3]);
    assert_eq!(
        sentences(&found),
        [
            "x/two, against x/one: same quality within ±0.040, 74 % cheaper [71 %, 77 %], calls took 4.3× as long in this run."
        ]
    );
}

#[test]
fn a_comparison_of_a_part_of_the_items_tells_how_many_these_are() {
    let mut found = compared((0.01, -0.02, 0.04), 0.4, [0.01, 0.0026], [1.0, 4.3]);
    let items: u32 = found.rows.iter().filter(|row| row.model.to_string() == "x/one").map(|row| row.items).sum();
    for tradeoff in &mut found.tradeoffs {
        (tradeoff.cost.as_mut().unwrap().n, tradeoff.seconds.as_mut().unwrap().n) = (items - 1, 2);
    }
    assert_eq!(
        sentences(&found),
        [
            "x/two, against x/one: same quality within ±0.040, 74 % cheaper [71 %, 77 %] (3 of 4 items), calls took 4.3× as long in this run (2 of 4 \
             items)."
        ]
    );
}

#[test]
fn a_family_has_one_sentence_on_all_endpoints_that_serve_it() {
    let mut found = compared((0.01, -0.02, 0.04), 0.4, [0.01, 0.0026], [1.0, 4.3]);
    let providers = ["x/one", "x/two"].map(|model| provider(model, &found)).to_vec();
    let (benchmark, setting) = (found.rows[0].benchmark.clone(), found.rows[0].setting.clone());
    found.comparisons.push(Comparison { benchmark, setting, family: "llama".to_owned(), providers });
    assert_eq!(
        sentences(&found),
        [
            "llama, against x/one: x/two: same quality within ±0.040, 74 % cheaper [71 %, 77 %], calls took 4.3× as long in this run."
        ]
    );
}

#[test]
fn a_wide_interval_is_not_called_the_same_and_a_difference_has_its_size() {
    let of = |difference, p_holm| sentences(&compared(difference, p_holm, [1.0, 1.0], [1.0, 1.0])).remove(0);
    assert_eq!(
        of((0.1, -0.2, 0.4), 0.4),
        "x/two, against x/one: no difference in quality seen, within ±0.400, no difference in cost seen, within 0.90× to 1.1×, \
         calls took 1.00× as long in this run."
    );
    assert_eq!(
        of((0.455, -2.441, 3.35), 0.4),
        "x/two, against x/one: no difference in quality seen, with too few items to tell one, no difference in cost seen, within 0.90× to 1.1×, \
         calls took 1.00× as long in this run."
    );
    assert_eq!(
        of((0.31, 0.27, 0.36), 0.01),
        "x/two, against x/one: worse by 0.310 [0.270, 0.360], no difference in cost seen, within 0.90× to 1.1×, \
         calls took 1.00× as long in this run."
    );
    // Ahead in the ranking, it is what the other is compared with.
    let mut better = compared((-0.31, -0.36, 0.01), 0.01, [2.0, 7.0], [3.0, 1.5]);
    better.standings.reverse();
    assert_eq!(
        sentences(&better),
        [
            "x/one, against x/two: worse by 0.310 [-0.010, 0.360], 71 % cheaper [69 %, 74 %], calls took 2.0× as long in this run."
        ]
    );
}

#[test]
fn what_too_little_was_measured_of_or_nobody_knows_the_price_of_is_not_compared() {
    let mut found = compared((0.31, 0.27, 0.36), 0.01, [1.0, 1.0], [1.0, 1.0]);
    found.rows[1].metrics.iter_mut().for_each(|metric| metric.estimate.withheld = true);
    found.standings[0].cost_per_session = None;
    found.tradeoffs.clear();
    assert_eq!(
        sentences(&found),
        ["x/two, against x/one: too little measured to compare quality (less than 80.0 %), cost unknown."]
    );
    let mut found = compared((0.31, 0.27, 0.36), 0.01, [1.0, 1.0], [1.0, 1.0]);
    found.pairs[0].pairs[0].difference.withheld = true;
    found.tradeoffs.clear();
    assert_eq!(
        sentences(&found),
        ["x/two, against x/one: too little measured to compare quality (less than 80.0 %), cost not compared."]
    );
}

#[test]
fn a_model_of_which_a_filter_ended_every_session_is_not_called_free() {
    let mut found = compared((0.31, 0.27, 0.36), 0.01, [1.0, 1.0], [1.0, 1.0]);
    found.tradeoffs.clear();
    let standing = found.standings.iter_mut().find(|of| of.model.to_string() == "x/two").unwrap();
    let sessions = &mut standing.sessions;
    (sessions.model_failures, sessions.measured) = (sessions.total, 0);
    standing.cost_per_session = Some(Money(0));
    assert_eq!(sentences(&found), ["x/two, against x/one: worse by 0.310 [0.270, 0.360], cost not compared."]);
}

#[test]
fn one_group_of_items_alone_tells_nothing_of_a_difference_in_quality() {
    let mut found = compared((0.3, 0.0, 0.0), 1.0, [1.0, 1.0], [1.0, 1.0]);
    found.tradeoffs.clear();
    let difference = &mut found.pairs[0].pairs[0].difference;
    *difference = Difference { low: None, high: None, clusters: 1, ..*difference };
    assert_eq!(
        sentences(&found),
        ["x/two, against x/one: quality not compared (one group of items alone), cost not compared."]
    );
}

#[test]
fn a_lead_that_missing_sessions_could_turn_is_told_with_its_bounds_and_nobody_is_called_better() {
    let mut found = compared((0.31, -0.11, 0.46), 1.0, [1.0, 1.0], [1.0, 1.0]);
    found.tradeoffs.clear();
    let gaps = Gaps {
        coverage: 0.88,
        bound_low: Some(-0.05),
        bound_high: Some(0.4),
        complete_low: Some(0.27),
        complete_high: Some(0.36),
        complete_p: Some(0.001),
    };
    let difference = &mut found.pairs[0].pairs[0].difference;
    (difference.missing, difference.p) = (Some(gaps), Some(1.0));
    assert_eq!(
        sentences(&found),
        [
            "x/two, against x/one: no difference in quality shown: -0.310 [-0.360, -0.270] where both were measured, -0.400 to +0.050 with \
             the 12.0 % of the sessions that are missing, cost not compared."
        ]
    );
}

#[test]
fn a_lead_that_holds_whatever_is_missing_says_so() {
    let mut found = compared((0.31, 0.2, 0.41), 0.01, [1.0, 1.0], [1.0, 1.0]);
    found.tradeoffs.clear();
    let gaps = Gaps {
        coverage: 0.97,
        bound_low: Some(0.28),
        bound_high: Some(0.33),
        complete_low: Some(0.27),
        complete_high: Some(0.36),
        complete_p: Some(0.001),
    };
    found.pairs[0].pairs[0].difference.missing = Some(gaps);
    assert_eq!(
        sentences(&found),
        [
            "x/two, against x/one: worse by 0.310 [0.200, 0.410], whatever the 3.0 % of the sessions that are missing would be, cost not \
             compared."
        ]
    );
}

#[test]
fn a_ratio_that_only_chance_among_so_many_explains_is_no_difference() {
    let mut found = compared((0.01, -0.02, 0.04), 0.4, [1.0, 1.5], [1.0, 1.2]);
    for of in &mut found.tradeoffs {
        of.cost.as_mut().unwrap().p_holm = Some(0.2);
        of.seconds = None;
    }
    assert_eq!(
        sentences(&found),
        ["x/two, against x/one: same quality within ±0.040, no difference in cost shown among so many, 1.4× to 1.7×."]
    );
    let nothing_varies = PairedRatio { low: None, high: None, p: None, p_holm: None, ..ratio([4.0, 1.0]) };
    for of in &mut found.tradeoffs {
        of.cost = Some(nothing_varies);
    }
    assert_eq!(sentences(&found), ["x/two, against x/one: same quality within ±0.040, 75 % cheaper (no interval)."]);
}

#[test]
fn a_cost_is_called_the_same_only_where_its_interval_is_narrow() {
    let of = |low, high| {
        let mut found = compared((0.01, -0.02, 0.04), 0.4, [1.0, 1.0], [1.0, 1.0]);
        for of in &mut found.tradeoffs {
            of.cost = Some(PairedRatio { low, high, ..ratio([1.0, 1.0]) });
            of.seconds = None;
        }
        sentences(&found).remove(0)
    };
    let said = |what: &str| format!("x/two, against x/one: same quality within ±0.040, {what}.");
    assert_eq!(of(Some(0.96), Some(1.04)), said("same cost, within 0.96× to 1.04×"));
    assert_eq!(of(Some(0.01), Some(44.6)), said("no difference in cost seen, within 0.01× to 44.6×"));
    assert_eq!(of(Some(0.99), Some(1.06)), said("no difference in cost seen, within 0.99× to 1.06×"));
    assert_eq!(of(None, None), said("same cost (no interval)"));
}

#[test]
fn a_cost_of_one_group_of_items_alone_is_not_compared() {
    let mut found = compared((0.01, -0.02, 0.04), 0.4, [1.0, 1.0], [1.0, 1.0]);
    for of in &mut found.tradeoffs {
        let alone = PairedRatio { low: None, high: None, p: None, p_holm: None, clusters: 1, ..ratio([1.0, 1.0]) };
        (of.cost, of.seconds) = (Some(alone), None);
    }
    assert_eq!(
        sentences(&found),
        ["x/two, against x/one: same quality within ±0.040, cost not compared (one group of items alone)."]
    );
}

#[test]
fn over_several_benchmarks_it_is_said_where_a_model_is_worse() {
    let models = ["x/one", "x/two"];
    let mut found = summary(&documents(&sweep_of_both(lock(&models)), &all_measured));
    for standing in &mut found.standings {
        standing.cost_per_session = Some(Money(1));
    }
    found.tradeoffs.clear();
    for (family, p_holm) in found.pairs.iter_mut().zip([0.001, 0.9]) {
        let pair = &mut family.pairs[0];
        let worse = Difference { value: 0.2, low: Some(0.1), high: Some(0.3), ..pair.difference };
        (pair.difference, pair.p_holm) = (worse, Some(p_holm));
    }
    assert_eq!(
        sentences(&found),
        [
            "x/two, against x/one: worse in dialogues · turn/text by 20.0 [10.0, 30.0] points, no difference seen in 1 other setting, \
             cost not compared."
        ]
    );
}

/// The summary of two models over so many benchmarks with p-values of their own, each corrected within its benchmark.
fn over_benchmarks(of_two: &Summary, p: &[f64]) -> Summary {
    let mut found = of_two.clone();
    (found.rows, found.pairs) = (Vec::new(), Vec::new());
    for (at, p) in p.iter().enumerate() {
        let name: BenchmarkName = format!("benchmark-{at}").parse().unwrap();
        found.rows.extend(of_two.rows.iter().map(|row| LeaderboardRow { benchmark: name.clone(), ..row.clone() }));
        let mut family = of_two.pairs[0].clone();
        family.benchmark = name;
        let pair = &mut family.pairs[0];
        pair.difference = Difference { value: 0.2, low: Some(0.1), high: Some(0.3), ..pair.difference };
        pair.p_holm = Some(*p);
        found.pairs.push(family);
    }
    let models = found.standings.iter().map(|standing| standing.model.clone()).collect::<Vec<_>>();
    found.standings = standings(&models, &found.rows, &found.pairs, found.level, |_| (None, None));
    found
}

#[test]
fn over_several_benchmarks_sentences_claim_what_the_groups_of_the_table_do_and_equal_models_are_seldom_told_apart() {
    const SWEEPS: u64 = 400;
    let of_two = two();
    let mut claims = 0;
    for seed in 0..SWEEPS {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // Of equal models a p-value is at most p with the probability p.
        let p = [(); 6].map(|()| f64::from(random.next_u32()) / f64::from(u32::MAX));
        let found = over_benchmarks(&of_two, &p);
        let said = sentences(&found).remove(0);
        let is_claimed = said.contains("better in") || said.contains("worse in");
        let is_ahead = found.standings.iter().any(|standing| standing.better > 0);
        assert_eq!(is_claimed, is_ahead, "{said}: {p:?}");
        claims += u32::from(is_claimed);
    }
    // 5 % of 400, and three standard errors more.
    assert!(claims > 0 && claims <= 33, "{claims} of {SWEEPS} sweeps of equal models claim a difference");
}

#[test]
fn the_sample_is_that_of_the_value_and_not_of_all_that_was_run() {
    let mut found = two();
    for row in &mut found.rows {
        let estimate = &mut row.metrics.iter_mut().find(|metric| metric.headline).unwrap().estimate;
        (estimate.n, estimate.clusters) = (3, 2);
    }
    let head = |found: &Summary| basis(found, &contests(found)).remove(0);
    assert_eq!(
        head(&found),
        "By f1_chain of worfbench · two-shot, 3 of 4 items in 2 clusters × 2 trials, evaluator official."
    );
    let estimate = &mut found.rows[1].metrics.iter_mut().find(|metric| metric.headline).unwrap().estimate;
    (estimate.value, estimate.n, estimate.clusters) = (None, 0, 0);
    assert!(head(&found).contains(", 3 of 4 items in 2 clusters × 2 trials,"), "{}", head(&found));
    let estimate = &mut found.rows[0].metrics.iter_mut().find(|metric| metric.headline).unwrap().estimate;
    (estimate.value, estimate.n, estimate.clusters) = (None, 0, 0);
    assert!(head(&found).contains(", 4 items, of which none has a value, × 2 trials,"), "{}", head(&found));
}

#[test]
fn the_sample_is_that_of_all_models_where_a_sweep_ran_more_of_some() {
    let mut found = two();
    let head = |found: &Summary| basis(found, &contests(found)).remove(0);
    assert_eq!(
        head(&found),
        "By f1_chain of worfbench · two-shot, 4 items in 4 clusters × 2 trials, evaluator official."
    );
    let first = &mut found.rows[0];
    (first.items, first.sessions.total) = (2, 3);
    first.metrics.iter_mut().for_each(|metric| (metric.estimate.n, metric.estimate.clusters) = (2, 1));
    assert_eq!(
        head(&found),
        "By f1_chain of worfbench · two-shot, 2 to 4 items in 1 to 4 clusters × up to 2 trials, evaluator official."
    );
    let board = crate::render_tables(&found, crate::USUAL_WIDTH);
    assert!(board.contains(" · official · 2 to 4 items × up to 2 trials · "), "{board}");
}

#[test]
fn failures_are_summed_by_cause_with_the_providers_words_and_the_commonest_first() {
    let mut found = two();
    let failure = |outcome: &str, cause: &str, sessions, said: Option<&str>| Failure {
        outcome: outcome.to_owned(),
        cause: cause.to_owned(),
        sessions,
        said: said.map(str::to_owned),
    };
    found.rows[0].failures = vec![failure("not_run", "", 2, None)];
    found.rows[1].failures = vec![
        failure("not_measured", "auth", 500, Some("HTTP 401: Incorrect API key")),
        failure("model_failure", "context_length", 1, None),
    ];
    assert_eq!(
        failures(&found),
        [
            "x/two: 500 × auth, HTTP 401: Incorrect API key",
            "x/one: 2 × not run",
            "x/two: 1 × context_length (counts as wrong)"
        ]
    );
}

#[test]
fn models_that_fail_alike_have_one_line() {
    let mut found = two();
    let failure = |sessions, said: &str| Failure {
        outcome: "not_measured".to_owned(),
        cause: "agent_lost".to_owned(),
        sessions,
        said: Some(said.to_owned()),
    };
    found.rows[0].failures = vec![failure(4, "exited 1: no module x")];
    found.rows[1].failures = vec![failure(3, "exited 1: no module x")];
    assert_eq!(failures(&found), ["x/one, x/two: 7 × agent_lost, exited 1: no module x"]);
    found.rows[1].failures = vec![failure(3, "exited 1: no module y")];
    assert_eq!(failures(&found).len(), 2, "what was said of another model is another thing");
    let many = (0..=MODELS_MAX).map(|number| {
        let mut row = found.rows[0].clone();
        row.model = format!("x/model-{number}").parse().unwrap();
        row
    });
    found.rows = many.collect();
    assert_eq!(failures(&found), ["7 models: 28 × agent_lost, exited 1: no module x"]);
}
