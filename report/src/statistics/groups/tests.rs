//! Measures of groups, pooled ratios and averages of them, against slow and obvious sums.

use std::collections::BTreeMap;

use proptest::prelude::*;
use regatta_benchmarks::{Measure, Metric, OverTrials};
use regatta_proto::Level;

use crate::statistics::{Estimate, Sample, Trials, difference, estimate, leaves, missing, sample};

/// Values of a session: a numerator and a denominator (or right, predicted and gold), and whether it crashed in either way.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Session {
    top: u32,
    bottom: u32,
    more: u32,
    drops: bool,
    zeroes: bool,
}

/// By item its group, and by item and trial its sessions; `None` was not measured.
#[derive(Debug, Clone)]
struct Data {
    groups: Vec<u32>,
    sessions: Vec<Vec<Option<Session>>>,
}

const IF_EMPTY: f64 = 0.25;

fn metric(measure: Measure) -> Metric {
    Metric { measure, if_empty: Some(IF_EMPTY), ..Metric::mean("m") }
}

fn group_mean(trials: OverTrials) -> Measure {
    Measure::GroupMean {
        numerator: "top".to_owned(),
        denominator: "bottom".to_owned(),
        of_item: true,
        trials,
        drop_run_if: Some("drops".to_owned()),
        zero_group_if: Some("zeroes".to_owned()),
    }
}

fn pooled_ratio() -> Measure {
    let of = Measure::Ratio { numerator: "top".to_owned(), denominator: "bottom".to_owned(), of_item: true };
    Measure::Pooled { of: Box::new(of), zero_group_if: Some("zeroes".to_owned()) }
}

fn pooled_f1() -> Measure {
    let of = Measure::F1 { right: "top".to_owned(), predicted: "more".to_owned(), gold: "bottom".to_owned() };
    Measure::Pooled { of: Box::new(of), zero_group_if: Some("zeroes".to_owned()) }
}

/// Every measure, and an average of averages of them.
fn all() -> Vec<Measure> {
    let basic = vec![group_mean(OverTrials::Mean), group_mean(OverTrials::Pooled), pooled_ratio(), pooled_f1()];
    let f1s = Measure::Average { of: vec![pooled_f1(), pooled_ratio()] };
    let top = Measure::Mean { value: "share".to_owned() };
    let score =
        Measure::Average { of: vec![f1s.clone(), group_mean(OverTrials::Mean), Measure::Average { of: vec![top] }] };
    basic.into_iter().chain([f1s, score]).collect()
}

