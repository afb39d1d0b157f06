//! Pictures of what quality costs: in money and in time.

use regatta_benchmarks::{Better, Unit};

use super::content::{Block, Plot, Point, Section};
use super::numbers::heading;
use crate::decision::{Contest, contests, deciding};
use crate::summary::{LeaderboardRow, Summary};

/// Settings whose pictures stand open; of more, the rest is folded.
const OPEN_MAX: usize = 1;
/// Fewest models that are worth a picture.
const MODELS_MIN: usize = 2;

/// Two pictures for each benchmark and setting of several models; `None` without any.
pub(crate) fn section(summary: &Summary) -> Option<Section> {
    let contests = contests(summary);
    let pictures = contests.iter().map(|contest| (contest.name(), plots(summary, contest)));
    let mut pictures: Vec<(String, Vec<Plot>)> = pictures.filter(|(_, plots)| !plots.is_empty()).collect();
    if pictures.is_empty() {
        return None;
    }
    let folded = pictures.split_off(pictures.len().min(OPEN_MAX));
    let mut blocks = vec![Block::Text(format!(
        "Upwards and to the left is better; where a low value is good, downwards. Upright lines are {} intervals of the quality. The broken line \
         is the Pareto front of the values: whoever is not on it (hollow) is beaten in both by somebody who is.",
        summary.level
    ))];
    blocks.extend(pictures.into_iter().map(|(_, plots)| Block::Plots(plots)));
    blocks.extend(folded.into_iter().map(|(name, plots)| Block::Folded(name, vec![Block::Plots(plots)])));
    Some(Section { id: "tradeoffs", title: "Quality, cost and time".to_owned(), is_folded: false, blocks })
}

fn plots(summary: &Summary, contest: &Contest<'_>) -> Vec<Plot> {
    let (mut by_cost, mut by_time) = (Vec::new(), Vec::new());
    for standing in &summary.standings {
        let Some(row) = contest.row(summary, &standing.model) else { continue };
        let dollars = row.spending.per_session(row.sessions.scored(), row.cached).map(|money| money.dollars());
        by_cost.extend(point(row, dollars));
        by_time.extend(point(row, row.seconds_in_calls.map(|seconds| seconds.p50)));
    }
    let quality = heading(&contest.metric.metric, contest.metric.unit);
    let plot = |what: &str, x_label: &str, points: Vec<Point>| Plot {
        caption: format!("{} · quality and {what}", contest.name()),
        x_label: x_label.to_owned(),
        y_label: quality.clone(),
        unit: contest.metric.unit,
        is_higher_better: contest.metric.better == Better::Higher,
        points,
    };
    let plots = [
        plot("cost", "dollars a session", by_cost),
        plot("time", "seconds in model calls a session (median)", by_time),
    ];
    plots.into_iter().filter(|plot| plot.points.len() >= MODELS_MIN && plot.unit != Unit::Money).collect()
}

fn point(row: &LeaderboardRow, x: Option<f64>) -> Option<Point> {
    let metric = deciding(row)?;
    Some(Point {
        name: row.model.to_string(),
        x: x?,
        y: metric.estimate.shown()?,
        y_range: metric.estimate.low.zip(metric.estimate.high),
    })
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use regatta_backends::AttemptRow;
    use regatta_proto::Cell;

    use super::*;
    use crate::tabulation::tests::harness::{all_measured, documents_of, lock, summary, sweep};

    #[test]
    fn the_picture_of_time_is_of_model_calls_and_not_of_what_sessions_waited_for() {
        let waits = |_: &Cell, attempt: &mut AttemptRow| {
            attempt.latency_us = 1_500_000;
            attempt.ended_at = Some(attempt.started_at + SignedDuration::from_secs(50));
        };
        let found = summary(&documents_of(&sweep(lock(&["x/one", "x/two"])), &all_measured, &waits, Vec::new()));
        let plots = plots(&found, &contests(&found)[0]);
        let time = plots.iter().find(|plot| plot.caption.ends_with("quality and time")).unwrap();
        assert_eq!(time.x_label, "seconds in model calls a session (median)");
        assert_eq!(time.points.iter().map(|point| point.x).collect::<Vec<f64>>(), [1.5, 1.5]);
    }
}
