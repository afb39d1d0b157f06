//! Values as the judge of an audit would have them, the bias of the judge whose scores count, and what the audit cost.

use regatta_benchmarks::Unit;
use regatta_proto::{ModelRef, Money};

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{NOTHING, counted, grouped, heading, interval, score, signed_interval};
use super::sections::{columns, model};
use crate::statistics::{Audited, AuditedNumber};
use crate::summary::{AuditFindings, AuditGap, AuditedDifference, Summary};
use crate::tabulation::GroupResult;

const TITLE: &str = "Audit of the judge";

/// Estimates, biases and bills of all audits; `None` without an audit.
pub(super) fn section(summary: &Summary, groups: &[GroupResult]) -> Option<Section> {
    if summary.audits.is_empty() {
        return None;
    }
    let mut blocks = vec![
        Block::Text(
            "A second judge judged a random part of the items, the same ones for all models. Corrected values estimate what it would have \
             said of all: they are its values of that part, moved by what the cheaper judge says of the others, as far as the two agree \
             (the weight). Their intervals hold whatever the cheaper judge is like, and are never longer than those of the audit alone. \
             Leaderboards and results have the scores of the cheaper judge."
                .to_owned(),
        ),
        Block::List("Audits".to_owned(), summary.audits.iter().map(bill).collect()),
    ];
    blocks.extend(missing_audits(&summary.audits).map(Block::Text));
    let of_headlines = |group| headlines(group).map(move |(name, unit, _, at)| (group, name, unit, at));
    let values: Vec<Vec<Field>> = groups
        .iter()
        .flat_map(of_headlines)
        .filter_map(|(group, name, unit, at)| {
            let estimate = &group.estimates[at];
            let mut line = vec![model(group), place(group), Field::name(name)];
            line.push(Field::Number(score(estimate.shown(), unit)));
            line.extend(corrected(estimate.audited.as_ref()?, unit));
            Some(line)
        })
        .collect();
    if values.is_empty() {
        blocks.push(Block::Text(
            "No value is corrected: too little was audited, or no metric on leaderboards that the judge decides is a mean over items."
                .to_owned(),
        ));
        return Some(Section { id: "audit", title: TITLE.to_owned(), is_folded: false, blocks });
    }
    let header =
        ["model", "setting", "metric", "cheaper judge", "corrected", "audit alone", "weight", "audited items", "worth"];
    blocks.push(table("Values corrected by the audit", &header, values));
    let biases: Vec<Vec<Field>> = groups.iter().flat_map(biases).collect();
    let header = ["model", "setting", "metric", "task", "audited items", "bias of the cheaper judge"];
    blocks.push(table("How much higher the cheaper judge's values of the audited items are", &header, biases));
    let differences: Vec<Vec<Field>> =
        summary.audits.iter().flat_map(|of| &of.differences).map(|of| difference(summary, of)).collect();
    if !differences.is_empty() {
        let header = ["difference", "setting", "metric", "corrected", "audit alone", "bias in favour of the first"];
        blocks.push(table(
            "Differences between models, corrected by the audit (one by one, not for their number)",
            &header,
            differences,
        ));
    }
    Some(Section { id: "audit", title: TITLE.to_owned(), is_folded: false, blocks })
}

/// A sentence on the audits that are missing in each of `audits`, and one on each that is not missing at random.
pub(crate) fn missing_audits(audits: &[AuditFindings]) -> impl Iterator<Item = String> {
    audits.iter().filter_map(|of| Some((of, of.missing.as_ref()?))).flat_map(|(of, missing)| {
        let mut said = Vec::new();
        if missing.sessions > 0 {
            let were = if missing.sessions == 1 { "was" } else { "were" };
            said.push(format!(
                "{} of {} {were} not audited by {}",
                grouped(missing.sessions),
                counted(missing.sampled, "sampled session", "sampled sessions"),
                of.judge
            ));
        }
        if missing.ungraded > 0 {
            said.push(format!(
                "{} gave no grade in {}",
                of.judge,
                counted(missing.ungraded, "audited session", "audited sessions")
            ));
        }
        let first = format!(
            "{}: corrected values are estimated without their items, and hold for all only if these are missing at random. `regatta rescore` \
             asks for the verdicts that are missing.",
            said.join("; ")
        );
        std::iter::once(first).chain(missing.gaps.iter().map(gap)).collect::<Vec<_>>()
    })
}

fn gap(of: &AuditGap) -> String {
    let AuditGap { benchmark, setting, model, evaluator, metric, unit, gap } = of;
    format!(
        "Audits of {model} in {benchmark} {setting} are not missing at random: the cheaper judge gives a {} ({evaluator}) of {} to the items \
         without an audit, and of {} to those with one. Its corrected value may be biased.",
        heading(metric, *unit),
        score(Some(gap.missing), *unit),
        score(Some(gap.audited), *unit)
    )
}

fn table(caption: &str, header: &[&str], rows: Vec<Vec<Field>>) -> Block {
    Block::Table(Sheet { caption: caption.to_owned(), header: columns(header), rows, ..Sheet::default() })
}

