//! Result of a sweep, in one document that programs read and the command line prints.

use std::collections::BTreeMap;

use jiff::Timestamp;
use regatta_backends::{JudgeCosts, OtherCalls, ReportedCost, SavedCost};
use regatta_benchmarks::{Better, PaperTable, Unit};
use regatta_proto::{
    BenchmarkName, CostSum, Evaluator, Flag, Level, ModelRef, Money, Role, Setting, SweepId, SweepState, Usage,
    read_untrusted_json,
};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use crate::canaries::CanaryAnswers;
pub use crate::comparison::{Comparison, Percentiles, Provider, Quality};
pub use crate::decided::{
    Decided, DecidedContest, DecidedContestant, DecidedSequence, Ending, SequencePoint, SequenceRelation,
};
pub use crate::failures::Failure;
pub use crate::findings::{AuditFindings, AuditGap, AuditedDifference, MissingAudits};
pub use crate::pairs::{Contestant, Pair, PairFamily, Ranking};
pub use crate::standings::Standing;
pub use crate::statistics::{
    Audited, AuditedNumber, Components, Difference, Estimate, GapMeans, Gaps, JudgePart, PairedRatio, Pass, Rank,
    RatioOfRun, Reruns, Test,
};
pub use crate::tradeoffs::Tradeoff;

/// `summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this document.
    pub v: u32,
    /// Id of the sweep.
    pub sweep: SweepId,
    /// State in which the sweep ended.
    pub state: SweepState,
    /// Version of Regatta that planned it.
    pub regatta: String,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// From submission to end, pauses before a resume included, in seconds.
    pub wall_seconds: f64,
    /// Part of `wall_seconds` in which at least one session was under way; absent where nothing ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_seconds: Option<f64>,
    /// Repetitions of every cell.
    pub trials: u16,
    /// Probability with which each interval covers; 0.95 in documents that do not name theirs.
    #[serde(default)]
    pub level: Level,
    /// Least part of the sessions that must have a score for a value not to be withheld.
    #[serde(default)]
    pub coverage_min: f64,
    /// All sessions.
    pub sessions: SessionCounts,
    /// Tokens, money and calls of the attempts of all sessions.
    pub spending: Spending,
    /// Part of `spending.cost` for tries of models under test that failed and were billed all the same, such as answers that could not be
    /// used; those of attempts that were wasted are in it.
    #[serde(default, skip_serializing_if = "is_no_cost")]
    pub failed_tries: CostSum,
    /// Cost that answers of the response cache would have had.
    #[serde(default, skip_serializing_if = "SavedCost::is_none")]
    pub saved: SavedCost,
    /// Costs that providers told themselves, beside ours of the same calls.
    #[serde(default)]
    pub reported: ReportedCost,
    /// Part of `spending` by models that played other roles than the agent's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<Role, OtherCalls>,
    /// Tokens and money of the judges.
    pub judging: Judging,
    /// Most that can have been billed for all of it, judges included, in nano-dollars; absent where nothing is in doubt. Calls without a known
    /// price are not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Money>,
    /// Spending of each judge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeSpending>,
    /// Findings of audits, one entry for each judge that audits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audits: Vec<AuditFindings>,
    /// Decisions of the rounds; absent unless the sweep is adaptive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
    /// One ranking of the models over all benchmarks and settings, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standings: Vec<Standing>,
    /// Time and money of each model beside those of the one that it could replace: the best, or the first endpoint that serves it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tradeoffs: Vec<Tradeoff>,
    /// One row a benchmark, setting and model: benchmarks and settings as in the lock, the best model first. Models that no comparison
    /// tells apart are in the order of the lock.
    pub rows: Vec<LeaderboardRow>,
    /// Models, settings and casts against each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairFamily>,
    /// Ranks of models among those of their setting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<Ranking>,
    /// Endpoints that serve the same model, side by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// The tables of the benchmarks' papers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<BenchmarkTable>,
    /// Digests of the answers to canaries, as benchmarks, settings and models are in the lock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub canaries: Vec<CanaryAnswers>,
    /// Warnings that belong next to the numbers, for example that models were simulated.
    pub notes: Vec<String>,
}

impl Summary {
    /// Version this build writes.
    pub const VERSION: u32 = 1;

