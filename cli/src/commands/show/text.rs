//! A session in a terminal.

use std::fmt::{self, Write as _};

use regatta_proto::Role;

use super::Shown;
use crate::results::Scores;

/// The whole session. What simulators were told is left out: it repeats the conversation.
pub(super) fn text(shown: &Shown) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, shown);
    out.trim_end().to_owned()
}

fn write(out: &mut String, shown: &Shown) -> fmt::Result {
    writeln!(out, "{}", shown.title)?;
    writeln!(out, "outcome: {}", shown.ending)?;
    for line in scores(&shown.scores) {
        writeln!(out, "{line}")?;
    }
    for part in &shown.parts {
        if part.role == Role::Agent {
            for (by, words) in &part.told {
                writeln!(out, "\n── told to the agent: {by}\n{}", words.trim_end())?;
            }
        }
        writeln!(out, "\n── {} · {}", part.role, part.facts)?;
        for failed in &part.failed_tries {
            writeln!(out, "(failed try: {failed})")?;
        }
        if let Some(thought) = &part.thought {
            writeln!(out, "(thought: {})", thought.trim_end())?;
        }
        writeln!(out, "{}", part.whole().trim_end())?;
    }
    for picture in &shown.pictures {
        writeln!(out, "\n── {}\n{}", picture.title, picture.text)?;
    }
    Ok(())
}

/// One line an evaluator: `paper: progress 0.5, success 0`.
pub(super) fn scores(scores: &Scores) -> Vec<String> {
    let line = |(evaluator, values): (&_, &std::collections::BTreeMap<String, f64>)| {
        let values: Vec<String> = values.iter().map(|(name, value)| format!("{name} {}", number(*value))).collect();
        format!("{evaluator}: {}", values.join(", "))
    };
    scores.iter().map(line).collect()
}

/// With at most four decimals.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
