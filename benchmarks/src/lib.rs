//! The interface of every benchmark: load, next, score, tabulate; its metrics and tables; and the registry.
//!
//! The crates beside this one (`worfbench`, `flowbench`, …) implement [`Benchmark`] and the parts of [`Suite`]. Everything else in the pipeline
//! depends on this crate alone and gets a [`Registry`] from the binary, so that a change in one benchmark builds that one and links.

mod bad_lines;
mod benchmark;
pub mod case;
pub mod cosine;
pub mod delegated;
mod drawing;
mod item;
mod markup;
mod metric;
mod open_question;
mod paper_table;
mod pearson;
mod persona;
mod picture;
mod predictions;
mod recorded;
mod registry;
mod remote_file;
mod sampling;
mod score;
pub mod source_location;
mod step;
mod suite;
mod suite_error;
mod table;
mod tasks;
mod tool_server;

pub use bad_lines::{BadLine, BadLines};
pub use benchmark::Benchmark;
pub use drawing::{Drawing, DrawnEdge, DrawnNode, Presence};
pub use item::{Item, SampledBy};
pub use markup::{markdown_cell, markup_text};
pub use metric::{Better, Measure, Metric, OverTrials, Unit};
pub use open_question::{OpenQuestion, open_questions};
pub use paper_table::{CellResult, Measured, PaperColumn, PaperEntry, PaperRow, PaperTable, Spending};
pub use pearson::pearson;
pub use persona::Persona;
pub use picture::Picture;
pub use predictions::{NotPredicted, PredictionsError, ScoredPredictions, no_item, score_predictions};
pub use recorded::{MissingVerdict, NULL_CONTENT, RecordedVerdicts};
pub use registry::{Registry, default_setting};
pub use remote_file::RemoteFile;
pub use sampling::{
    SampledBenchmark, SharingError, canary_items, limits_within, listed_items, select_items, with_canaries,
};
pub use score::{NoVerdicts, RatedScore, Score, Scores, Scoring, Verdicts, flat_value};
pub use step::{DelegatedTask, Step};
pub use suite::{Dataset, Evaluation, Pictures, Predictions, Sessions, Simulated, Suite, Tables, Unplayed};
pub use suite_error::{DataError, SelectError};
pub use table::Table;
pub use tasks::{check_tasks, items_of_tasks};
pub use tool_server::{ToolAnswer, ToolRequest};
