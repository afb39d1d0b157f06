//! Providers of the same model, side by side.

use std::collections::BTreeSet;

use regatta_proto::{ErrorClass, Evaluator};

use super::content::{Block, Field, Plot, Point, Section, Sheet};
use super::numbers::{NOTHING, grouped, heading, percent, signed};
use super::sections::{columns, named};
use crate::comparison::{Comparison, Percentiles, Provider};
use crate::statistics::level;
use crate::summary::Summary;

/// Quality, money, time and trouble of every provider; `None` when no model has more than one.
pub(crate) fn section(summary: &Summary) -> Option<Section> {
    if summary.comparisons.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Text(format!(
        "The same model through several endpoints, over the same items and seeds. Differences are to the first endpoint, item by item, \
         with a {} interval: one that holds 0 is no difference that this sweep can show. Percentiles are over all calls of all workers, \
         to within 1 %.",
        level()
    ))];
    for comparison in &summary.comparisons {
        blocks.extend(evaluators(comparison).into_iter().map(|evaluator| quality(comparison, evaluator)));
        blocks.push(Block::Plot(plot(comparison)));
        blocks.push(money_and_time(comparison));
        blocks.extend(errors(comparison));
        blocks.push(served(comparison));
    }
    Some(Section { title: "Providers compared".to_owned(), blocks })
}

fn caption(comparison: &Comparison, what: &str) -> String {
    format!("{} · {} · {} · {what}", comparison.family, comparison.benchmark, comparison.setting)
}

fn name(provider: &Provider) -> Field {
    named(&provider.model, provider.simulated)
}

fn evaluators(comparison: &Comparison) -> BTreeSet<Evaluator> {
    comparison.providers.iter().flat_map(|provider| &provider.quality).map(|quality| quality.evaluator).collect()
}

fn quality(comparison: &Comparison, evaluator: Evaluator) -> Block {
    let mut header = columns(&["provider"]);
    if let Some(first) = comparison.providers.first() {
        for quality in first.quality.iter().filter(|quality| quality.evaluator == evaluator) {
            header.push(heading(&quality.metric, quality.unit));
            header.push("difference".to_owned());
        }
    }
    header.push("coverage".to_owned());
    let rows = comparison.providers.iter().map(|provider| {
        let mut row = vec![name(provider)];
        for quality in provider.quality.iter().filter(|quality| quality.evaluator == evaluator) {
            row.push(Field::Estimate(quality.estimate, quality.unit));
            let difference = quality.difference.as_ref();
            let difference =
                difference.map_or_else(|| NOTHING.to_owned(), |difference| signed(difference, quality.unit));
            row.push(Field::Number(difference));
        }
        row.push(Field::Number(percent(provider.sessions.coverage())));
        row
    });
    Block::Table(Sheet {
        caption: caption(comparison, &format!("quality by evaluator {evaluator}")),
        header,
        rows: rows.collect(),
    })
}

fn money_and_time(comparison: &Comparison) -> Block {
    let money = |money: Option<regatta_proto::Money>| {
        Field::Number(money.map_or_else(|| "unknown".to_owned(), |money| money.to_string()))
    };
    let seconds = |of: Option<Percentiles>| match of {
        Some(Percentiles { p50, p90, p99 }) => [p50, p90, p99].map(|value| Field::Number(format!("{value:.3}"))),
        None => [(); 3].map(|()| Field::number(NOTHING)),
    };
    let rows = comparison.providers.iter().map(|provider| {
        let mut row = vec![name(provider), Field::number(provider.cost)];
        row.extend([money(provider.cost_per_session), money(provider.cost_per_success)]);
        row.extend(seconds(provider.latency));
        row.extend(seconds(provider.first_token));
        let speed = provider.tokens_per_second.map_or_else(|| NOTHING.to_owned(), |speed| format!("{speed:.1}"));
        row.extend([Field::Number(speed), Field::Number(grouped(provider.calls))]);
        row
    });
    Block::Table(Sheet {
        caption: caption(comparison, "money and time (seconds)"),
        header: columns(&[
            "provider",
            "cost",
            "per session",
            "per success",
            "latency p50",
            "p90",
            "p99",
            "first token p50",
            "p90",
            "p99",
            "tokens/s",
            "calls",
        ]),
        rows: rows.collect(),
    })
}

fn errors(comparison: &Comparison) -> Option<Block> {
    let classes: BTreeSet<ErrorClass> =
        comparison.providers.iter().flat_map(|provider| provider.errors.keys().copied()).collect();
    if classes.is_empty() {
        return None;
    }
    let mut header = columns(&["provider", "failed tries"]);
    header.extend(classes.iter().map(|class| class.as_str().replace('_', " ")));
    let rows = comparison.providers.iter().map(|provider| {
        let mut row = vec![name(provider), Field::Number(grouped(provider.errors.values().sum()))];
        row.extend(
            classes.iter().map(|class| Field::Number(grouped(provider.errors.get(class).copied().unwrap_or(0)))),
        );
        row
    });
    Some(Block::Table(Sheet { caption: caption(comparison, "errors by class"), header, rows: rows.collect() }))
}

fn served(comparison: &Comparison) -> Block {
    let rows = comparison.providers.iter().map(|provider| {
        let by = provider.served.iter().map(|(label, calls)| format!("{label} ({})", grouped(*calls)));
        let by: Vec<String> = by.collect();
        vec![name(provider), Field::Name(if by.is_empty() { NOTHING.to_owned() } else { by.join(", ") })]
    });
    Block::Table(Sheet {
        caption: caption(comparison, "served as (calls)"),
        header: columns(&["provider", "the endpoint said"]),
        rows: rows.collect(),
    })
}

fn plot(comparison: &Comparison) -> Plot {
    let metric = comparison.providers.first().and_then(|first| first.quality.first());
    let points = comparison.providers.iter().filter_map(|provider| {
        let quality = provider.quality.first()?;
        Some(Point {
            name: provider.model.to_string(),
            x: provider.cost_per_session?.dollars(),
            y: quality.estimate.shown()?,
            y_range: quality.estimate.low.zip(quality.estimate.high),
        })
    });
    Plot {
        caption: caption(comparison, "quality and cost"),
        x_label: "dollars per session".to_owned(),
        y_label: metric.map_or_else(String::new, |quality| quality.metric.clone()),
        points: points.collect(),
    }
}
