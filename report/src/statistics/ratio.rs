//! Ratios of sums, trial by trial or over all of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use regatta_benchmarks::{Measure, Metric};

use super::clusters::Influence;
use super::linear::{Linear, single_trials};
use super::means::mean;
use super::population::ROUNDING;
use super::sample::{Sample, Samples, Trials};

/// Sums over the items of some trials.
#[derive(Clone, Copy, Default)]
struct Sums {
    top: f64,
    bottom: f64,
    has_score: bool,
}

impl Sums {
    /// `None` without any score, and without anything to divide by where the metric has no value then.
    fn ratio(&self, metric: &Metric) -> Option<f64> {
        match self {
            Self { has_score: false, .. } => None,
            Self { bottom: 0.0, .. } => metric.if_empty,
            Self { top, bottom, .. } => Some(top / bottom),
        }
    }
}

/// Sums over these trials. What is void leaves its whole trial out.
fn sums(samples: &Samples<'_>, trials: Range<usize>) -> Sums {
    let mut sums = Sums::default();
    for trial in samples.trials.get(trials).unwrap_or_default() {
        let of_trial = || samples.positions.iter().filter_map(|position| trial.get(*position));
        if of_trial().any(|sample| *sample == Sample::Void) {
            continue;
        }
        for sample in of_trial() {
            match sample {
                Sample::Scored { top, bottom } => {
                    sums.top += top;
                    sums.bottom += bottom;
                    sums.has_score = true;
                }
                Sample::Nothing | Sample::DropsRun | Sample::ZeroesGroup => sums.has_score = true,
                Sample::Void | Sample::Missing { .. } | Sample::NotBought => {}
            }
        }
    }
    sums
}

/// The trials that are summed together.
fn units(metric: &Metric, samples: &Samples<'_>) -> Vec<Range<usize>> {
    let count = samples.trials.len();
    match metric.measure {
        Measure::Pooled { .. } => std::iter::once(0..count).filter(|all| !all.is_empty()).collect(),
        _ => (0..count).map(|trial| trial..trial + 1).collect(),
    }
}

/// The trials with nothing of groups that are out.
fn without_zeroed<'t>(samples: &Samples<'t>) -> Cow<'t, [Vec<Sample>]> {
    let is_out = |position: &&usize| samples.of(**position).any(|sample| sample == Sample::ZeroesGroup);
    let out: BTreeSet<u32> = samples.positions.iter().filter(is_out).map(|at| samples.clusters[*at]).collect();
    if out.is_empty() {
        return Cow::Borrowed(samples.trials);
    }
    let mut trials = samples.trials.to_vec();
    let positions = samples.positions.iter().copied().filter(|position| out.contains(&samples.clusters[*position]));
    take_out(&mut trials, &positions.collect::<Vec<usize>>());
    Cow::Owned(trials)
}

/// Leaves nothing of the items at `positions`, which are those of a group that is out.
fn take_out(trials: &mut [Vec<Sample>], positions: &[usize]) {
    for trial in trials {
        for position in positions {
            let Some(sample) = trial.get_mut(*position) else { continue };
            *sample = match sample {
                Sample::Void => Sample::Void,
                Sample::NotBought => Sample::NotBought,
                // Also what is missing: whatever it would have been, it would have been out.
                Sample::Missing { .. }
                | Sample::Nothing
                | Sample::DropsRun
                | Sample::ZeroesGroup
                | Sample::Scored { .. } => Sample::Nothing,
            };
        }
    }
}

/// Contribution of each position to the mean of the trials' ratios (or to the one ratio of all trials), in the order of
/// `samples.positions`; `None` where nothing of the item could vary.
struct Influences {
    /// The ratio of every trial, or the one of all.
    ratios: Vec<Option<f64>>,
    by_item: Vec<Option<Influence>>,
}

/// The ratios, and the linearised influence of every item on their mean: (top − ratio · bottom) / Σ bottom. It weighs bottom / Σ bottom.
fn influences(metric: &Metric, samples: &Samples<'_>) -> Influences {
    let trials = without_zeroed(samples);
    let samples = &Samples { trials: &trials, ..*samples };
    let units: Vec<(Range<usize>, Sums, Option<f64>)> = units(metric, samples)
        .into_iter()
        .map(|unit| {
            let sums = sums(samples, unit.clone());
            let ratio = sums.ratio(metric);
            (unit, sums, ratio)
        })
        .collect();
    let count = units.iter().filter(|(_, _, ratio)| ratio.is_some()).count() as f64;
    let mut by_item = vec![None; samples.positions.len()];
    for (unit, sums, ratio) in &units {
        let Some(ratio) = ratio.filter(|_| sums.bottom != 0.0) else { continue };
        for trial in samples.trials.get(unit.clone()).unwrap_or_default() {
            for (at, position) in samples.positions.iter().enumerate() {
                let Some(Sample::Scored { top, bottom }) = trial.get(*position) else { continue };
                if *top != 0.0 || *bottom != 0.0 {
                    let item = by_item[at].get_or_insert(Influence { shift: 0.0, weight: 0.0 });
                    item.shift += (top - ratio * bottom) / sums.bottom / count;
                    item.weight += bottom / sums.bottom / count;
                }
            }
        }
    }
    Influences { ratios: units.into_iter().map(|(_, _, ratio)| ratio).collect(), by_item }
}

