//! Sessions of a cell by flag, and the warnings that a reader is given of what their answers are.

use std::collections::BTreeMap;

use regatta_backends::SessionRow;
use regatta_proto::{Flag, Outcome};

use crate::summary::LeaderboardRow;

/// Sessions with a score by flag; flags that none has are left out.
pub(crate) type FlagCounts = BTreeMap<Flag, u64>;

/// `true` if so many of the sessions with a score are worth a warning: above 1 %. In integers, so that 1 % itself is none.
const fn is_worth_telling(sessions: u64, scored: u64) -> bool {
    sessions.saturating_mul(100) > scored
}

/// The flags of the sessions that have a score.
pub(crate) fn flag_counts(rows: &[SessionRow]) -> FlagCounts {
    let scored = rows.iter().filter(|row| match row.outcome {
        Outcome::Measured | Outcome::ModelFailure { .. } => true,
        Outcome::NotMeasured { .. } => false,
    });
    let mut counts = FlagCounts::new();
    scored.flat_map(|row| row.flags.iter()).for_each(|flag| *counts.entry(flag).or_default() += 1);
    counts
}

/// A warning for each flag of more than 1 % of the sessions of `row`: its score may say more about a limit or a filter than about the
/// model.
pub(crate) fn flag_notes(row: &LeaderboardRow) -> Vec<String> {
    let scored = row.sessions.scored();
    let worth_telling = |(_, sessions): &(&Flag, &u64)| is_worth_telling(**sessions, scored);
    let note = |(flag, sessions): (&Flag, &u64)| {
        format!(
            "{} in {} {}: {sessions} of {scored} sessions are {} ({}).",
            row.model,
            row.benchmark,
            row.setting,
            flag.as_str(),
            meaning(*flag)
        )
    };
    row.flags.iter().filter(worth_telling).map(note).collect()
}

/// A warning that sessions took what another run paid for and waited for.
pub(crate) fn cached_note(row: &LeaderboardRow) -> String {
    format!(
        "{} in {} {}: {} of {} sessions with a score have answers of the response cache. These have no time, tokens or cost of their own: \
         times of sessions are not shown, and tokens and cost are of the other answers alone.",
        row.model,
        row.benchmark,
        row.setting,
        row.cached,
        row.sessions.scored()
    )
}

/// Meaning of a flag, with advice where something can be done.
const fn meaning(flag: Flag) -> &'static str {
    match flag {
        Flag::Truncated => "the token limit cut an answer off; raise `max_tokens` of the model",
        Flag::Refused => "the model declined to answer",
        Flag::Filtered => "the provider's filter withheld an answer",
        Flag::Empty => "an answer held nothing at all",
        Flag::ReasoningOnly => {
            "an answer held thoughts and nothing else; raise `max_tokens` of the model, or have it think less"
        }
        Flag::InvalidFormat => {
            "the benchmark's parser found no answer in what was said, or a tool was called with what is no JSON object"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_of_one_percent_is_silent_and_one_of_more_is_told() {
        for scored in [100, 300, 700, 2_900, 100_000] {
            let border = scored / 100;
            assert!(!is_worth_telling(border, scored), "{border} of {scored}");
            assert!(is_worth_telling(border + 1, scored), "{} of {scored}", border + 1);
        }
        assert!(is_worth_telling(1, 99) && !is_worth_telling(0, 1) && !is_worth_telling(0, 0));
    }
}
