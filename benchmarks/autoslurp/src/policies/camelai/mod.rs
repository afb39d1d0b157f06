//! CamelAI (docs/benchmarks/autoslurp.md §3.5): a workforce that takes a task apart, assigns the pieces, and puts the results together.
//!
//! A planner makes sub-tasks of what the person says, a coordinator gives each to a worker, the worker solves it with what is done so far before its
//! eyes. What fails is taken apart once more, or, deep down, given to a worker made for it. The framework itself knows no bound but the time; here
//! a session ends after [`CALLS_MAX`] calls as it would at its end. Tasks are three deep, texts grow with what models write and by nothing else.
//!
//! Replies that the framework cannot use: a planner or coordinator that it raises on ends the run silently, because the example swallows
//! every exception. A worker that it raises on in its tools fails; one whose result cannot be read dies without telling anybody, and so
//! does a task that is given to nobody: the workforce waits for them until its time is up.

mod print;
mod prompt;
mod reading;
pub(crate) mod simulated;
mod task;
#[cfg(test)]
mod tests;
mod worker;
mod worker_tool;

use std::collections::BTreeSet;

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Reply};

use self::task::{Board, TaskId};
use self::worker::{Worker, listed};
use super::query::Query;
use super::replies::{Asking, Replies};
use crate::members::{self, member};
use crate::run::Run;

/// Most calls of a session.
pub(crate) const CALLS_MAX: usize = 200;
/// Failures of a task after which the next one halts the workforce.
const FAILURES_MAX: u32 = 3;
/// Depth from which on a task that fails gets a worker of its own. The root has depth 1.
const DEPTH_OF_NEW_WORKERS: usize = 3;

/// Plays the session of `query` as far as `replies` go.
///
/// # Errors
/// With the next request, when `replies` are used up.
pub(crate) fn play(query: &Query<'_>, replies: &mut Replies<'_>) -> Result<Run, Asking> {
    let mut workforce = Workforce::new(query, replies);
    workforce.run.log.push_str(&print::heading(query.iid));
    let end = workforce.process();
    match end {
        Err(Stop::Asking(asking)) => return Err(asking),
        Err(Stop::Unreadable) => workforce.run.is_unreadable = true,
        Err(Stop::TimeUp) => workforce.run.hit_limit = true,
        Ok(()) => {
            let answer = workforce.board.root().result.clone();
            workforce.run.log.push_str(&format!("{answer}\n"));
            workforce.run.final_text = Some(answer).filter(|answer| !answer.is_empty());
        }
    }
    Ok(workforce.run)
}

/// Reason why a workforce does not go on.
enum Stop {
    /// A reply is missing.
    Asking(Asking),
    /// The framework could not read a reply and raised, and the example swallowed it.
    Unreadable,
    /// It waits for what never comes, or has made all its calls.
    TimeUp,
}

/// Result of a worker's task.
enum Outcome {
    Done(String),
    Failed,
}

struct Workforce<'s, 't> {
    query: &'s Query<'s>,
    replies: &'s mut Replies<'t>,
    calls: usize,
    workers: Vec<Worker>,
    board: Board,
    /// Messages of coordinator and model since the last reset.
    coordination: Vec<ChatMessage>,
    run: Run,
}

impl<'s, 't> Workforce<'s, 't> {
    fn new(query: &'s Query<'s>, replies: &'s mut Replies<'t>) -> Self {
        Self {
            query,
            replies,
            calls: 0,
            workers: Worker::team(query),
            board: Board::new(query.text),
            coordination: Vec::new(),
            run: Run { members: Some(BTreeSet::new()), ..Run::default() },
        }
    }

    fn process(&mut self) -> Result<(), Stop> {
        self.decompose(TaskId::ROOT)?;
        if self.board.root().pieces.is_empty() {
            // Nobody ever waits, so no worker has begun, and the framework raises when it stops those that have not.
            return Err(Stop::Unreadable);
        }
        while let Some(task) = self.board.next() {
            if self.board.get(task).has_failed {
                self.compose(task)?;
                continue;
            }
            let mut worker = self.assign(task)?;
            loop {
                match self.solve(worker, task)? {
                    Outcome::Done(result) => {
                        self.board.complete(task, result);
                        break;
                    }
                    Outcome::Failed => match self.recover(task)? {
                        Recovery::Reassigned(to) => worker = to,
                        Recovery::TakenApart => break,
                        Recovery::Halted => {
                            self.run.hit_limit = true;
                            return Ok(());
                        }
                    },
                }
            }
        }
        Ok(())
    }

    /// Decides about a task that has failed: halt, a new worker, or pieces. An error when the session stops there.
    fn recover(&mut self, task: TaskId) -> Result<Recovery, Stop> {
        if self.board.get(task).failures >= FAILURES_MAX {
            self.run.log.push_str(&print::halted(&self.board.get(task).name));
            return Ok(Recovery::Halted);
        }
        self.board.fail(task);
        if self.board.depth(task) >= DEPTH_OF_NEW_WORKERS {
            return self.hire(task).map(Recovery::Reassigned);
        }
        self.decompose(task)?;
        Ok(Recovery::TakenApart)
    }

