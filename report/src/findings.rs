//! Findings of audits: their bills, what judging everything by the audit's judge would have cost, and models compared as it would have them.

use std::collections::BTreeMap;

use regatta_benchmarks::Unit;
use regatta_catalog::Sweep;
use regatta_proto::{Audit, BenchmarkName, CostSum, Evaluator, Judge, Level, ModelRef, Money, Setting, SweepLock};
use serde::{Deserialize, Serialize};

use crate::statistics::{Audited, GapMeans, audited_difference};
use crate::summary::{JudgeSpending, per};
use crate::tabulation::{GroupResult, is_simulated};

/// End of the label of whoever gave verdicts that another sweep has paid for.
pub const PAID_ELSEWHERE: &str = " (kept verdicts, paid elsewhere)";

/// Findings of the audits by one judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditFindings {
    /// Judge of the audit, in words.
    pub judge: String,
    /// Audited benchmarks.
    pub benchmarks: Vec<BenchmarkName>,
    /// Measured sessions that it judged.
    pub audited: u64,
    /// Measured sessions of these benchmarks.
    pub sessions: u64,
    /// Cost of the audit. Absent where one of its models judges something else too, because bills do not tell what they are for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostSum>,
    /// Cost if it had judged all sessions, from that of those that it did; absent where that is unknown, where another sweep has paid for some of
    /// its verdicts, and where it judged another share of one benchmark and setting than of another, because bills do not tell what each has cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_of_all: Option<Money>,
    /// Audits that are missing. Absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingAudits>,
    /// Differences between models as it would have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<AuditedDifference>,
}

/// Measured sessions of the sample that corrected values are estimated without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MissingAudits {
    /// Sessions that the audit's judge did not score.
    pub sessions: u64,
    /// Sessions of the items that the audit draws.
    pub sampled: u64,
    /// Audited sessions to which the judge gave no grade of a metric on leaderboards, and the other judge did.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ungraded: u64,
    /// Metrics of models whose missing audits are no random part of the sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<AuditGap>,
}

/// Difference between audited and missing items of a model, beyond chance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditGap {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Setting.
    pub setting: Setting,
    /// Model.
    pub model: ModelRef,
    /// Scoring rule of the metric.
    pub evaluator: Evaluator,
    /// Metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: Unit,
    /// Values of both by the judge whose scores count.
    #[serde(flatten)]
    pub gap: GapMeans,
}

const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Difference between two models by the judge of an audit: `one` minus `other`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditedDifference {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Setting.
    pub setting: Setting,
    /// One model.
    pub one: ModelRef,
    /// The other model.
    pub other: ModelRef,
    /// Scoring rule of the metric.
    pub evaluator: Evaluator,
    /// Metric by which they are compared.
    pub metric: String,
    /// Unit of the metric.
    pub unit: Unit,
    /// The difference. Its `bias` is by how much the judge whose scores count favours `one`.
    #[serde(flatten)]
    pub difference: Audited,
}

/// The findings of each judge that audits something.
pub(crate) fn findings(sweep: &Sweep, groups: &[GroupResult], spent: &[JudgeSpending]) -> Vec<AuditFindings> {
    let mut by_judge: BTreeMap<String, (&Judge, Vec<&BenchmarkName>)> = BTreeMap::new();
    for (name, Audit { judge, .. }) in
        sweep.lock.benchmarks.iter().filter_map(|(name, benchmark)| Some((name, benchmark.audit.as_ref()?)))
    {
        by_judge.entry(judge.to_string()).or_insert((judge, Vec::new())).1.push(name);
    }
    let of_judge = |(name, (judge, benchmarks)): (String, (&Judge, Vec<&BenchmarkName>))| {
        let its = || groups.iter().filter(|group| benchmarks.contains(&&group.first.benchmark));
        let audited = its().map(|group| group.sampled.audited).sum();
        let sessions = its().map(|group| group.sessions.measured).sum();
        let mut parts: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for group in its() {
            let part = parts.entry((&group.first.benchmark, &group.first.setting)).or_default();
            *part = (part.0 + group.sampled.audited, part.1 + group.sessions.measured);
        }
        let shares: Vec<(u64, u64)> = parts.into_values().collect();
        let cost = cost(&sweep.lock, judge, spent);
        AuditFindings {
            judge: name,
            benchmarks: benchmarks.iter().map(|name| (*name).clone()).collect(),
            audited,
            sessions,
            cost,
            cost_of_all: cost
                .filter(|_| are_alike(&shares) && is_paid_here(judge, spent))
                .and_then(|cost| per(cost, audited as f64 / sessions as f64)),
            missing: missing(its()),
            differences: differences(&its().collect::<Vec<_>>(), sweep.lock.level),
        }
    };
    by_judge.into_iter().map(of_judge).collect()
}

