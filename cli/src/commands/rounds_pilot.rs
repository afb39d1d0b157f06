//! Values of models in a run that has ended, from which the rounds of another sweep are simulated.

use std::path::Path;

use anyhow::Context as _;
use regatta_benchmarks::Better;
use regatta_catalog::SweepContest;
use regatta_deciding::simulation::Draws;
use regatta_proto::{ModelRef, SweepId};
use regatta_report::{LeaderboardRow, Summary, SummaryMetric};

use crate::exit::bad_configuration;
use crate::run_directory;

/// Half of an interval at 95 %, in standard deviations; at other levels the simulated values spread a little more or less.
const HALF: f64 = 1.96;
/// Uniform draws whose sum, less half of their number, has about the normal distribution with variance 1.
const UNIFORMS: u32 = 12;

/// A run that has ended.
pub(crate) struct RoundsPilot(Summary);

/// Value of a model as a pilot knows it, on a scale from 0 to 1 with 1 the good end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Likely {
    value: f64,
    deviation: f64,
}

impl RoundsPilot {
    /// Reads the summary of the run that `run` names.
    pub(crate) fn read(run: &Path) -> anyhow::Result<Self> {
        let file = run_directory::named(run)?.join("summary.json");
        let bytes = std::fs::read(&file)
            .with_context(|| format!("failed to read {}; name a run that has ended as --pilot", file.display()))
            .map_err(bad_configuration)?;
        let summary = Summary::from_json(&bytes).with_context(|| format!("failed to read {}", file.display()));
        Ok(Self(summary.map_err(bad_configuration)?))
    }

    /// The sweep of the pilot.
    pub(crate) fn name(&self) -> &SweepId {
        &self.0.sweep
    }

    /// The value that decides `contest`, of `model`; `None` where the pilot has none, or no interval.
    pub(crate) fn value(&self, contest: &SweepContest<'_>, model: &ModelRef) -> Option<Likely> {
        let is_of = |row: &&LeaderboardRow| {
            row.benchmark == *contest.benchmark && row.setting == *contest.setting && row.model == *model
        };
        let is_metric =
            |metric: &&SummaryMetric| metric.evaluator == contest.evaluator && metric.metric == contest.metric.name;
        let found = self.0.rows.iter().find(is_of)?.metrics.iter().find(is_metric)?.estimate;
        Some(Likely::new([found.value?, found.low?, found.high?], contest.metric.range, contest.metric.better))
    }
}

impl Likely {
    /// From a value with its interval, on the scale `range`.
    fn new([value, low, high]: [f64; 3], range: (f64, f64), better: Better) -> Self {
        let length = range.1 - range.0;
        let part = ((value - range.0) / length).clamp(0.0, 1.0);
        let value = match better {
            Better::Higher => part,
            Better::Lower => 1.0 - part,
        };
        Self { value, deviation: (high - low) / (2.0 * HALF * length) }
    }

    /// A true value that would have let the pilot see what it saw.
    pub(crate) fn draw(self, draws: &mut Draws) -> f64 {
        let sum: f64 = (0..UNIFORMS).map(|_| draws.uniform()).sum();
        (self.value + self.deviation * (sum - f64::from(UNIFORMS) / 2.0)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_drawn_around_those_of_the_pilot_and_as_widely_as_its_intervals() {
        let likely = Likely::new([30.0, 20.2, 39.8], (0.0, 100.0), Better::Higher);
        assert_eq!(likely.value, 0.3);
        let mut draws = Draws::new(1);
        let drawn: Vec<f64> = (0..4000).map(|_| likely.draw(&mut draws)).collect();
        let within = drawn.iter().filter(|value| (0.202..=0.398).contains(*value)).count() as f64 / 4000.0;
        assert!((0.93..=0.97).contains(&within), "{within}");
    }

    #[test]
    fn the_good_end_is_1_and_no_value_leaves_the_scale() {
        let likely = Likely::new([0.5, 0.0, 2.0], (0.0, 10.0), Better::Lower);
        assert_eq!(likely.value, 0.95);
        let mut draws = Draws::new(1);
        assert!((0..1000).map(|_| likely.draw(&mut draws)).all(|value| (0.0..=1.0).contains(&value)));
    }
}
