//! A sentence on every alternative: its quality, money and time beside those of what it would replace.

use regatta_benchmarks::Unit;
use regatta_proto::{Level, ModelRef, Money};

use super::{Contest, contests};
use crate::comparison::Comparison;
use crate::pairs::{ModelOrders, Pair};
use crate::report::numbers::{bounds, grouped, magnitude, percent, signed};
use crate::statistics::{PairedRatio, RatioOfRun};
use crate::summary::{Standing, Summary};

/// Differences within this part of a scale, or of an amount, are small enough to call two qualities, or costs, the same.
const SAME_WITHIN: f64 = 0.05;
/// Most sentences.
const SENTENCES_MAX: usize = 8;
/// Most settings that are named in one sentence.
const NAMED_MAX: usize = 2;

/// A sentence for every family that several endpoints serve, and, where the sweep has several models, one for each that is not first.
pub(crate) fn sentences(summary: &Summary) -> Vec<String> {
    if summary.decided.is_some() {
        // The sequences say it, with bounds that hold whenever the sweep stopped.
        return Vec::new();
    }
    let contests = contests(summary);
    let mut lines = Vec::new();
    let mut told: Vec<&ModelRef> = Vec::new();
    for (family, providers) in families(&summary.comparisons) {
        let [first, others @ ..] = providers.as_slice() else { continue };
        let clauses = others.iter().filter_map(|other| clause(summary, &contests, first, other));
        let clauses: Vec<String> = clauses.map(|(model, text)| format!("{model}: {text}")).collect();
        if !clauses.is_empty() {
            lines.push(format!("{family}, against {first}: {}.", clauses.join("; ")));
        }
        told.extend(others.iter().copied());
    }
    let mut rest = summary.standings.iter().filter(|standing| !told.contains(&&standing.model));
    if let Some(first) = rest.next() {
        for other in rest {
            if let Some((model, text)) = clause(summary, &contests, &first.model, &other.model) {
                lines.push(format!("{model}, against {}: {text}.", first.model));
            }
        }
    }
    let more = lines.len().saturating_sub(SENTENCES_MAX);
    lines.truncate(SENTENCES_MAX);
    if more > 0 {
        lines.push(format!("{more} more models are in the ranking."));
    }
    lines
}

/// Models that several endpoints serve, by family; the first of each is what the others are compared with.
fn families(comparisons: &[Comparison]) -> Vec<(&str, Vec<&ModelRef>)> {
    let mut families: Vec<(&str, Vec<&ModelRef>)> = Vec::new();
    for comparison in comparisons {
        if families.iter().any(|(family, _)| *family == comparison.family) {
            continue;
        }
        families.push((&comparison.family, comparison.providers.iter().map(|provider| &provider.model).collect()));
    }
    families
}

/// Every model that there is a sentence on, behind the one that it is compared with.
pub(crate) fn alternatives<'s>(
    comparisons: &'s [Comparison],
    standings: &'s [Standing],
) -> Vec<(&'s ModelRef, &'s ModelRef)> {
    let mut found: Vec<(&ModelRef, &ModelRef)> = Vec::new();
    for (_, providers) in families(comparisons) {
        let [first, others @ ..] = providers.as_slice() else { continue };
        found.extend(others.iter().map(|other| (*first, *other)));
    }
    let rest = standings.iter().map(|standing| &standing.model);
    let rest: Vec<&ModelRef> = rest.filter(|model| !found.iter().any(|(_, other)| other == model)).collect();
    if let [first, others @ ..] = rest.as_slice() {
        found.extend(others.iter().map(|other| (*first, *other)));
    }
    found
}

