//! Parts of the sessions of a cell that are larger or smaller than the night before: without a score, cut off, or without a grade.
//!
//! Shares and tests are of the sessions that both nights have.

use std::collections::{BTreeMap, BTreeSet};

use regatta_proto::SweepState;

use super::finding::{Cause, Evidence, Finding};
use crate::ended_run::EndedRun;
use crate::paired_runs::{MatchedCell, Paired, SessionPart};
use crate::results::{CutOff, ResultLine};

/// Level of all tests of a night together.
pub(super) const ALPHA: f64 = 0.01;
/// Outcome of a session that nobody began.
const NOT_RUN: &str = "not_run";

/// A part of a cell's sessions, of which there may be more or fewer than before.
pub(super) struct Part<'c> {
    pub(super) cell: &'c MatchedCell,
    pub(super) of: PartOf<'c>,
    before: Share,
    now: Share,
    /// `true` if one of both nights alone has nothing at all, which needs no test.
    is_silent: bool,
    /// p-value of the hypothesis that the share has not changed.
    pub(super) p: Option<f64>,
    pub(super) p_holm: f64,
}

pub(super) enum PartOf<'c> {
    /// Sessions without a score that were not cut off, whose reasons in the results are blamed on the cause; with these reasons.
    Unscored(Cause, BTreeSet<String>),
    /// Of those with a score or cut off, those that were cut off for this reason, whether that counts as wrong or as missing.
    CutOff(CutOff),
    /// Of those with a score, those with a grade: others are missing in these metrics.
    Graded(Vec<&'c str>),
}

/// So many of so many sessions.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Share {
    part: usize,
    all: usize,
}

impl Part<'_> {
    /// `true` where something can have changed: of all or none in both nights nothing can, so that it is no test (Tarone 1990).
    pub(super) fn can_change(&self) -> bool {
        let Self { before, now, .. } = self;
        ![0, before.all + now.all].contains(&(before.part + now.part))
    }

    /// `true` if it is larger or smaller than the night before, beyond chance, or in one of both nights alone there is nothing.
    pub(super) fn has_changed(&self) -> bool {
        self.is_silent || self.p_holm <= ALPHA
    }

    pub(super) fn finding(&self) -> Finding {
        let Self { cell, before, now, .. } = self;
        let (cause, what) = match &self.of {
            PartOf::Unscored(cause, reasons) => {
                let reasons: Vec<&str> = reasons.iter().map(String::as_str).collect();
                (*cause, format!("sessions without a score ({})", reasons.join(", ")))
            }
            PartOf::CutOff(by) => {
                let cause = match by {
                    CutOff::Filter | CutOff::ContextLength => Cause::Provider,
                    CutOff::Refusal => Cause::Model,
                };
                let by = by.as_str();
                (cause, format!("sessions that ended by {by}, of those with a score or so ended in both nights"))
            }
            PartOf::Graded(metrics) => (
                Cause::Judge,
                format!("sessions with a grade, of those with a score in both nights ({})", metrics.join(", ")),
            ),
        };
        let shown = |of: &Share| format!("{} of {}", of.part, of.all);
        Finding {
            cause,
            evidence: Evidence::Measured,
            what: format!("{cell}: {what}"),
            before: shown(before),
            now: shown(now),
            p_holm: self.p.map(|_| self.p_holm),
        }
    }
}

/// The part of the sessions of a cell that is `true`, by item and trial, of those that are in both nights: shares and test are of the same.
fn part<'c>(cell: &'c MatchedCell, paired: &Paired<'c>, of: PartOf<'c>, sessions: [SessionPart; 2]) -> Part<'c> {
    let name = match &of {
        PartOf::Unscored(cause, _) => format!("unscored {cause}"),
        PartOf::CutOff(by) => format!("cut off by {}", by.as_str()),
        PartOf::Graded(metrics) => format!("graded {}", metrics.join(" ")),
    };
    let [mut a, mut b] = sessions;
    a.retain(|session, _| b.contains_key(session));
    b.retain(|session, _| a.contains_key(session));
    let sessions = [a, b];
    let [before, now] =
        sessions.each_ref().map(|all| Share { part: all.values().filter(|is_part| **is_part).count(), all: all.len() });
    let p = paired.difference_of_part(&name, &sessions).and_then(|difference| difference.p);
    Part { cell, of, before, now, is_silent: false, p, p_holm: 1.0 }
}