/// Estimates `metric`; `None` when no trial has a ratio.
pub(crate) fn ratio(metric: &Metric, samples: &Samples<'_>) -> Option<Linear> {
    let Influences { ratios, by_item } = influences(metric, samples);
    let value = mean(&ratios.iter().flatten().copied().collect::<Vec<f64>>())?;
    let trials = match metric.measure {
        Measure::Pooled { .. } => {
            single_trials(samples, |trial| influences(metric, trial).ratios.first().copied().flatten())
        }
        _ => ratios,
    };
    Some(Linear { value, by_item, trials })
}

/// Sums that a session without a score is taken to have where the ratio is at one end of what is possible.
#[derive(Debug, Clone, Copy)]
struct Fill {
    /// Above the line, of each unit of weight; infinite where the range has no end.
    top: f64,
    /// Below it.
    bottom: f64,
    /// Weight of each session, where nobody knows how much it would have had below the line.
    each: Option<f64>,
}

impl Fill {
    fn new(metric: &Metric, samples: &Samples<'_>, end: End) -> Self {
        let extreme = end.of_range(metric.range);
        let measure = match &metric.measure {
            Measure::Pooled { of, .. } => of,
            other => other,
        };
        match measure {
            Measure::Ratio { of_item: false, .. } => {
                Self { top: extreme, bottom: 1.0, each: Some(most_below(samples)) }
            }
            // All wrong: nothing predicted, as where the model made a session impossible. All right: what is gold is predicted, and if
            // predictions may count more than once (the range tells), perhaps with none to spare.
            Measure::F1 { .. } => match end {
                End::Low => Self { top: 0.0, bottom: 1.0, each: None },
                End::High => Self { top: 2.0, bottom: if metric.range.1 <= 1.0 { 2.0 } else { 1.0 }, each: None },
            },
            _ => Self { top: extreme, bottom: 1.0, each: None },
        }
    }

    /// Sums above and below the line of a session with this `weight`.
    fn sums(self, weight: f64) -> (f64, f64) {
        let weight = self.each.unwrap_or(weight);
        (self.top * weight, self.bottom * weight)
    }
}

/// The smallest and largest value that the sessions without a score allow. `None` where they could move the ratio without limit, because
/// the range has no end. Where nobody knows how much they would have had below the line, as of a precision, each is taken to have as much
/// as the measured session with the most. A session that ruins its group takes it out, so a group of which one is missing may be in or
/// out, whichever is worse or better.
pub(crate) fn bounds(metric: &Metric, samples: &Samples<'_>) -> (Option<f64>, Option<f64>) {
    let trials = without_zeroed(samples);
    let samples = &Samples { trials: &trials, ..*samples };
    (bound(metric, samples, End::Low), bound(metric, samples, End::High))
}

/// One end of [`bounds`], of samples without groups that are out.
fn bound(metric: &Metric, samples: &Samples<'_>, end: End) -> Option<f64> {
    let fill = Fill::new(metric, samples, end);
    let may_be_out = may_be_out(metric, samples);
    let of_unit = |unit: Range<usize>| {
        let of = |positions: &[usize]| {
            let samples = &Samples { positions, ..*samples };
            let mut all = sums(samples, unit.clone());
            for trial in samples.trials.get(unit.clone()).unwrap_or_default() {
                for position in positions {
                    if let Some(Sample::Missing { weight }) = trial.get(*position) {
                        let (top, bottom) = fill.sums(*weight);
                        all.top += top;
                        all.bottom += bottom;
                        all.has_score = true;
                    }
                }
            }
            all
        };
        let (free, fixed): (Vec<usize>, Vec<usize>) =
            samples.positions.iter().partition(|at| may_be_out.contains(&samples.clusters[**at]));
        let groups = by_group(samples, &free);
        end.of(metric, of(&fixed), &groups.values().map(|positions| of(positions)).collect::<Vec<Sums>>())
    };
    let ratios: Vec<f64> = units(metric, samples).into_iter().filter_map(of_unit).collect();
    mean(&ratios).filter(|_| fill.top.is_finite())
}

