use proptest::prelude::*;
use regatta_benchmarks::{Measure, Metric, OverTrials};
use regatta_proto::Level;

use super::*;
use crate::statistics::estimate;
use crate::statistics::linearised::linear;

fn metric(measure: Measure) -> Metric {
    Metric { measure, ..Metric::mean("x") }
}

fn group_mean(of_item: bool, trials: OverTrials, drops: bool, zeroes: bool) -> Metric {
    metric(Measure::GroupMean {
        numerator: "right".into(),
        denominator: "gold".into(),
        of_item,
        trials,
        drop_run_if: drops.then(|| "broken".into()),
        zero_group_if: zeroes.then(|| "crashed".into()),
    })
}

/// One metric of each kind that is bounded in a way of its own.
fn metrics() -> Vec<Metric> {
    let ratio = |of_item| Measure::Ratio { numerator: "right".into(), denominator: "gold".into(), of_item };
    let f1 = Measure::F1 { right: "right".into(), predicted: "predicted".into(), gold: "gold".into() };
    let pooled =
        |zero: bool| Measure::Pooled { of: Box::new(ratio(true)), zero_group_if: zero.then(|| "crashed".into()) };
    let mut all = vec![
        Metric::mean("x"),
        metric(ratio(true)),
        metric(ratio(false)),
        metric(f1.clone()),
        Metric { range: (0.0, 2.0), ..metric(f1) },
        metric(pooled(false)),
        metric(pooled(true)),
        Metric { if_empty: Some(1.0), ..metric(pooled(true)) },
    ];
    for trials in [OverTrials::Mean, OverTrials::Pooled] {
        for (of_item, drops, zeroes) in [
            (true, false, false),
            (false, false, false),
            (true, true, false),
            (true, false, true),
            (false, false, true),
        ] {
            all.push(group_mean(of_item, trials, drops, zeroes));
        }
    }
    all
}

/// A session: with its kind, and parts of what it has above and below the line.
fn sampled((kind, top, bottom): (u8, u32, u32), metric: &Metric) -> Sample {
    let (top, bottom) = (f64::from(top.min(bottom)), f64::from(bottom));
    let may_zero = matches!(
        &metric.measure,
        Measure::Pooled { zero_group_if: Some(_), .. } | Measure::GroupMean { zero_group_if: Some(_), .. }
    );
    let may_drop = matches!(&metric.measure, Measure::GroupMean { drop_run_if: Some(_), .. });
    match (kind, &metric.measure) {
        (0..3, Measure::Mean { .. }) => Sample::Missing { weight: 1.0 },
        (0..3, _) => Sample::Missing { weight: bottom },
        (3, _) => Sample::Nothing,
        (4, _) if may_zero => Sample::ZeroesGroup,
        (4, _) if may_drop => Sample::DropsRun,
        (_, Measure::Mean { .. }) => Sample::Scored { top: if bottom > 0.0 { top / bottom } else { 0.0 }, bottom: 1.0 },
        _ => Sample::Scored { top, bottom },
    }
}

proptest! {
    #[test]
    fn the_value_of_what_is_completed_is_the_bound_of_the_estimate(
        sessions in proptest::collection::vec(proptest::collection::vec((0u8..9, 0u32..5, 0u32..5), 8), 1..4),
    ) {
        let clusters = [0, 0, 1, 1, 1, 2, 3, 3];
        let positions: Vec<usize> = (0..8).collect();
        for metric in metrics() {
            let trials: Trials = sessions
                .iter()
                .map(|trial| trial.iter().map(|session| sampled(*session, &metric)).collect())
                .collect();
            let samples = Samples { trials: &trials, positions: &positions, clusters: &clusters };
            let found = estimate(&metric, std::slice::from_ref(&trials), &positions, &clusters, Level::USUAL);
            // Without a value its bounds are those of the range, and there is nothing to compare.
            if found.value.is_none() {
                continue;
            }
            for (end, bound) in [(End::Low, found.bound_low), (End::High, found.bound_high)] {
                let completed = completed(&metric, &samples, end).unwrap();
                let is_missing = |sample: &Sample| matches!(sample, Sample::Missing { .. });
                prop_assert!(!completed.iter().flatten().any(is_missing), "nothing is missing any more");
                let value = linear(&metric, &Samples { trials: &completed, ..samples }).map(|found| found.value);
                let (Some(value), Some(bound)) = (value, bound) else {
                    prop_assert!(value.is_none() && bound.is_none(), "{:?} {end:?}: {value:?} {bound:?}", metric.measure);
                    continue;
                };
                // The estimate keeps its value within its bounds.
                let value = match end {
                    End::Low => value.min(found.value.unwrap()),
                    End::High => value.max(found.value.unwrap()),
                };
                prop_assert!((value - bound).abs() < 1e-9, "{:?} {end:?}: {value} {bound}", metric.measure);
            }
        }
    }
}

#[test]
fn what_has_no_end_cannot_be_completed() {
    let turns = Metric { range: (0.0, f64::INFINITY), ..Metric::mean("turns") };
    let trials = vec![vec![Sample::Missing { weight: 1.0 }, Sample::Scored { top: 3.0, bottom: 1.0 }]];
    let samples = Samples { trials: &trials, positions: &[0, 1], clusters: &[0, 1] };
    assert_eq!(completed(&turns, &samples, End::High), None);
    assert_eq!(completed(&turns, &samples, End::Low).unwrap()[0][0], Sample::Scored { top: 0.0, bottom: 1.0 });
}
