//! Drawings of a plan over the gold plan for people: workflows, and the agents of their steps.

use regatta_benchmarks::Drawing;
use regatta_pycompat::yaml::{Dict, Value};

use super::component::{self, AgentState};
use super::reading::{Raised, Workflows};
use super::step::printed;
use super::structure;

/// A graph to be drawn.
#[derive(Default)]
struct Shown {
    labels: Vec<String>,
    edges: Vec<(usize, usize)>,
}

/// Draws the agents of `plan` over those of `gold`, and its workflows where there are several. If the paper's
/// evaluator cannot read the plan, the whole gold is shown as missing.
pub(crate) fn drawings(title: &str, plan: Option<&Dict>, gold: &Dict) -> Vec<Drawing> {
    let Ok((gold_agents, gold_states)) = agents(gold) else { return Vec::new() };
    let (own_agents, own_states) = plan.and_then(|plan| agents(plan).ok()).unwrap_or_default();
    let partner = partners(&own_states, &gold_states);
    let is_same = |own: usize, wanted: usize| {
        let (own, wanted) = (&own_states[own], &gold_states[wanted]);
        own.agent.equals(&wanted.agent) && own.status.equals(&wanted.status)
    };
    let over = |title: String,
                own: &Shown,
                gold: &Shown,
                partner: &[Option<usize>],
                is_same: &dyn Fn(usize, usize) -> bool| {
        Drawing::over(&title, (&own.labels, &own.edges), (&gold.labels, &gold.edges), partner, is_same)
    };
    let mut drawings = vec![over(format!("{title}: agents"), &own_agents, &gold_agents, &partner, &is_same)];
    let Ok(gold_workflows) = workflows(gold) else { return drawings };
    let own_workflows = plan.and_then(|plan| workflows(plan).ok()).unwrap_or_default();
    if gold_workflows.labels.len() > 1 || own_workflows.labels.len() > 1 {
        let wanted = |label: &String| gold_workflows.labels.iter().position(|other| other == label);
        let partner: Vec<Option<usize>> = own_workflows.labels.iter().map(wanted).collect();
        drawings.push(over(format!("{title}: workflows"), &own_workflows, &gold_workflows, &partner, &|_, _| true));
    }
    drawings
}

fn agents(plan: &Dict) -> Result<(Shown, Vec<AgentState>), Raised> {
    let graph = component::paper(&Workflows::of(plan)?)?;
    let label = |state: &AgentState| format!("{} ({})", printed(&state.agent), printed(&state.status));
    Ok((Shown { labels: graph.labels.iter().map(label).collect(), edges: graph.shape().edges }, graph.labels))
}

fn workflows(plan: &Dict) -> Result<Shown, Raised> {
    let graph = structure::paper(&Workflows::of(plan)?)?;
    Ok(Shown { labels: graph.labels.iter().map(|id: &Value| printed(id)).collect(), edges: graph.shape().edges })
}

/// Returns the gold node of each node: the same agent in the same state, else the same agent; each gold node is used
/// once.
fn partners(own: &[AgentState], gold: &[AgentState]) -> Vec<Option<usize>> {
    let mut partner = vec![None; own.len()];
    let mut is_taken = vec![false; gold.len()];
    for is_exact in [true, false] {
        for (at, state) in own.iter().enumerate() {
            if partner[at].is_some() {
                continue;
            }
            let fits = |(wanted, taken): (&AgentState, &bool)| {
                !taken && state.agent.equals(&wanted.agent) && (!is_exact || state.status.equals(&wanted.status))
            };
            if let Some(found) = gold.iter().zip(&is_taken).position(fits) {
                is_taken[found] = true;
                partner[at] = Some(found);
            }
        }
    }
    partner
}

#[cfg(test)]
mod tests {
    use regatta_pycompat::yaml::safe_load;

    use super::*;

    fn dict(text: &str) -> Dict {
        safe_load(text).unwrap().as_dict().unwrap().clone()
    }

    const GOLD: &str = "workflow_1:\n  steps:\n  - {agent_id: search, status: done}\n  - {agent_id: book, status: wait}\n\
                        workflow_2:\n  depends_on: [workflow_1]\n  steps:\n  - {agent_id: pay, status: wait}\n";

    fn shown(plan: Option<&str>) -> String {
        let (plan, gold) = (plan.map(dict), dict(GOLD));
        let mut lines = Vec::new();
        for drawing in drawings("step 1", plan.as_ref(), &gold) {
            lines.push(drawing.title.clone());
            lines.extend(drawing.nodes.iter().map(|node| format!("  {} {}", node.presence.as_str(), node.label)));
            lines.extend(
                drawing.edges.iter().map(|edge| format!("  {} {}-{}", edge.presence.as_str(), edge.from, edge.to)),
            );
        }
        lines.join("\n")
    }

    #[test]
    fn an_agent_in_another_state_is_changed_and_one_more_is_extra() {
        let plan = "workflow_1:\n  steps:\n  - {agent_id: search, status: done}\n  - {agent_id: book, status: done}\n  \
                    - {agent_id: sing, status: wait}\n";
        insta::assert_snapshot!(shown(Some(plan)), @r"
        step 1: agents
          matched search (done)
          changed book (done)
          extra sing (wait)
          missing pay (wait)
          matched 0-1
          extra 1-2
          missing 1-3
        step 1: workflows
          matched workflow_1
          missing workflow_2
          missing 0-1
        ");
    }

    #[test]
    fn without_a_plan_the_whole_gold_is_missing() {
        assert_eq!(shown(None).matches("missing").count(), 8);
        assert_eq!(shown(Some("workflow_1: 7")), shown(None));
    }
}