    /// Reads `summary.json`, which somebody else may have written: sums of its counts and amounts do not overflow.
    ///
    /// # Errors
    /// When the bytes are not the JSON of a summary, when its whole numbers come to more than any sweep's, or when a row has more covered
    /// sessions than sessions.
    pub fn from_json(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let summary: Self = read_untrusted_json(bytes)?;
        for (at, LeaderboardRow { coverage, .. }) in summary.rows.iter().enumerate() {
            if !(0.0..=1.0).contains(coverage) {
                let problem = format!("rows[{at}].coverage is {coverage:?}, which is no part of all sessions (0 to 1)");
                return Err(serde_json::Error::custom(problem));
            }
        }
        Ok(summary)
    }
}

impl Summary {
    /// Sessions that have a score with all that leaderboards show: one whose judge gave no grade has none.
    #[must_use]
    pub fn covered(&self) -> u64 {
        self.rows.iter().map(LeaderboardRow::covered).sum()
    }

    /// The rank of the model of `row`; `None` where it has no value, or is alone.
    #[must_use]
    pub fn rank(&self, row: &LeaderboardRow) -> Option<Rank> {
        let is_of = |of: &&Ranking| of.benchmark == row.benchmark && of.setting == row.setting && of.model == row.model;
        self.ranks.iter().find(is_of).map(|ranking| ranking.rank)
    }
}

/// Sessions by how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionCounts {
    /// All there should be.
    pub total: u64,
    /// Scored.
    pub measured: u64,
    /// Made impossible by the model; scored as wrong.
    pub model_failures: u64,
    /// Ended without saying anything about the model.
    pub not_measured: u64,
    /// Without a result.
    pub not_run: u64,
}

impl SessionCounts {
    /// Sessions with a score.
    #[must_use]
    pub const fn scored(&self) -> u64 {
        self.measured + self.model_failures
    }

    /// The part of all sessions that has a score, 0..=1.
    #[must_use]
    pub fn coverage(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.scored() as f64 / self.total as f64 }
    }

    pub(crate) const fn add(&mut self, other: &Self) {
        self.total += other.total;
        self.measured += other.measured;
        self.model_failures += other.model_failures;
        self.not_measured += other.not_measured;
        self.not_run += other.not_run;
    }
}

/// Tokens and money of attempts, whatever became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spending {
    /// Attempts.
    pub attempts: u64,
    /// Answered calls, including those answered from the response cache.
    pub calls: u64,
    /// Part of `calls` that was answered from the response cache, as far as known: they have no latency, tokens or cost of their own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_calls: u64,
    /// Tries after the first of each call. The last try of a call that was given up failed without one.
    pub retries: u64,
    /// Tokens of all attempts, as far as known.
    pub usage: Usage,
    /// Money of all attempts, as far as known.
    pub cost: CostSum,
    /// Attempts that were repeated or lost.
    pub wasted_attempts: u64,
    /// Tokens of these.
    pub wasted_usage: Usage,
    /// Money of these; a part of `cost`.
    pub wasted: CostSum,
    /// On top of `cost` and `wasted`: at most this much for calls that were in flight when their attempt was lost.
    pub lost_calls_at_most: Money,
    /// On top of `cost`: at most this much for failed tries of which the provider did not tell whether they are billed.
    #[serde(default)]
    pub maybe_spent: Money,
    /// Lost attempts with a call in flight whose price is unknown: what these cost is in none of the figures.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_unpriced: u64,
    /// The part of `cost`, not in `wasted`, that went into sessions without a score.
    pub unmeasured: CostSum,
    /// Sessions with a score that a filter, the length of the context or a refusal of the model ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_off: u64,
    /// The part of `cost`, not in `wasted`, that went into these.
    #[serde(default, skip_serializing_if = "is_no_cost")]
    pub cut_off_cost: CostSum,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_no_cost(cost: &CostSum) -> bool {
    *cost == CostSum::default()
}

impl Summary {
    /// Cost of all attempts and judges. Attempts that were lost with a call of unknown price in flight have an unknown call each.
    #[must_use]
    pub fn cost(&self) -> CostSum {
        let mut cost = self.spending.cost;
        cost += self.judging.cost;
        cost.unknown_calls += self.spending.lost_unpriced;
        cost
    }

    /// Most that can have been billed on top of what is known; zero where nothing is in doubt.
    #[must_use]
    pub fn in_doubt(&self) -> Money {
        Money(self.at_most.map_or(0, |most| most.0.saturating_sub(self.cost().known.0)))
    }

