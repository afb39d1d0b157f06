use regatta_benchmarks::{Better, Unit};
use regatta_proto::Evaluator;

use super::*;
use crate::pairs::{Contestant, Pair};
use crate::statistics::{Difference, Estimate};
use crate::summary::SummaryMetric;

fn row(benchmark: &str, model: &str, value: Option<f64>) -> LeaderboardRow {
    let estimate = Estimate { value, ..Estimate::default() };
    LeaderboardRow {
        benchmark: benchmark.parse().unwrap(),
        setting: "plain".parse().unwrap(),
        model: model.parse().unwrap(),
        simulated: true,
        judge: None,
        items: 4,
        sessions: SessionCounts { total: 4, measured: 4, ..SessionCounts::default() },
        coverage: 1.0,
        metrics: vec![SummaryMetric {
            evaluator: Evaluator::Official,
            metric: "success".to_owned(),
            unit: Unit::Plain,
            better: Better::Higher,
            of_sums: false,
            headline: true,
            estimate,
            passes: Vec::new(),
        }],
        flags: [(Flag::Truncated, 1)].into(),
        filtered: None,
        failures: Vec::new(),
        cached: 0,
        session_seconds: None,
        seconds_in_calls: None,
        call_seconds: None,
        spending: Spending { cost: CostSum { known: Money(8_000), unknown_calls: 0 }, ..Spending::default() },
    }
}

/// The pairs of a benchmark: the better one, the worse one, and the corrected p-value.
fn family(benchmark: &str, pairs: &[(&str, &str, f64)]) -> PairFamily {
    let contestant =
        |model: &str| Contestant { model: model.parse().unwrap(), setting: "plain".parse().unwrap(), simulated: true };
    let pair = |(one, other, p_holm): &(&str, &str, f64)| Pair {
        one: contestant(one),
        other: contestant(other),
        evaluator: Evaluator::Official,
        metric: "success".to_owned(),
        unit: Unit::Plain,
        better: Better::Higher,
        difference: Difference {
            value: 0.1,
            low: None,
            high: None,
            n: 4,
            clusters: 4,
            p: None,
            test: None,
            missing: None,
            withheld: false,
        },
        p_holm: Some(*p_holm),
    };
    PairFamily {
        benchmark: benchmark.parse().unwrap(),
        size: pairs.len() as u32,
        with_best_only: false,
        pairs: pairs.iter().map(pair).collect(),
    }
}

/// The places and groups of the models `x/a`, `x/b` and `x/c`, best first.
fn ranked(families: &[PairFamily]) -> Vec<String> {
    let models = ["x/a", "x/b", "x/c"].map(|model| model.parse().unwrap());
    let row = |benchmark: &'static str| ["x/a", "x/b", "x/c"].map(|model| row(benchmark, model, Some(0.5)));
    let rows: Vec<LeaderboardRow> = ["first", "second"].into_iter().flat_map(row).collect();
    let line = |of: &Standing| format!("{} {} {}", of.model, of.rank.unwrap(), of.groups);
    standings(&models, &rows, families, Level::USUAL, |_| (None, None)).iter().map(line).collect()
}

#[test]
fn models_that_no_comparison_tells_apart_share_places_and_a_group_in_the_order_of_the_spec() {
    assert_eq!(ranked(&[]), ["x/a 1–3 a", "x/b 1–3 a", "x/c 1–3 a"]);
    assert_eq!(
        ranked(&[family("first", &[("x/c", "x/a", 0.01), ("x/c", "x/b", 0.5), ("x/b", "x/a", 0.5)])]),
        ["x/c 1–2 a", "x/b 1–3 ab", "x/a 2–3 b"]
    );
}

#[test]
fn who_wins_in_one_benchmark_and_loses_in_another_is_not_ahead() {
    let families = [family("first", &[("x/a", "x/b", 0.01)]), family("second", &[("x/b", "x/a", 0.01)])];
    assert_eq!(ranked(&families), ["x/a 1–3 a", "x/b 1–3 a", "x/c 1–3 a"]);
}

