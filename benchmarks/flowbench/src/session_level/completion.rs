//! Completion of the user's goals, by a judge (docs/benchmarks/flowbench.md §5.5, §8.2).

use regatta_proto::Question;
use regatta_pycompat::{decimal_digit, is_space};

use crate::judge::REPLIES_MAX;

const SUCCESS: &str = "Result: yes";
const FAILURE: &str = "Result: no";
const TOTAL: &str = "Total number of goals:";
const ACCOMPLISHED: &str = "Number of accomplished goals:";

/// Verdict of the judge on the goals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Completion {
    /// All goals were reached.
    pub(super) success: bool,
    /// Accomplished goals divided by all goals; may exceed 1, and is 0 when a number is missing or there are no goals.
    pub(super) progress: f64,
}

impl Completion {
    /// No goal was reached.
    pub(super) const NONE: Self = Self { success: false, progress: 0.0 };

    /// Parses the final reply: the first valid one, or the last that was allowed.
    pub(super) fn of(reply: &str) -> Self {
        let progress = match (number_after(reply, TOTAL), number_after(reply, ACCOMPLISHED)) {
            (Some(total), Some(accomplished)) if total > 0.0 => accomplished / total,
            _ => 0.0,
        };
        Self { success: first_line(reply) == SUCCESS, progress }
    }
}

/// Asks if the goals of `item` were reached.
pub(super) fn question(item: &str, prompt: String) -> Question {
    Question::Judgement {
        kind: "completion".to_owned(),
        about: vec![item.to_owned()],
        before: Vec::new(),
        prompt,
        swapped: None,
        accept: vec![
            format!(r"\A(?:{SUCCESS}|{FAILURE})(?:\n|\z)"),
            format!(r"{TOTAL}[\s\x1c-\x1f]+\d"),
            format!(r"{ACCOMPLISHED}[\s\x1c-\x1f]+\d"),
        ],
        replies_max: REPLIES_MAX,
    }
}

fn first_line(reply: &str) -> &str {
    reply.split('\n').next().unwrap_or_default()
}

/// Returns the number after the first `label` that is followed by white space and digits. Digits after the thirtieth
/// are ignored: no judge counts that far, and a ratio of two such numbers stays finite.
fn number_after(reply: &str, label: &str) -> Option<f64> {
    reply.match_indices(label).find_map(|(at, label)| {
        let rest = &reply[at + label.len()..];
        let digits = rest.trim_start_matches(is_space);
        if digits.len() == rest.len() {
            return None;
        }
        let mut digits = digits.chars().map_while(decimal_digit);
        let first = f64::from(digits.next()?);
        Some(digits.take(30).fold(first, |number, digit| number * 10.0 + f64::from(digit)))
    })
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    fn is_acceptable(reply: &str) -> bool {
        [SUCCESS, FAILURE].contains(&first_line(reply))
            && number_after(reply, TOTAL).is_some()
            && number_after(reply, ACCOMPLISHED).is_some()
    }

    fn reply(result: &str, total: &str, accomplished: &str) -> String {
        format!("{result}\nTotal number of goals:{total}\nNumber of accomplished goals:{accomplished}\nReason: r")
    }

    #[test]
    fn success_is_the_exact_first_line() {
        assert!(Completion::of(&reply("Result: yes", " 2", " 1")).success);
        for line in ["Result: yes ", "Result: yes\r", " Result: yes", "result: yes", "Result: no", "**Result: yes"] {
            assert!(!Completion::of(&reply(line, " 2", " 1")).success, "{line:?}");
        }
    }

    #[test]
    fn progress_is_a_ratio_of_whatever_numbers_there_are() {
        assert_eq!(Completion::of(&reply("x", " 2", "\n\u{1c} 3 of 2")).progress, 1.5);
        assert_eq!(Completion::of(&reply("x", " ２", " 1")).progress, 0.5);
        assert_eq!(Completion::of(&reply("x", " 0", " 1")).progress, 0.0);
        assert_eq!(Completion::of(&reply("x", "2", " 1")).progress, 0.0);
        assert_eq!(Completion::of("Number of accomplished goals: 1").progress, 0.0);
        let long = format!(" {}", "9".repeat(5000));
        assert!(Completion::of(&reply("x", &long, &long)).progress.is_finite());
    }

    #[test]
    fn the_patterns_of_the_question_accept_what_the_parser_accepts() {
        let Question::Judgement { accept, .. } = question("i", String::new()) else { panic!() };
        let accept: Vec<Regex> = accept.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
        let good = reply("Result: no", " 2", " 1");
        for text in [
            good.clone(),
            format!("x\n{good}"),
            reply("Result: yes ", " 2", " 1"),
            reply("Result: yes", "2", " 1"),
            reply("Result: yes", "\u{1f}２", "\u{a0}1"),
            "Result: yes".to_owned(),
            String::new(),
        ] {
            assert_eq!(accept.iter().all(|pattern| pattern.is_match(&text)), is_acceptable(&text), "{text:?}");
        }
    }
}
