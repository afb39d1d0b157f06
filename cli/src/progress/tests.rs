//! The display of a sweep as people see it.

use std::collections::BTreeMap;

use regatta_coordinator::{Forecast, ScoreSoFar};
use regatta_proto::{CellIndex, Level, Money};
use serde_json::{Value, json};

use super::*;

fn status(cells: &[Value]) -> SweepStatus {
    serde_json::from_value(json!({
        "id": "s", "state": "running", "created_at": "2026-01-01T00:00:00Z", "ended_at": null, "cells": cells,
        "budget": { "cap": 20_000_000_000_u64, "spent": 0, "maybe_spent": 0, "reserved": 0, "left": 15_810_000_000_u64 },
        "cost": { "known": { "known": 4_190_000_000_u64, "unknown_calls": 0 }, "at_most": 4_190_000_000_u64 },
    }))
    .unwrap()
}

/// A cell with the number of its sessions, of those that were given to workers and of those that are settled, and its cost.
fn cell(index: u32, names: [&str; 3], [items, dispatched, settled]: [u64; 3], cost: Value, input: u64) -> Value {
    let [benchmark, setting, model] = names;
    json!({
        "cell": { "index": index, "benchmark": benchmark, "setting": setting, "model": model, "trial": 1 },
        "items": items, "dispatched": dispatched, "recorded": settled, "settled": settled, "measured": settled,
        "model_failures": 0, "not_measured": 0, "usage": { "input": input, "output": 0 },
        "cost": cost, "wasted": { "known": 0, "unknown_calls": 0 },
    })
}

