//! Consumes outcomes, scores them, aggregates, writes ledger, blobs and reports.
//!
//! A scorer never talks to a model: where a benchmark's `score` needs verdicts, its questions become judge jobs, and the session is
//! settled when the answers are there. Everything here may be done twice without harm, because the ledger knows every attempt.

mod comparison;
mod finish;
mod judging;
mod leaderboard;
mod metrics;
mod recording;
mod report;
mod scorer;
pub mod statistics;
mod summary;
mod verdicts;

pub use finish::FinishError;
pub use leaderboard::render_leaderboard;
pub use metrics::ScorerMetrics;
pub use scorer::{Scorer, ScorerConfig, ScorerError};
pub use summary::{
    BenchmarkTable, Comparison, Difference, Estimate, Judging, LeaderboardRow, Pass, Percentiles, Provider, Quality,
    Reruns, SessionCounts, Spending, Summary, SummaryMetric,
};
