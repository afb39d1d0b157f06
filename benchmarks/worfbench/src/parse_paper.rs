//! Reads a workflow for the `paper` evaluator: nodes by their printed number, edges between nodes that exist.

use std::collections::{HashMap, HashSet};

use regatta_pycompat::{is_space, strip};

use super::edge_ends::{End, edge_ends};

/// Longer node numbers are ignored.
const NUMBER_DIGITS_MAX: usize = 18;

/// Node texts in order of first appearance, and distinct edges between positions in that list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PaperWorkflow<'a> {
    pub(crate) nodes: Vec<&'a str>,
    pub(crate) edges: Vec<(usize, usize)>,
}

/// The workflow in a text, or `None` if it names no node. Edges are optional.
pub(crate) fn parse(text: &str) -> Option<PaperWorkflow<'_>> {
    let mut nodes = Vec::new();
    let mut by_number = HashMap::new();
    for (number, text) in text.split('\n').filter_map(node) {
        by_number.entry(number).or_insert_with(|| {
            nodes.push(text);
            nodes.len() - 1
        });
    }
    if nodes.is_empty() {
        return None;
    }
    let position = |end: End<'_>| match end {
        End::Marker => None,
        End::Digits(digits) => by_number.get(&number(digits.trim_start_matches('0'))?).copied(),
    };
    let mut seen = HashSet::new();
    let mut edges = Vec::new();
    for (from, to) in edge_ends(text, |c| c.is_ascii_digit()) {
        let (Some(from), Some(to)) = (position(from), position(to)) else { continue };
        if from != to && seen.insert((from, to)) {
            edges.push((from, to));
        }
    }
    Some(PaperWorkflow { nodes, edges })
}

/// Number and text of a line `[bullet] [Node] number separator text`, with `:`, `.` or `)` as separator.
fn node(line: &str) -> Option<(u64, &str)> {
    let blank = [' ', '\t'];
    let mut rest = line.trim_start_matches(blank);
    if let Some(after) = rest.strip_prefix(['-', '*']) {
        rest = after.trim_start_matches(blank);
    }
    if let Some(after) = rest.strip_prefix("Node") {
        rest = after.trim_start_matches(blank);
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (printed, rest) = rest.split_at(digits);
    let text = rest.trim_start_matches(blank).strip_prefix([':', '.', ')'])?.trim_start_matches(blank);
    if text.chars().next().is_none_or(is_space) || printed.len() > NUMBER_DIGITS_MAX {
        return None;
    }
    // The parse fails if no digit was printed.
    Some((printed.parse().ok()?, strip(text)))
}

/// The number that digits without leading zeros stand for, if a node may have it.
fn number(digits: &str) -> Option<u64> {
    match digits.len() {
        0 => Some(0),
        1..=NUMBER_DIGITS_MAX => digits.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nodes(text: &str) -> Option<Vec<&str>> {
        parse(text).map(|w| w.nodes)
    }

    #[test]
    fn nodes_stand_at_the_start_of_a_line() {
        for line in ["1: a", "1.a", " 1 ) a\r", "\t- 1: a", "*1. a", "Node 1: a \u{1f}", "- Node1.a"] {
            assert_eq!(nodes(line), Some(vec!["a"]), "{line:?}");
        }
        for line in ["x 1: a", "1 a", ": a", "1: ", "1:\u{a0}a", "** 1: a", "٣: a", "node 1: a"] {
            assert_eq!(nodes(line), None, "{line:?}");
        }
    }

    #[test]
    fn the_first_text_of_a_number_wins() {
        assert_eq!(nodes("2: b\n1: a\n2: c\n01: d"), Some(vec!["b", "a"]));
    }

    #[test]
    fn very_long_numbers_are_no_nodes() {
        assert_eq!(nodes("999999999999999999: a\n9999999999999999999: b"), Some(vec!["a"]));
    }

    #[test]
    fn edges_name_numbers_and_drop_what_is_no_pair_of_nodes() {
        let text = "5: a\n7: b\n(START,5) (5,7) (7, 5) (5,7) (5,5) (5,6) (07,END) (1,2) (5,99999999999999999999)";
        assert_eq!(parse(text).unwrap().edges, [(0, 1), (1, 0)]);
        assert_eq!(parse("0: a\n1: b\n(00,01)").unwrap().edges, [(0, 1)]);
    }

    proptest! {
        #[test]
        fn equals_the_regular_expression(text in "([1-3\\*\\- \t:.)x\n\u{1c}\u{a0}]|Node){0,60}") {
            let space = r"\s\x1c-\x1f";
            let node = regex::Regex::new(&format!(
                r"(?m)^[ \t]*(?:[-*][ \t]*)?(?:Node[ \t]*)?([0-9]+)[ \t]*[:.)][ \t]*([^{space}][^\n]*)$"
            )).unwrap();
            let mut seen = HashSet::new();
            let expected: Vec<_> = node
                .captures_iter(&text)
                .filter(|c| c[1].len() <= 18 && seen.insert(c[1].parse::<u64>().unwrap()))
                .map(|c| strip(c.get(2).unwrap().as_str()))
                .collect();
            prop_assert_eq!(nodes(&text).unwrap_or_default(), expected);
        }

        #[test]
        fn any_text_is_read_without_panic(text in "\\PC*") {
            parse(&text);
        }
    }
}
