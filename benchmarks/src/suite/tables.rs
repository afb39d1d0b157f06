//! Metrics, aggregates and tables over the scores of many sessions.

use regatta_proto::{Evaluator, ItemIndex, Setting};

use crate::{CellResult, Evaluation, Metric, PaperTable, Score, Table};

/// Metrics and tables. The defaults are the means of all values of the [scores](Evaluation), and no table of a paper.
pub trait Tables: Evaluation {
    /// Aggregates trials into the shape of the golden files (`aggregate`) and the columns that tables show. It is
    /// called for each trial alone and once for all trials of a setting and model, because official code may pool
    /// these in its own way. Each trial has its scores by ascending item. [`Score::detail`] may be `null` here:
    /// tables need flat values alone. The default: [`Table::of_means`].
    fn tabulate(&self, evaluator: Evaluator, trials: &[Vec<(ItemIndex, &Score)>]) -> Table {
        let _ = evaluator;
        Table::of_means(trials)
    }

    /// Returns the metrics of `setting`. The default: the means of all flat values, each in 0..=1.
    fn metrics(&self, setting: &Setting, evaluator: Evaluator) -> Vec<Metric> {
        let _ = setting;
        // Assumes that all items have the same values, which the default is for.
        let mut failure = self.score_failure(ItemIndex(0), &[evaluator]);
        let values = failure.remove(&evaluator).map(|score| score.values).unwrap_or_default();
        values.keys().map(|name| Metric::mean(name)).collect()
    }

    /// Returns `true` if a judge's verdict can change `metric`, one of `evaluator`.
    fn is_judged_metric(&self, evaluator: Evaluator, metric: &Metric) -> bool {
        metric.depends_on(|value| self.is_judged(evaluator, value))
    }

    /// Returns the least and greatest possible value of the number at the JSON pointer `pointer` in an aggregate; the
    /// greatest is infinite where there is no limit.
    ///
    /// Returns `None` for everything but averages and ratios over sessions, for counts for example. Only averages and
    /// ratios estimate the result on new items, so only they get an interval.
    fn aggregate_range(&self, evaluator: Evaluator, pointer: &str) -> Option<(f64, f64)> {
        let _ = (evaluator, pointer);
        None
    }

    /// Makes the tables of the benchmark's paper from all settings and models of a sweep, in the order of its grid.
    fn paper_tables(&self, evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
        let _ = (evaluator, cells);
        Vec::new()
    }
}
