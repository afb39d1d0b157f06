//! Consumes outcomes, scores them, aggregates, writes ledger, blobs and reports.
//!
//! A scorer never talks to a model: where a benchmark's `score` needs verdicts, its questions become judge jobs, and the session is
//! settled when the answers are there. Everything here may be done twice without harm, because the ledger knows every attempt.

mod agents;
mod aside;
mod asked;
mod audits;
mod canaries;
mod comparison;
mod decided;
mod decision;
mod durations;
mod failures;
mod findings;
mod finish;
mod fitting;
mod flags;
mod gone;
mod judging;
mod leaderboard;
mod metrics;
mod pace;
mod pairs;
mod planning;
mod recording;
mod recovery;
mod repeats;
mod report;
mod rescoring;
mod runs;
mod scorer;
mod standing_aside;
mod standings;
pub mod statistics;
mod summary;
mod traced;
mod tradeoffs;
mod verdicts;
mod waiting;
mod wanted;

pub use asked::{AskedOfSession, GivenVerdict, asked_of_session};
pub use canaries::{CanaryAnswers, CanarySession};
pub use decided::{RenderedDecided, render_decided, render_decided_so_far};
pub use decision::render_decision;
pub use finish::{DOCUMENTS, FinishError};
pub use fitting::{USUAL_WIDTH, fit};
pub use leaderboard::render_tables;
pub use metrics::ScorerMetrics;
pub use pairs::flips_seed;
pub use planning::{
    Aim, Basis, JudgedSession, Need, Outlook, PairPower, Pilot, PilotCell, Spent, outlooks, read_pilot,
};
pub use recovery::{Past, Recovery};
pub use report::{DESIGN_TOKENS, Series, SeriesGroup, SeriesNight, SeriesPage, SeriesValue};
pub use rescoring::Rescoring;
pub use runs::{
    BenchmarkMeasures, Contribution, ItemValues, MarginTest, Measures, MetricDefinition, PairedCells, SessionScores,
    Values, mean_difference, rendered, rendered_missing,
};
pub use scorer::{Scorer, ScorerConfig, ScorerError};
pub use statistics::holm;
pub use summary::{
    AuditFindings, AuditGap, Audited, AuditedDifference, AuditedNumber, BenchmarkTable, BothWays, Comparison,
    Components, Contestant, Decided, DecidedContest, DecidedContestant, DecidedSequence, Difference, Ending, Estimate,
    Failure, GapMeans, Gaps, JudgePart, JudgeSpending, Judging, LeaderboardRow, MetricBothWays, MissingAudits, Pair,
    PairFamily, PairedRatio, Pass, Percentiles, Provider, Quality, Rank, Ranking, RatioOfRun, Reruns, SequencePoint,
    SequenceRelation, SessionCounts, Spending, Standing, Summary, SummaryMetric, Test, Tradeoff,
};
pub use verdicts::Bill;
pub use wanted::WantedVerdicts;
