//! Compares the way that an agent says it went with the flowcharts: where did it leave them?
//!
//! The way is a sequence of `last_node`, `intent`, `current_node` as the agent states them. Where it *was* is what this file keeps
//! account of, one place for each flowchart, because a conversation may leave a scenario and come back to it; what the agent says
//! its last node was is not believed. Beginning a scenario again is always allowed. `UNK` goes nowhere: out of scope is no departure.

use std::collections::BTreeSet;
use std::sync::Arc;

use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::graph::Flowchart;

/// Most parts of a combination that are looked at. Golds have two; a model's output is bounded by this.
const PARTS_MAX: usize = 16;

/// What one agent turn says about where it is. Every part may be a combination: ` AND `, ` OR `.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visit<'v> {
    /// `last_node`, if it is stated.
    pub(crate) last: Option<&'v str>,
    /// `intent`, if it is stated.
    pub(crate) intent: Option<&'v str>,
    /// `current_node`, if it is stated. Turns that do not state it move nowhere.
    pub(crate) current: Option<&'v str>,
}

impl<'v> Visit<'v> {
    /// What an agent's output states in its thought. A value ends at a comma or at the end of its line, a node also at a full stop.
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

/// How a step left the flowchart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Departure {
    /// The node is further on; these in between were left out (failure category 1).
    MissingSteps(Vec<Arc<str>>),
    /// No way leads there from where the conversation was (failure category 2).
    WrongOrder,
    /// The stated intent leads elsewhere, or the edge that was taken is for another intent (failure category 3). Where the intent
    /// would have led, if it leads anywhere.
    WrongTransition(Option<Arc<str>>),
    /// No flowchart has this node (failure category 3: a transition that nobody drew).
    UnknownNode,
}

impl Departure {
    /// In a few words.
    pub(crate) const fn words(&self) -> &'static str {
        match self {
            Self::MissingSteps(_) => "steps are missing",
            Self::WrongOrder => "no way leads there",
            Self::WrongTransition(_) => "not under that intent",
            Self::UnknownNode => "there is no such node",
        }
    }

    /// The paper's failure category (docs/benchmarks/flowbench.md §6.6), 1 to 3.
    pub(crate) const fn category(&self) -> u8 {
        match self {
            Self::MissingSteps(_) => 1,
            Self::WrongOrder => 2,
            Self::WrongTransition(_) | Self::UnknownNode => 3,
        }
    }
}

/// One step that left the flowchart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Position among the visits.
    pub(crate) visit: usize,
    /// Where the conversation was in that flowchart; empty for an unknown node.
    pub(crate) from: Vec<Arc<str>>,
    /// Where it went.
    pub(crate) to: Arc<str>,
    /// How.
    pub(crate) departure: Departure,
}

/// The steps of `visits` that left the flowcharts (those of the scenario, or of all scenarios of the role), in their order.
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

/// What is wrong with going from one of `here` to `to` under one of `intents`.
fn step(chart: &Flowchart, here: &BTreeSet<NodeIndex>, intents: &[String], to: NodeIndex) -> Option<Departure> {
    if here.contains(&to) {
        return None;
    }
    let origins: BTreeSet<NodeIndex> = here.iter().copied().chain([chart.start]).collect();
    let mut adjacent = false;
    let mut meant = None;
    for edge in origins.iter().flat_map(|&from| chart.graph.edges(from)) {
        let named = edge.weight().as_deref().map(label);
        // A label with a comma may have been cut there: the released code ends an intent at its first comma
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

/// The parts of a combination.
pub(super) fn parts(text: &str) -> std::vec::IntoIter<&str> {
    let mut found = vec![text];
    for joint in [" AND ", " OR "] {
        found = found.into_iter().flat_map(|part| part.split(joint)).collect();
    }
    found.retain(|part| !part.trim().is_empty());
    found.truncate(PARTS_MAX);
    found.into_iter().map(str::trim).collect::<Vec<_>>().into_iter()
}

/// A label or intent as it is compared: blanks and capitals do not matter, because agents copy them freely.
fn label(text: impl AsRef<str>) -> String {
    text.as_ref().split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
