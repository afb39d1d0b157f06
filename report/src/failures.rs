//! Sessions that did not end well, by cause, with what was said in one of them: most often the provider's own message.

use regatta_backends::{AgentEnd, AttemptRow};
use regatta_proto::{BenchmarkFailed, Cause, CellIndex, Event, ItemIndex, Outcome, Transcript, Try};
use serde::{Deserialize, Serialize};

use crate::agents::agent_end;

/// Longest message that is kept, in characters.
const SAID_MAX: usize = 300;

/// Sessions of a row that ended in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// `model_failure`, `not_measured` or `not_run`.
    pub outcome: String,
    /// Cause as in `results.jsonl`; empty for `not_run`.
    pub cause: String,
    /// Number of sessions.
    pub sessions: u64,
    /// Words of the provider, or of the external agent, in the first of them, as `HTTP 401: Incorrect API key`; absent where nobody said
    /// anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

impl Failure {
    /// `true` if its sessions have a score, because the model made them impossible.
    #[must_use]
    pub fn counts_as_wrong(&self) -> bool {
        self.outcome == Outcome::ModelFailure { cause: Cause::Internal }.as_str()
    }
}

/// A session of a sweep, by its cell and item.
pub(crate) type Place = (CellIndex, ItemIndex);

/// Place of the session of `attempt`.
pub(crate) const fn place(attempt: &AttemptRow) -> Place {
    (attempt.key.cell, attempt.key.item)
}

/// The message that explains how `transcript` ended, in one line; `None` where there are none.
#[must_use]
pub fn failure_message(transcript: &Transcript) -> Option<String> {
    let failed = transcript.events.iter().rev().find_map(|event| match event {
        Event::Failed(failed) => failed.tries.last().map(of_try),
        Event::BenchmarkFailed(failed) => Some(of_program(failed)),
        Event::Call(_) | Event::Recorded(_) | Event::Started(_) | Event::Exchange(_) | Event::Ended(_) => None,
    });
    let words = match failed {
        Some(words) => words,
        None => end_in_words(&agent_end(transcript)?),
    };
    in_one_line(&words)
}

/// The way in which an external agent ended, and what it wrote then.
pub(crate) fn end_in_words(end: &AgentEnd) -> String {
    if end.errors.is_empty() { end.how.clone() } else { format!("{}: {}", end.how, end.errors) }
}

/// `words` in one line that is not too long; `None` where there are none.
pub(crate) fn in_one_line(words: &str) -> Option<String> {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| shortened(&line))
}

/// The reason, and as much of the end of standard error as there is room for.
fn of_program(failed: &BenchmarkFailed) -> String {
    let errors = failed.errors.split_whitespace().collect::<Vec<_>>().join(" ");
    if errors.is_empty() {
        return failed.why.clone();
    }
    let room = SAID_MAX.saturating_sub(failed.why.chars().count() + " (stderr: …)".len());
    let left_out = errors.chars().count().saturating_sub(room);
    let end: String = errors.chars().skip(left_out).collect();
    format!("{} (stderr: {}{end})", failed.why, if left_out > 0 { "…" } else { "" })
}

fn of_try(failed: &Try) -> String {
    match (failed.status, failed.detail.trim()) {
        (Some(status), "") => format!("HTTP {status}"),
        (Some(status), detail) if detail.starts_with("HTTP ") || detail.starts_with(&status.to_string()) => {
            detail.to_owned()
        }
        (Some(status), detail) => format!("HTTP {status}: {detail}"),
        (None, detail) => detail.to_owned(),
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(SAID_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{ErrorClass, FailedCall, Role};

    use super::*;

    fn said(status: Option<u16>, detail: &str) -> Option<String> {
        let failed = Try { status, ..Try::not_sent(ErrorClass::Auth, detail.to_owned()) };
        let tries = vec![failed];
        let model = "there/model".parse().unwrap();
        let failed = FailedCall { role: Role::Agent, attempt: 1, model, tries, request: None, asked: None };
        failure_message(&Transcript { events: vec![Event::Failed(failed)] })
    }

    #[test]
    fn a_provider_is_quoted_with_its_status_in_one_line() {
        assert_eq!(said(Some(401), "Incorrect\n API key").as_deref(), Some("HTTP 401: Incorrect API key"));
        assert_eq!(said(Some(503), "").as_deref(), Some("HTTP 503"));
        assert_eq!(said(None, "connection refused").as_deref(), Some("connection refused"));
        assert_eq!(said(None, " "), None);
        assert_eq!(failure_message(&Transcript::of_recorded(Some("fine"))), None);
    }

    #[test]
    fn a_benchmarks_program_is_quoted_with_the_end_of_its_standard_error() {
        let said = |errors: &str| {
            let failed = BenchmarkFailed { why: "score of item a: exit code 1".to_owned(), errors: errors.to_owned() };
            failure_message(&Transcript { events: vec![Event::BenchmarkFailed(failed)] }).unwrap()
        };
        assert_eq!(said(""), "score of item a: exit code 1");
        assert_eq!(
            said("Traceback\nKeyError: 'x'\n"),
            "score of item a: exit code 1 (stderr: Traceback KeyError: 'x')"
        );
        let long = said(&format!("{}KeyError: 'x'", "line\n".repeat(1000)));
        assert!(long.ends_with("line KeyError: 'x')") && long.chars().count() <= SAID_MAX, "{long}");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let found = said(None, &"é".repeat(400)).unwrap();
        assert!(found.ends_with("é…") && found.chars().count() == SAID_MAX + 1);
    }
}
