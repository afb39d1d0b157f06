//! The catch-up policy, which decides about ticks that went by, without a clock or a store.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use regatta_backends::{Admission, MissedTicks};

use super::choices::CatchUp;
use super::ticks::Elapsed;

const NOBODY: &str = "no coordinator looked after it in time";
const BUSY: &str = "the sweep before it still ran";
const NOT_BEGUN: &str = "it could not begin in time: a sweep still ran, or a store was away";
const NEWER: &str = "a newer tick is due";
const TOO_MANY: &str = "more ticks wait than catch_up makes up for";

/// State of a schedule when its ticks are decided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing<'a> {
    pub(super) policy: CatchUp,
    /// Delay up to which a tick counts as on time.
    pub(super) late_within: SignedDuration,
    /// Ticks that wait already, oldest first; without those that somebody asked for.
    pub(super) waiting: &'a [Timestamp],
    /// A sweep of the schedule runs.
    pub(super) is_busy: bool,
}

/// Decides about the ticks that elapsed between `from` and `now`, and about those that wait. `None` when there is nothing to decide.
pub(super) fn decide(standing: Standing<'_>, elapsed: &Elapsed, from: Timestamp, now: Timestamp) -> Option<Admission> {
    let mut admission = Admission { from, until: now, due: Vec::new(), missed: Vec::new(), replaced: Vec::new() };
    let keeps = match standing.policy {
        CatchUp::None => return none(standing, elapsed, admission),
        CatchUp::Last => 1,
        CatchUp::All(count) => count as usize,
    };
    if elapsed.count == 0 {
        return None;
    }
    let why = if keeps == 1 { NEWER } else { TOO_MANY };
    let new = elapsed.newest.len().min(keeps);
    let (passed, due) = split(&elapsed.newest, elapsed.newest.len() - new);
    admission.due = due;
    admission.missed.extend(group(elapsed, &passed, elapsed.count - new as u32, why));
    let replaced = standing.waiting.len().saturating_sub(keeps - new);
    admission.replaced = standing.waiting[..replaced].iter().map(|at| (*at, why.to_owned())).collect();
    Some(admission)
}

/// Without catching up: the newest tick starts if it can now, and every other one is missed.
fn none(standing: Standing<'_>, elapsed: &Elapsed, mut admission: Admission) -> Option<Admission> {
    let now = admission.until;
    let is_late = |at: &Timestamp| now.duration_since(*at) > standing.late_within;
    let late = standing.waiting.iter().filter(|at| is_late(at));
    admission.replaced = late.map(|at| (*at, NOT_BEGUN.to_owned())).collect();
    let still_waits = standing.waiting.len() > admission.replaced.len();
    let newest = elapsed.newest.back();
    let starts = newest.filter(|at| !is_late(at) && !standing.is_busy && !still_waits);
    admission.due.extend(starts);
    let passed: VecDeque<Timestamp> = elapsed.newest.iter().copied().filter(|at| Some(at) != starts).collect();
    let on_time: Vec<Timestamp> = passed.iter().copied().filter(|at| !is_late(at)).collect();
    let late: Vec<Timestamp> = passed.into_iter().filter(is_late).collect();
    let untold = elapsed.count - (late.len() + on_time.len() + admission.due.len()) as u32;
    admission.missed.extend(group(elapsed, &late, late.len() as u32 + untold, NOBODY));
    // On time, and yet not started: either something else runs, or a newer one is on time as well.
    let why = if standing.is_busy || still_waits { BUSY } else { NEWER };
    let since = on_time.first().copied();
    if let (Some(at), Some(since)) = (on_time.last().copied(), since) {
        admission.missed.push(MissedTicks { at, since, stands_for: on_time.len() as u32, reason: why.to_owned() });
    }
    (elapsed.count > 0 || !admission.replaced.is_empty()).then_some(admission)
}

fn split(ticks: &VecDeque<Timestamp>, at: usize) -> (Vec<Timestamp>, Vec<Timestamp>) {
    let (before, after): (Vec<_>, Vec<_>) = ticks.iter().copied().enumerate().partition(|(index, _)| *index < at);
    let ticks = |numbered: Vec<(usize, Timestamp)>| numbered.into_iter().map(|(_, tick)| tick).collect();
    (ticks(before), ticks(after))
}

