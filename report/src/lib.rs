//! Documents, tables and pages of a sweep, for people and programs, as functions of its sessions: the [`Tabulation`] makes every document, the
//! command line and the viewer read and draw them.
//!
//! Nothing here reads a store, a clock or a model: rows come in, text and numbers go out, and the same rows give the same bytes.

mod agents;
mod canaries;
mod comparison;
mod decided;
mod decision;
mod durations;
mod failures;
mod findings;
mod fitting;
mod leaderboard;
mod pairs;
mod planning;
mod report;
mod runs;
mod standings;
pub mod statistics;
mod stored_scores;
mod summary;
mod tabulation;
mod tradeoffs;

pub use agents::{RefusedNames, agent_end};
pub use canaries::{CanaryAnswers, CanarySession};
pub use decided::{RenderedDecided, render_decided, render_decided_so_far};
pub use decision::render_decision;
pub use failures::failure_message;
pub use findings::PAID_ELSEWHERE;
pub use fitting::{USUAL_WIDTH, fit};
pub use leaderboard::render_tables;
pub use pairs::flips_seed;
pub use planning::{Aim, Basis, JudgedSession, Need, Outlook, PairPower, Pilot, PilotCell, Spent, outlooks};
pub use report::{DESIGN_TOKENS, Series, SeriesGroup, SeriesNight, SeriesPage, SeriesValue};
pub use runs::{
    BenchmarkMeasures, Contribution, ItemValues, MarginTest, Measures, MetricDefinition, PairedCells, SessionScores,
    Values, mean_difference, rendered, rendered_missing,
};
pub use statistics::holm;
pub use stored_scores::{Repeats, stored_scores};
pub use summary::{
    AuditFindings, AuditGap, Audited, AuditedDifference, AuditedNumber, BenchmarkTable, BothWays, Comparison,
    Components, Contestant, Decided, DecidedContest, DecidedContestant, DecidedSequence, Difference, Ending, Estimate,
    Failure, GapMeans, Gaps, JudgePart, JudgeSpending, Judging, LeaderboardRow, MetricBothWays, MissingAudits, Pair,
    PairFamily, PairedRatio, Pass, Percentiles, Provider, Quality, Rank, Ranking, RatioOfRun, Reruns, SequencePoint,
    SequenceRelation, SessionCounts, Spending, Standing, Summary, SummaryMetric, Test, Tradeoff,
};
pub use tabulation::{Circumstances, DOCUMENTS, Documents, Tabulation, TabulationError, count_cached};
