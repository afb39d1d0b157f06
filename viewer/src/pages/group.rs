//! A benchmark in a setting: the cells that can be compared, and the values to compare them by.

use maud::{Markup, html};
use regatta_backends::ScoreValue;
use regatta_benchmarks::{Measure, Tables};
use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkName, Cell, Evaluator, ItemIndex, ModelRef, Setting};

use crate::problem::Problem;

/// Cells of one benchmark and setting, in the order of the grid.
pub(crate) struct Group<'s> {
    pub(crate) benchmark: &'s BenchmarkName,
    pub(crate) setting: &'s Setting,
    pub(crate) cells: Vec<&'s Cell>,
}

/// All groups of a sweep, in the order of the lock.
pub(crate) fn all(sweep: &Sweep) -> Vec<Group<'_>> {
    let mut groups = Vec::new();
    for (benchmark, locked) in &sweep.lock.benchmarks {
        for setting in &locked.settings {
            let is_of = |cell: &&Cell| cell.benchmark == *benchmark && cell.setting == *setting;
            groups.push(Group { benchmark, setting, cells: sweep.cells().iter().filter(is_of).collect() });
        }
    }
    groups
}

/// The group that an address names, or the first of its benchmark if that has no such setting, as after another benchmark was chosen.
pub(crate) fn chosen<'s>(sweep: &'s Sweep, benchmark: &str, setting: &str) -> Result<Group<'s>, Problem> {
    let mut groups: Vec<Group<'s>> = all(sweep);
    groups.retain(|group| benchmark.is_empty() || group.benchmark.as_str() == benchmark);
    let at = groups.iter().position(|group| group.setting.as_str() == setting).unwrap_or(0);
    if at < groups.len() {
        return Ok(groups.swap_remove(at));
    }
    let known: Vec<&str> = sweep.lock.benchmarks.keys().map(BenchmarkName::as_str).collect();
    Err(Problem::missing(format!("the run has no benchmark {benchmark:?} (it has {})", known.join(", "))))
}

impl Group<'_> {
    /// Models, each once, in the order of the grid.
    pub(crate) fn models(&self) -> Vec<&ModelRef> {
        let mut models: Vec<&ModelRef> = Vec::new();
        for cell in &self.cells {
            if !models.contains(&&cell.model) {
                models.push(&cell.model);
            }
        }
        models
    }

    fn suite<'s>(&self, sweep: &'s Sweep) -> Option<&'s dyn Tables> {
        Some(&**sweep.suite(self.cells.first()?)?)
    }

    fn evaluators<'s>(&self, sweep: &'s Sweep) -> &'s [Evaluator] {
        self.cells.first().and_then(|cell| sweep.benchmark(cell)).map_or(&[], |locked| &locked.evaluators)
    }

    /// Values that sessions have, by evaluator; the one that leaderboards show comes first.
    pub(crate) fn values(&self, sweep: &Sweep) -> Vec<ScoreValue> {
        let Some(suite) = self.suite(sweep) else { return Vec::new() };
        let mut values: Vec<ScoreValue> = Vec::new();
        for evaluator in self.evaluators(sweep) {
            let of = |name: &str| ScoreValue { evaluator: *evaluator, name: name.to_owned() };
            let mut metrics = suite.metrics(self.setting, *evaluator);
            metrics.sort_by_key(|metric| !metric.headline);
            let means = metrics.iter().filter_map(|metric| match &metric.measure {
                Measure::Mean { value } => Some(of(value)),
                Measure::Ratio { .. }
                | Measure::F1 { .. }
                | Measure::Pooled { .. }
                | Measure::GroupMean { .. }
                | Measure::Average { .. } => None,
            });
            let first = self.cells.first().and_then(|cell| sweep.selected(cell).first()).copied();
            let mut failure = suite.score_failure(first.unwrap_or(ItemIndex(0)), &[*evaluator]);
            let others = failure.remove(evaluator).map(|score| score.values).unwrap_or_default();
            for value in means.chain(others.keys().map(|name| of(name))) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        values
    }
}

/// Name of a value in addresses, as in `official.f1_chain`.
pub(crate) fn name_of(value: &ScoreValue) -> String {
    format!("{}.{}", value.evaluator, value.name)
}

/// The value that an address names, or the first one if there is none of that name, as after another benchmark was chosen.
pub(crate) fn value_of(values: &[ScoreValue], name: &str) -> Option<ScoreValue> {
    values.iter().find(|value| name_of(value) == name).or(values.first()).cloned()
}

/// A drop-down list of a form.
pub(crate) fn select(name: &str, label: &str, chosen: &str, options: &[(String, String)]) -> Markup {
    html! {
        label {
            span { (label) }
            select name=(name) {
                @for (value, text) in options {
                    option value=(value) selected[value == chosen] { (text) }
                }
            }
        }
    }
}

/// Drop-down lists of benchmark and setting.
pub(crate) fn selects(sweep: &Sweep, group: &Group<'_>) -> Markup {
    let same = |text: &str| (text.to_owned(), text.to_owned());
    let benchmarks: Vec<_> = sweep.lock.benchmarks.keys().map(|name| same(name.as_str())).collect();
    let settings =
        sweep.lock.benchmarks.get(group.benchmark).map(|locked| locked.settings.as_slice()).unwrap_or_default();
    let settings: Vec<_> = settings.iter().map(|setting| same(setting.as_str())).collect();
    html! {
        @if benchmarks.len() > 1 { (select("benchmark", "Benchmark", group.benchmark.as_str(), &benchmarks)) }
        @else { input type="hidden" name="benchmark" value=(group.benchmark); }
        @if settings.len() > 1 { (select("setting", "Setting", group.setting.as_str(), &settings)) }
        @else if benchmarks.len() == 1 { input type="hidden" name="setting" value=(group.setting); }
    }
}
