//! Prompts of planner, coordinator and workers (docs/benchmarks/autoslurp.md §3.5), in our own words.

use std::sync::{Arc, LazyLock};

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, OutputSchema, Sampling, Tool};
use serde_json::{Value, json};

use super::worker_tool::WorkerTool;

/// The library's default temperature.
const TEMPERATURE: f64 = 0.2;

/// Line around lists in requests.
const RULE: &str = "==========";

/// First words of each kind of request.
pub(super) const DECOMPOSE: &str = "Take this task apart";
pub(super) const COMPOSE: &str = "Put the results together";
pub(super) const ASSIGN: &str = "Choose the worker";
pub(super) const HIRE: &str = "Describe a new worker";
pub(super) const SOLVE: &str = "Work on one task";
/// Label of a task.
pub(super) const TASK: &str = "The task:";
/// Label of the finished tasks.
pub(super) const RESULTS: &str = "What is done so far:";
/// Label of the list of workers.
pub(super) const WORKERS: &str = "The workers, as <id>:<what it does>:<its tools>:";

fn section(title: &str, content: &str) -> String {
    format!("{title}\n{RULE}\n{content}\n{RULE}\n")
}

/// Text of the section of `text` that has this title; empty without one.
pub(super) fn section_of<'t>(text: &'t str, title: &str) -> &'t str {
    let start = format!("{title}\n{RULE}\n");
    let Some((_, after)) = text.split_once(&start) else { return "" };
    after.split_once(&format!("\n{RULE}\n")).map_or(after, |(content, _)| content)
}

/// The planner is to take a task apart.
pub(super) fn decompose(task: &str, workers: &str) -> ChatRequest {
    let request = format!(
        "{DECOMPOSE} into pieces that the workers below can do, one after the other.\n\n{}\n{}\n\
         Answer with the pieces in their order, each between tags, all within one pair of <tasks> tags:\n\
         <tasks>\n<task>the first piece</task>\n<task>the second piece</task>\n</tasks>\n\n\
         Each piece should be short, clear, and work for one worker. Give no other answer and ask nothing.",
        section(TASK, task),
        section(WORKERS, workers)
    );
    planner(request)
}

/// The planner is to put results together.
pub(super) fn compose(task: &str, results: &str) -> ChatRequest {
    let request = format!(
        "{COMPOSE} that the pieces of a task have come to, and answer the task.\n\n{}\n{}\n\
         Answer as the one whose task it is should be answered, and say nothing beside.",
        section(TASK, task),
        section(RESULTS, results)
    );
    planner(request)
}

fn planner(request: String) -> ChatRequest {
    let told = "You plan the work of a team: you take tasks apart, and put results together.";
    let messages = vec![ChatMessage::new(ChatRole::System, told), ChatMessage::new(ChatRole::User, request)];
    ChatRequest::new(messages, sampling(TEMPERATURE))
}

/// The coordinator is to choose a worker.
pub(super) fn assign(task: &str, workers: &str) -> String {
    format!(
        "{ASSIGN} who can do this task best.\n\n{}\n{}\nAnswer with the worker's id.",
        section(TASK, task),
        section(WORKERS, workers)
    )
}

/// The coordinator is to describe a worker that is to be made.
pub(super) fn hire(task: &str, workers: &str) -> String {
    format!(
        "{HIRE} who can do this task and others of its kind, which none of those below could.\n\n{}\n{}\n\
         Answer with its role in a word or two (role), what it is to be told about its work (sys_msg), and what it does, in one line \
         (description).",
        section(TASK, task),
        section(WORKERS, workers)
    )
}

/// Request to a worker for a task.
pub(super) fn solve(task: &str, finished: &str) -> String {
    format!(
        "{SOLVE}.\n\n{}\n{}\nAnswer with its result (content), and whether you could not do it (failed).",
        section(RESULTS, finished),
        section(TASK, task)
    )
}

/// The coordinator's request for an id.
pub(super) fn assignment(coordination: &[ChatMessage]) -> ChatRequest {
    static SCHEMA: LazyLock<Arc<Value>> = LazyLock::new(|| {
        object(&json!({"assignee_id": {"type": "string", "description": "The id of the worker who gets the task."}}))
    });
    coordinator(coordination, "TaskAssignResult", &SCHEMA)
}

/// The coordinator's request for a worker.
pub(super) fn new_worker(coordination: &[ChatMessage]) -> ChatRequest {
    static SCHEMA: LazyLock<Arc<Value>> = LazyLock::new(|| {
        object(&json!({
            "role": {"type": "string", "description": "Its role."},
            "sys_msg": {"type": "string", "description": "What it is told about its work."},
            "description": {"type": "string", "description": "What it does, in one line."},
        }))
    });
    coordinator(coordination, "WorkerConf", &SCHEMA)
}

fn coordinator(coordination: &[ChatMessage], name: &str, schema: &Arc<Value>) -> ChatRequest {
    let told = "You coordinate a team of workers, each of whom can do one kind of work. You give tasks to workers, and describe new ones where \
                nobody is fit for a task.";
    let messages = std::iter::once(&ChatMessage::new(ChatRole::System, told)).chain(coordination).cloned().collect();
    let output = Some(OutputSchema { name: name.into(), schema: Arc::clone(schema) });
    ChatRequest { output, ..ChatRequest::new(messages, sampling(TEMPERATURE)) }
}

/// A worker's request.
pub(super) fn work(messages: Vec<ChatMessage>, tools: &[WorkerTool], temperature: f64) -> ChatRequest {
    static SCHEMA: LazyLock<Arc<Value>> = LazyLock::new(|| {
        object(&json!({
            "content": {"type": "string", "description": "The result of the task."},
            "failed": {"type": "boolean", "description": "Whether the task could not be done."},
        }))
    });
    let output = Some(OutputSchema { name: "TaskResult".into(), schema: Arc::clone(&SCHEMA) });
    let tools = tools.iter().map(|tool| offered(*tool)).collect();
    ChatRequest { output, tools, ..ChatRequest::new(messages, sampling(temperature)) }
}

fn sampling(temperature: f64) -> Sampling {
    Sampling { temperature: Some(temperature), ..Sampling::default() }
}

fn offered(tool: WorkerTool) -> Tool {
    static NOTHING: LazyLock<Arc<Value>> = LazyLock::new(|| object(&json!({})));
    static URL: LazyLock<Arc<Value>> = LazyLock::new(|| {
        object(&json!({"url": {"type": "string", "description": "The whole URL, with its parameters."}}))
    });
    let (description, parameters) = match tool {
        WorkerTool::GetDate => ("Tells today's date.", &*NOTHING),
        WorkerTool::Req => ("Sends a request to a server and returns its answer.", &*URL),
    };
    Tool { name: tool.name().into(), description: Some(description.into()), parameters: Arc::clone(parameters) }
}

/// The schema of an object that has all of these properties and no others.
fn object(properties: &Value) -> Arc<Value> {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
    Arc::new(json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}))
}
