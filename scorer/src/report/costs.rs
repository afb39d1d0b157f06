//! Section of a report about costs: tokens, money, attempts and waste.

use regatta_backends::ReportedCost;

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{at_most, grouped, waste};
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
            format!(", {} failed tries", grouped(other.failed_tries))
        } else {
            String::new()
        };
        (format!("Of it for the {role}"), format!("{} for {} calls{tries}", other.cost, grouped(other.calls)))
    });
    let mut blocks = vec![
        Block::Table(Sheet {
            caption: "All attempts, whatever became of them".to_owned(),
            header: columns(&[
                "benchmark",
                "setting",
                "model",
                "attempts",
                "calls",
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
                .collect(),
        ),
    ];
    blocks.extend(reported(&summary.reported));
    Section { id: "cost", title: "Cost, attempts and waste".to_owned(), is_folded: true, blocks }
}

/// The provider's own figures beside ours, where there are any.
fn reported(reported: &ReportedCost) -> Option<Block> {
    let mut facts = Vec::new();
    if reported.calls > 0 {
        let off = (reported.theirs.dollars() / reported.ours.dollars().max(1e-9) - 1.0) * 100.0;
        facts.push((
            "Cost as providers told".to_owned(),
            format!(
                "{} for {} calls, {off:+.2} % from ours for the same calls, {}",
                reported.theirs,
                grouped(reported.calls),
                reported.ours
            ),
        ));
    }
    if reported.unpriced_calls > 0 {
        facts.push((
            "Told for calls of unknown price".to_owned(),
            format!("{} for {} calls", reported.unpriced_theirs, grouped(reported.unpriced_calls)),
        ));
    }
    (!facts.is_empty()).then_some(Block::Facts(facts))
}

fn spent(spending: &Spending) -> [Field; 9] {
    let usage = &spending.usage;
    let count = |count: u64| Field::Number(grouped(count));
    let tokens = |count: u64| Field::Number(usage.shown(count, grouped));
    [
        count(spending.attempts),
        count(spending.calls),
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
    use regatta_proto::Money;

    use super::*;

    #[test]
    fn how_far_off_a_provider_is_stands_beside_its_own_figure() {
        let told =
            ReportedCost { calls: 80, theirs: Money(850_000), ours: Money(7_350_000), ..ReportedCost::default() };
        let Some(Block::Facts(facts)) = reported(&told) else { panic!("no facts") };
        let expected = "$0.0008500 for 80 calls, -88.44 % from ours for the same calls, $0.007350";
        assert_eq!(facts, [("Cost as providers told".to_owned(), expected.to_owned())]);
    }
}
