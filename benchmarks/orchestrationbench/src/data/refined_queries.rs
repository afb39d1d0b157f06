//! Queries that a scenario's plans give a sub agent at each of its steps (docs/benchmarks/orchestrationbench.md §3.3).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use regatta_pycompat::yaml::{Value, safe_load};

/// Steps of one workflow: agent and query, in order.
type Workflow = Vec<(Arc<str>, Arc<str>)>;

/// Returns the queries by decision step. `plans` are the texts of the plans, `decisions` the steps and their sub
/// agents, both in the order of the scenario.
///
/// All plans are read before any decision: a later plan replaces the steps of a workflow that it names again, and a
/// query may come from a plan that follows the decision.
pub(super) fn refined_queries<'d>(
    plans: impl Iterator<Item = &'d str>,
    decisions: impl Iterator<Item = (u32, &'d str)>,
) -> BTreeMap<u32, Arc<str>> {
    let mut workflows = Workflows::default();
    plans.for_each(|plan| workflows.read(plan));
    let mut waiting: Vec<Option<(Arc<str>, Arc<str>)>> = workflows.steps.into_iter().flatten().map(Some).collect();
    let mut queries = BTreeMap::new();
    for (step, agent) in decisions {
        let next = waiting.iter_mut().find(|slot| slot.as_ref().is_some_and(|(name, _)| **name == *agent));
        if let Some((_, query)) = next.and_then(Option::take) {
            queries.insert(step, query);
        }
    }
    queries
}

/// Workflows in the order of their first occurrence.
#[derive(Debug, Default)]
struct Workflows {
    positions: HashMap<String, usize>,
    steps: Vec<Workflow>,
}

impl Workflows {
    /// Adds the workflows of a plan; ignores a text that is not YAML.
    fn read(&mut self, plan: &str) {
        let Ok(plan) = safe_load(plan) else { return };
        for (id, workflow) in plan.as_dict().into_iter().flat_map(|plan| plan.iter()) {
            let Some(id) = id.as_str() else { continue };
            let steps = workflow.get("steps").and_then(Value::as_list).unwrap_or_default();
            let steps = steps.iter().filter_map(named_step).collect();
            match self.positions.get(id).and_then(|at| self.steps.get_mut(*at)) {
                Some(known) => *known = steps,
                None => {
                    self.positions.insert(id.to_owned(), self.steps.len());
                    self.steps.push(steps);
                }
            }
        }
    }
}

/// Returns agent and query of a step that has both.
fn named_step(step: &Value) -> Option<(Arc<str>, Arc<str>)> {
    let text = |field: &str| step.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    Some((text("name")?.into(), text("refined_query")?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(workflows: &[(&str, &[(&str, &str)])]) -> String {
        let mut text = String::new();
        for (id, steps) in workflows {
            text.push_str(&format!("{id}:\n  steps:\n"));
            for (name, query) in *steps {
                text.push_str(&format!("  - {{name: {name}, refined_query: {query}}}\n"));
            }
        }
        text
    }

    fn queries(plans: &[String], decisions: &[(u32, &str)]) -> Vec<(u32, String)> {
        let queries = refined_queries(plans.iter().map(String::as_str), decisions.iter().copied());
        queries.into_iter().map(|(step, query)| (step, query.to_string())).collect()
    }

    #[test]
    fn each_decision_takes_the_next_query_of_its_agent() {
        let plans = [plan(&[("workflow_1", &[("a", "one"), ("b", "two")]), ("workflow_2", &[("a", "three")])])];
        let found = queries(&plans, &[(2, "a"), (3, "b"), (5, "b"), (6, "a"), (7, "a")]);
        assert_eq!(found, [(2, "one".to_owned()), (3, "two".to_owned()), (6, "three".to_owned())]);
    }

    #[test]
    fn a_later_plan_replaces_the_steps_of_a_workflow_in_its_place() {
        let plans = [
            plan(&[("workflow_1", &[("a", "old")]), ("workflow_2", &[("a", "second")])]),
            plan(&[("workflow_3", &[("a", "third")]), ("workflow_1", &[("a", "new")])]),
        ];
        let found = queries(&plans, &[(1, "a"), (2, "a"), (9, "a")]);
        assert_eq!(found, [(1, "new".to_owned()), (2, "second".to_owned()), (9, "third".to_owned())]);
    }

    #[test]
    fn steps_without_agent_or_query_and_plans_that_cannot_be_read_give_none() {
        let plans = [
            plan(&[("workflow_1", &[("''", "x"), ("a", "''"), ("a", "1"), ("a", "yes"), ("a", "real")])]),
            "workflow_2: \"a \"b\" c\"".to_owned(),
            "workflow_3: text".to_owned(),
            "- workflow_4".to_owned(),
        ];
        assert_eq!(queries(&plans, &[(1, "a"), (2, "a")]), [(1, "real".to_owned())]);
    }
}