fn values(session: &Session) -> BTreeMap<String, f64> {
    let Session { top, bottom, more, drops, zeroes } = *session;
    let share = f64::from(top) / f64::from(bottom.max(1));
    let numbers = [("top", f64::from(top)), ("bottom", f64::from(bottom)), ("more", f64::from(more)), ("share", share)];
    let flags = [("drops", f64::from(u8::from(drops))), ("zeroes", f64::from(u8::from(zeroes)))];
    numbers.into_iter().chain(flags).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Values that a session of any item would have had, if the model had made it impossible.
fn failure() -> BTreeMap<String, f64> {
    values(&Session { top: 0, bottom: 2, more: 0, drops: false, zeroes: false })
}

impl Data {
    fn samples(&self, metric: &Metric) -> Vec<Trials> {
        let trials = self.sessions.first().map_or(0, Vec::len);
        let of = |leaf: &Metric| -> Trials {
            let of_session = |session: &Option<Session>| match session {
                Some(session) => sample(leaf, &values(session)),
                None => missing(leaf, Some(&failure())),
            };
            (0..trials).map(|trial| self.sessions.iter().map(|item| of_session(&item[trial])).collect()).collect()
        };
        leaves(metric).iter().map(of).collect()
    }

    fn estimate(&self, metric: &Metric) -> Estimate {
        let positions: Vec<usize> = (0..self.groups.len()).collect();
        estimate(metric, &self.samples(metric), &positions, &self.groups, Level::USUAL)
    }

    fn trials(&self) -> usize {
        self.sessions.first().map_or(0, Vec::len)
    }

    /// The measured sessions of `group`, by trial; `None`: of all.
    fn runs(&self, group: Option<u32>) -> Vec<Vec<Session>> {
        let items = || self.sessions.iter().zip(&self.groups).filter(|(_, of)| group.is_none_or(|group| **of == group));
        (0..self.trials()).map(|trial| items().filter_map(|(item, _)| item[trial]).collect()).collect()
    }

    /// For each trial, true if a session of `group` was not measured.
    fn lacks(&self, group: u32) -> Vec<bool> {
        let items = || self.sessions.iter().zip(&self.groups).filter(|(_, of)| **of == group);
        (0..self.trials()).map(|trial| items().any(|(item, _)| item[trial].is_none())).collect()
    }

    fn is_zeroed(&self, group: u32) -> bool {
        self.runs(Some(group)).iter().flatten().any(|session| session.zeroes)
    }

    /// The measure as its documentation says, the slow way.
    fn naive(&self, measure: &Measure) -> Option<f64> {
        let mut groups = self.groups.clone();
        groups.sort_unstable();
        groups.dedup();
        let ratio = |sessions: &[Session]| {
            let sum = |of: fn(&Session) -> u32| f64::from(sessions.iter().map(of).sum::<u32>());
            match sum(|session| session.bottom) {
                0.0 => IF_EMPTY,
                bottom => sum(|session| session.top) / bottom,
            }
        };
        let average = |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        match measure {
            Measure::GroupMean { trials, .. } => {
                let of_group = |group: &u32| {
                    let has_nothing = |run: &[Session]| run.iter().all(|session| session.bottom == 0 && !session.drops);
                    let runs = self.runs(Some(*group)).into_iter().zip(self.lacks(*group));
                    let runs = runs.filter(|(run, lacks)| !(run.is_empty() || *lacks && has_nothing(run)));
                    let mut runs: Vec<Vec<Session>> = runs.map(|(run, _)| run).collect();
                    if self.is_zeroed(*group) {
                        return Some(0.0);
                    }
                    if runs.is_empty() {
                        return None;
                    }
                    runs.retain(|run| run.iter().all(|session| !session.drops));
                    Some(match trials {
                        OverTrials::Pooled => ratio(&runs.concat()),
                        OverTrials::Mean => average(runs.iter().map(|run| ratio(run)).collect()).unwrap_or(IF_EMPTY),
                    })
                };
                average(groups.iter().filter_map(of_group).collect())
            }
            Measure::Pooled { of, .. } => {
                let scored = self.runs(None).concat();
                let kept = groups.iter().filter(|group| !self.is_zeroed(**group));
                let kept: Vec<Session> = kept.flat_map(|group| self.runs(Some(*group)).concat()).collect();
                let value = match **of {
                    Measure::F1 { .. } => {
                        let sum = |of: fn(&Session) -> u32| f64::from(kept.iter().map(of).sum::<u32>());
                        let below = sum(|session| session.more) + sum(|session| session.bottom);
                        if below == 0.0 { IF_EMPTY } else { 2.0 * sum(|session| session.top) / below }
                    }
                    _ => ratio(&kept),
                };
                (!scored.is_empty()).then_some(value)
            }
            Measure::Mean { .. } => {
                let of_item = |item: &Vec<Option<Session>>| {
                    average(item.iter().flatten().map(|session| values(session)["share"]).collect())
                };
                average(self.sessions.iter().filter_map(of_item).collect())
            }
            Measure::Average { of } => average(of.iter().map(|part| self.naive(part)).collect::<Option<Vec<f64>>>()?),
            other => panic!("{other:?} is tested elsewhere"),
        }
    }
}

fn session() -> impl Strategy<Value = Session> {
    let flag = || prop::bool::weighted(0.08);
    (0u32..4, 0u32..3, 0u32..3, flag(), flag()).prop_map(|(top, bottom, more, drops, zeroes)| {
        let top = top.min(bottom).min(more);
        Session { top, bottom, more, drops, zeroes }
    })
}

fn data(measured: f64) -> impl Strategy<Value = Data> {
    (1usize..9, 1usize..4).prop_flat_map(move |(items, trials)| {
        let one = prop::option::weighted(measured, session());
        let sessions = prop::collection::vec(prop::collection::vec(one, trials), items);
        (prop::collection::vec(0u32..4, items), sessions).prop_map(|(groups, sessions)| Data { groups, sessions })
    })
}

fn is_close(one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() < 1e-9,
        (one, other) => one.is_none() && other.is_none(),
    }
}

