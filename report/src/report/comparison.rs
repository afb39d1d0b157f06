//! Providers of the same model, side by side.

use std::collections::BTreeSet;

use regatta_proto::{ErrorClass, Evaluator};

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{NOTHING, each_cost, grouped, heading, per_session, percent, signed};
use super::sections::{columns, named};
use crate::comparison::{Comparison, Percentiles, Provider};
use crate::statistics::Difference;
use crate::summary::{LeaderboardRow, Summary};

/// Quality, money, time and trouble of every provider; `None` when no model has more than one.
pub(crate) fn section(summary: &Summary) -> Option<Section> {
    if summary.comparisons.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Text(format!(
        "The same model through several endpoints, over the same items and seeds. Differences are to the first endpoint, item by item, \
         with a {} interval: one that holds 0 is no difference that this sweep can show. Sessions are timed with their retries and waits; calls \
         from sending their last try, over all workers, to within 1 %. Tokens a second are of streamed answers.",
        summary.level
    ))];
    for (at, comparison) in summary.comparisons.iter().enumerate() {
        let mut of: Vec<Block> =
            evaluators(comparison).into_iter().map(|evaluator| quality(summary, comparison, evaluator)).collect();
        of.push(money_and_time(summary, comparison));
        let mut details: Vec<Block> = errors(comparison).into_iter().collect();
        details.push(served(comparison));
        of.push(Block::Folded(caption(comparison, "errors, and what answered"), details));
        match at {
            0 => blocks.extend(of),
            _ => blocks.push(Block::Folded(caption(comparison, "quality, money and time"), of)),
        }
    }
    Some(Section { id: "providers", title: "Providers compared".to_owned(), is_folded: false, blocks })
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

/// The leaderboard's row of a provider.
fn row_of<'s>(summary: &'s Summary, comparison: &Comparison, provider: &Provider) -> Option<&'s LeaderboardRow> {
    let own = |row: &&LeaderboardRow| {
        row.benchmark == comparison.benchmark && row.setting == comparison.setting && row.model == provider.model
    };
    summary.rows.iter().find(own)
}

fn quality(summary: &Summary, comparison: &Comparison, evaluator: Evaluator) -> Block {
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
            let is_seen = quality.difference.as_ref().is_some_and(excludes_zero);
            row.push(if is_seen { Field::Significant(difference) } else { Field::Number(difference) });
        }
        let coverage = row_of(summary, comparison, provider).map_or(0.0, |row| row.coverage);
        row.push(Field::Number(percent(coverage)));
        row
    });
    Block::Table(Sheet {
        of: Some((comparison.benchmark.clone(), evaluator)),
        caption: caption(comparison, &format!("quality by evaluator {evaluator}")),
        header,
        rows: rows.collect(),
        ..Sheet::default()
    })
}

/// `true` if enough was measured, and the interval holds no zero.
fn excludes_zero(difference: &Difference) -> bool {
    if difference.withheld {
        return false;
    }
    difference.low.is_some_and(|low| low > 0.0) || difference.high.is_some_and(|high| high < 0.0)
}