    /// Kinds of calls that money in doubt is reserved for, in words. What no attempt tells of was reserved by calls whose answers tell no
    /// cost, by judges' failed tries, or by processes that died.
    #[must_use]
    pub fn reserved_for(&self) -> String {
        let Spending { maybe_spent, lost_calls_at_most, .. } = self.spending;
        let is_more = self.in_doubt() > maybe_spent + lost_calls_at_most;
        let kinds = [
            (is_more && self.cost().unknown_calls > 0, "calls of unknown cost"),
            (is_more || maybe_spent > Money::ZERO, "failed tries"),
            (is_more || lost_calls_at_most > Money::ZERO, "calls in flight when a process died"),
        ];
        let kinds: Vec<&str> = kinds.into_iter().filter_map(|(is_there, kind)| is_there.then_some(kind)).collect();
        match kinds.as_slice() {
            [] => "nothing".to_owned(),
            [only] => (*only).to_owned(),
            [others @ .., last] => format!("{} or {last}", others.join(", ")),
        }
    }
}

impl Spending {
    /// Money of the attempts that led to scores, however often others were repeated or not measured.
    #[must_use]
    pub const fn of_scored(&self) -> CostSum {
        without(without(self.cost, self.wasted), self.unmeasured)
    }

    /// The part of [`of_scored`](Self::of_scored) that went into sessions which were answered: none was cut off.
    #[must_use]
    pub const fn of_answered(&self) -> CostSum {
        without(self.of_scored(), self.cut_off_cost)
    }

    /// Money of a session that was answered, of the `scored` ones: one that was cut off took next to nothing, and would make its model cheap.
    /// `None` without any, when some of the money is unknown, and when answers came from the response cache, which nobody paid for now.
    #[must_use]
    pub fn per_session(&self, scored: u64, cached: u64) -> Option<Money> {
        let answered = scored.saturating_sub(self.cut_off);
        if cached > 0 { None } else { per(self.of_answered(), answered as f64) }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.calls += other.calls;
        self.cached_calls += other.cached_calls;
        self.retries += other.retries;
        self.usage += other.usage;
        self.cost += other.cost;
        self.wasted_attempts += other.wasted_attempts;
        self.wasted_usage += other.wasted_usage;
        self.wasted += other.wasted;
        self.lost_calls_at_most += other.lost_calls_at_most;
        self.maybe_spent += other.maybe_spent;
        self.lost_unpriced += other.lost_unpriced;
        self.unmeasured += other.unmeasured;
        self.cut_off += other.cut_off;
        self.cut_off_cost += other.cut_off_cost;
    }
}

const fn without(all: CostSum, part: CostSum) -> CostSum {
    CostSum {
        known: Money(all.known.0.saturating_sub(part.known.0)),
        unknown_calls: all.unknown_calls.saturating_sub(part.unknown_calls),
    }
}

/// `cost` over `count` things; `None` when some of it is unknown, and for nothing.
pub(crate) fn per(cost: CostSum, count: f64) -> Option<Money> {
    let nanos = cost.known.0 as f64 / count;
    (cost.unknown_calls == 0 && count > 0.0 && nanos < 9.2e18).then_some(Money(nanos.round() as u64))
}

/// Tokens and money of judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Judging {
    /// Tokens.
    pub usage: Usage,
    /// Money.
    pub cost: CostSum,
}

/// Spending of one judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeSpending {
    /// The judge.
    pub judge: ModelRef,
    /// Models that its endpoint said had answered, sorted; empty where nothing was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub served: Vec<String>,
    /// Tokens.
    pub usage: Usage,
    /// Money.
    pub cost: CostSum,
}

impl From<&JudgeCosts> for JudgeSpending {
    fn from(costs: &JudgeCosts) -> Self {
        Self { judge: costs.judge.clone(), served: costs.served.clone(), usage: costs.usage, cost: costs.cost }
    }
}

/// One benchmark, setting and model, over all trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeaderboardRow {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Setting of the benchmark.
    pub setting: Setting,
    /// Model under test.
    pub model: ModelRef,
    /// True if answers came from a simulated endpoint.
    pub simulated: bool,
    /// Model that answered the evaluators' questions; absent where none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<ModelRef>,
    /// Selected items.
    pub items: u32,
    /// Sessions.
    pub sessions: SessionCounts,
    /// Part of the sessions with a score, 0..=1; of those that have a value of each metric on leaderboards, where that is less.
    pub coverage: f64,
    /// All metrics; the benchmark's default evaluator first.
    pub metrics: Vec<SummaryMetric>,
    /// Sessions with a score by flag of the model's answers; flags that none has are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flags: BTreeMap<Flag, u64>,
    /// The headline both ways, where a filter or a refusal ended sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filtered: Option<BothWays>,
    /// Sessions that did not end well, the commonest way first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Sessions with a score of which answers came from the response cache, or may have: such a session has no time, tokens or cost of
    /// its own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Seconds of the sessions that have a score, with failed tries and waits; without those that ended before any call was answered.
    /// Absent where answers came from the response cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_seconds: Option<Percentiles>,
    /// Seconds in model calls, each from sending the last try, of the sessions that have a score and an answered call, and that neither a
    /// filter nor the length of the context ended; absent where answers came from the response cache or by a batch API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_in_calls: Option<Percentiles>,
    /// Seconds of answered calls, each from sending the last try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_seconds: Option<Percentiles>,
    /// Tokens, money and calls of the row's attempts.
    pub spending: Spending,
}

