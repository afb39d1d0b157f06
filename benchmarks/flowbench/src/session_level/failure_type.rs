//! Failure category of a session by a judge (docs/benchmarks/flowbench.md §6.6, §8.4).

use regatta_proto::Question;
use regatta_pycompat::{decimal_digit, is_space};

use crate::judge::REPLIES_MAX;

/// Category of failures that the judge did not classify.
const OTHER: u8 = 5;

/// Asks for the reason why `item` failed.
pub(super) fn question(item: &str, prompt: String) -> Question {
    Question::Judgement {
        kind: "failure_type".to_owned(),
        about: vec![item.to_owned()],
        before: Vec::new(),
        prompt,
        swapped: None,
        accept: vec![r"Type:[\s\x1c-\x1f]*[1-5](?:\D|\z)".to_owned()],
        replies_max: REPLIES_MAX,
    }
}

/// Returns the category that the reply names, 1 to 5; 5 if it names none.
pub(super) fn category(reply: &str) -> u8 {
    parse(reply).unwrap_or(OTHER)
}

/// Parses the first match of `Type:\s*([1-5])` that is not followed by another digit.
fn parse(reply: &str) -> Option<u8> {
    reply.match_indices("Type:").find_map(|(at, label)| {
        let mut rest = reply[at + label.len()..].trim_start_matches(is_space).chars();
        let category = rest.next().filter(char::is_ascii_digit).and_then(decimal_digit)?;
        let more = rest.next().is_some_and(|c| decimal_digit(c).is_some());
        ((1..=OTHER).contains(&category) && !more).then_some(category)
    })
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn the_first_number_from_one_to_five_counts() {
        assert_eq!(parse("so Type: 3."), Some(3));
        assert_eq!(parse("Type:\n\u{1c}4x Type: 1"), Some(4));
        assert_eq!(parse("Type: 12, Type: 0, Type: ３, Type: 2"), Some(2));
        assert_eq!(parse("Type 3"), None);
        assert_eq!(parse("type: 3"), None);
    }

    #[test]
    fn an_undecided_judge_means_the_last_category() {
        assert_eq!(category("no idea"), 5);
    }

    #[test]
    fn the_pattern_of_the_question_accepts_what_the_parser_accepts() {
        let Question::Judgement { accept, .. } = question("i", String::new()) else { panic!() };
        let accept = Regex::new(&accept[0]).unwrap();
        for reply in ["Type: 3", "Type:\u{1f}5!", "Type: 12", "Type: 6", "Type: 1٣", "Type:", "", "Type: 9 Type: 2"] {
            assert_eq!(accept.is_match(reply), parse(reply).is_some(), "{reply:?}");
        }
    }
}
