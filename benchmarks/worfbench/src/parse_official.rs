//! Reads a workflow as the published parser does, for predictions and gold alike (docs/benchmarks/worfbench.md §4).

use regatta_pycompat::{decimal_digit, strip};

use super::edge_ends::{End, edge_ends};

/// Python refuses to convert longer digit strings to integers.
const INTEGER_DIGITS_MAX: usize = 4300;

/// Stands for every printed number that no node can have because it does not fit.
pub(crate) const BEYOND: usize = usize::MAX;

/// Texts of all nodes, START first and END last, and edges between positions in that list as printed: repeats,
/// self-loops and positions without a node are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfficialWorkflow<'a> {
    pub(crate) nodes: Vec<&'a str>,
    pub(crate) edges: Vec<(usize, usize)>,
}

/// The workflow in a text, or `None` where the published parser finds none.
pub(crate) fn parse(text: &str) -> Option<OfficialWorkflow<'_>> {
    if !text.contains("Node") {
        return None;
    }
    let mut nodes = vec!["START"];
    nodes.extend(text.split('\n').filter_map(node_text));
    nodes.push("END");
    let end = nodes.len() - 1;
    let mut edges = Vec::new();
    for (from, to) in edge_ends(text, |c| decimal_digit(c).is_some()) {
        edges.push((position(from, 0)?, position(to, end)?));
    }
    (!edges.is_empty()).then_some(OfficialWorkflow { nodes, edges })
}

/// Group 1 of the first match of `\d+[:.] (.+)`, stripped. The group runs to the end of the line, so a line holds at
/// most one match; it starts at the first separator that has a digit before it and a space and more after it.
fn node_text(line: &str) -> Option<&str> {
    let separator = line.as_bytes().windows(2).enumerate().position(|(at, pair)| {
        matches!(pair, b": " | b". ")
            && at + 2 < line.len()
            && line[..at].chars().next_back().is_some_and(|c| decimal_digit(c).is_some())
    })?;
    Some(strip(&line[separator + 2..]))
}

/// The integer an edge's end stands for; `None` if Python would refuse to convert it.
fn position(end: End<'_>, marker: usize) -> Option<usize> {
    let End::Digits(digits) = end else { return Some(marker) };
    let mut value = Some(0_usize);
    let mut count = 0;
    for digit in digits.chars().filter_map(decimal_digit) {
        count += 1;
        value = value.and_then(|v| v.checked_mul(10)?.checked_add(usize::from(digit)));
    }
    (count <= INTEGER_DIGITS_MAX).then(|| value.unwrap_or(BEYOND))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nodes(line: &str) -> Vec<String> {
        let text = format!("Node:\n{line}\nEdge: (START,END)");
        let nodes = parse(&text).unwrap().nodes;
        nodes[1..nodes.len() - 1].iter().map(|&n| n.to_owned()).collect()
    }

    fn edges(text: &str) -> Option<Vec<(usize, usize)>> {
        parse(&format!("Node:\n1: a\n2: b\n{text}")).map(|w| w.edges)
    }

    #[test]
    fn a_node_is_a_number_a_separator_one_space_and_a_text() {
        assert_eq!(nodes("1: text"), ["text"]);
        assert_eq!(nodes("1. text\r"), ["text"]);
        for line in ["1.text", "1) text", "1 : text", "1:\ttext", "1: ", "a: text", ": text"] {
            assert!(nodes(line).is_empty(), "{line:?}");
        }
    }

    #[test]
    fn numbers_anywhere_in_a_line_make_a_node() {
        assert_eq!(nodes("Node 3: text"), ["text"]);
        assert_eq!(nodes("- 2. text"), ["text"]);
        assert_eq!(nodes("**1. text**"), ["text**"]);
        assert_eq!(nodes("1. **text**"), ["**text**"]);
        assert_eq!(nodes("at 12: 30 has 2: parts"), ["30 has 2: parts"]);
        assert_eq!(nodes("a: 1.x 2. text"), ["text"]);
        assert_eq!(nodes("١: x"), ["x"]);
    }

    #[test]
    fn a_second_space_alone_is_an_empty_text() {
        assert_eq!(nodes("1:  "), [""]);
        assert_eq!(nodes("1: \u{1f}"), [""]);
    }

    #[test]
    fn edges_are_read_in_the_whole_text_as_printed() {
        assert_eq!(edges("(0,1) (1,2)\n( 2 ,\nEND): because"), Some(vec![(0, 1), (1, 2), (2, 3)]));
        assert_eq!(edges("(START,1) (1,1) (1,1) (7,９)"), Some(vec![(0, 1), (1, 1), (1, 1), (7, 9)]));
        assert_eq!(parse("Node:\n1: see (1, 2)").unwrap().edges, [(1, 2)]);
    }

    #[test]
    fn without_the_word_or_without_edges_nothing_is_read() {
        assert_eq!(parse("node:\n1: a\n(START,1)"), None);
        assert_eq!(edges("1 -> 2"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn integers_beyond_the_word_have_no_node_and_beyond_the_limit_no_reading() {
        let number = |digits: usize| format!("(1,{})", "9".repeat(digits));
        assert_eq!(edges(&number(25)), Some(vec![(1, BEYOND)]));
        assert_eq!(edges(&number(4300)), Some(vec![(1, BEYOND)]));
        assert_eq!(edges(&number(4301)), None);
        assert_eq!(edges(&format!("({}1,2)", "0".repeat(100))), Some(vec![(1, 2)]));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC*", noise in "[Node0-9٣:. \\n(),STARTEND\u{1c}é]{0,80}") {
            parse(&text);
            let text = format!("Node{noise}");
            if let Some(workflow) = parse(&text) {
                prop_assert!(workflow.nodes.len() >= 2 && !workflow.edges.is_empty());
            }
        }

        #[test]
        fn equals_the_regular_expressions(noise in "[1-3٣:. x\\n(),\u{1c}\u{85}]{0,60}|([1-3٣ (),]|START|END|: |\n){0,30}") {
            let text = format!("Node{noise}(1,2)");
            let node = regex::Regex::new(r"\d+[:.] ([^\n]+)").unwrap();
            let space = r"[\s\x1c-\x1f]*";
            let edge = regex::Regex::new(&format!(r"\({space}(\d+|START){space},{space}(\d+|END){space}\)")).unwrap();
            let expected: Vec<_> = node.captures_iter(&text).map(|c| strip(c.get(1).unwrap().as_str())).collect();
            let workflow = parse(&text).unwrap();
            prop_assert_eq!(&workflow.nodes[1..workflow.nodes.len() - 1], &expected[..]);
            prop_assert_eq!(workflow.edges.len(), edge.find_iter(&text).count());
        }
    }
}
