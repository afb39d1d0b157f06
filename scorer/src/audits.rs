//! Sessions that two judges score: the benchmark's own, whose score counts, and that of its audit.
//!
//! The values by the audit's judge are stored beside a session's scores (`stored_scores` of `report`) and are in no result file: estimates are
//! corrected by how they differ from the score that counts.

use regatta_benchmarks::{Scores, Scoring};
use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkFailed, BenchmarkLock, Judge, ModelRef, Question};

use crate::verdicts::Subject;

/// One session, scored by every judge that it has.
pub(crate) enum SessionScoring<'s> {
    /// Every judge has answered what it was asked.
    Scored {
        /// Scores that count: those by the benchmark's judge.
        scores: Scores,
        /// Scores by the audit's judge, if the session is audited.
        audited: Option<Scores>,
    },
    /// The audit's judge alone has questions without an answer.
    NeedsAudit {
        /// Scores that count.
        scores: Scores,
        /// Judge of the audit, and what it is to be asked.
        needed: (&'s Judge, Vec<Question>),
    },
    /// Questions without an answer, by the judge that is to be asked: the benchmark's first. Empty where the benchmark has no judge.
    Needs(Vec<(&'s Judge, Vec<Question>)>),
    /// The transcript is of no such session, for this reason.
    Unfit(String),
    /// The benchmark's program failed.
    Failed(BenchmarkFailed),
}

impl<'s> SessionScoring<'s> {
    /// Puts `scoring` by the benchmark's judge and `audit` by that of its audit together, each with its judge. What comes of the audit takes no
    /// score from a session: one that its judge's verdicts give no score for is not audited.
    pub(crate) fn of(scoring: (Option<&'s Judge>, Scoring), audit: Option<(&'s Judge, Scoring)>) -> Self {
        let (judge, scoring) = scoring;
        let needed = |questions| judge.map(|judge| (judge, questions)).into_iter().collect::<Vec<_>>();
        match (scoring, audit) {
            (Scoring::Unfit(reason), _) => Self::Unfit(reason),
            (Scoring::Failed(failed), _) => Self::Failed(failed),
            (Scoring::Needs(of_judge), Some((auditor, Scoring::Needs(of_audit)))) => {
                let mut both = needed(of_judge);
                both.push((auditor, of_audit));
                Self::Needs(both)
            }
            (
                Scoring::Needs(questions),
                Some((_, Scoring::Scored(_) | Scoring::Unfit(_) | Scoring::Failed(_))) | None,
            ) => Self::Needs(needed(questions)),
            (Scoring::Scored(scores), Some((auditor, Scoring::Needs(questions)))) => {
                Self::NeedsAudit { scores, needed: (auditor, questions) }
            }
            (Scoring::Scored(scores), Some((_, Scoring::Scored(audited)))) => {
                Self::Scored { scores, audited: Some(audited) }
            }
            (Scoring::Scored(scores), Some((auditor, Scoring::Unfit(reason)))) => {
                tracing::error!(judge = %auditor, reason, "a session cannot be scored by the verdicts of the audit's judge");
                Self::Scored { scores, audited: None }
            }
            (Scoring::Scored(scores), Some((auditor, Scoring::Failed(failed)))) => {
                tracing::error!(
                    judge = %auditor,
                    reason = failed.why,
                    errors = failed.errors,
                    "the benchmark's program failed with the verdicts of the audit's judge"
                );
                Self::Scored { scores, audited: None }
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

/// The names under which sessions of `benchmark` wait for its judges, each with the models that are asked. Also under the name of the
/// benchmark's own judge a session may wait for the audit's, if a scorer recorded it that does not know audits.
pub(crate) fn names(benchmark: &BenchmarkLock) -> Vec<(ModelRef, Vec<&ModelRef>)> {
    let Some(judge) = &benchmark.judge else { return Vec::new() };
    let members: Vec<&ModelRef> = benchmark.judges().flat_map(Judge::ids).collect();
    let with_audit = benchmark.audit.iter().map(|audit| audit.name_with(judge));
    std::iter::once(judge.name()).chain(with_audit).map(|name| (name, members.clone())).collect()
}

#[cfg(test)]
mod tests;
