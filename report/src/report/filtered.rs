//! The headline both ways, below the leaderboards, where filters ended sessions; nothing where they did not.

use std::fmt::Write as _;

use super::content::{Block, Field, Sheet};
use super::numbers::{counted, grouped, heading, shown};
use super::sections::{columns, named};
use crate::summary::{LeaderboardRow, MetricBothWays, Summary};

/// Each filtered row's headline metrics, in the order of the leaderboard.
fn lines(summary: &Summary) -> impl Iterator<Item = (&LeaderboardRow, u64, &MetricBothWays)> {
    let filtered = summary.rows.iter().filter_map(|row| Some((row, row.filtered.as_ref()?)));
    filtered.flat_map(|(row, both)| both.metrics.iter().map(move |metric| (row, both.sessions, metric)))
}

/// For the report.
pub(super) fn block(summary: &Summary) -> Option<Block> {
    let rows = lines(summary).map(|(row, sessions, metric)| {
        vec![
            named(&row.model, row.simulated),
            Field::name(&row.setting),
            Field::name(format!("{} ({})", heading(&metric.metric, metric.unit), metric.evaluator)),
            Field::Number(grouped(sessions)),
            Field::Estimate(metric.wrong, metric.unit),
            Field::Estimate(metric.missing, metric.unit),
        ]
    });
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| {
        Block::Table(Sheet {
            caption: "Sessions that a filter or a refusal ended, as wrong and as missing".to_owned(),
            header: columns(&["model", "setting", "metric", "filtered", "as wrong", "as missing"]),
            rows,
            ..Sheet::default()
        })
    })
}

/// For terminals; under the default evaluator, a line a metric.
pub(crate) fn text(summary: &Summary) -> String {
    let mut text = String::new();
    for (row, sessions, metric) in lines(summary) {
        if row.metrics.first().is_none_or(|first| first.evaluator != metric.evaluator) {
            continue;
        }
        let of = |estimate| shown(estimate, metric.unit);
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "filtered: {} of {} of {} · {} · {} · {} as wrong · {} as missing",
            grouped(sessions),
            counted(row.sessions.total, "session", "sessions"),
            row.model,
            row.setting,
            heading(&metric.metric, metric.unit),
            of(&metric.wrong),
            of(&metric.missing),
        );
    }
    text
}
