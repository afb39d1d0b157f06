//! Calls in a text, as the session evaluator finds them (docs/benchmarks/flowbench.md §4.2).

use crate::protocol::{call_name, name_at};

/// A call: the rest of the line after `Action: `, and the text after `Action Input: ` on the next line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// At least one character, within a line.
    pub(super) action: &'a str,
    /// At least one character, up to a blank line, the next call or the end.
    pub(super) input: &'a str,
}

impl<'a> Entry<'a> {
    /// Returns the tool that the entry names first; empty when it names none.
    pub(super) fn name(&self) -> &'a str {
        name_at(self.action).or_else(|| call_name(self.action)).or_else(|| call_name(self.input)).unwrap_or_default()
    }
}

const ACTION: &str = "Action: ";
const INPUT: &str = "Action Input: ";

/// Finds all calls in `text`, in order and without overlap.
pub(super) fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(ACTION) {
        let line = &rest[at + ACTION.len()..];
        let Some(end) = line.find('\n') else { break };
        // If this label does not begin a call, no later one in its line does, unless nothing follows this one.
        rest = &line[end + 1..];
        let Some(input) = rest.strip_prefix(INPUT).filter(|input| end > 0 && !input.is_empty()) else { continue };
        let (input, after) = input.split_at(end_of_input(input));
        found.push(Entry { action: &line[..end], input });
        rest = after;
    }
    found
}

/// Returns the end of the input: after at least one character, at a blank line, a further call or the end of the text.
fn end_of_input(input: &str) -> usize {
    let first = input.chars().next().map_or(0, char::len_utf8);
    let ends = |at: &usize| input[at + 1..].starts_with('\n') || input[at + 1..].starts_with(ACTION);
    input.match_indices('\n').map(|(at, _)| at).filter(|at| *at >= first).find(ends).unwrap_or(input.len())
}

/// `gen_actions_string`: the calls as blocks of two labelled lines with a blank line between them.
pub(crate) fn actions_string(text: &str) -> String {
    let block = |entry: Entry<'_>| format!("{ACTION}{}\n{INPUT}{}", entry.action, entry.input);
    entries(text).into_iter().map(block).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    fn found(text: &str) -> Vec<(&str, &str)> {
        entries(text).into_iter().map(|entry| (entry.action, entry.input)).collect()
    }

    #[test]
    fn a_call_takes_two_lines_and_what_follows_them() {
        assert_eq!(found("x Action: a b\nAction Input: {}\nResponse: r\n\nuser:"), [("a b", "{}\nResponse: r")]);
        assert_eq!(found("Action: a\nAction Input: {\n}\nAction: b\nAction Input: 2"), [("a", "{\n}"), ("b", "2")]);
    }

    #[test]
    fn a_blank_line_between_the_labels_or_a_missing_part_is_no_call() {
        assert_eq!(found("Action: a\n\nAction Input: {}"), []);
        assert_eq!(found("Action: a\nAction Input: "), []);
        assert_eq!(found("Action: a Action Input: {}"), []);
        assert_eq!(found("Action: \nAction Input: {}"), []);
    }

    #[test]
    fn the_input_begins_with_any_character_even_a_line_end() {
        assert_eq!(found("Action: a\nAction Input: \n\n\nz"), [("a", "\n")]);
        assert_eq!(found("Action: a\nAction Input: \nAction: b"), [("a", "\nAction: b")]);
    }

    proptest! {
        /// The rule of docs/benchmarks/flowbench.md §4.2 as a pattern that is tried at every position.
        #[test]
        fn the_scanner_finds_what_the_pattern_says(
            parts in proptest::collection::vec(
                prop::sample::select(vec!["Action: ", "Action Input: ", "\n", "\n\n", "a", "{}", "é", " "]), 0..24,
            ),
        ) {
            let text = parts.concat();
            let head = Regex::new(r"\AAction: ([^\n]+)\nAction Input: ([\s\S])").unwrap();
            let mut expected = Vec::new();
            let mut at = 0;
            while at < text.len() {
                let Some(start) = text.get(at..) else { at += 1; continue };
                let Some(captures) = head.captures(start) else { at += 1; continue };
                let (action, first) = (captures.get(1).unwrap(), captures.get(2).unwrap());
                let mut end = first.end();
                while end < start.len()
                    && !(start.is_char_boundary(end)
                        && (start[end..].starts_with("\n\n") || start[end..].starts_with("\nAction: ")))
                {
                    end += 1;
                }
                expected.push((action.as_str(), &start[first.start()..end]));
                at += end;
            }
            prop_assert_eq!(found(&text), expected);
        }
    }
}
