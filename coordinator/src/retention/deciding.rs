//! The decision which ended sweeps go, and what of them: a pure function of sweeps, schedules and policies.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use regatta_backends::{LedgerError, ScheduleRow, SweepRow, TickRow, TickState};
use regatta_proto::{ScheduleName, SweepId};
use serde::{Deserialize, Serialize};

use crate::schedules::ending::chosen;
use crate::schedules::{Stored, stored};
use crate::{Baseline, CoordinatorError, Retention, ScheduleSpec, TickStatus};

/// The part of a sweep that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goes {
    /// All: its rows, its files, its accounts.
    Everything,
    /// The transcripts.
    Transcripts,
}

/// The nights of a schedule, newest first.
pub(super) struct Nights {
    spec: ScheduleSpec,
    ticks: Vec<TickStatus>,
}

impl Nights {
    pub(super) fn read(row: &ScheduleRow, ticks: &[TickRow]) -> Result<Self, CoordinatorError> {
        let Stored { spec, .. } = stored(row)?;
        let ticks = ticks.iter().cloned().map(TickStatus::new).collect::<Result<_, LedgerError>>()?;
        Ok(Self { spec, ticks })
    }
}

/// A removal before its objects are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) sweep: SweepId,
    pub(super) schedule: Option<ScheduleName>,
    pub(super) ended_at: Timestamp,
    pub(super) goes: Goes,
    /// Number of the sweep's resumes when that was decided.
    pub(super) generation: u32,
}

/// Removals, the oldest sweep first; those that have `begun` in any case, and none of those that are `held`.
pub(super) fn decide(
    sweeps: &[SweepRow],
    schedules: &[Nights],
    mut held: BTreeSet<SweepId>,
    begun: &BTreeSet<SweepId>,
    keep: Option<Retention>,
    now: Timestamp,
) -> Vec<Decided> {
    let mut of_schedule: BTreeMap<&SweepId, (&Nights, usize)> = BTreeMap::new();
    for nights in schedules {
        let ended = nights.ticks.iter().filter(|tick| tick.state == TickState::Ended);
        for (age, tick) in ended.enumerate() {
            if let Some(sweep) = &tick.sweep {
                of_schedule.insert(sweep, (nights, age));
            }
        }
        // A tick that runs again, because somebody resumed its sweep, keeps it whatever its age.
        held.extend(
            nights.ticks.iter().filter(|tick| tick.state == TickState::Running).filter_map(|tick| tick.sweep.clone()),
        );
        // Also the last one, for whom a schedule is given a gate tomorrow.
        for baseline in [&nights.spec.baseline, &Baseline::Previous] {
            held.extend(chosen(baseline, &nights.ticks));
        }
    }
    let mut decided: Vec<Decided> = Vec::new();
    for row in sweeps.iter().filter(|row| row.state.is_end()) {
        let Some(ended_at) = row.ended_at else { continue };
        let found = of_schedule.get(&row.id);
        let schedule = found.map(|(nights, _)| nights.spec.name.clone());
        if begun.contains(&row.id) {
            decided.push(Decided {
                sweep: row.id.clone(),
                schedule,
                ended_at,
                goes: Goes::Everything,
                generation: row.generation,
            });
            continue;
        }
        if held.contains(&row.id) {
            continue;
        }
        let Some(policy) = found.and_then(|(nights, _)| nights.spec.retention).or(keep) else { continue };
        if found.is_some_and(|(_, age)| (*age as u64) < u64::from(policy.nights)) {
            continue;
        }
        let is_older = |days: Option<u32>| {
            days.is_some_and(|days| now.duration_since(ended_at) > SignedDuration::from_hours(24 * i64::from(days)))
        };
        let goes = match (is_older(policy.days), is_older(policy.transcripts_days)) {
            (true, _) => Goes::Everything,
            (false, true) => Goes::Transcripts,
            (false, false) => continue,
        };
        decided.push(Decided { sweep: row.id.clone(), schedule, ended_at, goes, generation: row.generation });
    }
    // Those whose removal has begun last: it may have failed before, as it will again, and one request removes a few alone.
    decided.sort_by_key(|one| (begun.contains(&one.sweep), one.ended_at, one.sweep.clone()));
    decided
}

#[cfg(test)]
mod tests {
    use regatta_proto::{Digest, SweepState};
    use serde_json::json;

    use super::*;

