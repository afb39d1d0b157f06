//! Consumes outcomes, scores them, aggregates, writes ledger, blobs and reports.
//!
//! A scorer never talks to a model: where a benchmark's `score` needs verdicts, its questions become judge jobs, and the session is
//! settled when the answers are there. Everything here may be done twice without harm, because the ledger knows every attempt.

mod finish;
mod judging;
mod metrics;
mod recording;
mod scorer;
mod transcripts;
mod verdicts;

pub use metrics::ScorerMetrics;
pub use scorer::{Scorer, ScorerConfig, ScorerError};
