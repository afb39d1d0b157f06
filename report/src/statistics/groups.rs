//! Means over groups of items.

use std::collections::BTreeMap;

use regatta_benchmarks::{Measure, Metric, OverTrials};

use super::clusters::Influence;
use super::linear::{Linear, single_trials};
use super::means::mean;
use super::ratio::End;
use super::sample::{Sample, Samples, Trials};

/// A group in one trial.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    top: f64,
    bottom: f64,
    has_score: bool,
    /// True if a session is missing that would have had a denominator.
    lacks: bool,
    /// True if a session is missing whose part is unknown.
    is_open: bool,
    is_dropped: bool,
    is_zero: bool,
    /// A session was filled in.
    is_filled: bool,
}

/// The runs of every group, by trial.
fn runs(samples: &Samples<'_>) -> BTreeMap<u32, Vec<Run>> {
    runs_with(samples, None, true)
}

/// The runs of every group if what is missing had scored `fill`; `of_item`: whether it is known how much of it there would be.
fn runs_with(samples: &Samples<'_>, fill: Option<f64>, of_item: bool) -> BTreeMap<u32, Vec<Run>> {
    let mut groups: BTreeMap<u32, Vec<Run>> = BTreeMap::new();
    for position in samples.positions {
        let group = groups.entry(samples.clusters[*position]).or_default();
        group.resize(samples.trials.len(), Run::default());
        for (run, trial) in group.iter_mut().zip(samples.trials) {
            match (trial.get(*position), fill) {
                (Some(Sample::Scored { top, bottom }), _) => {
                    run.top += top;
                    run.bottom += bottom;
                    run.has_score = true;
                }
                (Some(Sample::Nothing), _) => run.has_score = true,
                (Some(Sample::DropsRun), _) => (run.has_score, run.is_dropped) = (true, true),
                (Some(Sample::ZeroesGroup), _) => (run.has_score, run.is_zero) = (true, true),
                (Some(Sample::Missing { weight }), Some(fill)) => {
                    (run.has_score, run.is_filled) = (true, true);
                    match of_item {
                        true => {
                            run.top += fill * weight;
                            run.bottom += weight;
                        }
                        false => run.is_open |= *weight > 0.0,
                    }
                }
                (Some(Sample::Missing { weight }), None) => run.lacks |= *weight > 0.0,
                (Some(Sample::Void | Sample::NotBought) | None, _) => {}
            }
        }
    }
    groups
}

/// The number of a group; `None` without any score. What is open counts as `open`. A run whose only sessions with something to divide by
/// are missing says nothing: that is not the same as a run with nothing to divide by.
fn value(metric: &Metric, runs: &[Run], open: f64) -> Option<f64> {
    let Measure::GroupMean { trials, .. } = &metric.measure else { return None };
    if runs.iter().any(|run| run.is_zero) {
        return Some(0.0);
    }
    let says_something = |run: &&Run| run.has_score && (run.is_dropped || !run.lacks || run.bottom != 0.0);
    if !runs.iter().any(|run| says_something(&run)) {
        return None;
    }
    let empty = metric.if_empty;
    let kept = runs.iter().filter(|run| says_something(run) && !run.is_dropped);
    let ratio = |run: &Run| match run {
        Run { is_open: true, .. } => Some(open),
        Run { bottom: 0.0, .. } => empty,
        Run { top, bottom, .. } => Some(top / bottom),
    };
    match trials {
        OverTrials::Mean => mean(&kept.filter_map(ratio).collect::<Vec<f64>>()).or(empty),
        OverTrials::Pooled => {
            let sum = |mut all: Run, run: &Run| {
                all.top += run.top;
                all.bottom += run.bottom;
                all.is_open |= run.is_open;
                all
            };
            ratio(&kept.fold(Run::default(), sum))
        }
    }
}

fn mean_over_groups(metric: &Metric, samples: &Samples<'_>) -> Option<f64> {
    mean(&runs(samples).values().filter_map(|runs| value(metric, runs, 0.0)).collect::<Vec<f64>>())
}

/// The mean over the groups that have a score. A group moves it by its deviation, which is shared out evenly among its items.
pub(crate) fn group_mean(metric: &Metric, samples: &Samples<'_>) -> Option<Linear> {
    let found = runs(samples).into_iter().filter_map(|(group, runs)| Some((group, value(metric, &runs, 0.0)?)));
    let groups: BTreeMap<u32, f64> = found.collect();
    let value = mean(&groups.values().copied().collect::<Vec<f64>>())?;
    let has_score =
        |position: usize| samples.of(position).any(|sample| !matches!(sample, Sample::Missing { .. } | Sample::Void));
    let mut items: BTreeMap<u32, u32> = BTreeMap::new();
    for position in samples.positions.iter().filter(|position| has_score(**position)) {
        *items.entry(samples.clusters[*position]).or_default() += 1;
    }
    let influence = |position: &usize| {
        let group = samples.clusters[*position];
        let (of_group, items) = (groups.get(&group)?, items.get(&group)?);
        let each = 1.0 / groups.len() as f64 / f64::from(*items);
        has_score(*position).then(|| Influence { shift: (of_group - value) * each, weight: each })
    };
    let by_item = samples.positions.iter().map(influence).collect();
    Some(Linear { value, by_item, trials: single_trials(samples, |trial| mean_over_groups(metric, trial)) })
}