/// Audits of `groups` that are missing; `None` where there are none.
fn missing<'g>(groups: impl Iterator<Item = &'g GroupResult>) -> Option<MissingAudits> {
    let mut missing = MissingAudits { sessions: 0, sampled: 0, ungraded: 0, gaps: Vec::new() };
    for group in groups {
        missing.sessions += group.sampled.unaudited;
        missing.sampled += group.sampled.audited + group.sampled.unaudited;
        missing.ungraded += group.sampled.ungraded;
        missing.gaps.extend(group.gaps.iter().map(|(at, gap)| {
            let (evaluator, metric) = &group.keys[*at];
            AuditGap {
                benchmark: group.first.benchmark.clone(),
                setting: group.first.setting.clone(),
                model: group.first.model.clone(),
                evaluator: *evaluator,
                metric: metric.name.clone(),
                unit: metric.unit,
                gap: *gap,
            }
        }));
    }
    (missing.sessions + missing.ungraded > 0).then_some(missing)
}

/// Notes on audits by judges that are simulated.
pub(crate) fn simulated_audits(sweep: &Sweep) -> impl Iterator<Item = String> {
    let audits = sweep.lock.benchmarks.iter().filter_map(|(name, benchmark)| Some((name, benchmark.audit.as_ref()?)));
    let simulated = audits.filter(|(_, audit)| audit.judge.ids().into_iter().any(|model| is_simulated(sweep, model)));
    simulated.map(|(name, audit)| {
        format!(
            "The judge of the audit of {name}, {}, is simulated: corrected values are no real judge's.",
            audit.judge
        )
    })
}

/// `true` if the audited sessions of each part are the same share of its sessions, but for a tenth.
fn are_alike(parts: &[(u64, u64)]) -> bool {
    let shares =
        || parts.iter().filter(|(_, sessions)| *sessions > 0).map(|(audited, all)| *audited as f64 / *all as f64);
    shares().fold(f64::INFINITY, f64::min) * 1.1 >= shares().fold(0.0, f64::max)
}

/// `true` if no other sweep has paid for verdicts of `judge`.
fn is_paid_here(judge: &Judge, spent: &[JudgeSpending]) -> bool {
    let members = judge.ids();
    let mut its = spent.iter().filter(|of| members.contains(&&of.judge));
    !its.any(|of| of.served.iter().any(|served| served.ends_with(PAID_ELSEWHERE)))
}

/// Cost of all that `judge` was asked in audits, if its models are asked nothing else.
fn cost(lock: &SweepLock, judge: &Judge, spent: &[JudgeSpending]) -> Option<CostSum> {
    // A benchmark's own judge may be the one that audits another benchmark.
    let own = lock.benchmarks.values().filter_map(|benchmark| benchmark.judge.as_ref());
    let audits = lock.benchmarks.values().filter_map(|benchmark| Some(&benchmark.audit.as_ref()?.judge));
    let others: Vec<&ModelRef> = own.chain(audits.filter(|other| *other != judge)).flat_map(Judge::ids).collect();
    let members = judge.ids();
    if members.iter().any(|member| others.contains(member)) {
        return None;
    }
    let mut sum = CostSum::default();
    spent.iter().filter(|of| members.contains(&&of.judge)).for_each(|of| sum += of.cost);
    Some(sum)
}

/// Differences between the models of each benchmark and setting, by the first metric on leaderboards that the audit corrects.
fn differences(groups: &[&GroupResult], level: Level) -> Vec<AuditedDifference> {
    let mut found = Vec::new();
    for (position, one) in groups.iter().enumerate() {
        let Some((at, ones)) = one.audits.first_key_value() else { continue };
        let (evaluator, metric) = &one.keys[*at];
        let is_same = |other: &&&GroupResult| {
            other.first.benchmark == one.first.benchmark && other.first.setting == one.first.setting
        };
        for other in groups[position + 1..].iter().filter(is_same) {
            let Some(others) = other.audits.get(at) else { continue };
            let Some(difference) = audited_difference(metric, ones, others, level) else { continue };
            found.push(AuditedDifference {
                benchmark: one.first.benchmark.clone(),
                setting: one.first.setting.clone(),
                one: one.first.model.clone(),
                other: other.first.model.clone(),
                evaluator: *evaluator,
                metric: metric.name.clone(),
                unit: metric.unit,
                difference,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_judging_all_would_cost_is_told_where_the_same_share_of_each_part_was_judged() {
        assert!(are_alike(&[(30, 300), (200, 2_000)]));
        assert!(are_alike(&[(30, 300), (29, 298), (0, 0)]));
        assert!(!are_alike(&[(30, 40), (200, 2_000)]), "thirty items at least are audited of each");
        assert!(!are_alike(&[(0, 40), (200, 2_000)]));
    }

    #[test]
    fn what_judging_all_would_cost_is_not_told_from_a_part_of_the_bill() {
        let judge = Judge::Plain("dear/oracle".parse().unwrap());
        let spent = |judge: &str, served: &[&str]| JudgeSpending {
            judge: judge.parse().unwrap(),
            served: served.iter().map(|&label| label.to_owned()).collect(),
            usage: regatta_proto::Usage::default(),
            cost: CostSum::default(),
        };
        let kept = ["oracle", "oracle (kept verdicts, paid elsewhere)"];
        assert!(!is_paid_here(&judge, &[spent("dear/oracle", &kept)]));
        assert!(is_paid_here(&judge, &[spent("dear/oracle", &["oracle", "oracle (kept verdicts)"])]));
        assert!(is_paid_here(&judge, &[spent("cheap/oracle", &kept), spent("dear/oracle", &["oracle"])]));
    }
}
