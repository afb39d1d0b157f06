//! The answers of an adaptive sweep for those who watch it: in words, with a picture of every sequence.

use regatta_catalog::{ContestSoFar, DecidedSoFar};
use regatta_proto::{CostSum, DecideQuestion, Margin, ModelRef};

use super::sentences::{best, headline, line, place, points, sentences};
use super::{Decided, DecidedContest, DecidedSequence};
use crate::report::funnel::{funnels, svg};
use crate::report::numbers::{counted, grouped};

/// The answers of an adaptive sweep as people see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedDecided {
    /// Sessions and money of the whole grid that were used, and the question or the reason of the end.
    pub headline: String,
    /// A line for each answer and each open sequence.
    pub lines: Vec<String>,
    /// Sequences with the caption of each, as inline SVG; empty where the points of the rounds are not told.
    pub pictures: Vec<(String, String)>,
}

/// The answers of a sweep that has ended, as its report has them.
#[must_use]
pub fn render_decided(decided: &Decided) -> RenderedDecided {
    let contests: Vec<&DecidedContest> = decided.contests.iter().collect();
    RenderedDecided {
        headline: headline(decided),
        lines: sentences(decided),
        pictures: pictures(&contests, decided.margin),
    }
}

/// The rounds of a sweep that goes on and has cost `cost` by now.
#[must_use]
pub fn render_decided_so_far(so_far: &DecidedSoFar, cost: CostSum) -> RenderedDecided {
    let contests: Vec<&DecidedContest> = so_far.contests.iter().map(|of| &of.answers).collect();
    let lines = so_far.contests.iter().flat_map(|of| {
        let place = place(&of.answers, so_far.contests.len());
        of_contest(so_far, of).into_iter().map(move |line| format!("{place}{line}"))
    });
    RenderedDecided {
        headline: headline_so_far(so_far, cost),
        lines: lines.collect(),
        pictures: pictures(&contests, so_far.margin),
    }
}

fn pictures(contests: &[&DecidedContest], margin: Margin) -> Vec<(String, String)> {
    funnels(contests, margin).into_iter().map(|funnel| (funnel.caption.clone(), svg(&funnel))).collect()
}

/// `question: best within 2 pp · 412 of 2,000 sessions bought · $12.00 of about $80.00 that the whole grid would cost`.
fn headline_so_far(so_far: &DecidedSoFar, cost: CostSum) -> String {
    let sessions = counted(so_far.sessions_max, "session", "sessions");
    let mut parts = vec![
        format!("question: {} within {}", so_far.question, points(so_far.margin)),
        format!("{} of {sessions} bought", grouped(so_far.sessions)),
    ];
    match so_far.cost_of_grid {
        _ if cost == CostSum::default() => {}
        Some(grid) => parts.push(format!("{cost} of about {grid} that the whole grid would cost")),
        None => parts.push(cost.to_string()),
    }
    parts.join(" · ")
}

fn of_contest(so_far: &DecidedSoFar, of: &ContestSoFar) -> Vec<String> {
    let contest = &of.answers;
    let mut lines = vec![match of.round {
        Some(1) => "round 1, and nothing is known before its end".to_owned(),
        Some(round) => format!("round {round}; known since the end of round {}:", contest.rounds),
        None if contest.decided => format!("decided after round {}:", contest.rounds),
        None => format!("everything is bought and not all is decided, after round {}:", contest.rounds),
    }];
    if contest.rounds == 0 {
        return lines;
    }
    lines.extend(best(&so_far.question, so_far.margin, contest));
    let may_be_best = |model: &ModelRef| contest.candidates.contains(model);
    // Of the best, a sequence about a model that it cannot be is asked for no more.
    let is_asked = |sequence: &DecidedSequence| {
        let is_about_candidates = may_be_best(&sequence.one) && sequence.other.as_ref().is_none_or(may_be_best);
        !contest.decided && (so_far.question != DecideQuestion::Best || is_about_candidates)
    };
    let known = contest.sequences.iter().filter(|sequence| sequence.value.is_some());
    lines.extend(known.map(|sequence| line(so_far.margin, contest, sequence, is_asked(sequence))));
    for contestant in &contest.contestants {
        let Some(round) = contestant.dropped_in else { continue };
        let model = &contestant.model;
        let sessions = counted(contestant.sessions, "session", "sessions");
        lines.push(match of.round {
            Some(_) if may_be_best(model) => format!("{model} waits since round {round}, after {sessions}"),
            _ => format!("{model} dropped in round {round}, after {sessions}"),
        });
    }
    lines
}