#[test]
fn evidence_is_corrected_over_the_benchmarks_that_it_comes_from() {
    let alone = [family("first", &[("x/a", "x/b", 0.03)])];
    assert_eq!(ranked(&alone)[0], "x/a 1–2 a");
    let of_two = [family("first", &[("x/a", "x/b", 0.03)]), family("second", &[("x/a", "x/b", 0.9)])];
    assert_eq!(ranked(&of_two)[0], "x/a 1–3 a");
}

#[test]
fn a_model_without_a_value_has_no_place_and_comes_last() {
    let models = ["x/a", "x/b"].map(|model| model.parse().unwrap());
    let rows = [row("first", "x/a", None), row("first", "x/b", Some(0.5))];
    let found = standings(&models, &rows, &[], Level::USUAL, |_| (None, None));
    assert_eq!((found[0].model.to_string().as_str(), found[1].rank), ("x/b", None));
    assert_eq!(found[1].groups, "");
}

#[test]
fn a_model_of_which_nothing_was_measured_may_be_better_or_worse_than_the_others() {
    let models = ["x/a", "x/b"].map(|model| model.parse().unwrap());
    let rows = [row("first", "x/a", None), row("first", "x/b", Some(0.5))];
    let found = standings(&models, &rows, &[], Level::USUAL, |_| (None, None));
    assert_eq!(found[0].rank.unwrap().to_string(), "1–2", "nothing was compared");
    let models = ["x/a", "x/b", "x/c"].map(|model| model.parse().unwrap());
    let rows = [row("first", "x/a", None), row("first", "x/b", Some(0.5)), row("first", "x/c", Some(0.9))];
    let families = [family("first", &[("x/c", "x/b", 0.01)])];
    let found = standings(&models, &rows, &families, Level::USUAL, |_| (None, None));
    let shown: Vec<String> =
        found.iter().filter_map(|of| Some(format!("{} {} {}", of.model, of.rank?, of.groups))).collect();
    assert_eq!(shown, ["x/c 1–2 a", "x/b 2–3 b"]);
}

#[test]
fn a_value_that_is_withheld_has_no_rank_that_is_sure() {
    let models = ["x/a", "x/b"].map(|model| model.parse().unwrap());
    let mut rows = [row("first", "x/a", Some(0.9)), row("first", "x/b", None)];
    rows[0].metrics[0].estimate.withheld = true;
    let found = standings(&models, &rows, &[], Level::USUAL, |_| (None, None));
    assert_eq!(found[0].rank.unwrap().to_string(), "1–2");
}

#[test]
fn money_flags_and_sessions_are_sums_over_all_settings() {
    let models = ["x/a".parse().unwrap()];
    let rows = [row("first", "x/a", Some(0.5)), row("second", "x/a", Some(0.5))];
    let found = standings(&models, &rows, &[], Level::USUAL, |_| (None, None));
    assert_eq!((found[0].cost.known, found[0].cost_per_session), (Money(16_000), Some(Money(2_000))));
    assert_eq!((found[0].sessions.total, &found[0].flags), (8, &[(Flag::Truncated, 2)].into()));
    assert_eq!(found[0].rank, None, "the only model is first of nobody");
}

#[test]
fn what_was_repeated_or_came_to_no_score_is_no_part_of_what_a_session_costs() {
    let models = ["x/a".parse().unwrap()];
    let mut row = row("first", "x/a", Some(0.5));
    let known = |nanos| CostSum { known: Money(nanos), unknown_calls: 0 };
    let scored = row.sessions.scored();
    row.spending.cost = known(100 * scored + 900 + 70);
    (row.spending.wasted, row.spending.unmeasured) = (known(900), CostSum { known: Money(70), unknown_calls: 0 });
    let found = standings(&models, &[row.clone()], &[], Level::USUAL, |_| (None, None));
    assert_eq!((found[0].cost.known, found[0].cost_per_session), (row.spending.cost.known, Some(Money(100))));
    // An unknown price of what is left out leaves the rest known.
    (row.spending.cost.unknown_calls, row.spending.wasted.unknown_calls) = (2, 2);
    let found = standings(&models, &[row], &[], Level::USUAL, |_| (None, None));
    assert_eq!(found[0].cost_per_session, Some(Money(100)));
}
