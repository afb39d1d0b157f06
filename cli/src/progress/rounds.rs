//! Rounds and sequences of a sweep that stops when its question is answered, while it runs.

use regatta_coordinator::SweepStatus;
use regatta_report::render_decided_so_far;

use super::table::{Place, fit, wrapped};
use crate::output::printable;

/// Height of a terminal up to which the question is all that is shown.
const LOW: usize = 12;

/// The question with sessions and money, and below it each sequence; empty for a sweep without a question. Sequences take half of the lines that
/// a terminal has beyond a low one.
pub(super) fn rounds(status: &SweepStatus, place: Place) -> Vec<String> {
    let Some(deciding) = &status.deciding else { return Vec::new() };
    let rendered = render_decided_so_far(deciding, status.cost.known);
    let parts: Vec<String> = rendered.headline.split(" · ").map(|part| printable(part).into_owned()).collect();
    let mut lines = wrapped(&parts, place.width);
    let room = place.height.saturating_sub(LOW) / 2;
    if room == 0 {
        lines.truncate(1);
        return lines;
    }
    let is_whole = rendered.lines.len() <= room;
    let shown = if is_whole { room } else { room - 1 };
    lines.extend(rendered.lines.iter().take(shown).map(|line| fit(&format!("  {}", printable(line)), place.width)));
    if !is_whole {
        lines.push(fit(&format!("  … {} more lines", rendered.lines.len() - shown), place.width));
    }
    lines
}

/// `round 4`, or `rounds 2 to 4, 1 of 3 decided`; `None` for a sweep without a question.
pub(super) fn in_short(status: &SweepStatus) -> Option<String> {
    let contests = &status.deciding.as_ref()?.contests;
    let rounds = || contests.iter().filter_map(|of| of.round);
    let mut parts = Vec::new();
    match (rounds().min(), rounds().max()) {
        (Some(first), Some(last)) if first < last => parts.push(format!("rounds {first} to {last}")),
        (Some(first), _) => parts.push(format!("round {first}")),
        (None, _) => {}
    }
    let decided = contests.iter().filter(|of| of.answers.decided).count();
    if decided > 0 {
        parts.push(format!("{decided} of {} decided", contests.len()));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}