    /// Puts the pieces of a task at the head of the queue. The planner begins anew each time.
    fn decompose(&mut self, task: TaskId) -> Result<(), Stop> {
        let content = self.board.get(task).content.clone();
        let workers = listed(&self.workers);
        let reply = self.ask(members::PLANNER, || prompt::decompose(&content, &workers))?;
        self.board.take_apart(task, reading::pieces(reply.text.as_deref().unwrap_or_default()));
        Ok(())
    }

    /// Puts the results of a task's pieces together. One that has none is left without a result.
    fn compose(&mut self, task: TaskId) -> Result<(), Stop> {
        let mut result = None;
        if !self.board.get(task).pieces.is_empty() {
            let content = self.board.get(task).content.clone();
            let results = self.board.results(task);
            let reply = self.ask(members::PLANNER, || prompt::compose(&content, &results))?;
            result = Some(reply.text.as_deref().unwrap_or_default().to_owned());
        }
        self.board.put_together(task, result);
        Ok(())
    }

    /// Worker that gets the task; the coordinator begins anew each time.
    fn assign(&mut self, task: TaskId) -> Result<usize, Stop> {
        self.coordination.clear();
        let request = prompt::assign(&self.board.get(task).content, &listed(&self.workers));
        let reply = self.coordinate(request, prompt::assignment)?;
        let id = reading::assignee(reply.text.as_deref().unwrap_or_default()).ok_or(Stop::Unreadable)?;
        self.workers.iter().position(|worker| worker.id == id).ok_or(Stop::TimeUp)
    }

    /// Makes a worker for a task; the coordinator still knows what it has said about it.
    fn hire(&mut self, task: TaskId) -> Result<usize, Stop> {
        let request = prompt::hire(&self.board.get(task).content, &listed(&self.workers));
        let reply = self.coordinate(request, prompt::new_worker)?;
        let conf = reading::new_worker(reply.text.as_deref().unwrap_or_default()).ok_or(Stop::Unreadable)?;
        let worker = Worker::made(self.query, self.workers.len(), conf);
        self.run.log.push_str(&print::made(&worker));
        self.workers.push(worker);
        Ok(self.workers.len() - 1)
    }

    fn coordinate(&mut self, request: String, form: fn(&[ChatMessage]) -> ChatRequest) -> Result<&'t Reply, Stop> {
        self.coordination.push(ChatMessage::new(ChatRole::User, request));
        let coordination = std::mem::take(&mut self.coordination);
        let reply = self.ask(members::COORDINATOR, || form(&coordination));
        self.coordination = coordination;
        let reply = reply?;
        let said = reply.text.clone().unwrap_or_default();
        self.coordination.push(ChatMessage::new(ChatRole::Assistant, said));
        Ok(reply)
    }

    /// Has a worker work on a task: it calls its tools one at a time until it has a result.
    fn solve(&mut self, at: usize, task: TaskId) -> Result<Outcome, Stop> {
        let request = prompt::solve(&self.board.get(task).content, &self.board.finished());
        // Nobody has made the request of a worker that is not there.
        self.workers.get_mut(at).ok_or(Stop::TimeUp)?.hears(request);
        loop {
            let Some(mut worker) = self.workers.get(at).cloned() else { return Err(Stop::TimeUp) };
            let reply = self.ask(worker.member, || worker.request())?;
            // Only the first call of several is made; a worker without tools cannot call any.
            let call = reply.tool_calls.first().filter(|_| !worker.tools.is_empty());
            let Some(call) = call else {
                let text = reply.text.as_deref().unwrap_or_default();
                worker.says(text);
                self.keep(at, worker);
                return self.result(at, text);
            };
            match worker.call(call, self.query.today, &mut self.run) {
                Ok(answer) => {
                    worker.called(call, reply.reasoning.as_ref(), &answer);
                    self.keep(at, worker);
                }
                Err(why) => {
                    self.run.log.push_str(&print::could_not(&self.board.get(task).name, &why));
                    return Ok(Outcome::Failed);
                }
            }
        }
    }

    /// Result that a worker's final text says.
    fn result(&mut self, at: usize, text: &str) -> Result<Outcome, Stop> {
        let Some(worker) = self.workers.get(at) else { return Err(Stop::TimeUp) };
        self.run.log.push_str(&print::replies(worker));
        let Some(result) = reading::result(text) else {
            self.run.is_unreadable = true;
            return Err(Stop::TimeUp);
        };
        self.run.log.push_str(&print::result(&result));
        if worker.member == members::INTENT {
            self.run.intent_output = Some(result.content.clone());
        }
        Ok(if result.failed { Outcome::Failed } else { Outcome::Done(result.content) })
    }

    fn keep(&mut self, at: usize, worker: Worker) {
        if let Some(place) = self.workers.get_mut(at) {
            *place = worker;
        }
    }

    fn ask(&mut self, name: &'static str, request: impl FnOnce() -> ChatRequest) -> Result<&'t Reply, Stop> {
        if self.calls >= CALLS_MAX {
            return Err(Stop::TimeUp);
        }
        self.calls += 1;
        let member = member(name);
        let reply = self.replies.ask(|| ChatRequest { member: member.clone(), ..request() }).map_err(Stop::Asking)?;
        if let Some(members) = &mut self.run.members {
            members.extend(member);
        }
        Ok(reply)
    }
}

/// Decision about a task that has failed.
enum Recovery {
    /// A worker was made for it.
    Reassigned(usize),
    /// The task was split into subtasks, which are run first.
    TakenApart,
    /// The task is given up, because it has failed too often.
    Halted,
}
