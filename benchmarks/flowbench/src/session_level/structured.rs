//! Failure category without a judge, from the calls that were made and the nodes that the agent stated
//! (docs/benchmarks/flowbench.md §6.6, categories 1 to 3).
//!
//! It complements the judge's category and is not one of the paper's metrics. It cannot detect wrong parameters (4)
//! or other failures (5).

use serde_json::{Value, json};

use crate::flowchart::{Finding, Flowchart, Visit, path_check};
use crate::protocol::Message;

/// A detected failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StructuredFailure {
    /// Category 1: the tool was called less often than in the gold, or never.
    CallMissing(String),
    /// Category 2: all calls were made, but this one before one that precedes it in the gold.
    CallTooEarly(String),
    /// The conversation departed from the flowchart; the category is that of the departure.
    LeftFlowchart(Finding),
}

impl StructuredFailure {
    /// Returns the paper's category, 1 to 3.
    const fn category(&self) -> u8 {
        match self {
            Self::CallMissing(_) => 1,
            Self::CallTooEarly(_) => 2,
            Self::LeftFlowchart(finding) => finding.departure.category(),
        }
    }

    /// Entry in the detail of a session. Turns of the agent are counted from 1.
    pub(super) fn detail(&self) -> Value {
        match self {
            Self::CallMissing(tool) => json!({ "category": self.category(), "call_missing": tool }),
            Self::CallTooEarly(tool) => json!({ "category": self.category(), "call_too_early": tool }),
            Self::LeftFlowchart(Finding { visit, from, to, .. }) => {
                let from: Vec<&str> = from.iter().map(|node| &**node).collect();
                json!({ "category": self.category(), "agent_turn": visit + 1, "from": from, "to": **to })
            }
        }
    }
}

/// Returns the first detected failure, `None` if there is none. Calls are checked before paths, because calls are
/// facts and nodes are the agent's own statements.
pub(super) fn structured_failure(
    gold_calls: &[&str],
    made_calls: &[&str],
    charts: &[&Flowchart],
    messages: &[Message],
) -> Option<StructuredFailure> {
    let count = |calls: &[&str], tool: &str| calls.iter().filter(|call| **call == tool).count();
    if let Some(tool) = gold_calls.iter().find(|tool| count(made_calls, tool) < count(gold_calls, tool)) {
        return Some(StructuredFailure::CallMissing((*tool).to_owned()));
    }
    let mut made = made_calls.iter();
    if let Some(tool) = gold_calls.iter().find(|tool| !made.any(|call| call == *tool)) {
        return Some(StructuredFailure::CallTooEarly((*tool).to_owned()));
    }
    let of_agent = messages.iter().filter(|message| message.is_assistant());
    let visits: Vec<Visit<'_>> = of_agent.map(|message| Visit::stated_in(message.text())).collect();
    path_check(charts, &visits).into_iter().next().map(StructuredFailure::LeftFlowchart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flowchart::parse;

    const CHART: &str =
        "flowchart TD\nAB000(Start)--Rent-->AB001[Look]\nAB001--Found-->AB002[Rent]\nAB001--None-->AB003[Sorry]\n";

    fn at(nodes: &[(&str, &str)]) -> Vec<Message> {
        let thought =
            |(intent, node): &(&str, &str)| format!("Thought: intent={intent}, current_node={node}. So.\nResponse: r");
        nodes.iter().map(|at| Message::assistant(thought(at), None)).collect()
    }

    fn category(gold: &[&str], made: &[&str], nodes: &[(&str, &str)]) -> Option<u8> {
        let chart = parse(CHART).unwrap();
        structured_failure(gold, made, &[&chart], &at(nodes)).map(|failure| failure.category())
    }

    #[test]
    fn a_call_that_was_not_made_is_a_missing_step() {
        assert_eq!(category(&["look", "rent"], &["look"], &[]), Some(1));
        assert_eq!(category(&["look", "look"], &["look"], &[]), Some(1));
    }

    #[test]
    fn calls_in_another_order_are_an_incorrect_sequence() {
        assert_eq!(category(&["look", "rent"], &["rent", "look"], &[]), Some(2));
        assert_eq!(category(&["look", "rent"], &["rent", "look", "rent"], &[]), None, "the gold's order is among them");
    }

    #[test]
    fn leaving_the_flowchart_is_of_the_departures_category() {
        assert_eq!(category(&[], &[], &[("Rent", "AB001"), ("Found", "AB002")]), None);
        assert_eq!(category(&[], &[], &[("Rent", "AB001"), ("None", "AB002")]), Some(3));
        assert_eq!(category(&[], &[], &[("x", "ZZ009")]), Some(3));
        assert_eq!(category(&[], &[], &[("Found", "AB002")]), Some(1));
        assert_eq!(category(&["look"], &["look"], &[("UNK", "UNK")]), None);
    }
}
