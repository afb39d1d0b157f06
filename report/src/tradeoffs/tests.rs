use jiff::SignedDuration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use regatta_proto::{Cause, Cell, Money, Outcome, SweepState};

use super::*;
use crate::decision::sentences;
use crate::summary::Summary;
use crate::tabulation::Tabulation;
use crate::tabulation::tests::harness::{
    all_measured, attempt, circumstances, documents_of, lock, rows, summary, sweep, text,
};

/// The summary of a sweep of two models whose attempts are as `change` makes them.
fn summed(change: &dyn Fn(&Cell, &mut AttemptRow)) -> Summary {
    summary(&documents_of(&sweep(lock(&["x/one", "x/two"])), &all_measured, change, Vec::new()))
}

/// Times that differ from item to item and from trial to trial, in microseconds.
fn uneven(cell: &Cell, attempt: &AttemptRow) -> u64 {
    1_000_000 + 170_000 * u64::from(attempt.key.item.0 % 5) + 30_000 * u64::from(cell.trial.0)
}

fn is_second(cell: &Cell) -> bool {
    cell.model.model.as_str() == "two"
}

#[test]
fn a_session_that_waits_in_line_takes_no_longer_in_calls() {
    let waits = |cell: &Cell, attempt: &mut AttemptRow| {
        let jitter = if is_second(cell) == (attempt.key.item.0.is_multiple_of(2)) { 9_000 } else { 0 };
        attempt.latency_us = uneven(cell, attempt) + jitter;
        // Between beginning and end the session also waits for a permit: the second model five times as long.
        let seconds = if is_second(cell) { 50 } else { 10 };
        attempt.ended_at = Some(attempt.started_at + SignedDuration::from_secs(seconds));
    };
    let found = summed(&waits);
    let p50 = |at: usize| found.standings[at].session_seconds.unwrap().p50;
    assert_eq!((p50(0).min(p50(1)), p50(0).max(p50(1))), (10.0, 50.0));
    let seconds = found.tradeoffs[0].seconds.unwrap();
    assert!((0.99..1.01).contains(&seconds.value), "{seconds:?}");
    let said = sentences(&found).remove(0);
    assert!(said.contains("calls took 1.0") || said.contains("calls took 0.99"), "{said}");
}

#[test]
fn an_endpoint_whose_calls_take_longer_takes_as_many_times_as_long() {
    let slow = |cell: &Cell, attempt: &mut AttemptRow| {
        let factor = if is_second(cell) { 3 } else { 1 };
        attempt.latency_us = factor * uneven(cell, attempt) + 7_000 * u64::from(attempt.key.item.0 % 3);
    };
    let found = summed(&slow);
    let Tradeoff { first, seconds: Some(seconds), .. } = &found.tradeoffs[0] else { panic!("{:?}", found.tradeoffs) };
    let value = if first.model.as_str() == "one" { seconds.value } else { 1.0 / seconds.value };
    assert!((2.9..3.0).contains(&value), "{seconds:?}");
    assert_eq!(seconds.n, 4);
}

#[test]
fn sessions_that_only_one_has_a_score_of_are_not_compared() {
    let slow_without_result = |cell: &Cell, attempt: &mut AttemptRow| {
        let is_lost = is_second(cell) && attempt.outcome != Some(Outcome::Measured);
        attempt.latency_us = if is_lost { 900_000_000 } else { uneven(cell, attempt) };
    };
    let lost = |cell: &Cell, at: usize| match is_second(cell) && at == 0 {
        true => Some(Outcome::NotMeasured { cause: Cause::Timeout }),
        false => Some(Outcome::Measured),
    };
    let found = summary(&documents_of(&sweep(lock(&["x/one", "x/two"])), &lost, &slow_without_result, Vec::new()));
    let seconds = found.tradeoffs[0].seconds.unwrap();
    assert!((seconds.value - 1.0).abs() < 1e-9 && seconds.n == 3, "{seconds:?}");
}

#[test]
fn cached_and_batched_answers_tell_no_speed_and_an_unknown_price_no_cost() {
    let unpriced = |cell: &Cell, attempt: &mut AttemptRow| {
        if is_second(cell) {
            attempt.cost = CostSum { known: Money(5), unknown_calls: 1 };
        }
    };
    for sums in [CallSums { from_cache: 1, ..CallSums::default() }, CallSums { batched: 1, ..CallSums::default() }] {
        let calls = vec![(CellIndex(0), sums)];
        let found = summary(&documents_of(&sweep(lock(&["x/one", "x/two"])), &all_measured, &unpriced, calls));
        assert_eq!((found.tradeoffs[0].seconds, found.tradeoffs[0].cost), (None, None));
    }
}

