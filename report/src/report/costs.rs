//! Section of a report about costs: tokens, money, attempts and waste.

use std::cmp::Ordering;

use regatta_backends::ReportedCost;
use regatta_proto::Money;

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{at_most, counted, grouped, waste};
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
    let others = summary.others.iter().map(|(role, other)| {
        let tries = if other.failed_tries > 0 {
            format!(", {}", counted(other.failed_tries, "failed try", "failed tries"))
        } else {
            String::new()
        };
        (
            format!("Of it for the {role}"),
            format!("{} for {}{tries}", other.cost, counted(other.calls, "call", "calls")),
        )
    });
    let mut blocks = vec![
        Block::Table(Sheet {
            caption: "All attempts, whatever became of them".to_owned(),
            header: columns(&[
                "benchmark",
                "setting",
                "model",
                "attempts",
                "answered calls",
                "from the cache",
                "retries",
                "input tokens",
                "cached",
                "output tokens",
                "reasoning",
                "cost",
                "paid for nothing",
            ]),
            rows,
            ..Sheet::default()
        }),
        Block::Facts(
            others
                .chain(summary.at_most.map(|most| ("All that can have been billed".to_owned(), at_most(summary, most))))
                .chain([
                    ("Paid for nothing".to_owned(), waste(&summary.spending, summary.failed_tries)),
                    ("Spent on sessions without a score".to_owned(), summary.spending.unmeasured.to_string()),
                    (
                        "Judges".to_owned(),
                        format!(
                            "{}; {} input and {} output tokens",
                            judging.cost,
                            judging.usage.shown(judging.usage.input, grouped),
                            judging.usage.shown(judging.usage.output, grouped)
                        ),
                    ),
                ])
                .chain(saved(summary).map(|saved| ("Saved by the response cache".to_owned(), saved)))
                .collect(),
        ),
    ];
    blocks.extend(reported(&summary.reported));
    Section { id: "cost", title: "Cost, attempts and waste".to_owned(), is_folded: true, blocks }
}

/// Money that answers of the response cache would have cost; `None` where it saved nothing, as far as known.
pub(crate) fn saved(summary: &Summary) -> Option<String> {
    let saved = summary.saved;
    (!saved.is_none())
        .then(|| format!("{} for {}, by the prices of then", saved.cost, counted(saved.calls, "call", "calls")))
}

/// The provider's own figures beside ours, where there are any.
fn reported(reported: &ReportedCost) -> Option<Block> {
    let mut facts = Vec::new();
    if reported.calls > 0 {
        let calls = counted(reported.calls, "call", "calls");
        let beside = beside(reported.theirs, reported.ours);
        facts.push(("Cost as providers told".to_owned(), format!("{} for {calls}, {beside}", reported.theirs)));
    }
    if reported.unpriced_calls > 0 {
        facts.push((
            "Told for calls of unknown price".to_owned(),
            format!("{} for {}", reported.unpriced_theirs, counted(reported.unpriced_calls, "call", "calls")),
        ));
    }
    (!facts.is_empty()).then_some(Block::Facts(facts))
}

/// The sum that providers told, beside our own for the same calls: `2.50 % more than ours for the same ($1.00)`.
fn beside(theirs: Money, ours: Money) -> String {
    let percent = 100.0 * (theirs.dollars() / ours.dollars() - 1.0);
    match theirs.cmp(&ours) {
        Ordering::Equal => "as much as ours for the same".to_owned(),
        Ordering::Less | Ordering::Greater if ours == Money::ZERO => "ours for the same is $0".to_owned(),
        Ordering::Less => format!("{:.2} % less than ours for the same ({ours})", -percent),
        Ordering::Greater => format!("{percent:.2} % more than ours for the same ({ours})"),
    }
}

fn spent(spending: &Spending) -> [Field; 10] {
    let usage = &spending.usage;
    let count = |count: u64| Field::Number(grouped(count));
    let tokens = |count: u64| Field::Number(usage.shown(count, grouped));
    [
        count(spending.attempts),
        count(spending.calls),
        count(spending.cached_calls),
        count(spending.retries),
        tokens(usage.input),
        tokens(usage.cached_input),
        tokens(usage.output),
        tokens(usage.reasoning),
        Field::number(spending.cost),
        Field::number(spending.wasted),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_says_whose_it_is_and_of_what() {
        let told = |theirs, ours| beside(Money(theirs), Money(ours));
        assert_eq!(told(850_000, 7_350_000), "88.44 % less than ours for the same ($0.007350)");
        assert_eq!(told(1_025_000_000, 1_000_000_000), "2.50 % more than ours for the same ($1.00)");
        assert_eq!(told(5, 5), "as much as ours for the same");
        assert_eq!(told(5, 0), "ours for the same is $0");
    }
}
