//! Output of the framework and the example (docs/benchmarks/autoslurp.md §3.5). Colours are always on.

use super::reading::TaskResult;
use super::worker::Worker;

const RED: &str = "31";
const GREEN: &str = "32";
const CYAN: &str = "36";

fn colour(code: &str, text: &str) -> String {
    format!("\u{1b}[{code}m{text}\u{1b}[39m")
}

/// Lines that the example prints first.
pub(super) fn heading(iid: &str) -> String {
    format!("---------*****************************************-----------\n{iid}\n")
}

/// A worker has replied.
pub(super) fn replies(worker: &Worker) -> String {
    format!("======\n{}\n", colour(GREEN, &format!("Reply from {}:", named(worker))))
}

/// Text of a worker's result. The next output follows on the same line.
pub(super) fn result(result: &TaskResult) -> String {
    format!("\n{}\n======", colour(if result.failed { RED } else { GREEN }, &result.content))
}

/// A worker was raised on in its tools.
pub(super) fn could_not(task: &str, why: &str) -> String {
    format!("{}\n", colour(RED, &format!("Task {task} could not be worked on:\n{why}")))
}

/// A task has failed too often.
pub(super) fn halted(task: &str) -> String {
    format!("{}\n", colour(RED, &format!("Task {task} has failed too often; the workforce halts.")))
}

/// A worker was made.
pub(super) fn made(worker: &Worker) -> String {
    format!("{}\n", colour(CYAN, &format!("{} created.", named(worker))))
}

fn named(worker: &Worker) -> String {
    format!("Worker node {} ({})", worker.id, worker.description)
}