proptest! {
    #[test]
    fn every_measure_is_what_its_definition_says(data in data(0.8)) {
        for measure in all() {
            let found = data.estimate(&metric(measure.clone()));
            prop_assert!(is_close(found.value, data.naive(&measure)), "{:?}: {:?} {:?}", measure, found.value, data.naive(&measure));
        }
    }

    #[test]
    fn the_order_of_items_changes_nothing(data in data(0.8), seed: u64) {
        let mut order: Vec<usize> = (0..data.groups.len()).collect();
        order.sort_by_key(|at| (*at as u64 + 1).wrapping_mul(seed | 1));
        let shuffled = Data {
            groups: order.iter().map(|at| data.groups[*at]).collect(),
            sessions: order.iter().map(|at| data.sessions[*at].clone()).collect(),
        };
        for measure in all() {
            let metric = metric(measure);
            let (one, other) = (data.estimate(&metric), shuffled.estimate(&metric));
            prop_assert_eq!((one.n, one.clusters, one.scored), (other.n, other.clusters, other.scored));
            let numbers = |of: &Estimate| [of.value, of.low, of.high, of.bound_low, of.bound_high, of.sd];
            for (one, other) in numbers(&one).into_iter().zip(numbers(&other)) {
                prop_assert!(is_close(one, other), "{:?}: {:?} {:?}", metric.measure, one, other);
            }
        }
    }

    #[test]
    fn even_equal_groups_have_an_interval_with_a_width(sessions in prop::collection::vec(session(), 1..4), groups in 2u32..5) {
        let data = Data {
            groups: (0..groups).flat_map(|group| sessions.iter().map(move |_| group)).collect(),
            sessions: (0..groups).flat_map(|_| sessions.iter().map(|session| vec![Some(*session)])).collect(),
        };
        for measure in all() {
            let found = data.estimate(&metric(measure));
            let (Some(value), Some(low), Some(high)) = (found.value, found.low, found.high) else { continue };
            prop_assert!(high - low > 1e-3 && low <= value && value <= high, "{:?}", found);
        }
    }

    #[test]
    fn all_figures_lie_within_the_range_and_in_their_order(data in data(0.6)) {
        for measure in all() {
            let found = data.estimate(&metric(measure));
            let Some(value) = found.value else { continue };
            for (low, high) in [(found.low, found.high), (found.bound_low, found.bound_high)] {
                let (low, high) = (low.unwrap_or(value), high.unwrap_or(value));
                prop_assert!(0.0 <= low && low <= value && value <= high && high <= 1.0, "{:?}", found);
            }
        }
    }

    #[test]
    fn what_is_missing_lies_within_the_bounds_whatever_it_turns_out_to_be(data in data(0.6), other in session()) {
        // What a session of an item has below the line is known; none of them predicts what is wrong. Any may crash.
        let top = other.top.min(2);
        let whole = Session { bottom: 2, top, more: top, drops: other.drops, zeroes: other.zeroes };
        let mut filled = data.clone();
        filled.sessions.iter_mut().flatten().for_each(|session| {
            session.get_or_insert(whole);
        });
        for measure in all() {
            let metric = metric(measure);
            let (before, after) = (data.estimate(&metric), filled.estimate(&metric).value.unwrap());
            if let (Some(low), Some(high)) = (before.bound_low, before.bound_high) {
                prop_assert!(low - 1e-9 <= after && after <= high + 1e-9, "{:?}: {:?} {}", metric.measure, before, after);
            }
        }
    }

    #[test]
    fn a_difference_is_that_of_the_values_and_turns_with_the_sides(one in data(0.8), noise in prop::collection::vec(session(), 27)) {
        let mut other = one.clone();
        other.sessions.iter_mut().flatten().flatten().zip(noise).for_each(|(session, new)| *session = new);
        for measure in all() {
            let metric = metric(measure);
            let (ours, theirs) = (one.samples(&metric), other.samples(&metric));
            let Some(there) = difference(&metric, &ours, &theirs, &one.groups) else { continue };
            let back = difference(&metric, &theirs, &ours, &one.groups).unwrap();
            let (Some(ours_alone), Some(theirs_alone)) = (one.estimate(&metric).value, other.estimate(&metric).value) else {
                continue;
            };
            let values = ours_alone - theirs_alone;
            prop_assert!((there.value - values).abs() < 1e-9 && (there.value + back.value).abs() < 1e-9);
            prop_assert!(is_close(there.low, back.high.map(|high| -high)));
            let same = difference(&metric, &ours, &ours, &one.groups).unwrap();
            prop_assert!(same.value == 0.0 && is_close(same.low, same.high.map(|high| -high)));
        }
    }
}

fn session_of(top: u32, bottom: u32) -> Session {
    Session { top, bottom, more: bottom, drops: false, zeroes: false }
}

