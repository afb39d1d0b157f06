//! Findings of audits: their bills, what judging everything by the audit's judge would have cost, and models compared as it would have them.

use std::collections::BTreeMap;

use regatta_benchmarks::Unit;
use regatta_catalog::Sweep;
use regatta_proto::{
    Audit, BenchmarkLock, BenchmarkName, CostSum, Evaluator, Judge, Level, ModelRef, Money, Setting, SweepLock,
};
use serde::{Deserialize, Serialize};

use crate::finish::{GroupResult, is_simulated};
use crate::statistics::{Audited, audited_difference};
use crate::summary::{JudgeSpending, per};

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
    /// Cost if it had judged all sessions, from that of those that it did; absent where that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_of_all: Option<Money>,
    /// Differences between models as it would have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<AuditedDifference>,
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
        let audited = its().map(|group| group.audited_sessions).sum();
        let sessions = its().map(|group| group.sessions.measured).sum();
        let cost = cost(&sweep.lock, judge, spent);
        AuditFindings {
            judge: name,
            benchmarks: benchmarks.iter().map(|name| (*name).clone()).collect(),
            audited,
            sessions,
            cost,
            cost_of_all: cost.and_then(|cost| per(cost, audited as f64 / sessions as f64)),
            differences: differences(&its().collect::<Vec<_>>(), sweep.lock.level),
        }
    };
    by_judge.into_iter().map(of_judge).collect()
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

/// Cost of all that `judge` was asked, if its models are asked nothing else.
fn cost(lock: &SweepLock, judge: &Judge, spent: &[JudgeSpending]) -> Option<CostSum> {
    let others = lock.benchmarks.values().flat_map(BenchmarkLock::judges).filter(|other| *other != judge);
    let others: Vec<&ModelRef> = others.flat_map(Judge::ids).collect();
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
