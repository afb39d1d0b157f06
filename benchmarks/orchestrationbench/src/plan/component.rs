//! Component graphs (docs/benchmarks/orchestrationbench.md §5.1): nodes are pairs of an agent and a status, edges lead from step to step
//! and along dependencies.

use std::borrow::Cow;

use regatta_pycompat::yaml::{Dict, HashKey, Value};

use super::dependencies::{official_dependencies, paper_dependencies};
use super::distance::Costs;
use super::graph::Graph;
use super::reading::{Raised, Workflows, elements, fields};

/// A component graph.
pub(super) type ComponentGraph = Graph<(HashKey, HashKey), AgentState>;

/// A node.
#[derive(Debug, Clone)]
pub(super) struct AgentState {
    /// Agent of a step; usually a text.
    pub(super) agent: Value,
    /// Status of the step; usually a text, `UNK` where it is absent.
    pub(super) status: Value,
}

impl AgentState {
    /// Cost of substituting `other` for this node.
    pub(super) fn substitution(&self, other: &Self, costs: &Costs) -> f64 {
        match (self.agent.equals(&other.agent), self.status.equals(&other.status)) {
            (true, true) => 0.0,
            (true, false) => costs.status,
            (false, true) => costs.agent,
            (false, false) => costs.both,
        }
    }
}

/// Builds the graph as the official code does. Steps may be any iterable value.
pub(super) fn official(workflows: &Workflows<'_>) -> Result<ComponentGraph, Raised> {
    let (mut graph, sequences) = of_steps(workflows, elements)?;
    for (workflow, sequence) in workflows.all().iter().zip(&sequences) {
        // The official code ignores the dependencies of a workflow without steps.
        let Some(first) = sequence.first() else { continue };
        for dependency in official_dependencies(workflow.fields()?)? {
            depend(&mut graph, workflows, &sequences, &dependency, *first);
        }
    }
    Ok(graph)
}

/// Builds the graph as the paper describes it. Steps must be a list.
pub(super) fn paper(workflows: &Workflows<'_>) -> Result<ComponentGraph, Raised> {
    let (mut graph, sequences) = of_steps(workflows, list)?;
    for (workflow, sequence) in workflows.all().iter().zip(&sequences) {
        let dependencies = paper_dependencies(workflow.fields()?)?;
        let Some(first) = sequence.first() else { continue };
        for dependency in dependencies {
            depend(&mut graph, workflows, &sequences, dependency, *first);
        }
    }
    Ok(graph)
}

fn list(value: &Value) -> Result<Cow<'_, [Value]>, Raised> {
    value.as_list().map(Cow::Borrowed).ok_or(Raised("TypeError"))
}

/// Adds the nodes and the edges within workflows, and returns the nodes of every workflow's steps.
fn of_steps(
    workflows: &Workflows<'_>,
    go_through: impl Fn(&Value) -> Result<Cow<'_, [Value]>, Raised>,
) -> Result<(ComponentGraph, Vec<Vec<usize>>), Raised> {
    let mut graph = Graph::new();
    let mut sequences = Vec::new();
    for workflow in workflows.all() {
        let mut sequence = Vec::new();
        if let Some(steps) = workflow.fields()?.get("steps").filter(|steps| steps.is_truthy()) {
            for step in go_through(steps)?.iter() {
                sequence.extend(add(&mut graph, fields(step)?)?);
            }
        }
        sequences.push(sequence);
    }
    for sequence in &sequences {
        for (from, to) in sequence.iter().zip(sequence.iter().skip(1)) {
            if from != to {
                graph.edge(*from, *to);
            }
        }
    }
    Ok((graph, sequences))
}

/// Adds the node of a step; returns `None` for a step without an agent.
fn add(graph: &mut ComponentGraph, step: &Dict) -> Result<Option<usize>, Raised> {
    let agent = step.get("agent_id").filter(|agent| agent.is_truthy()).or_else(|| step.get("name"));
    let Some(agent) = agent.filter(|agent| agent.is_truthy()) else { return Ok(None) };
    let status = step.get("status").map_or_else(|| Cow::Owned(Value::Str("UNK".to_owned())), Cow::Borrowed);
    if !agent.is_printable() || !status.is_printable() {
        // The official code prints the node's label, which raises for such a value.
        return Err(Raised("ValueError"));
    }
    let key = (agent.hash_key().ok_or(Raised("TypeError"))?, status.hash_key().ok_or(Raised("TypeError"))?);
    Ok(Some(graph.node(key, || AgentState { agent: agent.clone(), status: status.into_owned() })))
}

/// Adds an edge from the last step of the workflow `dependency`, if there is one, to a step. It can be a loop.
fn depend(
    graph: &mut ComponentGraph,
    workflows: &Workflows<'_>,
    sequences: &[Vec<usize>],
    dependency: &str,
    first: usize,
) {
    if let Some(last) = workflows.at(dependency).and_then(|at| sequences.get(at)).and_then(|steps| steps.last()) {
        graph.edge(*last, first);
    }
}