#[test]
fn a_group_counts_once_however_many_sessions_it_has_and_also_with_nothing_to_divide_by() {
    let data = Data {
        groups: vec![0, 0, 1, 2],
        sessions: vec![
            vec![Some(session_of(1, 2)), Some(session_of(1, 1))],
            vec![Some(session_of(0, 1)), Some(session_of(0, 0))],
            vec![Some(session_of(0, 0)), Some(session_of(0, 0))],
            vec![None, None],
        ],
    };
    let zero = |trials| Metric { if_empty: Some(0.0), ..metric(group_mean(trials)) };
    // The first group: 1/3 and 1/1, or 2/4 pooled; the second has nothing, the third no score.
    let each = data.estimate(&zero(OverTrials::Mean));
    assert_eq!((each.value, each.n, each.clusters), (Some((2.0 / 3.0) / 2.0), 3, 2));
    assert_eq!(data.estimate(&zero(OverTrials::Pooled)).value, Some(0.25));
    // Where that says nothing, the second group is left out.
    let nothing = Metric { if_empty: None, ..metric(group_mean(OverTrials::Pooled)) };
    assert_eq!(data.estimate(&nothing).value, Some(0.5));
}

#[test]
fn what_is_missing_is_not_what_was_nothing() {
    let data = Data {
        groups: vec![0, 0, 1],
        sessions: vec![vec![Some(session_of(0, 0))], vec![None], vec![Some(session_of(1, 1))]],
    };
    let zero = Metric { if_empty: Some(0.0), ..metric(group_mean(OverTrials::Mean)) };
    assert_eq!(data.estimate(&zero).value, Some(1.0), "the first group may have had something");
}

#[test]
fn a_dropped_run_is_out_and_a_crash_zeroes_its_group_in_every_trial() {
    let (right, dropped) = (session_of(1, 1), Session { drops: true, ..session_of(0, 1) });
    let crashed = Session { zeroes: true, ..right };
    let of = |sessions: Vec<Vec<Option<Session>>>| Data { groups: vec![0, 0, 1], sessions };
    let with_drop = of(vec![vec![Some(right), Some(dropped)], vec![Some(right); 2], vec![Some(right); 2]]);
    let with_crash = of(vec![vec![Some(right), Some(crashed)], vec![Some(right); 2], vec![Some(right); 2]]);
    for trials in [OverTrials::Mean, OverTrials::Pooled] {
        assert_eq!(with_drop.estimate(&metric(group_mean(trials))).value, Some(1.0));
        assert_eq!(with_crash.estimate(&metric(group_mean(trials))).value, Some(0.5));
    }
    // Of a pooled ratio the group is out.
    assert_eq!(with_crash.estimate(&metric(pooled_f1())).value, Some(1.0));
}

#[test]
fn nobody_knows_a_groups_ratio_while_something_is_missing_whose_size_is_the_models() {
    let measure = match group_mean(OverTrials::Pooled) {
        Measure::GroupMean { numerator, denominator, trials, drop_run_if, zero_group_if, .. } => {
            Measure::GroupMean { numerator, denominator, of_item: false, trials, drop_run_if, zero_group_if }
        }
        other => other,
    };
    let data = Data {
        groups: vec![0, 0, 1],
        sessions: vec![vec![Some(session_of(1, 2))], vec![None], vec![Some(session_of(1, 1))]],
    };
    let found = data.estimate(&Metric { if_empty: None, ..metric(measure) });
    assert_eq!((found.value, found.bound_low, found.bound_high), (Some(0.75), Some(0.5), Some(1.0)));
}

#[test]
fn the_interval_of_an_average_knows_that_its_parts_come_from_the_same_sessions() {
    let data = Data { groups: vec![0, 1, 2], sessions: [1, 3, 4].map(|top| vec![Some(session_of(top, 4))]).to_vec() };
    let width = |measure: Measure| {
        let found = data.estimate(&metric(measure));
        found.high.unwrap() - found.low.unwrap()
    };
    let (one, twice) = (pooled_ratio(), Measure::Average { of: vec![pooled_ratio(), group_mean(OverTrials::Pooled)] });
    assert!((width(one) - width(twice)).abs() < 1e-12);
    let samples = data.samples(&metric(Measure::Average { of: vec![pooled_f1(), pooled_f1()] }));
    assert_eq!((samples.len(), &samples[0][0][0]), (2, &Sample::Scored { top: 2.0, bottom: 8.0 }));
}
