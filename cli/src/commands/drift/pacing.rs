//! Times of a cell in two nights: the pace of its calls, which has a test and a cause, and the median times of its sessions.
//!
//! The pace is the provider's where nothing changed that was declared, served or counted. A test of it says that the same items were answered
//! faster or slower in this night than in the other one; an hour in which the provider is busy is a slow night too.

use regatta_proto::EndpointName;

use super::finding::{Cause, Evidence, Finding, Paced};
use super::known::Known;
use super::parts::ALPHA;
use crate::ended_run::EndedRun;
use crate::paired_runs::{Distribution, MatchedCell, Pace, Paired, Per};

/// Relative change of a time from which on it is of a size that matters.
const TIME_SHIFT: f64 = 0.2;

/// Pace of a cell.
pub(super) struct Timed<'c> {
    pub(super) cell: &'c MatchedCell,
    pub(super) pace: Pace,
    pub(super) p_holm: f64,
}

impl<'c> Timed<'c> {
    /// Pace of the cell in both `runs`. `None` where another pace might be the doing of one of the `causes`, of answers from the response
    /// cache, which leave the endpoint less to do, or of a batch, whose calls wait for each other.
    pub(super) fn of(
        runs: [&EndedRun; 2],
        cell: &'c MatchedCell,
        paired: &Paired<'_>,
        causes: &[Known],
    ) -> Option<Self> {
        let changes_times = |known: &Known| match known.finding.cause {
            Cause::Harness | Cause::Data | Cause::Model | Cause::Provider | Cause::Unexplained => {
                known.scope.covers_times(cell)
            }
            // Its calls are in no session.
            Cause::Judge => false,
        };
        let is_live = |(run, name): (&EndedRun, &EndpointName)| {
            let endpoint = run.lock.endpoints.get(name);
            endpoint.is_some_and(|endpoint| endpoint.lane.is_live())
        };
        let endpoints = [&cell.model_a.endpoint, &cell.model_b.endpoint];
        let is_cached = paired.times_in_both().iter().any(|times| times.cached > 0);
        if is_cached || causes.iter().any(changes_times) || !runs.into_iter().zip(endpoints).all(is_live) {
            return None;
        }
        Some(Self { cell, pace: paired.pace()?, p_holm: 1.0 })
    }

    /// A finding, if the pace changed by more than chance, and by a size that matters.
    pub(super) fn finding(&self) -> Option<Finding> {
        let Self { cell, pace, p_holm } = self;
        let is_large = pace.difference.value.abs() > (1.0 + TIME_SHIFT).ln();
        let unit = match pace.per {
            Per::OutputToken => "output token",
            Per::Call => "call",
        };
        (*p_holm <= ALPHA && is_large).then(|| Finding {
            cause: Cause::Provider,
            evidence: Evidence::Measured,
            what: format!("{cell}: time per {unit}"),
            before: shown(pace.a_s),
            now: shown(pace.b_s),
            p_holm: Some(*p_holm),
        })
    }
}

/// A time in the unit that leaves it digits.
fn shown(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 1.0 => format!("{seconds:.2} s"),
        seconds if seconds >= 1e-3 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{:.0} µs", seconds * 1e6),
    }
}

/// The median times of the sessions of a cell that both nights asked for, if they are apart by a size that matters, or if answers of the
/// response cache leave them unknown.
pub(super) fn paced(cell: &MatchedCell, paired: &Paired<'_>) -> Option<Paced> {
    let [a, b] = paired.times_in_both();
    let is_large = |(a, b): (Distribution, Distribution)| {
        (b.p50 - a.p50).abs() > TIME_SHIFT * a.p50.min(b.p50).max(f64::MIN_POSITIVE)
    };
    let is_told = a.of.zip(b.of).is_some_and(is_large) || a.cached + b.cached > 0;
    is_told.then(|| Paced {
        cell: cell.to_string(),
        before_s: a.of.map(|of| of.p50),
        now_s: b.of.map(|of| of.p50),
        sessions_before: a.of.map_or(0, |of| of.sessions),
        sessions_now: b.of.map_or(0, |of| of.sessions),
        cached_before: a.cached_note(),
        cached_now: b.cached_note(),
    })
}