    fn day(day: i64) -> Timestamp {
        Timestamp::from_second(day * 86_400).unwrap()
    }

    fn sweep(name: &str, ended: Option<i64>) -> SweepRow {
        SweepRow {
            id: name.parse().unwrap(),
            name: name.to_owned(),
            lock: Digest::of(name.as_bytes()),
            state: if ended.is_some() { SweepState::Complete } else { SweepState::Running },
            budget: None,
            created_at: day(0),
            ended_at: ended.map(day),
            generation: 0,
            echo: 0,
            owner: None,
            granted: None,
            is_paused: false,
            concurrency: BTreeMap::new(),
            tabulated: None,
        }
    }

    /// A schedule whose nights `n-1`, `n-2`, … ended on those days; scores fall from night to night.
    fn nights(days: u32, more: serde_json::Value) -> Nights {
        let mut spec = json!({ "name": "n", "cron": "@daily" });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let tick = |night: u32| {
            json!({ "at": day(i64::from(night)), "since": day(i64::from(night)), "state": "ended", "by_hand": false, "stands_for": 1,
                    "sweep": format!("n-{night}"), "outcome": { "state": "complete", "score": 1.0 / f64::from(night) } })
        };
        Nights {
            spec: ScheduleSpec::from_value(spec).unwrap(),
            ticks: serde_json::from_value((1..=days).rev().map(tick).collect()).unwrap(),
        }
    }

    fn going(sweeps: &[SweepRow], schedules: &[Nights], keep: Option<Retention>) -> Vec<String> {
        let decided = decide(sweeps, schedules, BTreeSet::new(), &BTreeSet::new(), keep, day(100));
        decided.iter().map(|of| format!("{} {:?}", of.sweep, of.goes)).collect()
    }

    fn keep(days: u32, nights: u32, transcripts_days: Option<u32>) -> Option<Retention> {
        Some(Retention { days: Some(days), nights, transcripts_days })
    }

    #[test]
    fn old_sweeps_go_and_what_runs_stays() {
        let sweeps = [sweep("new", Some(95)), sweep("old", Some(50)), sweep("ancient", Some(1)), sweep("runs", None)];
        assert_eq!(going(&sweeps, &[], keep(60, 0, Some(10))), ["ancient Everything", "old Transcripts"]);
        assert!(going(&sweeps, &[], None).is_empty(), "everything is kept unless somebody says otherwise");
    }

    #[test]
    fn a_removal_that_has_begun_is_finished_whatever_is_kept() {
        let begun = BTreeSet::from(["n-3".parse().unwrap(), "x".parse().unwrap()]);
        let mut all: Vec<SweepRow> = (1..=3).map(|night| sweep(&format!("n-{night}"), Some(night))).collect();
        all.push(sweep("x", Some(99)));
        let decided = decide(&all, &[nights(3, json!({}))], BTreeSet::new(), &begun, None, day(100));
        assert_eq!(decided.iter().map(|of| of.sweep.as_str()).collect::<Vec<_>>(), ["n-3", "x"]);
        assert!(decided.iter().all(|of| of.goes == Goes::Everything));
    }

    #[test]
    fn a_schedule_keeps_its_own_nights_and_its_baselines() {
        let all: Vec<SweepRow> = (1..=6).map(|night| sweep(&format!("n-{night}"), Some(night))).collect();
        let of = |more| going(&all, &[nights(6, more)], keep(30, 0, None));
        // The last one is always kept, and the best where nights are held against it.
        assert_eq!(of(json!({})).len(), 5);
        let best = of(json!({ "baseline": "best", "retention": { "days": 10, "nights": 3 } }));
        assert_eq!(best, ["n-2 Everything", "n-3 Everything"]);
        let named = of(json!({ "baseline": "n-2", "retention": { "days": 10, "nights": 3 } }));
        assert_eq!(named, ["n-1 Everything", "n-3 Everything"]);
        assert!(of(json!({ "retention": { "nights": 1 } })).is_empty(), "it names no days");
    }

    #[test]
    fn a_night_that_was_resumed_stays_while_it_runs() {
        let mut schedule = nights(3, json!({}));
        schedule.ticks[2].state = TickState::Running;
        let all: Vec<SweepRow> = (1..=3).map(|night| sweep(&format!("n-{night}"), Some(night))).collect();
        assert_eq!(going(&all, &[schedule], keep(30, 0, None)), ["n-2 Everything"]);
    }
}