fn four_cells() -> [Value; 4] {
    let cost = |known: u64, unknown: u64| json!({ "known": known, "unknown_calls": unknown });
    let [flow, worf] = [["flowbench", "session"], ["worfbench", "graph"]];
    let [gpt, claude] = ["openai/gpt-4o-mini", "anthropic/claude-sonnet-4"];
    let names = |[benchmark, setting]: [&'static str; 2], model| [benchmark, setting, model];
    [
        cell(0, names(flow, gpt), [60, 44, 36], cost(837_100_000, 0), 1_234_567),
        cell(1, names(flow, claude), [60, 60, 60], cost(2_100_000_000, 1), 0),
        cell(2, names(worf, gpt), [2146, 1232, 1200], cost(1_250_000_000, 0), 0),
        cell(3, names(worf, claude), [2146, 0, 0], cost(0, 0), 0),
    ]
}

fn scores() -> Vec<CellSoFar> {
    let of = |cell, value: &str, mean, half, causes: &[(&str, u64)]| CellSoFar {
        cell: CellIndex(cell),
        score: Some(ScoreSoFar { value: value.to_owned(), sessions: 36, mean, half: Some(half) }),
        not_measured: causes.iter().map(|(cause, count)| ((*cause).to_owned(), *count)).collect(),
    };
    vec![
        of(0, "official.score", 0.712, 0.051, &[("auth", 1), ("timeout", 3)]),
        of(1, "official.score", 0.803, 0.044, &[]),
        of(2, "official.f1_chain", 0.488, 0.011, &[("server_error", 12)]),
        CellSoFar { cell: CellIndex(3), score: None, not_measured: BTreeMap::new() },
    ]
}

/// The table after ten seconds with 311 sessions, on a terminal of this size.
fn drawn(width: usize, height: usize) -> String {
    let mut pace = Pace::default();
    pace.note(Duration::ZERO, 985, Money(4_143_333_333));
    pace.note(Duration::from_secs(10), 1296, Money(4_190_000_000));
    let [expected, low, high] = [9_120_000_000, 8_800_000_000, 9_500_000_000].map(Money);
    let forecast = Some(Forecast { expected, low, high, level: Level::USUAL });
    let status = SweepStatus { forecast, ..status(&four_cells()) };
    table(&status, &scores(), &pace, Place { width, height, has_colours: false })
}

#[test]
fn a_terminal_of_60_columns_has_the_causes_in_a_line_of_their_own() {
    insta::assert_snapshot!(drawn(60, 40), @r"
    cell                             done  score            cost
    flowben…enai/gpt-4o-mini        36/60  0.712 ±0.051  $0.8371
    flowben…/claude-sonnet-4        60/60  0.803 ±0.044  ≥ $2.10
    worfben…enai/gpt-4o-mini  1,200/2,146  0.488 ±0.011    $1.25
    worfben…/claude-sonnet-4      0/2,146  –                  $0
    1,296/4,412 sessions · 31/s · 1 min 40 s left
    $4.19 ($16.80/h) · 1.23M tokens · $15.81 of $20.00 left
    about $9.12 at the end ($8.80 to $9.50)
    score: mean so far (± of independent sessions) of official.…
    not measured: 12 server_error, 3 timeout, 1 auth
    ");
}

#[test]
fn a_terminal_of_100_columns_has_the_causes_beside_the_cells() {
    insta::assert_snapshot!(drawn(100, 40), @r"
    cell                                                done  score            cost  not measured
    flowbench session openai/gpt-4o-mini               36/60  0.712 ±0.051  $0.8371  3 timeout, 1 auth
    flowbench session anthropic/claude-sonnet-4        60/60  0.803 ±0.044  ≥ $2.10
    worfbench graph openai/gpt-4o-mini           1,200/2,146  0.488 ±0.011    $1.25  12 server_error
    worfbench graph anthropic/claude-sonnet-4        0/2,146  –                  $0
    1,296/4,412 sessions · 31/s · 1 min 40 s left · $4.19 ($16.80/h) · 1.23M tokens
    $15.81 of $20.00 left · about $9.12 at the end ($8.80 to $9.50)
    score: mean so far (± of independent sessions) of official.score of flowbench, official.f1_chain of…
    ");
}

#[test]
fn a_terminal_of_160_columns_has_the_sums_in_one_line() {
    insta::assert_snapshot!(drawn(160, 40), @r"
    cell                                                done  score            cost  not measured
    flowbench session openai/gpt-4o-mini               36/60  0.712 ±0.051  $0.8371  3 timeout, 1 auth
    flowbench session anthropic/claude-sonnet-4        60/60  0.803 ±0.044  ≥ $2.10
    worfbench graph openai/gpt-4o-mini           1,200/2,146  0.488 ±0.011    $1.25  12 server_error
    worfbench graph anthropic/claude-sonnet-4        0/2,146  –                  $0
    1,296/4,412 sessions · 31/s · 1 min 40 s left · $4.19 ($16.80/h) · 1.23M tokens · $15.81 of $20.00 left · about $9.12 at the end ($8.80 to $9.50)
    score: mean so far (± of independent sessions) of official.score of flowbench, official.f1_chain of worfbench
    ");
}

#[test]
fn a_low_terminal_has_the_cells_that_are_under_way() {
    insta::assert_snapshot!(drawn(60, 10), @r"
    cell                             done  score            cost
    flowben…enai/gpt-4o-mini        36/60  0.712 ±0.051  $0.8371
    worfben…enai/gpt-4o-mini  1,200/2,146  0.488 ±0.011    $1.25
    … 2 more cells: 60/2,206
    1,296/4,412 sessions · 31/s · 1 min 40 s left
    $4.19 ($16.80/h) · 1.23M tokens · $15.81 of $20.00 left
    about $9.12 at the end ($8.80 to $9.50)
    score: mean so far (± of independent sessions) of official.…
    not measured: 12 server_error, 3 timeout, 1 auth
    ");
}

#[test]
fn no_line_is_longer_than_the_terminal_is_wide_and_no_table_higher() {
    for (width, height) in [(40, 12), (60, 10), (99, 12), (100, 9), (160, 50)] {
        let lines = drawn(width, height);
        assert!(lines.lines().all(|line| line.chars().count() <= width), "{width}:\n{lines}");
        assert!(lines.lines().count() < height.max(10), "{height}:\n{lines}");
    }
}

#[test]
fn cells_are_named_by_what_tells_them_apart() {
    let one = status(&four_cells()[..1]);
    let place = Place { width: 80, height: 24, has_colours: false };
    let lines = table(&one, &[], &Pace::default(), place);
    assert!(lines.contains("\nopenai/gpt-4o-mini  36/60  –      $0.8371\n"), "{lines}");
    let models = status(&four_cells()[..2]);
    let lines = table(&models, &[], &Pace::default(), place);
    assert!(lines.contains("\nanthropic/claude-sonnet-4  60/60  –      ≥ $2.10\n"), "{lines}");
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let status = status(&four_cells());
    let drawn =
        |has_colours| table(&status, &scores(), &Pace::default(), Place { width: 120, height: 24, has_colours });
    assert!(drawn(true).contains("\u{1b}[33m3 timeout, 1 auth\u{1b}[0m"));
    assert!(!drawn(false).contains('\u{1b}'));
}

#[test]
fn only_a_terminal_that_moves_its_cursor_has_a_table() {
    assert!(can_be_redrawn(Some("xterm-256color")));
    assert!(!can_be_redrawn(Some("dumb")) && !can_be_redrawn(Some("")));
    assert_eq!(can_be_redrawn(None), cfg!(windows));
}

#[test]
fn a_line_has_the_money_of_judges_too_and_the_lower_end_where_there_is_no_forecast() {
    let status = SweepStatus { at_least: Some(Money(37_440_000)), ..status(&[]) };
    let shown = line(&status, Instant::now());
    assert!(shown.contains("  $4.19  "), "{shown}");
    assert!(shown.ends_with("  $15.81 of $20.00 left  at least $0.03744 at the end"), "{shown}");
    let [expected, low, high] = [900_000_000, 850_000_000, 950_000_000].map(Money);
    let forecast = Forecast { expected, low, high, level: Level::USUAL };
    let status = SweepStatus { at_least: None, forecast: Some(forecast), ..status };
    assert_eq!(money(&status)[1], "about $0.9000 at the end ($0.8500 to $0.9500)");
}

/// The same sweep with a question, whose contests are in these rounds.
fn deciding(rounds: &[Option<u32>]) -> SweepStatus {
    let contestant = |model: &str, sessions: u64| json!({ "model": model, "sessions": sessions });
    let contest = |round: &Option<u32>| {
        json!({ "round": round, "answers": {
            "benchmark": "worfbench", "setting": "graph", "evaluator": "official", "metric": "f1_chain", "range": [0.0, 1.0],
            "decided": round.is_none(), "rounds": 3, "units": 200, "candidates": ["sim/a", "sim/b"],
            "contestants": [contestant("sim/a", 200), contestant("sim/b", 200), { "model": "sim/c", "sessions": 12, "dropped_in": 2 }],
            "sequences": [
                { "one": "sim/a", "other": "sim/b", "value": 0.041, "low": -0.02, "high": 0.09, "relation": "open", "points": [] },
                { "one": "sim/a", "other": "sim/c", "value": 0.2, "low": 0.1, "high": 0.3, "relation": "better", "points": [] },
            ],
        } })
    };
    let deciding = json!({
        "question": "best", "margin": "2pp", "confidence": 0.95, "over": "new_items", "sessions": 412, "sessions_max": 2000,
        "cost_of_grid": 80_000_000_000_u64, "contests": rounds.iter().map(contest).collect::<Vec<Value>>(),
    });
    SweepStatus { deciding: Some(serde_json::from_value(deciding).unwrap()), ..status(&four_cells()) }
}

fn rounds_drawn(width: usize, height: usize) -> String {
    rounds::rounds(&deciding(&[Some(4)]), Place { width, height, has_colours: false }).join("\n")
}

#[test]
fn a_sweep_with_a_question_shows_its_round_and_how_its_sequences_close() {
    insta::assert_snapshot!(rounds_drawn(80, 40), @r"
    question: best within 2 pp · 412 of 2,000 sessions bought
    $4.19 of about $80.00 that the whole grid would cost
      round 4; known since the end of round 3:
      the best by f1_chain is one of sim/a, sim/b
      sim/a and sim/b are open: 4.1 pp [-2.0, 9.0]
      sim/a > sim/c by 20.0 pp [10.0, 30.0]
      sim/c dropped in round 2, after 12 sessions
    ");
}

#[test]
fn sequences_leave_room_for_the_cells_on_a_low_terminal() {
    assert!(rounds_drawn(80, 18).ends_with("sim/a, sim/b\n  … 3 more lines"), "{}", rounds_drawn(80, 18));
    assert_eq!(rounds_drawn(80, 12), "question: best within 2 pp · 412 of 2,000 sessions bought");
    for (width, height) in [(40, 12), (60, 14), (80, 18), (100, 24)] {
        let place = Place { width, height, has_colours: false };
        let lines = table(&deciding(&[Some(4)]), &scores(), &Pace::default(), place);
        assert!(lines.lines().all(|line| line.chars().count() <= width), "{width}:\n{lines}");
        assert!(lines.lines().count() < height, "{height}:\n{lines}");
    }
}

#[test]
fn a_line_has_the_rounds_in_short() {
    let in_short = |rounds: &[Option<u32>]| rounds::in_short(&deciding(rounds)).unwrap();
    assert_eq!(in_short(&[Some(4)]), "round 4");
    assert_eq!(in_short(&[Some(4), None, Some(2)]), "rounds 2 to 4, 1 of 3 decided");
    assert_eq!(in_short(&[None]), "1 of 1 decided");
    assert_eq!(rounds::in_short(&status(&[])), None);
    let shown = line(&deciding(&[Some(4)]), Instant::now());
    assert!(shown.ends_with("  round 4  $15.81 of $20.00 left"), "{shown}");
}
