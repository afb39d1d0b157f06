//! Models, settings and casts against each other: in the report, and in a few lines for terminals.

use regatta_benchmarks::Unit;
use regatta_proto::Level;

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{NOTHING, bounds, grouped, heading, p_value, percent, signed};
use super::sections::columns;
use crate::pairs::{Contestant, Pair, PairFamily};
use crate::statistics::{Difference, Test};
use crate::summary::Summary;

/// Differences that a terminal shows, and pairs without one that it names; the report has all.
const SHOWN: usize = 10;

/// Every pair of every benchmark; `None` without any.
pub(crate) fn section(summary: &Summary) -> Option<Section> {
    if summary.pairs.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Text(format!(
        "Every model against every other of its setting, and every setting and cast of a model against every other, over the items and \
         trials that both have a score of. Intervals are of each pair alone; p-values are corrected for all pairs of the benchmark (Holm), \
         and a difference is one where the corrected p-value is at most {}. Of all others this sweep does not tell which is better: they \
         are tied.",
        summary.level.alpha()
    ))];
    if summary.pairs.iter().flat_map(|family| &family.pairs).any(|pair| pair.difference.missing.is_some()) {
        blocks.push(Block::Text(format!(
            "Where sessions are missing, intervals and p-values hold whatever these would have scored. Beside them stands the difference \
             over the sessions that both have, as if the others were missing at random, and its bounds: with all that is missing wrong for \
             the first and right for the second, and the other way round. With less than {} of the sessions nothing is claimed.",
            percent(summary.coverage_min)
        )));
    }
    for family in &summary.pairs {
        if family.with_best_only {
            blocks.push(Block::Text(format!(
                "{} has {} pairs, too many for all of them: each contestant is compared with the best, and p-values are corrected for all.",
                family.benchmark,
                grouped(family.size.into())
            )));
        }
        blocks.push(Block::Table(sheet(family, summary.level)));
    }
    Some(Section { id: "pairs", title: "Compared in pairs".to_owned(), is_folded: true, blocks })
}

fn sheet(family: &PairFamily, level: Level) -> Sheet {
    let caption = format!("{} · p-values corrected over {} (Holm)", family.benchmark, pairs(family.size));
    let mut header =
        columns(&["pair", "reads", "metric", "difference", "p", "p, corrected", "test", "items", "clusters"]);
    let is_any_missing = family.pairs.iter().any(|pair| pair.difference.missing.is_some());
    if is_any_missing {
        header.extend(columns(&["sessions of both", "difference of these", "p", "bounds"]));
    }
    let rows = family.pairs.iter().map(|pair| {
        let Difference { n, clusters, p, test, .. } = pair.difference;
        let mut row = vec![
            Field::name(both(pair, &pair.one, &pair.other, " − ", Mark::Word)),
            match pair.order(level) {
                Some(_) => Field::Strong(reads(pair, level)),
                None => Field::Name(reads(pair, level)),
            },
            Field::name(format!("{} ({})", heading(&pair.metric, pair.unit), pair.evaluator)),
            Field::Number(signed(&pair.difference, pair.unit)),
            Field::Number(p.map_or_else(|| NOTHING.to_owned(), p_value)),
            Field::Number(pair.p_holm.map_or_else(|| NOTHING.to_owned(), p_value)),
            Field::name(test.map_or(NOTHING, name)),
            Field::Number(grouped(n.into())),
            Field::Number(grouped(clusters.into())),
        ];
        if is_any_missing {
            row.extend(of_missing(&pair.difference, pair.unit));
        }
        row
    });
    Sheet { caption, header, rows: rows.collect(), ..Sheet::default() }
}

/// Part of the sessions that has a score in both; difference and p-value of these alone; bounds.
fn of_missing(of: &Difference, unit: Unit) -> [Field; 4] {
    match of.missing {
        None => [Field::Number(percent(1.0)), Field::number(NOTHING), Field::number(NOTHING), Field::number(NOTHING)],
        Some(missing) => [
            Field::Number(percent(missing.coverage)),
            Field::Number(signed(&of.complete(), unit)),
            Field::Number(missing.complete_p.map_or_else(|| NOTHING.to_owned(), p_value)),
            Field::Number(bounds(&missing, unit)),
        ],
    }
}

fn pairs(count: u32) -> String {
    if count == 1 { "1 pair".to_owned() } else { format!("{} pairs", grouped(count.into())) }
}

const fn name(test: Test) -> &'static str {
    match test {
        Test::Mcnemar => "McNemar, exact",
        Test::AllFlips => "sign-flips, all",
        Test::SampledFlips => "sign-flips, 9,999",
        Test::FlipsBound => "sign-flips, bound",
        Test::Score => "score test",
    }
}

