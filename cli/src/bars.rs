//! Progress of a sweep: live bars on a terminal, a line at intervals elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use regatta_coordinator::SweepStatus;
use regatta_proto::{CostSum, SweepState, Usage};
use tokio::time::Instant;

use crate::output;

/// Pause between two lines when nobody watches a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The display of one sweep.
pub(crate) struct Bars {
    started: Instant,
    display: Display,
}

enum Display {
    Terminal {
        all: MultiProgress,
        models: BTreeMap<String, ProgressBar>,
        /// Budget and forecast, where there are any.
        total: Option<ProgressBar>,
    },
    Lines {
        next: Instant,
    },
}

/// Counts of one model over its cells.
#[derive(Default)]
struct Row {
    sessions: u64,
    settled: u64,
    not_measured: u64,
    usage: Usage,
    cost: CostSum,
}

impl Bars {
    pub(crate) fn start() -> Self {
        let display = if output::is_watched() {
            Display::Terminal { all: MultiProgress::new(), models: BTreeMap::new(), total: None }
        } else {
            Display::Lines { next: Instant::now() }
        };
        Self { started: Instant::now(), display }
    }

    pub(crate) fn show(&mut self, status: &SweepStatus) {
        let started = self.started;
        match &mut self.display {
            Display::Terminal { all, models, total } => {
                for (model, row) in by_model(status) {
                    let bar = models.entry(model.clone()).or_insert_with(|| all.add(new_bar(&model)));
                    bar.set_length(row.sessions);
                    bar.set_position(row.settled);
                    bar.set_message(row.describe());
                }
                let text = money(status);
                if !text.is_empty() {
                    let shown = total.get_or_insert_with(|| all.add(new_line()));
                    shown.set_message(text.trim_start().to_owned());
                }
            }
            Display::Lines { next } if Instant::now() >= *next => {
                *next = Instant::now() + LINE_EVERY;
                output::note(&line(status, started));
            }
            Display::Lines { .. } => {}
        }
    }

    pub(crate) fn finish(self, status: &SweepStatus) {
        match &self.display {
            Display::Terminal { models, total, .. } => models.values().chain(total).for_each(ProgressBar::abandon),
            Display::Lines { .. } => output::note(&line(status, self.started)),
        }
    }

    /// The process was told to leave.
    pub(crate) fn leave(self) {
        if let Display::Terminal { models, total, .. } = &self.display {
            models.values().chain(total).for_each(ProgressBar::abandon);
        }
        output::note("leaving: finishing what runs; once more to stop at once. The same command continues.");
    }
}

impl Row {
    fn describe(&self) -> String {
        let tokens = self.usage.shown(self.usage.total(), thousands);
        let trouble =
            if self.not_measured > 0 { format!("  {} not measured", self.not_measured) } else { String::new() };
        format!("{tokens} tokens  {}{trouble}", self.cost)
    }
}

fn by_model(status: &SweepStatus) -> BTreeMap<String, Row> {
    let mut models: BTreeMap<String, Row> = BTreeMap::new();
    for cell in &status.cells {
        let row = models.entry(cell.cell.model.to_string()).or_default();
        row.sessions += cell.items;
        row.settled += cell.settled;
        row.not_measured += cell.not_measured;
        row.usage += cell.usage;
        row.cost += cell.cost;
        row.cost += cell.wasted;
    }
    models
}

fn new_bar(model: &str) -> ProgressBar {
    let template = "{prefix:<24.24} {bar:30.cyan/dim} {pos:>6}/{len:<6} {per_sec:>10} eta {eta:<4} {msg}";
    let bar = ProgressBar::new(0).with_prefix(model.to_owned());
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("━╸─")),
        Err(_) => bar,
    }
}

fn new_line() -> ProgressBar {
    let line = ProgressBar::new(0);
    match ProgressStyle::with_template("{msg}") {
        Ok(style) => line.with_style(style),
        Err(_) => line,
    }
}

fn line(status: &SweepStatus, started: Instant) -> String {
    let (sessions, settled) = (status.total(|cell| cell.items), status.total(|cell| cell.settled));
    let elapsed = started.elapsed().as_secs_f64();
    let not_measured = status.total(|cell| cell.not_measured);
    let usage = status.usage();
    let state = match status.state {
        SweepState::Running => String::new(),
        other => format!("{other}  "),
    };
    format!(
        "{state}{settled}/{sessions} sessions  {not_measured} not measured  {} tokens  {}  {elapsed:.0} s{}",
        usage.shown(usage.total(), thousands),
        status.cost.known,
        money(status)
    )
}

/// Money left of the budget, and the forecast of the final cost or its lower end, as far as there is either; otherwise empty.
fn money(status: &SweepStatus) -> String {
    let mut text = String::new();
    if let Some(budget) = &status.budget {
        text += &format!("  {} of {} left", budget.left, budget.cap);
    }
    if let Some(forecast) = &status.forecast {
        text += &format!("  about {} at the end ({} to {})", forecast.expected, forecast.low, forecast.high);
    }
    if let Some(least) = &status.at_least {
        text += &format!("  at least {least} at the end");
    }
    text
}

/// `1234567` as `1.23M`.
fn thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.2}M", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use regatta_coordinator::Forecast;
    use regatta_proto::{Level, Money};
    use serde_json::json;

    use super::*;

    fn status() -> SweepStatus {
        serde_json::from_value(json!({
            "id": "s", "state": "running", "created_at": "2026-01-01T00:00:00Z", "ended_at": null, "cells": [],
            "budget": { "cap": 5_000_000_000_u64, "spent": 0, "maybe_spent": 0, "reserved": 0, "left": 5_000_000_000_u64 },
            "cost": { "known": { "known": 837_100_000, "unknown_calls": 0 }, "at_most": 837_100_000 },
        }))
        .unwrap()
    }

    #[test]
    fn a_line_has_the_money_of_judges_too_and_the_lower_end_where_there_is_no_forecast() {
        let status = SweepStatus { at_least: Some(Money(37_440_000)), ..status() };
        let shown = line(&status, Instant::now());
        assert!(shown.contains("  $0.8371  "), "{shown}");
        assert!(shown.ends_with("  $5.00 of $5.00 left  at least $0.03744 at the end"), "{shown}");
        let [expected, low, high] = [900_000_000, 850_000_000, 950_000_000].map(Money);
        let forecast = Forecast { expected, low, high, level: Level::USUAL };
        let status = SweepStatus { at_least: None, forecast: Some(forecast), ..status };
        assert!(money(&status).ends_with("about $0.9000 at the end ($0.8500 to $0.9500)"), "{}", money(&status));
    }
}
