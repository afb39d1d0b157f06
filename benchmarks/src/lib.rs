//! The benchmarks as pure functions: load, next, score, tabulate.
//!
//! A new benchmark is a folder here that implements [`Benchmark`] and [`Suite`], and one line in [`all`].

mod appbench;
mod autoslurp;
mod case;
mod cosine;
mod flowbench;
mod matching;
mod metric;
mod orchestrationbench;
mod paper_table;
mod place;
mod predictions;
mod python;
mod recorded;
mod suite;
mod worfbench;

pub use appbench::{
    Api as AppApi, App, Executed as ExecutedCall, Phone, Refusal as CallRefusal, ServedApps, SessionScore,
    Slot as AppSlot, Warning as CallWarning, World as AppWorld,
};
pub use autoslurp::ServedTools;
pub use case::score_case;
pub use flowbench::{JudgedSession, RatingScale, cohen_kappa, fleiss_kappa, judge_alignment, krippendorff_alpha};
pub use metric::{Better, Measure, Metric, OverTrials, Unit};
pub use paper_table::{CellResult, Measured, PaperColumn, PaperEntry, PaperRow, PaperTable, Spending};
pub use predictions::{NotPredicted, PredictionsError, ScoredPredictions, score_predictions};
pub use recorded::{MissingVerdict, RecordedVerdicts};
pub use suite::{
    Benchmark, DataError, Errand, Item, Persona, Picture, Score, Scores, Scoring, SelectError, Step, Suite, Table,
    ToolAnswer, ToolRequest, Verdicts,
};

use regatta_proto::BenchmarkName;

/// Every benchmark.
#[must_use]
pub fn all() -> &'static [&'static dyn Benchmark] {
    &[&appbench::AppBench, &autoslurp::AutoSlurp, &flowbench::FlowBench, &orchestrationbench::OrchestrationBench, &worfbench::WorfBench]
}

/// The benchmark of this name.
#[must_use]
pub fn find(name: &BenchmarkName) -> Option<&'static dyn Benchmark> {
    all().iter().copied().find(|benchmark| benchmark.name() == *name)
}

/// The names of all benchmarks, for messages.
#[must_use]
pub fn names_of_all() -> String {
    all().iter().map(|benchmark| benchmark.name().to_string()).collect::<Vec<_>>().join(", ")
}