/// Mark of a simulated model.
#[derive(Clone, Copy)]
enum Mark {
    Word,
    Star,
}

/// A model is never shown without saying that it is simulated.
fn model(of: &Contestant, mark: Mark) -> String {
    match (of.simulated, mark) {
        (false, _) => of.model.to_string(),
        (true, Mark::Word) => format!("{} (simulated)", of.model),
        (true, Mark::Star) => format!("{} *", of.model),
    }
}

/// `two-shot: a > b`, in the words that tell both apart.
fn both(pair: &Pair, first: &Contestant, second: &Contestant, between: &str, mark: Mark) -> String {
    match pair.is_of_models() {
        true => format!("{}: {}{between}{}", pair.one.setting, model(first, mark), model(second, mark)),
        false => format!("{}: {}{between}{}", model(&pair.one, mark), first.setting, second.setting),
    }
}

fn reads(pair: &Pair, level: Level) -> String {
    match pair.order(level) {
        Some((better, worse)) if pair.is_of_models() => {
            format!("{} > {}", model(better, Mark::Word), model(worse, Mark::Word))
        }
        Some((better, worse)) => format!("{} > {}", better.setting, worse.setting),
        None => unseen(pair, level),
    }
}

/// Words for a pair of which neither is claimed to be better.
fn unseen(pair: &Pair, level: Level) -> String {
    match pair.difference.missing {
        Some(missing) if pair.difference.withheld => {
            format!("withheld: {} of the sessions have a score in both", percent(missing.coverage))
        }
        _ if pair.difference.clusters < 2 => "not compared: one group of items alone".to_owned(),
        Some(_) if pair.difference.may_turn(level) => "missing sessions could turn it".to_owned(),
        Some(_) | None => "no difference seen".to_owned(),
    }
}

/// The differences of each benchmark, largest evidence first, and how many pairs show none; empty without pairs.
pub(crate) fn lines(summary: &Summary) -> Vec<String> {
    lines_of(&summary.pairs, summary.level)
}

fn lines_of(families: &[PairFamily], level: Level) -> Vec<String> {
    let mut lines = Vec::new();
    for family in families {
        lines.push(format!("{} · compared in pairs, by item and trial (a > b: a is better)", family.benchmark));
        let mut different: Vec<&Pair> = family.pairs.iter().filter(|pair| pair.order(level).is_some()).collect();
        // All of them have a p-value, or they would not be different.
        let p = |pair: &Pair| pair.p_holm.unwrap_or(1.0);
        different.sort_by(|one, other| p(one).total_cmp(&p(other)));
        lines.extend(different.iter().take(SHOWN).filter_map(|pair| difference(pair, family.size, level)));
        if different.len() > SHOWN {
            lines.push(format!("  and {} more differences, in the report", different.len() - SHOWN));
        }
        let tied: Vec<&Pair> = family.pairs.iter().filter(|pair| pair.order(level).is_none()).collect();
        match tied.len() {
            0..=SHOWN => {
                lines.extend(tied.iter().map(|pair| {
                    format!("  {}: {}", both(pair, &pair.one, &pair.other, ", ", Mark::Star), unseen(pair, level))
                }));
            }
            many => lines.push(format!("  no difference seen in {many} pairs, which are in the report")),
        }
    }
    lines
}

/// `two-shot: a > b: +4.1 [+1.2, +7.0] points, p = 0.003 (Holm over 6)`.
fn difference(pair: &Pair, size: u32, level: Level) -> Option<String> {
    let (better, worse) = pair.order(level)?;
    let of = if *better == pair.one { pair.difference } else { pair.difference.turned() };
    let shown = signed(&of, pair.unit);
    let unit = match pair.unit {
        Unit::Percent => " points",
        Unit::Turns => " turns",
        Unit::Money => " $",
        Unit::Plain | Unit::OutOfTen => "",
    };
    let p = p_value(pair.p_holm?);
    let p = if p.starts_with('<') { format!("p {p}") } else { format!("p = {p}") };
    let missing = of.missing.map(|missing| {
        let coverage = percent(missing.coverage);
        format!("; {coverage} of the sessions have both, {} whatever the others would be", bounds(&missing, pair.unit))
    });
    let missing = missing.unwrap_or_default();
    Some(format!("  {}: {shown}{unit}, {p} (Holm over {size}){missing}", both(pair, better, worse, " > ", Mark::Star)))
}

#[cfg(test)]
mod tests;
