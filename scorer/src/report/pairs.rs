//! Models, settings and casts against each other: in the report, and in a few lines for terminals.

use regatta_benchmarks::Unit;
use regatta_proto::Level;

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{NOTHING, grouped, heading, p_value, signed};
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
    let header = columns(&["pair", "reads", "metric", "difference", "p", "p, corrected", "test", "items", "clusters"]);
    let rows = family.pairs.iter().map(|pair| {
        let Difference { n, clusters, p, test, .. } = pair.difference;
        vec![
            Field::name(both(pair, &pair.one, &pair.other, " − ", Mark::Word)),
            match pair.order(level) {
                Some(_) => Field::Strong(reads(pair, level)),
                None => Field::Name(reads(pair, level)),
            },
            Field::name(format!("{} ({})", heading(&pair.metric, pair.unit), pair.evaluator)),
            Field::Number(signed(&pair.difference, pair.unit)),
            Field::Number(p.map_or_else(|| NOTHING.to_owned(), p_value)),
            Field::Number(p_value(pair.p_holm)),
            Field::name(test.map_or(NOTHING, name)),
            Field::Number(grouped(n.into())),
            Field::Number(grouped(clusters.into())),
        ]
    });
    Sheet { caption, header, rows: rows.collect(), ..Sheet::default() }
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
        None => "no difference seen".to_owned(),
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
        different.sort_by(|one, other| one.p_holm.total_cmp(&other.p_holm));
        lines.extend(different.iter().take(SHOWN).filter_map(|pair| difference(pair, family.size, level)));
        if different.len() > SHOWN {
            lines.push(format!("  and {} more differences, in the report", different.len() - SHOWN));
        }
        let tied: Vec<&Pair> = family.pairs.iter().filter(|pair| pair.order(level).is_none()).collect();
        match tied.len() {
            0..=SHOWN => {
                lines.extend(tied.iter().map(|pair| {
                    format!("  {}: no difference seen", both(pair, &pair.one, &pair.other, ", ", Mark::Star))
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
    let turned = Difference {
        value: -pair.difference.value,
        low: pair.difference.high.map(|high| -high),
        high: pair.difference.low.map(|low| -low),
        ..pair.difference
    };
    let shown = signed(if *better == pair.one { &pair.difference } else { &turned }, pair.unit);
    let unit = match pair.unit {
        Unit::Percent => " points",
        Unit::Turns => " turns",
        Unit::Money => " $",
        Unit::Plain | Unit::OutOfTen => "",
    };
    let p = p_value(pair.p_holm);
    let p = if p.starts_with('<') { format!("p {p}") } else { format!("p = {p}") };
    Some(format!("  {}: {shown}{unit}, {p} (Holm over {size})", both(pair, better, worse, " > ", Mark::Star)))
}

#[cfg(test)]
mod tests;
