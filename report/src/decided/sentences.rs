//! The answers of an adaptive sweep in words.

use regatta_benchmarks::Unit;
use regatta_proto::{CostSum, DecideOver, DecideQuestion, Margin, ModelRef};

use super::{Decided, DecidedContest, DecidedSequence, Ending, SequenceRelation};
use crate::report::numbers::{counted, grouped};

/// Most sequences of a contest that get a sentence of their own.
const SEQUENCES_MAX: usize = 12;

/// `decided after $0.12 of about $0.80 (412 of 2,000 sessions)`.
pub(crate) fn headline(decided: &Decided) -> String {
    let how = match decided.ended {
        Ending::Decided => "decided after",
        Ending::Exhausted => "everything was bought and not all is decided:",
        Ending::Budget => "stopped by the budget before all was decided:",
        Ending::Unmeasured => "stopped because too little was measured (resume it):",
        Ending::Cancelled => "cancelled before all was decided:",
    };
    let sessions = format!("{} of {}", grouped(decided.sessions), counted(decided.sessions_max, "session", "sessions"));
    let percent = (100.0 * decided.confidence * 10.0).round() / 10.0;
    let about = match decided.over {
        DecideOver::NewItems => "all items like these",
        DecideOver::Grid => "these items and trials alone",
    };
    let said =
        format!("the answers are about {about}, and all of them right with a probability of {percent} % at least");
    match decided.cost_of_grid {
        _ if decided.cost == CostSum::default() => format!("{how} {sessions}; {said}"),
        Some(grid) => {
            format!("{how} {} of about {grid} that the whole grid would cost ({sessions}); {said}", decided.cost)
        }
        None => format!("{how} {} ({sessions}); {said}", decided.cost),
    }
}

/// A line for each answer.
pub(crate) fn sentences(decided: &Decided) -> Vec<String> {
    let mut lines = Vec::new();
    for contest in &decided.contests {
        let place = place(contest, decided.contests.len());
        lines.extend(of_contest(decided, contest).into_iter().map(|line| format!("{place}{line}")));
    }
    lines
}

/// Beginning of the lines of a contest where there are several.
pub(super) fn place(contest: &DecidedContest, contests: usize) -> String {
    if contests == 1 { String::new() } else { format!("{} · {}: ", contest.benchmark, contest.setting) }
}

/// The best model, or those that may be it; `None` where that was not asked.
pub(super) fn best(question: &DecideQuestion, margin: Margin, contest: &DecidedContest) -> Option<String> {
    match (&contest.best, contest.candidates.as_slice()) {
        (Some(best), [_]) => Some(format!("{best} is the best by {}", contest.metric)),
        (Some(best), _) => {
            Some(format!("{best} is the best by {}, or within {} of it", contest.metric, points(margin)))
        }
        (None, candidates) if *question == DecideQuestion::Best => {
            let names: Vec<String> = candidates.iter().map(ToString::to_string).collect();
            Some(format!("the best by {} is one of {}", contest.metric, names.join(", ")))
        }
        (None, _) => None,
    }
}

fn of_contest(decided: &Decided, contest: &DecidedContest) -> Vec<String> {
    let is_best = decided.question == DecideQuestion::Best;
    let mut lines: Vec<String> = best(&decided.question, decided.margin, contest).into_iter().collect();
    // Of the best, its own sequences are told: only those are sure to hold.
    let is_told = |sequence: &&DecidedSequence| {
        let is_of = |model: &ModelRef| sequence.one == *model || sequence.other.as_ref() == Some(model);
        !is_best || contest.best.as_ref().is_some_and(is_of)
    };
    let told: Vec<&DecidedSequence> = contest.sequences.iter().filter(is_told).collect();
    lines.extend(
        told.iter().take(SEQUENCES_MAX).map(|sequence| line(decided.margin, contest, sequence, !contest.decided)),
    );
    if told.len() > SEQUENCES_MAX {
        lines.push(format!("{} more sequences are in summary.json", told.len() - SEQUENCES_MAX));
    }
    for contestant in &contest.contestants {
        if let Some(round) = contestant.dropped_in {
            lines.push(format!(
                "{} dropped in round {round} of {}, after {}",
                contestant.model,
                contest.rounds,
                counted(contestant.sessions, "session", "sessions")
            ));
        }
    }
    lines
}

/// Answer of a sequence with its interval. `is_asked` is `true` while it matters to the question that it answers nothing.
pub(super) fn line(margin: Margin, contest: &DecidedContest, sequence: &DecidedSequence, is_asked: bool) -> String {
    let DecidedSequence { one, low, high, .. } = sequence;
    let Some(other) = &sequence.other else {
        let value = sequence.value.map_or_else(|| "unknown".to_owned(), |value| amount(contest, value));
        let open = if sequence.relation == SequenceRelation::Open { ", wider than asked for" } else { "" };
        return format!("{one}: {value} {}{open}", ends(contest, *low, *high));
    };
    let Some(value) = sequence.value else { return format!("{one} and {other}: not compared") };
    match sequence.relation {
        SequenceRelation::Better => {
            format!("{one} > {other} by {} {}", amount(contest, value), ends(contest, *low, *high))
        }
        SequenceRelation::Worse => {
            format!("{other} > {one} by {} {}", amount(contest, -value), ends(contest, -high, -low))
        }
        SequenceRelation::Equivalent => {
            format!("{one} and {other} are equivalent within {}: {}", points(margin), ends(contest, *low, *high))
        }
        SequenceRelation::Open | SequenceRelation::Narrow if is_asked => {
            format!("{one} and {other} are open: {} {}", amount(contest, value), ends(contest, *low, *high))
        }
        SequenceRelation::Open | SequenceRelation::Narrow => {
            format!("{one} − {other}: {} {}", amount(contest, value), ends(contest, *low, *high))
        }
    }
}

/// The margin as people read it.
pub(super) fn points(margin: Margin) -> String {
    margin.to_string().replace("pp", " pp")
}

/// Shares are told in percentage points.
fn factor(contest: &DecidedContest) -> (f64, &'static str, usize) {
    match contest.unit {
        Unit::Plain | Unit::Percent if contest.range == (0.0, 1.0) => (100.0, " pp", 1),
        unit @ (Unit::Plain | Unit::Percent | Unit::OutOfTen | Unit::Turns | Unit::Money) => (unit.factor(), "", 2),
    }
}

fn amount(contest: &DecidedContest, value: f64) -> String {
    let (factor, unit, decimals) = factor(contest);
    format!("{:.decimals$}{unit}", value * factor)
}

fn ends(contest: &DecidedContest, low: f64, high: f64) -> String {
    let (factor, _, decimals) = factor(contest);
    format!("[{:.decimals$}, {:.decimals$}]", low * factor, high * factor)
}