/// The smallest and largest value that the sessions without a score allow: a group of which something is missing is anywhere in the
/// metric's range where nobody knows how much it is. So it is where one session may take its run out; where one may ruin its group, also
/// the smallest value is possible.
pub(crate) fn bounds(metric: &Metric, samples: &Samples<'_>) -> (Option<f64>, Option<f64>) {
    let at = |end: End| {
        let Fill { score, open, is_anything, of_item } = Fill::new(metric, end)?;
        let groups = runs_with(samples, Some(score), of_item);
        let of_group = |runs: &Vec<Run>| match is_anything && runs.iter().any(|run| run.is_filled) {
            true => Some(score),
            false => value(metric, runs, open),
        };
        let values: Vec<f64> = groups.values().filter_map(of_group).collect();
        mean(&values).filter(|value| value.is_finite())
    };
    (at(End::Low), at(End::High))
}

/// Scores of what is missing where the mean is at one end of what is possible.
#[derive(Debug, Clone, Copy)]
struct Fill {
    /// Score assumed for a session without one.
    score: f64,
    /// Value assumed for a run whose number of missing scores is unknown.
    open: f64,
    /// `true` if a group of which something is missing has `score`, whatever else it has.
    is_anything: bool,
    /// `true` if it is known how much there would be of what is missing.
    of_item: bool,
}

impl Fill {
    fn new(metric: &Metric, end: End) -> Option<Self> {
        let Measure::GroupMean { of_item, drop_run_if, zero_group_if, .. } = &metric.measure else { return None };
        let score = end.of_range(metric.range);
        let empty = metric.if_empty.unwrap_or(0.0);
        let may_drop = drop_run_if.is_some();
        Some(match end {
            End::Low => Self {
                score,
                open: score.min(empty),
                is_anything: may_drop || zero_group_if.is_some(),
                of_item: *of_item,
            },
            End::High => Self { score, open: score.max(empty), is_anything: may_drop, of_item: *of_item },
        })
    }
}

/// The samples with every session that has no score as it is at an `end` of [`bounds`]; `None` where there is no such end.
pub(crate) fn completed(metric: &Metric, samples: &Samples<'_>, end: End) -> Option<Trials> {
    let fill = Fill::new(metric, end)?;
    let mut completed = samples.trials.to_vec();
    let mut groups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    samples.positions.iter().for_each(|at| groups.entry(samples.clusters[*at]).or_default().push(*at));
    for positions in groups.values() {
        let sample = |trial: &Vec<Sample>, at: &usize| trial.get(*at).copied();
        let lacks =
            |trial: &Vec<Sample>| positions.iter().any(|at| matches!(sample(trial, at), Some(Sample::Missing { .. })));
        let is_open = |trial: &Vec<Sample>| {
            positions.iter().any(|at| matches!(sample(trial, at), Some(Sample::Missing { weight }) if weight > 0.0))
        };
        if !samples.trials.iter().any(lacks) {
            continue;
        }
        if !fill.score.is_finite() {
            return None;
        }
        let is_pooled = matches!(metric.measure, Measure::GroupMean { trials: OverTrials::Pooled, .. });
        // Such a group is 0, whatever is missing of it.
        let is_zeroed = samples
            .trials
            .iter()
            .any(|trial| positions.iter().any(|at| sample(trial, at) == Some(Sample::ZeroesGroup)));
        let is_any_open = samples.trials.iter().any(is_open);
        for trial in &mut completed {
            let is_run_open = if is_pooled { is_any_open } else { is_open(trial) };
            if fill.is_anything {
                set_run(trial, positions, fill.score);
            } else if is_run_open && !is_zeroed && !fill.of_item {
                set_run(trial, positions, fill.open);
            }
            for position in positions {
                if let Some(Sample::Missing { weight }) = trial.get(*position).copied() {
                    trial[*position] = Sample::Scored { top: fill.score * weight, bottom: weight };
                }
            }
        }
    }
    Some(completed)
}

/// Makes the run of a group in one trial have the number `value`.
fn set_run(trial: &mut [Sample], positions: &[usize], value: f64) {
    let mut value = Some(value);
    for position in positions {
        let Some(sample) = trial.get_mut(*position) else { continue };
        *sample = match sample {
            Sample::NotBought => Sample::NotBought,
            Sample::Void
            | Sample::Missing { .. }
            | Sample::Nothing
            | Sample::DropsRun
            | Sample::ZeroesGroup
            | Sample::Scored { .. } => match value.take() {
                Some(value) => Sample::Scored { top: value, bottom: 1.0 },
                None => Sample::Nothing,
            },
        };
    }
}

#[cfg(test)]
mod tests;
