//! The node of the flowchart that an output states (docs/benchmarks/flowbench.md §6.3).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regatta_pycompat::strip;
use regex::Regex;

const LABEL: &str = "current_node=";

/// Conjunction of several nodes, with white space as in Python, which includes four control characters.
static JOINT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\s\x1c-\x1f]+(?:AND|OR)[\s\x1c-\x1f]+").ok());

/// Returns the node, or several joined by AND or OR, as written after the first label: up to a full stop or the end
/// of the line, without closing punctuation.
pub(super) fn predicted(output: &str) -> Option<&str> {
    let (_, after) = output.split_once(LABEL)?;
    let node = after.split(['.', '\n']).next().unwrap_or_default();
    let closing = |c: char| " ,;:!\"'`)]".contains(c);
    Some(strip(strip(node).trim_end_matches(closing))).filter(|node| !node.is_empty())
}

/// Returns `true` if both texts name the same nodes, in any order.
pub(super) fn same(gold: &str, predicted: &str) -> bool {
    nodes(gold) == nodes(predicted)
}

fn nodes(text: &str) -> BTreeSet<&str> {
    match LazyLock::force(&JOINT) {
        Some(joint) => joint.split(strip(text)).collect(),
        None => [text].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_ends_at_a_full_stop_or_line_and_loses_closing_punctuation() {
        assert_eq!(predicted("Thought: last_node=AB000, current_node=AB001. I go on"), Some("AB001"));
        assert_eq!(predicted("current_node= AB001 AND CD002 \r\nAction"), Some("AB001 AND CD002"));
        assert_eq!(predicted("(current_node=`AB001`), x)"), Some("`AB001`), x"));
        assert_eq!(predicted("current_node=AB001\"']) ;:!,.current_node=CD002"), Some("AB001"));
        assert_eq!(predicted("current_node=UNK。"), Some("UNK。"));
        assert_eq!((predicted("current_node=."), predicted("current_node = AB001"), predicted("")), (None, None, None));
    }

    #[test]
    fn several_nodes_are_a_set() {
        assert!(same("AB001 AND CD002", "CD002  OR\tAB001"));
        assert!(same("AB001", "AB001 AND AB001"));
        assert!(!same("AB001", "AB001 AND CD002"));
        assert!(!same("AB001 AND CD002", "AB001AND CD002"));
        assert!(!same("AB001", "ab001"));
    }
}
