//! What it took.

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{grouped, waste};
use super::sections::{columns, named};
use crate::summary::{Spending, Summary};

/// Tokens, money, attempts and waste.
pub(crate) fn section(summary: &Summary) -> Section {
    let mut rows: Vec<Vec<Field>> = summary
        .rows
        .iter()
        .map(|row| {
            let mut line =
                vec![Field::name(&row.benchmark), Field::name(&row.setting), named(&row.model, row.simulated)];
            line.extend(spent(&row.spending));
            line
        })
        .collect();
    if rows.len() > 1 {
        let mut total = vec![Field::name("all"), Field::name(""), Field::name("")];
        total.extend(spent(&summary.spending));
        rows.push(total);
    }
    let judging = &summary.judging;
    let blocks = vec![
        Block::Table(Sheet {
            caption: "All attempts, whatever became of them".to_owned(),
            header: columns(&[
                "benchmark",
                "setting",
                "model",
                "attempts",
                "calls",
                "failed tries",
                "input tokens",
                "cached",
                "output tokens",
                "reasoning",
                "cost",
                "paid for nothing",
            ]),
            rows,
        }),
        Block::Facts(vec![
            ("Paid for nothing".to_owned(), waste(&summary.spending)),
            ("Spent on sessions without a score".to_owned(), summary.spending.unmeasured.to_string()),
            (
                "Judges".to_owned(),
                format!(
                    "{}; {} input and {} output tokens",
                    judging.cost,
                    grouped(judging.usage.input),
                    grouped(judging.usage.output)
                ),
            ),
        ]),
    ];
    Section { title: "Cost, attempts and waste".to_owned(), blocks }
}

fn spent(spending: &Spending) -> [Field; 9] {
    let usage = &spending.usage;
    let count = |count: u64| Field::Number(grouped(count));
    [
        count(spending.attempts),
        count(spending.calls),
        count(spending.retries),
        count(usage.input),
        count(usage.cached_input),
        count(usage.output),
        count(usage.reasoning),
        Field::number(spending.cost),
        Field::number(spending.wasted),
    ]
}