/// One row for the oldest `count` ticks, of which the last are `passed`.
fn group(elapsed: &Elapsed, passed: &[Timestamp], count: u32, reason: &str) -> Option<MissedTicks> {
    let since = elapsed.first?;
    let at = passed.last().copied().or((count > 0).then_some(since))?;
    (count > 0).then(|| MissedTicks { at, since, stands_for: count, reason: reason.to_owned() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    fn minutes(ticks: impl IntoIterator<Item = i64>) -> Elapsed {
        let newest: VecDeque<Timestamp> = ticks.into_iter().map(at).collect();
        Elapsed { count: newest.len() as u32, first: newest.front().copied(), newest }
    }

    fn decided(policy: &str, waiting: &[i64], is_busy: bool, elapsed: Elapsed, now: i64) -> String {
        let waiting: Vec<_> = waiting.iter().map(|minute| at(*minute)).collect();
        let standing = Standing {
            policy: policy.parse().unwrap(),
            late_within: SignedDuration::from_secs(90),
            waiting: &waiting,
            is_busy,
        };
        let minute = |at: &Timestamp| at.as_second() / 60;
        let Some(admission) = decide(standing, &elapsed, at(0), at(now)) else { return "nothing".to_owned() };
        let due: Vec<_> = admission.due.iter().map(minute).collect();
        let missed: Vec<_> = admission
            .missed
            .iter()
            .map(|missed| {
                format!("{}..{} ({}): {}", minute(&missed.since), minute(&missed.at), missed.stands_for, missed.reason)
            })
            .collect();
        let replaced: Vec<_> = admission.replaced.iter().map(|(at, why)| format!("{}: {why}", minute(at))).collect();
        format!("due {due:?} missed {missed:?} replaced {replaced:?}")
    }

    #[test]
    fn the_policies_decide() {
        let cases = [
            ("none", vec![], false, minutes([10]), 10),
            ("none", vec![], false, minutes([]), 10),
            ("none", vec![], true, minutes([10]), 10),
            ("none", vec![], false, minutes(1..=10), 10),
            ("none", vec![], false, minutes(1..=5), 10),
            ("none", vec![5], true, minutes([]), 10),
            ("last", vec![], false, minutes(1..=10), 10),
            ("last", vec![], false, minutes(1..=5), 10),
            ("last", vec![3], true, minutes([10]), 10),
            ("last", vec![3], true, minutes([]), 10),
            ("all:3", vec![], false, minutes(1..=10), 10),
            ("all:3", vec![1, 2], true, minutes([9, 10]), 10),
            ("all:3", vec![1, 2], true, minutes([10]), 10),
        ];
        let shown = cases.map(|(policy, waiting, is_busy, elapsed, now)| {
            let busy = if is_busy { " busy" } else { "" };
            let count = elapsed.count;
            let result = decided(policy, &waiting, is_busy, elapsed, now);
            format!("{policy} waiting {waiting:?}{busy}, {count} elapsed: {result}")
        });
        insta::assert_snapshot!(shown.join("\n"));
    }

    proptest! {
        /// Under every policy, each tick that elapsed is due or missed, and none is both.
        #[test]
        fn no_tick_is_forgotten_or_counted_twice(
            policy in prop::sample::select(&["none", "last", "all:1", "all:3", "all:50"][..]),
            waiting in 0..5_i64,
            is_busy: bool,
            first in 10..20_i64,
            count in 0..30_i64,
            late in 0..10_i64,
        ) {
            let elapsed = minutes(first..first + count);
            let waiting: Vec<_> = (0..waiting).map(at).collect();
            let policy: CatchUp = policy.parse().unwrap();
            let standing = Standing { policy, late_within: SignedDuration::from_secs(90), waiting: &waiting, is_busy };
            let Some(admission) = decide(standing, &elapsed, at(0), at(first + count + late)) else {
                prop_assert!(count == 0);
                return Ok(());
            };
            let missed: u32 = admission.missed.iter().map(|missed| missed.stands_for).sum();
            prop_assert_eq!(missed + admission.due.len() as u32, elapsed.count);
            let most = match policy { CatchUp::None | CatchUp::Last => 1, CatchUp::All(most) => most as usize };
            let left = waiting.len() - admission.replaced.len() + admission.due.len();
            prop_assert!(left <= most.max(waiting.len()), "{left}");
        }
    }
}
