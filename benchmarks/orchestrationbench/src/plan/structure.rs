//! Structure graphs (docs/benchmarks/orchestrationbench.md §5.1): nodes are workflows, and edges lead from a
//! dependency to the workflow that depends on it.

use regatta_pycompat::yaml::{HashKey, Value};

use super::dependencies::{official_elements, paper_dependencies};
use super::graph::Graph;
use super::reading::{Raised, Workflows};

/// A structure graph; a model's dependencies may be any hashable values.
pub(super) type StructureGraph = Graph<HashKey, Value>;

/// Builds the graph as the official code does: from `depends_on` alone, whether it names workflows or not.
pub(super) fn official(workflows: &Workflows<'_>) -> Result<StructureGraph, Raised> {
    let mut graph = Graph::new();
    for workflow in workflows.all() {
        let node = add(&mut graph, workflow.id);
        let Some(dependencies) = workflow.fields()?.get("depends_on").filter(|value| value.is_truthy()) else {
            continue;
        };
        for dependency in official_elements(dependencies)?.iter() {
            let key = dependency.hash_key().ok_or(Raised("TypeError"))?;
            if matches!(*dependency, Value::None) {
                return Err(Raised("ValueError"));
            }
            let dependency = graph.node(key, || dependency.clone());
            graph.edge(dependency, node);
        }
    }
    Ok(graph)
}

/// Builds the graph as the paper describes it: from dependencies on workflows of the plan.
pub(super) fn paper(workflows: &Workflows<'_>) -> Result<StructureGraph, Raised> {
    let mut graph = Graph::new();
    for workflow in workflows.all() {
        add(&mut graph, workflow.id);
    }
    for workflow in workflows.all() {
        for dependency in paper_dependencies(workflow.fields()?)? {
            if workflows.at(dependency).is_some() {
                let (dependency, node) = (add(&mut graph, dependency), add(&mut graph, workflow.id));
                graph.edge(dependency, node);
            }
        }
    }
    Ok(graph)
}

fn add(graph: &mut StructureGraph, id: &str) -> usize {
    graph.node(HashKey::Str(id.to_owned()), || Value::Str(id.to_owned()))
}