/// A sentence on what an audit cost, and what it saved.
fn bill(of: &AuditFindings) -> String {
    let benchmarks: Vec<&str> = of.benchmarks.iter().map(|name| name.as_str()).collect();
    let judged = format!(
        "{} judged {} of {} of {}",
        of.judge,
        grouped(of.audited),
        counted(of.sessions, "measured session", "measured sessions"),
        benchmarks.join(", ")
    );
    match (of.cost, of.cost_of_all) {
        (Some(cost), Some(all)) => {
            let saved = Money(all.0.saturating_sub(cost.known.0));
            format!("{judged}, for {cost}. To judge all of them would have cost about {all}: {saved} more.")
        }
        (Some(cost), None) => format!("{judged}, for {cost}. What all would have cost is unknown."),
        (None, _) => {
            format!(
                "{judged}. One of its models judges something else too, so that the cost of the audit cannot be told apart."
            )
        }
    }
}

fn place(group: &GroupResult) -> Field {
    Field::name(format!("{} · {}", group.first.benchmark, group.first.setting))
}

/// Name, unit and position of the metrics on leaderboards that an audit corrects.
fn headlines(group: &GroupResult) -> impl Iterator<Item = (String, Unit, &Audited, usize)> {
    group.headline.iter().filter(|at| !group.estimates[**at].withheld).filter_map(|at| {
        let (evaluator, metric) = &group.keys[*at];
        let name = format!("{} ({evaluator})", heading(&metric.name, metric.unit));
        Some((name, metric.unit, group.estimates[*at].audited.as_ref()?, *at))
    })
}

/// Corrected value, that of the audit alone, weight, items and how many they are worth.
fn corrected(of: &Audited, unit: Unit) -> [Field; 5] {
    [
        Field::Number(with_interval(&of.estimate, unit)),
        Field::Number(with_interval(&of.alone, unit)),
        Field::Number(format!("{:.2}", of.weight)),
        Field::number(of.items),
        Field::Number(format!("{:.0} items", (of.saving * f64::from(of.items)).floor())),
    ]
}

fn with_interval(of: &AuditedNumber, unit: Unit) -> String {
    format!("{} {}", score(Some(of.value), unit), interval(of.low, of.high, unit))
}

/// Biases about one model: of all its items, and by task where there are several.
fn biases(group: &GroupResult) -> Vec<Vec<Field>> {
    let mut lines = Vec::new();
    for (name, unit, all, at) in headlines(group) {
        let mut add = |task: &str, of: &Audited| {
            lines.push(vec![
                model(group),
                place(group),
                Field::name(&name),
                Field::name(task),
                Field::number(of.items),
                Field::Number(signed_interval((of.bias.value, of.bias.low, of.bias.high), unit)),
            ]);
        };
        add(NOTHING, all);
        if group.tasks.len() > 1 {
            let tasks = group.tasks.iter().filter_map(|task| Some((&task.name, task.estimates[at].audited.as_ref()?)));
            tasks.for_each(|(task, of)| add(task, of));
        }
    }
    lines
}

fn difference(summary: &Summary, of: &AuditedDifference) -> Vec<Field> {
    let is_simulated = |model: &ModelRef| summary.rows.iter().any(|row| row.model == *model && row.simulated);
    let pair = format!("{} − {}", of.one, of.other);
    let simulated = is_simulated(&of.one) || is_simulated(&of.other);
    let signed = |of: &AuditedNumber, unit| Field::Number(signed_interval((of.value, of.low, of.high), unit));
    vec![
        if simulated { Field::Simulated(pair) } else { Field::Name(pair) },
        Field::name(format!("{} · {}", of.benchmark, of.setting)),
        Field::name(format!("{} ({})", heading(&of.metric, of.unit), of.evaluator)),
        signed(&of.difference.estimate, of.unit),
        signed(&of.difference.alone, of.unit),
        signed(&of.difference.bias, of.unit),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_of_an_audit_is_said_and_what_is_not_missing_at_random() {
        let of: AuditFindings = serde_json::from_value(json!({
            "judge": "dear/judge", "benchmarks": ["polite"], "audited": 1500, "sessions": 9000,
            "missing": {
                "sessions": 1200, "sampled": 2700, "ungraded": 1,
                "gaps": [{
                    "benchmark": "polite", "setting": "default", "model": "sim/first", "evaluator": "declared", "metric": "polite",
                    "unit": "percent", "audited": 0.75, "missing": 0.5,
                }],
            },
        }))
        .unwrap();
        insta::assert_snapshot!(missing_audits(&[of]).collect::<Vec<_>>().join("\n"), @r"
        1,200 of 2,700 sampled sessions were not audited by dear/judge; dear/judge gave no grade in 1 audited session: corrected values are estimated without their items, and hold for all only if these are missing at random. `regatta rescore` asks for the verdicts that are missing.
        Audits of sim/first in polite default are not missing at random: the cheaper judge gives a polite, % (declared) of 50.0 to the items without an audit, and of 75.0 to those with one. Its corrected value may be biased.
        ");
    }
}
