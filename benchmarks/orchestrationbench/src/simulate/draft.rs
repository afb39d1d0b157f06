//! A plan that mistakes are made in.

use regatta_pycompat::yaml;
use serde_json::{Map, Value, json};

use super::Mistakes;

/// Statuses that the prompt allows.
const STATUSES: [&str; 5] = ["pending", "running", "waiting_for_input", "completed", "paused"];

/// Notation of dependencies in a JSON plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dependencies {
    /// As the prompt asks.
    List,
    /// As a text where there is one.
    Text,
    /// In the field of the gold.
    AsGold,
    /// As an object.
    Object,
}

impl Dependencies {
    /// All notations, the right one first.
    pub(super) const ALL: [Self; 4] = [Self::List, Self::Text, Self::AsGold, Self::Object];

    fn of(self, ids: &[String]) -> (&'static str, Value) {
        match (self, ids) {
            (Self::Text, [one]) => ("depends_on", json!(one)),
            (Self::AsGold, _) => ("depend_on", json!(ids)),
            (Self::Object, _) => ("depends_on", ids.iter().map(|id| (id.clone(), json!("completed"))).collect()),
            _ => ("depends_on", json!(ids)),
        }
    }
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    workflows: Vec<Workflow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Workflow {
    id: String,
    status: String,
    kind: String,
    dependencies: Vec<String>,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    status: String,
    agent: String,
    query: String,
}

impl Draft {
    /// Parses a gold plan; `None` if it cannot be read.
    pub(super) fn of(text: &str) -> Option<Self> {
        let plan = yaml::safe_load(text).ok()?;
        let workflows = plan.as_dict()?.iter().map(|(id, workflow)| Workflow::of(id, workflow));
        Some(Self { workflows: workflows.collect::<Option<_>>()? })
    }

    /// Makes mistakes in workflows and steps and returns `true` if it made any. `agents` are the names that may be
    /// put in.
    pub(super) fn disturb(&mut self, agents: &[&str], mistakes: &mut Mistakes) -> bool {
        let before = self.clone();
        let ids: Vec<String> = self.workflows.iter().map(|workflow| workflow.id.clone()).collect();
        for workflow in &mut self.workflows {
            workflow.disturb(&ids, agents, mistakes);
        }
        if mistakes.happens(0.1) && self.workflows.len() > 1 {
            self.workflows.remove(mistakes.pick(self.workflows.len()));
        }
        if mistakes.happens(0.1)
            && let Some((first, others)) = self.workflows.split_first_mut()
        {
            // Moves all steps into one workflow.
            first.steps.extend(others.iter_mut().flat_map(|other| std::mem::take(&mut other.steps)));
            self.workflows.truncate(1);
        }
        *self != before
    }

    /// Writes the plan in the format that the prompt asks for, with dependencies in the notation `form`.
    #[expect(clippy::expect_used, reason = "keys are texts, and values are JSON already")]
    pub(super) fn json(&self, form: Dependencies) -> String {
        let workflow = |workflow: &Workflow| {
            let mut fields = Map::new();
            fields.insert("status".to_owned(), json!(workflow.status));
            fields.insert("type".to_owned(), json!(workflow.kind));
            if !workflow.dependencies.is_empty() {
                let (field, value) = form.of(&workflow.dependencies);
                fields.insert(field.to_owned(), value);
            }
            let step =
                |step: &Step| json!({"status": step.status, "agent_id": step.agent, "refined_query": step.query});
            fields.insert("steps".to_owned(), workflow.steps.iter().map(step).collect());
            (workflow.id.clone(), Value::Object(fields))
        };
        let plan: Map<String, Value> = self.workflows.iter().map(workflow).collect();
        serde_json::to_string_pretty(&plan).expect("a map of JSON is written")
    }

    /// Writes the plan in the format of the gold.
    pub(super) fn yaml(&self) -> String {
        let mut lines = Vec::new();
        for workflow in &self.workflows {
            lines.push(format!("{}:", workflow.id));
            lines.push(format!("  status: {}", workflow.status));
            lines.push(format!("  type: {}", workflow.kind));
            if !workflow.dependencies.is_empty() {
                lines.push(format!("  depend_on: {}", json!(workflow.dependencies)));
            }
            lines.push("  steps:".to_owned());
            for step in &workflow.steps {
                lines.push(format!("    - status: {}", step.status));
                lines.push(format!("      name: {}", step.agent));
                lines.push(format!("      refined_query: {}", json!(step.query)));
            }
        }
        lines.join("\n")
    }
}

impl Workflow {
    fn of(id: &yaml::Value, workflow: &yaml::Value) -> Option<Self> {
        let dependencies = match workflow.get("depend_on") {
            Some(yaml::Value::Str(one)) => vec![one.clone()],
            Some(yaml::Value::List(several)) => {
                several.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        let steps = workflow.get("steps").and_then(yaml::Value::as_list)?;
        Some(Self {
            id: id.as_str()?.to_owned(),
            status: text(workflow, "status"),
            kind: text(workflow, "type"),
            dependencies,
            steps: steps.iter().map(Step::of).collect(),
        })
    }

    fn disturb(&mut self, ids: &[String], agents: &[&str], mistakes: &mut Mistakes) {
        let mut steps = Vec::with_capacity(self.steps.len());
        for mut step in std::mem::take(&mut self.steps) {
            if mistakes.happens(0.25)
                && let Some(agent) = mistakes.one_of(agents)
            {
                step.agent = (*agent).to_owned();
            }
            if mistakes.happens(0.3)
                && let Some(status) = mistakes.one_of(&STATUSES)
            {
                step.status = (*status).to_owned();
            }
            let twice = mistakes.happens(0.1).then(|| step.clone());
            if !mistakes.happens(0.1) {
                steps.push(step);
            }
            steps.extend(twice);
        }
        self.steps = steps;
        if mistakes.happens(0.2) {
            self.dependencies.clear();
            self.kind = "independent".to_owned();
        } else if mistakes.happens(0.2)
            && let Some(other) = mistakes.one_of(ids)
        {
            // This may add a workflow to its own dependencies, or close a cycle.
            self.dependencies.push(other.clone());
            self.kind = "dependent".to_owned();
        }
        if mistakes.happens(0.1) {
            self.status = "running".to_owned();
        }
        if mistakes.happens(0.05) {
            self.id = self.id.replace("interrupted_", "interrupt_").replace("workflow_", "workflow_0");
        }
    }
}

impl Step {
    fn of(step: &yaml::Value) -> Self {
        Self { status: text(step, "status"), agent: text(step, "name"), query: text(step, "refined_query") }
    }
}

fn text(value: &yaml::Value, field: &str) -> String {
    value.get(field).and_then(yaml::Value::as_str).unwrap_or_default().to_owned()
}
