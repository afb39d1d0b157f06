//! Comparison of an agent's stated path with the flowcharts, to find where it departed from them.
//!
//! The path is a sequence of `last_node`, `intent`, `current_node` as the agent states them. The position *before* a
//! step is tracked here, separately for each flowchart, because a conversation may leave a scenario and come back to
//! it; the agent's `last_node` is not trusted. Restarting a scenario is always allowed. `UNK` moves nowhere: out of
//! scope is not a departure.

use std::collections::BTreeSet;
use std::sync::Arc;

use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::graph::Flowchart;

/// Greatest number of parts of a combination that are compared. Gold ones have two; a model can write any number.
const PARTS_MAX: usize = 16;

/// Position that one agent turn states. Every part may be a combination joined by ` AND ` or ` OR `.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visit<'v> {
    /// `last_node`, if it is stated.
    pub(crate) last: Option<&'v str>,
    /// `intent`, if it is stated.
    pub(crate) intent: Option<&'v str>,
    /// `current_node`, if it is stated. Turns that do not state it do not move.
    pub(crate) current: Option<&'v str>,
}

impl<'v> Visit<'v> {
    /// Parses the thought of an agent's output. A value ends at a comma or line end, a node also at a full stop.
    pub(crate) fn stated_in(output: &'v str) -> Self {
        let stated = |label: &str, ends: &[char]| {
            let (_, after) = output.split_once(label)?;
            let value = after.split(ends).next().unwrap_or_default().trim();
            (!value.is_empty()).then_some(value)
        };
        Self {
            last: stated("last_node=", &[',', '\n']),
            intent: stated("intent=", &[',', '\n']),
            current: stated("current_node=", &['.', ',', '\n']),
        }
    }
}

/// Kind of a departure from the flowchart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Departure {
    /// Nodes were skipped: these lie between the last one and the new one (failure category 1).
    MissingSteps(Vec<Arc<str>>),
    /// No path leads there from the last node (failure category 2).
    WrongOrder,
    /// The stated intent leads elsewhere, or the edge taken is for another intent (failure category 3). Holds the
    /// node that the intent leads to, if any.
    WrongTransition(Option<Arc<str>>),
    /// No flowchart has this node (failure category 3: a transition that does not exist).
    UnknownNode,
}

impl Departure {
    /// Describes the departure in a few words.
    pub(crate) const fn words(&self) -> &'static str {
        match self {
            Self::MissingSteps(_) => "steps are missing",
            Self::WrongOrder => "no way leads there",
            Self::WrongTransition(_) => "not under that intent",
            Self::UnknownNode => "there is no such node",
        }
    }

    /// Returns the paper's failure category (docs/benchmarks/flowbench.md §6.6), 1 to 3.
    pub(crate) const fn category(&self) -> u8 {
        match self {
            Self::MissingSteps(_) => 1,
            Self::WrongOrder => 2,
            Self::WrongTransition(_) | Self::UnknownNode => 3,
        }
    }
}

/// One step that departed from the flowcharts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Index of the visit.
    pub(crate) visit: usize,
    /// Nodes before the step in that flowchart; empty for an unknown node.
    pub(crate) from: Vec<Arc<str>>,
    /// Node that the step went to.
    pub(crate) to: Arc<str>,
    /// Kind of the departure.
    pub(crate) departure: Departure,
}

/// Returns the steps of `visits` that departed from the flowcharts (of the scenario, or of all scenarios of the
/// role), in order.
pub(crate) fn path_check(charts: &[&Flowchart], visits: &[Visit<'_>]) -> Vec<Finding> {
    let mut here: Vec<BTreeSet<NodeIndex>> = charts.iter().map(|chart| BTreeSet::from([chart.start])).collect();
    let mut findings = Vec::new();
    for (position, visit) in visits.iter().enumerate() {
        let intents: Vec<String> = visit.intent.map(parts).unwrap_or_default().map(label).collect();
        let mut reached: Vec<BTreeSet<NodeIndex>> = vec![BTreeSet::new(); charts.len()];
        for id in visit.current.map(parts).unwrap_or_default().filter(|id| *id != "UNK") {
            let found = charts.iter().enumerate().find_map(|(c, chart)| Some((c, *chart, *chart.by_id.get(id)?)));
            let Some((number, chart, to)) = found else {
                let unknown = Departure::UnknownNode;
                findings.push(Finding { visit: position, from: Vec::new(), to: id.into(), departure: unknown });
                continue;
            };
            if let Some(departure) = step(chart, &here[number], &intents, to) {
                let from = here[number].iter().map(|&index| Arc::clone(&chart.graph[index].id)).collect();
                findings.push(Finding { visit: position, from, to: id.into(), departure });
            }
            reached[number].insert(to);
        }
        for (at, new) in here.iter_mut().zip(reached) {
            if !new.is_empty() {
                *at = new;
            }
        }
    }
    findings
}

/// Returns the departure of a step from one of `here` to `to` under one of `intents`; `None` if the flowchart allows it.
fn step(chart: &Flowchart, here: &BTreeSet<NodeIndex>, intents: &[String], to: NodeIndex) -> Option<Departure> {
    if here.contains(&to) {
        return None;
    }
    let origins: BTreeSet<NodeIndex> = here.iter().copied().chain([chart.start]).collect();
    let mut adjacent = false;
    let mut meant = None;
    for edge in origins.iter().flat_map(|&from| chart.graph.edges(from)) {
        let named = edge.weight().as_deref().map(label);
        // A stated intent may be cut at a comma of the label: the released code ends an intent at its first comma
        // (docs/benchmarks/flowbench.md §3.5).
        let stated = |name: &String| {
            let beginning = name.split(',').next().unwrap_or(name).trim_end();
            intents.iter().any(|intent| intent == name || intent == beginning)
        };
        let fits = named.as_ref().is_none_or(|name| intents.is_empty() || stated(name));
        if edge.target() == to {
            if fits {
                return None;
            }
            adjacent = true;
        } else if meant.is_none() && named.as_ref().is_some_and(stated) && here.contains(&edge.source()) {
            meant = Some(Arc::clone(&chart.graph[edge.target()].id));
        }
    }
    if adjacent || meant.is_some() {
        return Some(Departure::WrongTransition(meant));
    }
    let skipped = here.iter().filter_map(|&from| chart.between(from, to)).min_by_key(Vec::len);
    Some(skipped.map_or(Departure::WrongOrder, Departure::MissingSteps))
}

/// Splits a combination into its parts.
pub(super) fn parts(text: &str) -> std::vec::IntoIter<&str> {
    let mut found = vec![text];
    for joint in [" AND ", " OR "] {
        found = found.into_iter().flat_map(|part| part.split(joint)).collect();
    }
    found.retain(|part| !part.trim().is_empty());
    found.truncate(PARTS_MAX);
    found.into_iter().map(str::trim).collect::<Vec<_>>().into_iter()
}

/// Normal form of a label or intent: white space and case are ignored, because agents copy them loosely.
fn label(text: impl AsRef<str>) -> String {
    text.as_ref().split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
