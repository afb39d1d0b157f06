//! Sessions that two judges score: the benchmark's own, whose score counts, and that of its audit.
//!
//! The values by the audit's judge are stored beside a session's scores, under `audited` of each evaluator, and are in no result file:
//! estimates are corrected by how they differ from the score that counts.

use std::collections::BTreeMap;

use regatta_benchmarks::{Score, Scores, Scoring};
use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkFailed, BenchmarkLock, Judge, ModelRef, Question};
use serde::Deserialize;
use serde_json::Value;

use crate::verdicts::Subject;

const KEY: &str = "audited";

/// One session, scored by every judge that it has.
pub(crate) enum SessionScoring<'s> {
    /// Every judge has answered what it was asked.
    Scored {
        /// Scores that count: those by the benchmark's judge.
        scores: Scores,
        /// Scores by the audit's judge, if the session is audited.
        audited: Option<Scores>,
    },
    /// Questions without an answer, by the judge that is to be asked. Empty where the benchmark has no judge.
    Needs(Vec<(&'s Judge, Vec<Question>)>),
    /// The transcript is of no such session, for this reason.
    Unfit(String),
    /// The benchmark's program failed.
    Failed(BenchmarkFailed),
}

impl<'s> SessionScoring<'s> {
    /// Puts `scoring` by the benchmark's judge and `audit` by that of its audit together, each with its judge.
    pub(crate) fn of(scoring: (Option<&'s Judge>, Scoring), audit: Option<(&'s Judge, Scoring)>) -> Self {
        let (judge, scoring) = scoring;
        let needed = |questions| judge.map(|judge| (judge, questions)).into_iter().collect::<Vec<_>>();
        match (scoring, audit) {
            (Scoring::Unfit(reason), _) | (_, Some((_, Scoring::Unfit(reason)))) => Self::Unfit(reason),
            (Scoring::Failed(failed), _) | (_, Some((_, Scoring::Failed(failed)))) => Self::Failed(failed),
            (Scoring::Needs(of_judge), Some((auditor, Scoring::Needs(of_audit)))) => {
                let mut both = needed(of_judge);
                both.push((auditor, of_audit));
                Self::Needs(both)
            }
            (Scoring::Needs(questions), Some((_, Scoring::Scored(_))) | None) => Self::Needs(needed(questions)),
            (Scoring::Scored(_), Some((auditor, Scoring::Needs(questions)))) => Self::Needs(vec![(auditor, questions)]),
            (Scoring::Scored(scores), Some((_, Scoring::Scored(audited)))) => {
                Self::Scored { scores, audited: Some(audited) }
            }
            (Scoring::Scored(scores), None) => Self::Scored { scores, audited: None },
        }
    }
}

/// The name under which the session of `subject` waits for verdicts. `None` where its benchmark has no judge.
pub(crate) fn waits_for(subject: &Subject<'_>, sweep: &Sweep) -> Option<ModelRef> {
    let benchmark = sweep.benchmark(subject.cell)?;
    let judge = benchmark.judge.as_ref()?;
    Some(match (&benchmark.audit, subject.auditor(sweep)) {
        (Some(audit), Some(_)) => audit.name_with(judge),
        (_, None) | (None, Some(_)) => judge.name(),
    })
}

/// The names under which sessions of `benchmark` wait for its judges, each with the models that are asked.
pub(crate) fn names(benchmark: &BenchmarkLock) -> Vec<(ModelRef, Vec<&ModelRef>)> {
    let Some(judge) = &benchmark.judge else { return Vec::new() };
    let mut names = vec![(judge.name(), judge.ids())];
    if let Some(audit) = &benchmark.audit {
        names.push((audit.name_with(judge), benchmark.judges().flat_map(Judge::ids).collect()));
    }
    names
}

/// Enters the values by the audit's judge into `stored`, scores as the ledger keeps them.
///
/// # Errors
/// When a value is no JSON.
pub(crate) fn store(stored: &mut Value, audited: &Scores) -> serde_json::Result<()> {
    for (evaluator, by_audit) in audited {
        if let Some(Value::Object(score)) = stored.get_mut(evaluator.as_str()) {
            score.insert(KEY.to_owned(), serde_json::to_value(&by_audit.values)?);
        }
    }
    Ok(())
}

/// `scores` of an audited session as they are by the audit's judge, from what the ledger `stored`. Where nobody was asked, as after a failure
/// of the model, they are the same by every judge.
///
/// # Errors
/// When the stored values are no flat values.
pub(crate) fn kept(stored: &Value, scores: &Scores) -> serde_json::Result<Scores> {
    let of = |(evaluator, score): (&regatta_proto::Evaluator, &Score)| {
        let by_audit = stored.get(evaluator.as_str()).and_then(|score| score.get(KEY));
        let values = match by_audit {
            Some(values) => BTreeMap::deserialize(values)?,
            None => score.values.clone(),
        };
        Ok((*evaluator, Score { values, detail: Value::Null }))
    };
    scores.iter().map(of).collect()
}