#[test]
fn a_price_that_is_the_same_for_every_session_has_no_interval() {
    let dear = |cell: &Cell, attempt: &mut AttemptRow| {
        attempt.cost.known = Money(if is_second(cell) { 400 } else { 100 });
    };
    let found = summed(&dear);
    let cost = found.tradeoffs[0].cost.unwrap();
    let value = if found.tradeoffs[0].first.model.as_str() == "one" { cost.value } else { 1.0 / cost.value };
    assert!((value - 4.0).abs() < 1e-9 && cost.low.is_none(), "{cost:?}");
}

#[test]
fn equal_models_that_share_an_endpoints_drifting_load_are_called_neither_faster_nor_slower() {
    const SWEEPS: u64 = 100;
    let claims_speed = |seed: &u64| {
        let mut random = ChaCha8Rng::seed_from_u64(*seed);
        let mut load = 0.0;
        // The logarithm of the load at each start. It drifts: what runs at the same time has nearly the same.
        let loads: Vec<f64> = std::iter::repeat_with(|| {
            load = 0.95 * load + 0.2 * (f64::from(random.next_u32()) / f64::from(u32::MAX) - 0.5);
            load
        })
        .take(1000)
        .collect();
        let under_load = |cell: &Cell, attempt: &mut AttemptRow| {
            let started = (4 * cell.index.0 + attempt.key.item.0) as usize;
            attempt.latency_us = (1e6 * loads[started].exp()) as u64;
        };
        let said = sentences(&summed(&under_load)).remove(0);
        assert!(said.contains("as long in this run"), "{said}");
        said.contains("faster") || said.contains("slower")
    };
    let claims = (0..SWEEPS).filter(claims_speed).count();
    assert_eq!(claims, 0, "of {SWEEPS} sweeps of equal models");
}

#[test]
fn sessions_that_a_filter_or_the_context_ended_are_not_compared() {
    for cause in [Cause::ContentFilter, Cause::ContextLength] {
        let refused = move |cell: &Cell, at: usize| match is_second(cell) && at == 0 {
            true => Some(Outcome::ModelFailure { cause }),
            false => Some(Outcome::Measured),
        };
        let free = |cell: &Cell, attempt: &mut AttemptRow| {
            let is_refused = is_second(cell) && attempt.outcome != Some(Outcome::Measured);
            attempt.cost.known = Money(if is_refused { 0 } else { 300 });
            attempt.latency_us = if is_refused { 1000 } else { uneven(cell, attempt) };
        };
        let documents = documents_of(&sweep(lock(&["x/one", "x/two"])), &refused, &free, Vec::new());
        let (found, report) = (summary(&documents), text(&documents, "report.md"));
        let (seconds, cost) = (found.tradeoffs[0].seconds.unwrap(), found.tradeoffs[0].cost.unwrap());
        assert!((seconds.value - 1.0).abs() < 1e-9 && (cost.value - 1.0).abs() < 1e-9, "{seconds:?} {cost:?}");
        assert_eq!((seconds.n, cost.n), (3, 3));
        let a_session: Vec<Option<Money>> = found.standings.iter().map(|of| of.cost_per_session).collect();
        assert_eq!(a_session, [Some(Money(300)); 2], "nor do they make their model cheap");
        let row = |model: &str| report.lines().find(|line| line.starts_with(&format!("| {model} "))).unwrap();
        assert!(row("x/two").contains(&format!("{} (6 of 8) |", Money(300))), "{}", row("x/two"));
        assert!(row("x/one").contains(&format!("{} |", Money(300))), "{}", row("x/one"));
    }
}

#[test]
fn attempts_that_were_repeated_make_no_model_dear() {
    let sweep = sweep(lock(&["x/one", "x/two"]));
    let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
    let mut attempts = Vec::new();
    for cell in sweep.cells() {
        let rows = rows(&sweep, cell, &all_measured);
        for row in &rows {
            attempts.push(attempt(&sweep, cell, row, AttemptState::Recorded));
            // Somebody resumed the sweep, four times.
            let repeated = attempt(&sweep, cell, row, AttemptState::Waste);
            attempts.extend(std::iter::repeat_n(repeated, if is_second(cell) { 4 } else { 0 }));
        }
        tabulation.add(cell, &rows).unwrap();
    }
    let found = summary(&tabulation.finish(&circumstances(SweepState::Complete, attempts)).unwrap());
    assert_eq!(found.tradeoffs[0].cost.unwrap().value, 1.0);
    assert_eq!(found.standings[0].cost_per_session, found.standings[1].cost_per_session);
    assert_ne!(found.standings[0].cost, found.standings[1].cost);
}

