//! The nights of a schedule as drawings: scores, tokens, times, money and canaries of each model in each setting, with the causes of changes at
//! their nights.

use std::collections::{BTreeMap, BTreeSet};

use regatta_proto::{BenchmarkName, ModelRef, Setting};
use regatta_report::{LeaderboardRow, Series, SeriesGroup, SeriesNight, SeriesPage, SeriesValue};

use super::rendering::lines;
use super::{Drift, Night};
use crate::ended_run::{Answers, EndedRun, Took};

/// Caption of a drawing, with the ends of its scale.
type Drawing = (String, (f64, f64));

/// Drawings with their values by night, in the order in which they are shown.
type Drawings = Vec<(Drawing, BTreeMap<usize, SeriesValue>)>;

/// A model in a setting.
type Place = (BenchmarkName, Setting, ModelRef);

/// Values of the nights so far, by model and setting and by drawing.
#[derive(Debug, Default)]
pub(super) struct Plots {
    nights: usize,
    cells: BTreeMap<Place, Drawings>,
}

impl Plots {
    /// Adds a night, which `run` is of and `told` is said of.
    pub(super) fn add(&mut self, run: &EndedRun, told: &Night) {
        let night = self.nights;
        self.nights += 1;
        for row in &run.summary.rows {
            let place = (row.benchmark.clone(), row.setting.clone(), row.model.clone());
            let took = run.took(&row.benchmark, &row.setting, &row.model);
            let values = scores(row).into_iter().chain(spent(took.values())).chain(canaries(&place, told));
            let drawings = self.cells.entry(place.clone()).or_default();
            for (drawing, value) in values {
                match drawings.iter_mut().find(|(known, _)| *known == drawing) {
                    Some((_, nights)) => {
                        nights.insert(night, value);
                    }
                    None => drawings.push((drawing, BTreeMap::from([(night, value)]))),
                }
            }
        }
    }

    /// The page of all nights, which `drift` tells of.
    pub(super) fn page(self, drift: &Drift) -> SeriesPage {
        let nights = drift.nights.iter().map(|night| SeriesNight {
            run: night.run.clone(),
            ended_at: night.ended_at.to_string(),
            changes: lines(night).into_iter().map(|line| line.trim_start().to_owned()).collect(),
        });
        let count = self.nights;
        let marks: Vec<(usize, String)> = drift.nights.iter().enumerate().filter_map(mark).collect();
        let group = |((benchmark, setting, model), drawings): (Place, Drawings)| {
            let series = drawings.into_iter().map(|((caption, scale), values)| Series {
                caption,
                values: (0..count).map(|night| values.get(&night).copied()).collect(),
                scale,
            });
            let title = format!("{benchmark} · {setting} · {model}");
            SeriesGroup { title, series: series.collect(), marks: marks.clone() }
        };
        SeriesPage {
            title: format!("Drift of {}", drift.of),
            nights: nights.collect(),
            groups: self.cells.into_iter().map(group).collect(),
        }
    }
}

/// Causes of a night, if it has any. They stand in all drawings: what one cell tells may explain another one.
fn mark((night, of): (usize, &Night)) -> Option<(usize, String)> {
    let causes: BTreeSet<_> = of.findings.iter().map(|finding| finding.cause).collect();
    let names: Vec<String> = causes.into_iter().map(|cause| cause.to_string()).collect();
    (!names.is_empty()).then(|| (night, names.join(", ")))
}

/// Headline metrics with their intervals.
fn scores(row: &LeaderboardRow) -> Vec<(Drawing, SeriesValue)> {
    let headlines = row.metrics.iter().filter(|of| of.headline);
    headlines
        .filter_map(|of| {
            let factor = of.unit.factor();
            let value = of.estimate.value? * factor;
            let range = of.estimate.low.zip(of.estimate.high).map(|(low, high)| (low * factor, high * factor));
            let (from, to) = of.unit.scale().unwrap_or((0.0, f64::INFINITY));
            let caption = format!("{} ({})", of.metric, of.evaluator);
            Some(((caption, (from * factor, to * factor)), SeriesValue { value, range }))
        })
        .collect()
}

/// Means over the sessions that were asked and answered for this run: those of which answers came from the response cache took nothing now.
fn spent<'t>(took: impl Iterator<Item = &'t Took>) -> Vec<(Drawing, SeriesValue)> {
    let own: Vec<&Took> = took.filter(|took| took.answers == Answers::Own).collect();
    let sum = |value: fn(&Took) -> Option<f64>| own.iter().map(|took| value(took)).sum::<Option<f64>>();
    let (tokens, dollars) = (sum(|took| took.output_tokens), sum(|took| took.dollars));
    let seconds: f64 = own.iter().map(|took| took.seconds).sum();
    let sessions = own.len() as f64;
    let known = |caption: &str, value: Option<f64>| {
        let value = value.filter(|value| value.is_finite())?;
        Some(((caption.to_owned(), (0.0, f64::INFINITY)), SeriesValue { value, range: None }))
    };
    let all = [
        known("tokens answered a session, mean", tokens.map(|tokens| tokens / sessions)),
        known("milliseconds an output token", tokens.map(|tokens| seconds * 1e3 / tokens)),
        known("dollars a session, mean", dollars.map(|dollars| dollars / sessions)),
    ];
    all.into_iter().flatten().collect()
}

/// Share of the canaries of a cell that were answered otherwise than the night before.
fn canaries((benchmark, setting, model): &Place, told: &Night) -> Option<(Drawing, SeriesValue)> {
    let of_cell = |of: &&super::Canaries| of.is_of(benchmark, setting, model);
    let of = told.canaries.iter().find(of_cell)?;
    let value = 100.0 * of.otherwise as f64 / of.compared as f64;
    let caption = "canaries answered otherwise than the night before, percent".to_owned();
    Some(((caption, (0.0, 100.0)), SeriesValue { value, range: None }))
}
