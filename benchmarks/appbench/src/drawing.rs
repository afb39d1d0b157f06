//! The plan of an answer over the gold one, for people who look at a session: a node a call, an edge from each call that returns a name to
//! each that takes it.

use regatta_benchmarks::Drawing;

use super::data::{Entry, Phone};
use super::paper;
use super::parse::lines;
use super::topology::links;

/// Calls that are looked at; links may be as many as the square of them.
const CALLS_MAX: usize = 200;

/// The plan that `text` is over that of `entry`.
pub(crate) fn drawing(entry: &Entry, phone: &Phone, text: &str) -> Drawing {
    let mut own = lines(text);
    own.truncate(CALLS_MAX);
    let calls: Vec<&str> = own.iter().map(|line| line.call.as_str()).collect();
    let gold: Vec<(&str, &str)> = paper::gold_pairs(&entry.gold).take(CALLS_MAX).collect();
    let gold_calls: Vec<&str> = gold.iter().map(|(_, call)| *call).collect();
    let label = |(app, call): (&str, &str)| if app.is_empty() { call.to_owned() } else { format!("{app}: {call}") };
    let labels: Vec<String> = own.iter().map(|line| label((line.app, &line.call))).collect();
    let gold_labels: Vec<String> = gold.iter().copied().map(label).collect();
    let (partner, is_same) = paper::partners(entry, phone, &own);
    Drawing::over("Plan", (&labels, &links(&calls)), (&gold_labels, &links(&gold_calls)), &partner, |call, _| {
        is_same.get(call).copied().unwrap_or(false)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    /// The drawing of a plan for an item whose gold is two calls of Library and two of Garden.
    fn shown(plan: &str) -> String {
        let data = vectors::miniature();
        let drawing = drawing(data.find("mm-000").unwrap(), &data.phone, plan);
        let nodes = drawing.nodes.iter().map(|node| format!("{} {}", node.presence.as_str(), node.label));
        let edges = drawing.edges.iter().map(|edge| format!("{} {}-{}", edge.presence.as_str(), edge.from, edge.to));
        nodes.chain(edges).collect::<Vec<_>>().join("\n")
    }

    fn gold() -> String {
        let data = vectors::miniature();
        let pairs = paper::gold_pairs(&data.find("mm-000").unwrap().gold);
        pairs.map(|(app, call)| format!("{app}: [{call}]\n")).collect()
    }

    #[test]
    fn the_gold_plan_is_matched_node_by_node_and_edge_by_edge() {
        let shown = shown(&gold());
        assert_eq!(shown.matches("matched Library: ").count(), 2, "{shown}");
        assert_eq!(shown.matches("matched Garden: ").count(), 2, "{shown}");
        assert!(shown.contains("\nmatched 0-1") && shown.contains("\nmatched 2-3"), "{shown}");
        assert!(!shown.contains("missing") && !shown.contains("extra") && !shown.contains("changed"), "{shown}");
    }

    #[test]
    fn calls_with_other_arguments_are_changed_those_left_out_missing_and_those_of_other_apps_extra() {
        let first = "title, author, branch, shelf = findbook(#title='Emma')";
        let shown = shown(&format!("Library: [{first}]\nFerry: [x = sail(#to='Romanshorn')]"));
        assert!(shown.starts_with("changed Library: title, author, branch, shelf = findbook"), "{shown}");
        assert!(shown.contains("\nextra Ferry: x = sail"), "{shown}");
        assert_eq!(shown.matches("missing Library: ").count(), 1, "{shown}");
        assert_eq!(shown.matches("missing Garden: ").count(), 2, "{shown}");
    }
}