/// `positions` by the group that they belong to.
fn by_group(samples: &Samples<'_>, positions: &[usize]) -> BTreeMap<u32, Vec<usize>> {
    let mut groups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    positions.iter().for_each(|at| groups.entry(samples.clusters[*at]).or_default().push(*at));
    groups
}

/// The samples with every session that has no score as it is at an `end` of [`bounds`]; `None` where there is no such end.
pub(crate) fn completed(metric: &Metric, samples: &Samples<'_>, end: End) -> Option<Trials> {
    let trials = without_zeroed(samples);
    let samples = &Samples { trials: &trials, ..*samples };
    let fill = Fill::new(metric, samples, end);
    let mut completed = samples.trials.to_vec();
    for trial in &mut completed {
        for position in samples.positions {
            let Some(Sample::Missing { weight }) = trial.get(*position).copied() else { continue };
            let (top, bottom) = fill.sums(weight);
            if !top.is_finite() {
                return None;
            }
            trial[*position] = Sample::Scored { top, bottom };
        }
    }
    let may_be_out = may_be_out(metric, samples);
    if may_be_out.is_empty() {
        return Some(completed);
    }
    let bound = bound(metric, samples, end)?;
    let free: Vec<usize> =
        samples.positions.iter().copied().filter(|at| may_be_out.contains(&samples.clusters[*at])).collect();
    for positions in by_group(samples, &free).values() {
        let filled = sums(&Samples { trials: &completed, positions, ..*samples }, 0..completed.len());
        // A group that is just as the bound leaves it as it is, and may be all that there is to divide by.
        if end.pull(&filled, bound) < -ROUNDING {
            take_out(&mut completed, positions);
        }
    }
    Some(completed)
}

/// The most that a measured session has below the line; 1 where none has anything, as any other number would do.
fn most_below(samples: &Samples<'_>) -> f64 {
    let all = samples.positions.iter().flat_map(|position| samples.of(*position));
    let most = all.filter_map(|sample| sample.parts()).map(|(_, bottom)| bottom).fold(0.0, f64::max);
    if most > 0.0 { most } else { 1.0 }
}

/// Groups of which a session is missing that could ruin its group.
fn may_be_out(metric: &Metric, samples: &Samples<'_>) -> BTreeSet<u32> {
    let Measure::Pooled { zero_group_if: Some(_), .. } = &metric.measure else { return BTreeSet::new() };
    let lacks = |at: &&usize| samples.of(**at).any(|sample| matches!(sample, Sample::Missing { .. }));
    samples.positions.iter().filter(lacks).map(|at| samples.clusters[*at]).collect()
}

/// An end of what is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All that is missing is wrong.
    Low,
    /// All that is missing is right.
    High,
}

impl End {
    /// The same end of a range.
    pub(crate) const fn of_range(self, (low, high): (f64, f64)) -> f64 {
        match self {
            Self::Low => low,
            Self::High => high,
        }
    }

    /// The opposite end.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Low => Self::High,
            Self::High => Self::Low,
        }
    }

    /// Movement of a ratio of `bound` towards this end by a group with these sums; below 0 if away from it.
    fn pull(self, group: &Sums, bound: f64) -> f64 {
        let sign = match self {
            Self::Low => -1.0,
            Self::High => 1.0,
        };
        sign * (group.top - bound * group.bottom)
    }

    /// The most extreme ratio of `fixed` with any of `groups`, by Dinkelbach's method (Management Science 13, 1967): those are in that pull
    /// the best ratio so far further.
    fn of(self, metric: &Metric, fixed: Sums, groups: &[Sums]) -> Option<f64> {
        let sign = match self {
            Self::Low => -1.0,
            Self::High => 1.0,
        };
        let with = |is_in: &dyn Fn(&Sums) -> bool| {
            let add = |all: Sums, group: &Sums| Sums {
                top: all.top + group.top,
                bottom: all.bottom + group.bottom,
                has_score: all.has_score || group.has_score,
            };
            let chosen = groups.iter().filter(|group| is_in(group)).fold(fixed, add);
            // A group that is out has a score all the same.
            Sums { has_score: chosen.has_score || !groups.is_empty(), ..chosen }.ratio(metric)
        };
        let mut best = with(&|_| true)?;
        // Each step improves the ratio, and takes another choice of groups.
        for _ in 0..=groups.len() {
            let pulls = |group: &Sums| self.pull(group, best) > 0.0;
            match with(&pulls).filter(|next| sign * (next - best) > 0.0) {
                Some(next) => best = next,
                None => break,
            }
        }
        let nothing = with(&|_| false).filter(|_| fixed.bottom == 0.0 && !groups.is_empty());
        Some(nothing.filter(|nothing| sign * (nothing - best) > 0.0).unwrap_or(best))
    }
}