/// Numbers with filtered sessions as wrong, and as missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BothWays {
    /// Sessions that a filter or a refusal ended.
    pub sessions: u64,
    /// The metrics that a leaderboard shows.
    pub metrics: Vec<MetricBothWays>,
}

/// A metric with filtered sessions as wrong, and as missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricBothWays {
    /// Scoring rule.
    pub evaluator: Evaluator,
    /// Name of the metric.
    pub metric: String,
    /// Unit in which people read it.
    #[serde(default, skip_serializing_if = "Unit::is_plain")]
    pub unit: Unit,
    /// Value when filtered sessions count as wrong.
    pub wrong: Estimate,
    /// Value when they say nothing about the model.
    pub missing: Estimate,
}

impl LeaderboardRow {
    /// Sessions that have a score with all metrics on leaderboards: `coverage` of them.
    #[must_use]
    pub fn covered(&self) -> u64 {
        (self.coverage * self.sessions.total as f64).round() as u64
    }

    /// The metrics that a leaderboard shows.
    pub fn headline(&self) -> impl Iterator<Item = &SummaryMetric> {
        self.metrics.iter().filter(|metric| metric.headline)
    }
}

/// A metric over all items and trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryMetric {
    /// Scoring rule.
    pub evaluator: Evaluator,
    /// Name of the metric under `evaluator`.
    pub metric: String,
    /// Unit in which the metric is shown.
    #[serde(default, skip_serializing_if = "Unit::is_plain")]
    pub unit: Unit,
    /// Direction in which the metric improves.
    #[serde(default)]
    pub better: Better,
    /// True if the metric is a ratio of sums over sessions, false if it is a mean over items.
    #[serde(default)]
    pub of_sums: bool,
    /// True if leaderboards show the metric.
    pub headline: bool,
    /// Value of the metric, with its interval and bounds.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// For a success that is 0 or 1, over several trials: whether any of k succeeds (pass@k), and whether all do (pass^k).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<Pass>,
}

/// A table of a benchmark's paper, filled by one evaluator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkTable {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Scoring rule.
    pub evaluator: Evaluator,
    /// The table.
    #[serde(flatten)]
    pub table: PaperTable,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tabulation::tests::harness::{all_measured, documents, lock, summary, sweep};

    /// The summary of a sweep of two models, with `value` at the JSON pointer `place`.
    fn with(place: &str, value: Value) -> Result<Summary, String> {
        let summary = summary(&documents(&sweep(lock(&["x/one", "x/two"])), &all_measured));
        let mut document = serde_json::to_value(&summary).unwrap();
        *document.pointer_mut(place).unwrap() = value;
        Summary::from_json(document.to_string().as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn counts_and_amounts_that_overflow_together_are_refused_with_the_field() {
        for (place, field) in [
            ("/rows/1/sessions/total", "rows[1].sessions.total"),
            ("/rows/0/spending/attempts", "rows[0].spending.attempts"),
            ("/spending/usage/input", "spending.usage.input"),
            ("/standings/0/cost/unknown_calls", "standings[0].cost.unknown_calls"),
        ] {
            let refused = with(place, json!(u64::MAX)).unwrap_err();
            assert!(refused.starts_with(&format!("{field} is 18446744073709551615, which is too much")), "{refused}");
        }
        let most = with("/rows/1/sessions/total", json!(900_000_000_000_000_000_u64)).unwrap();
        assert_eq!(most.rows[1].sessions.total, 900_000_000_000_000_000);
    }

    #[test]
    fn a_row_has_no_more_covered_sessions_than_sessions() {
        for coverage in [1e300, 1.5, -0.5] {
            let refused = with("/rows/0/coverage", json!(coverage)).unwrap_err();
            assert_eq!(refused, format!("rows[0].coverage is {coverage:?}, which is no part of all sessions (0 to 1)"));
        }
        assert_eq!(with("/rows/0/coverage", json!(1.0)).unwrap().rows[0].coverage, 1.0);
    }
}
