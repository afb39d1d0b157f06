//! Steps of a plan as tasks.

use std::collections::HashSet;
use std::sync::Arc;

use regatta_pycompat::yaml::{Dict, Value};

/// Greatest number of steps that are taken from a plan.
const TASKS_MAX: usize = 64;

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    /// Id of the workflow.
    pub(super) workflow: String,
    /// Position in the workflow.
    pub(super) position: usize,
    /// Agent that does it.
    pub(super) agent: String,
    /// Query for the agent; `None` once the agent has got it.
    pub(super) query: Option<Arc<str>>,
    /// Workflows that must be finished first.
    pub(super) dependencies: Vec<String>,
    /// Progress of the task.
    pub(super) state: TaskState,
}

/// Progress of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskState {
    /// To be done.
    Open,
    /// The agent has asked the user and waits for the answer.
    Waiting,
    /// Done, or skipped.
    Done,
}

/// Key that identifies a task across plans: workflow, position, agent.
pub(super) type TaskKey = (String, usize, String);

impl Task {
    /// Returns the key by which the next plan's task is recognised as the same.
    pub(super) fn key(&self) -> TaskKey {
        (self.workflow.clone(), self.position, self.agent.clone())
    }
}

/// Returns the tasks of a plan in order, without malformed workflows and steps and without those in `done`.
pub(super) fn tasks(plan: &Dict, done: &HashSet<TaskKey>) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (id, workflow) in plan.iter() {
        let Some(id) = id.as_str().filter(|id| id.contains("workflow")) else { continue };
        let steps = workflow.get("steps").and_then(Value::as_list).unwrap_or_default();
        for (position, step) in steps.iter().enumerate() {
            let text = |field: &str| step.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
            let Some(agent) = text("agent_id").or_else(|| text("name")) else { continue };
            let status = text("status").unwrap_or_default().to_lowercase();
            let mut task = Task {
                workflow: id.to_owned(),
                position,
                agent: agent.to_owned(),
                query: text("refined_query").map(Into::into),
                dependencies: dependencies(workflow),
                state: TaskState::Open,
            };
            let is_over = ["completed", "competed", "paused"].contains(&&*status) || status.contains("cancel");
            if is_over || done.contains(&task.key()) {
                task.state = TaskState::Done;
            }
            tasks.push(task);
            if tasks.len() == TASKS_MAX {
                return tasks;
            }
        }
    }
    tasks
}

fn dependencies(workflow: &Value) -> Vec<String> {
    let named = |field: &str| workflow.get(field).filter(|value| value.is_truthy());
    match named("depends_on").or_else(|| named("depend_on")) {
        Some(Value::Str(id)) => vec![id.clone()],
        Some(Value::List(ids)) => ids.iter().filter_map(Value::as_str).take(TASKS_MAX).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Returns the next task: the first open one whose dependencies are finished; if all wait for each other, the first
/// open one.
pub(super) fn next_task(tasks: &[Task]) -> Option<usize> {
    let is_waiting =
        |workflow: &str| tasks.iter().any(|task| task.workflow == workflow && task.state == TaskState::Waiting);
    let is_unfinished =
        |workflow: &str| tasks.iter().any(|task| task.workflow == workflow && task.state != TaskState::Done);
    let may_go_on = |task: &Task| {
        task.state == TaskState::Open
            && !is_waiting(&task.workflow)
            && !task.dependencies.iter().any(|other| *other != task.workflow && is_waiting(other))
    };
    let is_free = |task: &Task| !task.dependencies.iter().any(|other| *other != task.workflow && is_unfinished(other));
    tasks.iter().position(|task| may_go_on(task) && is_free(task)).or_else(|| tasks.iter().position(may_go_on))
}
