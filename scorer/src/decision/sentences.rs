//! A sentence on every alternative: its quality, money and time beside those of what it would replace.

use regatta_benchmarks::Unit;
use regatta_proto::{ModelRef, Money};

use super::{Contest, contests};
use crate::comparison::Percentiles;
use crate::pairs::Pair;
use crate::report::numbers::{magnitude, percent};
use crate::summary::{Standing, Summary};

/// Differences within this part of a scale are small enough to call two qualities the same.
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
    for (family, providers) in families(summary) {
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
fn families(summary: &Summary) -> Vec<(&str, Vec<&ModelRef>)> {
    let mut families: Vec<(&str, Vec<&ModelRef>)> = Vec::new();
    for comparison in &summary.comparisons {
        if families.iter().any(|(family, _)| *family == comparison.family) {
            continue;
        }
        families.push((&comparison.family, comparison.providers.iter().map(|provider| &provider.model).collect()));
    }
    families
}

/// `same quality within ±0.04, 74 % cheaper, 4.3× slower at p50`: `other` beside `first`.
fn clause(summary: &Summary, contests: &[Contest<'_>], first: &ModelRef, other: &ModelRef) -> Option<(String, String)> {
    let standing = |model: &ModelRef| summary.standings.iter().find(|of| of.model == *model);
    let (one, two) = (standing(first)?, standing(other)?);
    let mut parts = vec![quality(summary, contests, first, other)];
    parts.push(money(one.cost_per_session, two.cost_per_session));
    parts.extend(time(one, two));
    Some((other.to_string(), parts.join(", ")))
}

/// Settings in which `other` is better, worse, or the same.
fn quality(summary: &Summary, contests: &[Contest<'_>], first: &ModelRef, other: &ModelRef) -> String {
    let (mut worse, mut better, mut same) = (Vec::new(), Vec::new(), Vec::new());
    let mut unknown = 0;
    for contest in contests {
        let withheld = [first, other]
            .iter()
            .any(|model| contest.value(summary, model).is_none_or(|(estimate, _)| estimate.shown().is_none()));
        match pair(summary, contest, first, other).filter(|_| !withheld) {
            None => unknown += 1,
            Some(pair) => match pair.order(summary.level) {
                Some((winner, _)) if winner.model == *other => better.push((contest, pair)),
                Some(_) => worse.push((contest, pair)),
                None => same.push(pair),
            },
        }
    }
    let is_only = contests.len() == 1;
    let mut parts = Vec::new();
    parts.extend(differences("better", &better, is_only));
    parts.extend(differences("worse", &worse, is_only));
    if parts.is_empty() && !same.is_empty() {
        parts.push(sameness(&same));
    } else if !same.is_empty() {
        let settings =
            if same.len() == 1 { "1 other setting".to_owned() } else { format!("{} other settings", same.len()) };
        parts.push(format!("no difference seen in {settings}"));
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
        format!("by {}{interval}{}", size(difference.value), unit(pair.unit))
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
    let size = format!("±{}{}", magnitude(most, of), unit(of));
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

fn money(first: Option<Money>, other: Option<Money>) -> String {
    let (Some(first), Some(other)) = (first, other) else { return "cost unknown".to_owned() };
    match (first.0, other.0) {
        (0, 0) => "no cost either".to_owned(),
        (0, _) => format!("{other} a session instead of nothing"),
        (_, 0) => format!("free instead of {first} a session"),
        (before, after) => {
            let ratio = after as f64 / before as f64;
            match (ratio - 1.0) * 100.0 {
                change if change.abs() < 0.5 => "same cost".to_owned(),
                change if change < 0.0 => format!("{} cheaper", percent_of(-change)),
                change if change < 100.0 => format!("{} dearer", percent_of(change)),
                _ => format!("{ratio:.1}× the cost"),
            }
        }
    }
}

/// Only everything is 100 %.
fn percent_of(change: f64) -> String {
    if change > 99.0 && change < 100.0 { format!("{change:.1} %") } else { format!("{change:.0} %") }
}

/// Sessions beside each other, with retries and waits; where calls tell another story, theirs too: then it is the waits that differ.
fn time(first: &Standing, other: &Standing) -> Option<String> {
    let sessions = ratio(first.session_seconds, other.session_seconds)?;
    let calls = ratio(first.call_seconds, other.call_seconds).filter(|calls| !are_close(*calls, sessions));
    Some(match calls {
        None => format!("{} at p50", speed(sessions)),
        Some(calls) => format!("a session {} and a call {} at p50", speed(sessions), speed(calls)),
    })
}

fn ratio(first: Option<Percentiles>, other: Option<Percentiles>) -> Option<f64> {
    let (before, after) = (first?.p50, other?.p50);
    (before > 0.0 && after > 0.0).then(|| after / before)
}

/// `true` if nobody would choose otherwise for the one than for the other.
fn are_close(one: f64, other: f64) -> bool {
    (one / other).ln().abs() < 1.25_f64.ln()
}

fn speed(ratio: f64) -> String {
    match ratio {
        _ if ratio >= 1.05 => format!("{ratio:.1}× slower"),
        _ if ratio <= 1.0 / 1.05 => format!("{:.1}× faster", 1.0 / ratio),
        _ => "as fast".to_owned(),
    }
}