#[test]
fn a_session_that_was_answered_and_whose_judge_was_away_is_in_no_ratio_and_its_money_led_to_no_score() {
    let sweep = sweep(lock(&["x/one", "x/two"]));
    let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
    let mut attempts = Vec::new();
    let mut lost = 0;
    for cell in sweep.cells() {
        let mut rows = rows(&sweep, cell, &all_measured);
        attempts.extend(rows.iter().map(|row| attempt(&sweep, cell, row, AttemptState::Recorded)));
        // The attempt was measured, and the session was not.
        for row in rows.iter_mut().take(usize::from(is_second(cell))) {
            (row.outcome, row.scores) =
                (Outcome::NotMeasured { cause: Cause::JudgeUnavailable }, serde_json::Value::Null);
            lost += row.cost.known.0;
        }
        tabulation.add(cell, &rows).unwrap();
    }
    let found = summary(&tabulation.finish(&circumstances(SweepState::Complete, attempts)).unwrap());
    let Tradeoff { seconds: Some(seconds), cost: Some(cost), .. } = &found.tradeoffs[0] else { panic!("{found:?}") };
    assert_eq!((seconds.n, cost.n), (3, 3));
    assert_eq!((found.spending.unmeasured.known.0, lost > 0), (lost, true));
    let of_second = found.rows.iter().find(|row| row.model.model.as_str() == "two").unwrap();
    assert_eq!(of_second.spending.of_scored().known.0, 900_000 * of_second.sessions.scored());
}

#[test]
fn answers_of_the_cache_make_no_model_cheap_or_fast_and_that_is_said() {
    let cached = |cell: &Cell, attempt: &mut AttemptRow| {
        if is_second(cell) {
            (attempt.cached_calls, attempt.latency_us, attempt.cost.known) = (Some(1), 0, Money::ZERO);
        }
    };
    let sweep = sweep(lock(&["x/one", "x/two"]));
    let of_second = sweep.cells().iter().filter(|cell| is_second(cell)).map(|cell| cell.index);
    let calls = of_second.map(|cell| (cell, CallSums { calls: 4, from_cache: 4, ..CallSums::default() })).collect();
    let found = summary(&documents_of(&sweep, &all_measured, &cached, calls));
    assert_eq!((found.tradeoffs[0].seconds, found.tradeoffs[0].cost), (None, None));
    let said = sentences(&found).remove(0);
    assert!(said.contains("cost not compared (answers of the response cache)"), "{said}");
    let row = found.rows.iter().find(|row| row.model.model.as_str() == "two").unwrap();
    assert_eq!((row.cached, row.session_seconds), (row.sessions.scored(), None));
    let of_two = found.standings.iter().find(|of| of.model == row.model).unwrap();
    assert_eq!((of_two.cost, of_two.cost_per_session), (CostSum::default(), None), "nobody paid for it now");
    let note = format!("x/two in worfbench two-shot: {0} of {0} sessions with a score have answers of", row.cached);
    assert!(found.notes.iter().any(|found| found.starts_with(&note)), "{:?}", found.notes);
    let card = crate::render_decision(&found, crate::USUAL_WIDTH);
    assert!(card.lines().any(|line| line.contains("x/two") && line.contains(" cached ")), "{card}");
}

#[test]
fn a_session_without_an_answered_call_is_in_no_ratio_of_time() {
    let sweep = sweep(lock(&["x/one", "x/two"]));
    let first = sweep.selected(&sweep.cells()[0])[0];
    let asked_nothing = |cell: &Cell, attempt: &mut AttemptRow| {
        attempt.latency_us = uneven(cell, attempt);
        if is_second(cell) && attempt.key.item == first {
            (attempt.calls, attempt.latency_us) = (0, 0);
        }
    };
    let found = summary(&documents_of(&sweep, &all_measured, &asked_nothing, Vec::new()));
    let seconds = found.tradeoffs[0].seconds.unwrap();
    assert!((seconds.value - 1.0).abs() < 1e-9 && seconds.n == 3, "{seconds:?}");
}