fn money_and_time(summary: &Summary, comparison: &Comparison) -> Block {
    let seconds = |of: Option<Percentiles>| match of {
        Some(Percentiles { p50, p90, p99, n: _ }) => [p50, p90, p99].map(|value| Field::Number(format!("{value:.3}"))),
        None => [(); 3].map(|()| Field::number(NOTHING)),
    };
    let rows = comparison.providers.iter().map(|provider| {
        let mut row = vec![name(provider), Field::number(provider.cost)];
        let own = row_of(summary, comparison, provider);
        let (cached, answered) = own.map_or_else(Default::default, |row| (row.cached, row.spending.of_answered()));
        let cut_off = own.map_or(0, |row| row.spending.cut_off);
        let of_session = per_session(provider.cost_per_session, cut_off, provider.sessions.scored());
        let of_success = provider.cost_per_success.map(|money| money.to_string());
        row.extend([of_session, of_success].map(|money| Field::Number(each_cost(money, cached, answered))));
        row.extend(match own.filter(|row| row.cached > 0) {
            Some(_) => ["cached", NOTHING, NOTHING].map(Field::number),
            None => seconds(own.and_then(|row| row.session_seconds)),
        });
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
            "session p50",
            "p90",
            "p99",
            "call p50",
            "p90",
            "p99",
            "first token p50",
            "p90",
            "p99",
            "tokens/s",
            "calls",
        ]),
        rows: rows.collect(),
        ..Sheet::default()
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
        let failed = provider.errors.values().copied().fold(0, u64::saturating_add);
        let mut row = vec![name(provider), Field::Number(grouped(failed))];
        row.extend(
            classes.iter().map(|class| Field::Number(grouped(provider.errors.get(class).copied().unwrap_or(0)))),
        );
        row
    });
    Some(Block::Table(Sheet {
        caption: caption(comparison, "errors by class"),
        header,
        rows: rows.collect(),
        ..Sheet::default()
    }))
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
        ..Sheet::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use regatta_backends::AttemptRow;
    use regatta_proto::{Cause, Cell, Outcome};

    use crate::tabulation::tests::harness::{all_measured, documents, documents_of, lock, summary, sweep};

    #[test]
    fn a_provider_has_the_coverage_of_what_leaderboards_show() {
        let mut found = summary(&documents(&sweep(lock(&["x/one", "y/one"])), &all_measured));
        let graded = |row: &&mut LeaderboardRow| row.model.to_string() == "x/one";
        // The judge gave no grade in half of its sessions: they have a score, and none of the metric that leads.
        found.rows.iter_mut().find(graded).unwrap().coverage = 0.5;
        let [comparison] = found.comparisons.as_slice() else { panic!("{:?}", found.comparisons) };
        let Block::Table(sheet) = quality(&found, comparison, Evaluator::Official) else { panic!("a table") };
        let coverage = sheet.rows.iter().map(|row| match row.last() {
            Some(Field::Number(coverage)) => coverage.as_str(),
            _ => "none",
        });
        assert_eq!(coverage.collect::<Vec<_>>(), [percent(0.5), percent(1.0)]);
    }

    /// Costs of a session and of a success of the first provider, whose sessions end as `end` says and whose attempts are as `change` makes them.
    fn each(end: &Outcome, change: &dyn Fn(&mut AttemptRow)) -> [String; 2] {
        let end = end.clone();
        let is_first = |cell: &Cell| cell.model.to_string() == "x/one";
        let outcome = move |cell: &Cell, _: usize| Some(if is_first(cell) { end.clone() } else { Outcome::Measured });
        let change = |cell: &Cell, attempt: &mut AttemptRow| {
            if is_first(cell) {
                change(attempt);
            }
        };
        let found = summary(&documents_of(&sweep(lock(&["x/one", "y/one"])), &outcome, &change, Vec::new()));
        let [comparison] = found.comparisons.as_slice() else { panic!("{:?}", found.comparisons) };
        let Block::Table(sheet) = money_and_time(&found, comparison) else { panic!("a table") };
        [2, 3].map(|at| match &sheet.rows[0][at] {
            Field::Number(shown) => shown.clone(),
            _ => panic!("a number"),
        })
    }

    #[test]
    fn only_a_price_that_nobody_knows_is_unknown() {
        let cached = each(&Outcome::Measured, &|attempt| attempt.cached_calls = Some(attempt.calls));
        assert_eq!(cached, ["cached", "cached"], "nobody paid for it now");
        let filtered = each(&Outcome::ModelFailure { cause: Cause::ContentFilter }, &|_| ());
        assert_eq!(filtered, [NOTHING, NOTHING], "nothing was answered");
        let lost = each(&Outcome::NotMeasured { cause: Cause::Timeout }, &|attempt| attempt.cost.unknown_calls = 1);
        assert_eq!(lost, [NOTHING, NOTHING], "nothing was answered, whatever it cost");
        let unpriced = each(&Outcome::Measured, &|attempt| attempt.cost.unknown_calls = 1);
        assert_eq!(unpriced, ["unknown", "unknown"]);
    }
}