/// Sessions of a cell that did not come to a score of answers, by what ended them.
pub(super) fn ended<'c>(
    before: &EndedRun,
    now: &EndedRun,
    cell: &'c MatchedCell,
    paired: &Paired<'c>,
) -> Vec<Part<'c>> {
    let is_without = paired.parts(|line| Some(line.scores.is_some())).map(|all| {
        let is_without = !all.values().any(|is_scored| *is_scored);
        (!all.is_empty()).then_some(is_without)
    });
    let mut reasons: BTreeMap<Cause, BTreeSet<String>> = BTreeMap::new();
    for (run, model) in [(before, &cell.model_a), (now, &cell.model_b)] {
        for line in run.sessions(&cell.benchmark, &cell.setting, model) {
            if let Some(cause) = blamed(line) {
                reasons.entry(cause).or_default().insert(reason(line, run.summary.state));
            }
        }
    }
    let unscored = reasons.into_iter().map(|(cause, reasons)| {
        let sessions = paired.parts(|line| Some(blamed(line) == Some(cause)));
        part(cell, paired, PartOf::Unscored(cause, reasons), sessions)
    });
    let cut_off = CutOff::ALL.into_iter().map(|by| {
        let is_cut_off = |line: &ResultLine| {
            let cut_off = line.cut_off();
            (line.scores.is_some() || cut_off.is_some()).then_some(cut_off == Some(by))
        };
        part(cell, paired, PartOf::CutOff(by), paired.parts(is_cut_off))
    });
    // More of what left one of both nights alone without any score.
    let silent = |part: Part<'c>| {
        let is_silent = match is_without {
            [Some(false), Some(true)] => part.now.part > part.before.part,
            [Some(true), Some(false)] => part.before.part > part.now.part,
            [Some(_), Some(_)] | [None, _] | [_, None] => false,
        };
        Part { is_silent, ..part }
    };
    unscored.chain(cut_off).map(silent).collect()
}

/// The cause to blame for a session without a score; `None` for one that has a score or was cut off.
fn blamed(line: &ResultLine) -> Option<Cause> {
    use regatta_proto::Cause as Named;
    if line.scores.is_some() || line.cut_off().is_some() {
        return None;
    }
    let Some(cause) = &line.cause else {
        // Whoever stops a sweep leaves sessions that nobody began.
        return Some(if line.outcome == NOT_RUN { Cause::Harness } else { Cause::Unexplained });
    };
    // A later version may know more causes.
    let Ok(named) = serde_json::from_value::<Named>(cause.as_str().into()) else { return Some(Cause::Unexplained) };
    Some(match named {
        Named::JudgeUnavailable => Cause::Judge,
        Named::ContextLength
        | Named::ContentFilter
        | Named::EndpointUnavailable
        | Named::RateLimited
        | Named::Timeout
        | Named::BadResponse
        | Named::Auth
        | Named::Quota
        | Named::ModelNotFound
        | Named::RequestRefused
        | Named::Poison => Cause::Provider,
        Named::Budget
        | Named::CacheMiss
        | Named::Cancelled
        | Named::Undeliverable
        | Named::TranscriptUnfit
        | Named::AgentLost
        | Named::BenchmarkFailed
        | Named::Internal => Cause::Harness,
    })
}

/// Reason for the end of a session without a score, in the words of `results.jsonl`; of one that never began, the end of its run.
fn reason(line: &ResultLine, state: SweepState) -> String {
    match &line.cause {
        Some(cause) => cause.clone(),
        None if line.outcome == NOT_RUN => format!("{NOT_RUN}: {}", state.as_str()),
        None => line.outcome.clone(),
    }
}

/// Grades of a cell, once for all metrics that miss the same sessions.
pub(super) fn graded<'c>(cell: &'c MatchedCell, paired: &Paired<'c>) -> Vec<Part<'c>> {
    let mut found: Vec<([SessionPart; 2], Vec<&'c str>)> = Vec::new();
    for of in paired.definitions.iter().copied().filter(|of| of.headline && !of.missing_if.is_empty()) {
        let sessions = paired.graded(of);
        match found.iter_mut().find(|(known, _)| *known == sessions) {
            Some((_, metrics)) => metrics.push(&of.metric),
            None => found.push((sessions, vec![&of.metric])),
        }
    }
    let part = |(sessions, metrics)| {
        let part = part(cell, paired, PartOf::Graded(metrics), sessions);
        Part { is_silent: (part.before.part == 0) != (part.now.part == 0), ..part }
    };
    found.into_iter().map(part).collect()
}
