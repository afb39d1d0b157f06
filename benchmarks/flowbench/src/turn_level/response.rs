//! The judge's grade of the reply to the user, 0 to 10 points (docs/benchmarks/flowbench.md §6.2, §8.3).

use std::sync::LazyLock;

use regatta_proto::Question;
use regex::Regex;

use super::TurnRecord;
use crate::extraction;
use crate::judge::{Judge, REPLIES_MAX};
use crate::prompts;

/// Kind of the judgement.
const KIND: &str = "response_score";

/// A score from 0 to 10, with optional decimals, that is not the beginning of a longer number.
const SCORE: &str =
    concat!(r"Score:\s*(?:(0*10|0*[0-9])(?:$|[^0-9.]|\.(?:$|[^0-9]))", r"|(0*10\.0+|0*[0-9]\.[0-9]+)(?:$|[^0-9]))");

static SCORE_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SCORE).ok());

/// Returns the points for a turn's reply; `None` when they are not known yet, or no judge's reply contains any.
pub(super) fn ask(record: &TurnRecord<'_>, output: &str, judge: &mut Judge<'_>) -> Option<f64> {
    judge.ask(question(record, &extraction::response(output)))?.number(response_score)
}

/// Parses the first score of 0 to 10 in a judge's reply.
fn response_score(reply: &str) -> Option<f64> {
    let found = SCORE_PATTERN.as_ref()?.captures(reply)?;
    found.get(1).or_else(|| found.get(2))?.as_str().parse().ok()
}

fn question(record: &TurnRecord<'_>, predicted: &str) -> Question {
    let prompt = prompts::response_score(record.gold.response, predicted, record.workflow_text);
    Question::Judgement {
        kind: KIND.to_owned(),
        about: vec![record.id.to_owned()],
        before: Vec::new(),
        prompt,
        swapped: None,
        accept: vec![SCORE.to_owned()],
        replies_max: REPLIES_MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_a_number_from_0_to_10_behind_its_label() {
        let read = [
            "Score: 10",
            "Close.\nScore:7\nGood.",
            "Score: 8/10",
            "Score: 6.5.",
            "Score: 10.",
            "Score:\n0",
            "Score: 9.75 of 10",
            "Score: 10.00",
            "Score: 11\nScore: 5",
        ];
        let points = read.map(|reply| response_score(reply).unwrap());
        assert_eq!(points, [10.0, 7.0, 8.0, 6.5, 10.0, 0.0, 9.75, 10.0, 5.0]);
        for unread in ["Score: ten", "score 6", "score: 6", "Score: 10.5", "Score: 11", "Score: 100", "Score: -1", ""] {
            assert_eq!(response_score(unread), None, "{unread}");
        }
    }
}
