//! Consumes outcomes, scores them, writes ledger and blobs, and ends sweeps with their reports, which `regatta-report` makes.
//!
//! A scorer never talks to a model: where a benchmark's `score` needs verdicts, its questions become judge jobs, and the session is
//! settled when the answers are there. Everything here may be done twice without harm, because the ledger knows every attempt.

mod aside;
mod asked;
mod audits;
mod canaries;
mod finish;
mod flags;
mod gone;
mod judging;
mod metrics;
mod pace;
mod pilot;
mod recording;
mod recovery;
mod repeats;
mod rescoring;
mod scorer;
mod standing_aside;
mod traced;
mod verdicts;
mod waiting;
mod wanted;

pub use asked::{AskedOfSession, GivenVerdict, asked_of_session};
pub use finish::FinishError;
pub use metrics::ScorerMetrics;
pub use pilot::read_pilot;
pub use recovery::{Past, Recovery};
pub use rescoring::Rescoring;
pub use scorer::{Scorer, ScorerConfig, ScorerError};
pub use verdicts::Bill;
pub use wanted::WantedVerdicts;