/// `same quality within ±0.04, 74 % cheaper [70 %, 78 %], calls took 4.3× as long in this run`: `other` beside `first`.
fn clause(summary: &Summary, contests: &[Contest<'_>], first: &ModelRef, other: &ModelRef) -> Option<(String, String)> {
    let standing = |model: &ModelRef| summary.standings.iter().find(|of| of.model == *model);
    let (one, two) = (standing(first)?, standing(other)?);
    let mut parts = vec![quality(summary, contests, first, other)];
    let tradeoff = summary.tradeoffs.iter().find(|of| of.first == *first && of.other == *other);
    let cost = tradeoff.and_then(|of| of.cost);
    // What a filter ended cost little or nothing, which makes no model cheap.
    let is_answered = [one, two].iter().all(|of| of.sessions.measured > 0);
    let is_cached = one.cached + two.cached > 0;
    let items = summary.rows.iter().filter(|row| row.model == *first).map(|row| u64::from(row.items)).sum();
    parts.push(match (is_answered, is_cached) {
        (true, false) => {
            let said = money(one.cost_per_session, two.cost_per_session, cost, summary.level);
            let compared = cost.filter(|ratio| ratio.clusters >= 2);
            format!("{said}{}", compared.map_or_else(String::new, |ratio| of_items(ratio.n, items)))
        }
        (true, true) => "cost not compared (answers of the response cache)".to_owned(),
        (false, _) => "cost not compared".to_owned(),
    });
    let seconds = tradeoff.and_then(|of| of.seconds);
    parts.extend(seconds.map(|ratio| format!("{}{}", time(ratio), of_items(ratio.n, items))));
    Some((other.to_string(), parts.join(", ")))
}

/// ` (8 of 80 items)`; empty where it is all of them.
fn of_items(n: u32, items: u64) -> String {
    if u64::from(n) < items { format!(" ({} of {} items)", grouped(n.into()), grouped(items)) } else { String::new() }
}

/// Settings in which `other` is better, worse, or the same, by the same tests as the groups of the ranking.
fn quality(summary: &Summary, contests: &[Contest<'_>], first: &ModelRef, other: &ModelRef) -> String {
    let (mut worse, mut better, mut same, mut turned) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut unknown, mut alone) = (0, 0);
    let orders = ModelOrders::new(&summary.pairs, summary.level);
    for contest in contests {
        let withheld = [first, other]
            .iter()
            .any(|model| contest.value(summary, model).is_none_or(|(estimate, _)| estimate.shown().is_none()));
        match pair(summary, contest, first, other).filter(|_| !withheld) {
            None => unknown += 1,
            Some(pair) if pair.difference.withheld => unknown += 1,
            // It says nothing about how groups differ, so there is neither an interval nor a test.
            Some(pair) if pair.difference.clusters < 2 => alone += 1,
            Some(pair) => match orders.of(pair) {
                Some((winner, _)) if winner.model == *other => better.push((contest, pair)),
                Some(_) => worse.push((contest, pair)),
                None if pair.difference.may_turn(summary.level) => turned.push((contest, pair)),
                None => same.push(pair),
            },
        }
    }
    let is_only = contests.len() == 1;
    let mut parts = Vec::new();
    parts.extend(differences("better", &better, is_only));
    parts.extend(differences("worse", &worse, is_only));
    parts.extend(may_turn(&turned, other, is_only));
    if parts.is_empty() && !same.is_empty() {
        parts.push(sameness(&same));
    } else if !same.is_empty() {
        let settings =
            if same.len() == 1 { "1 other setting".to_owned() } else { format!("{} other settings", same.len()) };
        parts.push(format!("no difference seen in {settings}"));
    }
    if alone > 0 {
        parts.push(match alone == contests.len() {
            true => "quality not compared (one group of items alone)".to_owned(),
            false => format!("not compared in {alone} of {} settings (one group of items alone)", contests.len()),
        });
    }
    if unknown > 0 {
        parts.push(match unknown == contests.len() {
            true => format!("too little measured to compare quality (less than {})", percent(summary.coverage_min)),
            false => format!("too little measured to compare in {unknown} of {} settings", contests.len()),
        });
    }
    parts.join(", ")
}

/// The comparison of both models in a setting, whichever of them comes first in it.
fn pair<'s>(summary: &'s Summary, contest: &Contest<'_>, one: &ModelRef, other: &ModelRef) -> Option<&'s Pair> {
    let families = summary.pairs.iter().filter(|family| family.benchmark == *contest.benchmark);
    let mut pairs = families.flat_map(|family| &family.pairs);
    pairs.find(|pair| {
        let both = [&pair.one.model, &pair.other.model];
        pair.is_of_models() && pair.one.setting == *contest.setting && both.contains(&one) && both.contains(&other)
    })
}

/// `worse by 0.31 [0.27, 0.36]`, or in which settings.
fn differences(how: &str, found: &[(&Contest<'_>, &Pair)], is_only: bool) -> Option<String> {
    let by = |pair: &Pair| {
        let size = |value: f64| magnitude(value, pair.unit);
        let difference = &pair.difference;
        let interval = match (difference.low, difference.high) {
            (Some(low), Some(high)) => {
                let (low, high) = if difference.value < 0.0 { (-high, -low) } else { (low, high) };
                // An interval of a pair alone may reach beyond zero where the test, of all pairs, does not.
                let sign = if low < 0.0 { "-" } else { "" };
                format!(" [{sign}{}, {}]", size(low), size(high))
            }
            _ => String::new(),
        };
        format!("by {}{interval}{}{}", size(difference.value), unit(pair.unit), with_missing(pair))
    };
    match found {
        [] => None,
        [(_, pair)] if is_only => Some(format!("{how} {}", by(pair))),
        several => {
            let named = several.iter().take(NAMED_MAX);
            let named: Vec<String> =
                named.map(|(contest, pair)| format!("in {} {}", contest.name(), by(pair))).collect();
            let more = several.len().saturating_sub(NAMED_MAX);
            let more = match more {
                0 => String::new(),
                1 => " and in 1 more setting".to_owned(),
                more => format!(" and in {more} more settings"),
            };
            Some(format!("{how} {}{more}", named.join(" and ")))
        }
    }
}

/// `, whatever the 3.0 % of the sessions that are missing would be`, where any are.
fn with_missing(pair: &Pair) -> String {
    let missing = pair.difference.missing.map(|missing| percent(1.0 - missing.coverage));
    missing.map_or_else(String::new, |part| format!(", whatever the {part} of the sessions that are missing would be"))
}

/// Differences that the sessions of both show and the missing ones could turn: nobody is called better or worse.
fn may_turn(found: &[(&Contest<'_>, &Pair)], other: &ModelRef, is_only: bool) -> Option<String> {
    match found {
        [] => None,
        [(_, pair)] if is_only => {
            // As much higher as `other` is.
            let of = if pair.one.model == *other { pair.difference } else { pair.difference.turned() };
            let missing = of.missing?;
            Some(format!(
                "no difference in quality shown: {}{} where both were measured, {} with the {} of the sessions that are missing",
                signed(&of.complete(), pair.unit),
                unit(pair.unit),
                bounds(&missing, pair.unit),
                percent(1.0 - missing.coverage)
            ))
        }
        several => Some(format!(
            "no difference shown in {}, which missing sessions could turn",
            if several.len() == 1 { "1 setting".to_owned() } else { format!("{} settings", several.len()) }
        )),
    }
}

/// Largest distance of two qualities of which no difference was seen.
fn sameness(pairs: &[&Pair]) -> String {
    // Shares are shares, whether they are read in percent or not.
    let is_share = |unit: Unit| unit.scale() == Some((0.0, 1.0));
    let of = match pairs.iter().map(|pair| pair.unit).collect::<Vec<_>>().as_slice() {
        [first, rest @ ..] if rest.iter().all(|unit| unit == first) => Some(*first),
        units if units.iter().all(|unit| is_share(*unit)) => Some(Unit::Percent),
        _ => None,
    };
    let widest = pairs.iter().map(|pair| Some(pair.difference.low?.abs().max(pair.difference.high?.abs())));
    let widest = widest.collect::<Option<Vec<f64>>>().map(|all| all.into_iter().fold(0.0, f64::max));
    let (Some(most), Some(of)) = (widest, of) else { return "no difference in quality seen".to_owned() };
    // As far as a scale reaches, an interval says nothing, and beyond it the number is only an odd one.
    if of.scale().is_some_and(|(from, to)| most >= to - from) {
        return "no difference in quality seen, with too few items to tell one".to_owned();
    }
    let missing = pairs.iter().filter_map(|pair| pair.difference.missing).map(|missing| 1.0 - missing.coverage);
    let missing = missing.reduce(f64::max).map(|part| format!(", up to {} of the sessions missing", percent(part)));
    let size = format!("±{}{}{}", magnitude(most, of), unit(of), missing.unwrap_or_default());
    let is_small = of.scale().is_some_and(|(from, to)| most <= SAME_WITHIN * (to - from));
    if is_small {
        format!("same quality within {size}")
    } else {
        format!("no difference in quality seen, within {size}")
    }
}

const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Percent => " points",
        Unit::Turns => " turns",
        Unit::Money => " $",
        Unit::Plain | Unit::OutOfTen => "",
    }
}

fn money(first: Option<Money>, other: Option<Money>, ratio: Option<PairedRatio>, level: Level) -> String {
    let (Some(first), Some(other)) = (first, other) else { return "cost unknown".to_owned() };
    match (first.0, other.0, ratio) {
        (0, 0, _) => "no cost either".to_owned(),
        (0, _, _) => format!("{other} a session instead of nothing"),
        (_, 0, _) => format!("free instead of {first} a session"),
        // No session has a score in both, so that nothing is known of the same items.
        (_, _, None) => "cost not compared".to_owned(),
        // It says nothing about how groups differ, also where its sums happen to be equal.
        (_, _, Some(ratio)) if ratio.clusters < 2 => "cost not compared (one group of items alone)".to_owned(),
        (_, _, Some(ratio)) => cost(&ratio, level),
    }
}

/// `74 % cheaper [70 %, 78 %]`, `2.3× the cost [2.1, 2.6]`, `same cost, within 0.98× to 1.03×`, or `no difference in cost seen, within 0.90×
/// to 1.1×`.
fn cost(ratio: &PairedRatio, level: Level) -> String {
    let change = (ratio.value - 1.0) * 100.0;
    let ends = ratio.low.zip(ratio.high);
    match ends.filter(|_| shows_difference(ratio, level)) {
        None => match ends {
            Some(ends) => unseen(ends),
            None if change.abs() < 0.5 => "same cost (no interval)".to_owned(),
            None if change < 0.0 => format!("{} cheaper (no interval)", percent_of(-change)),
            None if change < 100.0 => format!("{} dearer (no interval)", percent_of(change)),
            None => format!("{:.1}× the cost (no interval)", ratio.value),
        },
        Some((low, high)) if change < 0.0 => format!(
            "{} cheaper [{}, {}]",
            percent_of(-change),
            percent_of((1.0 - high) * 100.0),
            percent_of((1.0 - low) * 100.0)
        ),
        Some((low, high)) if change < 100.0 => format!(
            "{} dearer [{}, {}]",
            percent_of(change),
            percent_of((low - 1.0) * 100.0),
            percent_of((high - 1.0) * 100.0)
        ),
        Some((low, high)) => format!("{:.1}× the cost [{low:.1}, {high:.1}]", ratio.value),
    }
}

/// `calls took 4.3× as long in this run`: of the calls of sessions, without what they waited for. Nobody is called faster or slower, since a
/// run is a single draw of the endpoints' load.
fn time(ratio: RatioOfRun) -> String {
    format!("calls took {}× as long in this run", times(ratio.value))
}

/// `true` if the interval does not hold 1, and neither does chance explain it, corrected over all that is compared.
fn shows_difference(ratio: &PairedRatio, level: Level) -> bool {
    let is_beyond = ratio.low.is_some_and(|low| low > 1.0) || ratio.high.is_some_and(|high| high < 1.0);
    is_beyond && ratio.p_holm.is_some_and(|p| p <= level.alpha())
}

/// Words for a ratio that shows no difference.
fn unseen((low, high): (f64, f64)) -> String {
    let is_small = [low, high].iter().all(|end| (end - 1.0).abs() <= SAME_WITHIN);
    match low <= 1.0 && 1.0 <= high {
        true if is_small => format!("same cost, within {}× to {}×", times(low), times(high)),
        true => format!("no difference in cost seen, within {}× to {}×", times(low), times(high)),
        false => format!("no difference in cost shown among so many, {}× to {}×", times(low), times(high)),
    }
}

/// So many digits that what lies beside 1 does not read as 1.
fn times(ratio: f64) -> String {
    match ratio {
        _ if (ratio - 1.0).abs() < 0.095 => format!("{ratio:.2}"),
        _ if ratio < 0.95 => format!("{ratio:.2}"),
        _ => format!("{ratio:.1}"),
    }
}

/// Only everything is 100 %.
fn percent_of(change: f64) -> String {
    if change > 99.0 && change < 100.0 { format!("{change:.1} %") } else { format!("{change:.0} %") }
}
