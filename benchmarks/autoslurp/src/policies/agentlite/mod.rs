//! AgentLite (docs/benchmarks/autoslurp.md §3.6): a manager that thinks and acts in steps, and calls its agents as actions.
//!
//! Every call is one prompt that ends where the next action belongs. An agent works through steps of its own on the task that it is called with, and
//! remembers no earlier one. Bounds: [`STEPS_MAX`] steps of the manager, and as many of the agent that each of them may call; so at most
//! 420 calls. Texts grow with what models write, and by nothing else.
//!
//! Tools end the run where the framework's would raise: on parameters that the action does not have, or lacks; on a URL that is none.

mod action;
mod print;
mod prompt;
pub(crate) mod simulated;
mod team;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::BTreeSet;

use regatta_proto::Digest;
use regatta_pycompat::display;
use regatta_pycompat::yaml::Value;

use self::action::Action;
use self::team::{Agent, Deed, MANAGER};
use super::query::Query;
use super::replies::{Asking, Replies};
use crate::members::{self, member};
use crate::run::Run;

/// Most steps of one agent in one task.
const STEPS_MAX: usize = 20;

/// Answer when the steps are used up.
const NO_ANSWER: &str = "I could not do this. Please say it in another way.";
/// Observation of an agent that calls an action which it does not have.
const WRONG_ACTION: &str = "There is no such action. Choose one of your list.";
/// Observation after a last step.
const COMPLETED: &str = "Task Completed.";
/// Observation after a thought.
const THOUGHT: &str = "OK";

/// Plays the session of `query` as far as `replies` go.
///
/// # Errors
/// With the next request, when `replies` are used up.
pub(crate) fn play(query: &Query<'_>, replies: &mut Replies<'_>) -> Result<Run, Asking> {
    let mut session = Session::new(query, replies);
    // The execution agent says so when it is made.
    session.run.log.push_str("request\n");
    let task = prompt::json(&prompt::texts(&[("iid", query.iid), ("query", query.text)]));
    match session.solve(&MANAGER, &task) {
        Ok(answer) => {
            session.run.hit_limit = answer.is_none();
            let said = answer.map_or_else(|| NO_ANSWER.to_owned(), |answer| display(&answer));
            session.run.log.push_str(&format!("{said}\n"));
            session.run.final_text = Some(said);
            Ok(session.run)
        }
        Err(Stop::Raised) => Ok(session.run),
        Err(Stop::Unreadable) => Ok(Run { is_unreadable: true, ..session.run }),
        Err(Stop::Asking(asking)) => Err(asking),
    }
}

/// Reason why a task is not worked on any more.
enum Stop {
    /// A reply is missing.
    Asking(Asking),
    /// The framework raised, which ends the run.
    Raised,
    /// It raised because it could not make an action of what a model said.
    Unreadable,
}

impl From<Asking> for Stop {
    fn from(asking: Asking) -> Self {
        Self::Asking(asking)
    }
}

struct Session<'s, 't> {
    query: &'s Query<'s>,
    replies: &'s mut Replies<'t>,
    task_id: String,
    run: Run,
}

impl<'s, 't> Session<'s, 't> {
    fn new(query: &'s Query<'s>, replies: &'s mut Replies<'t>) -> Self {
        let run = Run { members: Some(BTreeSet::new()), ..Run::default() };
        Self { query, replies, task_id: task_id(query), run }
    }

    /// Has `agent` work on a task. Its answer, or none when its steps are used up.
    fn solve(&mut self, agent: &Agent, task: &str) -> Result<Option<Value>, Stop> {
        self.print(&print::received(agent.name, &self.task_id, task));
        self.print(&print::started(agent.name, &self.task_id));
        let mut history = String::new();
        let mut answer = None;
        for step in 0..STEPS_MAX {
            let action = self.next_action(agent, task, &history)?;
            self.print(&print::acted(agent.name, step, &action));
            let observation = self.act(agent, &action, &mut answer)?;
            self.print(&print::observed(&observation).ok_or(Stop::Raised)?);
            history.push_str(&prompt::step(&action.name, &action.params, &display(&observation)));
            if answer.is_some() {
                break;
            }
        }
        self.print(&print::ended(agent.name, &self.task_id, answer.as_ref()));
        if agent.member == members::INTENT
            && let Some(answer) = &answer
        {
            self.run.intent_output = Some(display(answer));
        }
        Ok(answer)
    }

    fn next_action(&mut self, agent: &Agent, task: &str, history: &str) -> Result<Action, Stop> {
        let reply = self.replies.ask(|| prompt::request(agent, task, history))?;
        if let (Some(members), Some(member)) = (&mut self.run.members, member(agent.member)) {
            members.insert(member);
        }
        let text = reply.text.as_deref().ok_or(Stop::Unreadable)?;
        let action = match action::parse(text) {
            Ok(action) => action,
            Err(unreadable) => {
                if let Some(printed) = unreadable.printed {
                    self.print(&format!("{printed}\n"));
                }
                return Err(Stop::Unreadable);
            }
        };
        let knows = agent.team.iter().any(|other| other.name == action.name) || deed(agent, &action.name).is_some();
        // A manager raises on a name that it does not know; other agents are told.
        let can_go_on = knows || agent.team.is_empty();
        // Parameters are a dict, or no step is made of them.
        if can_go_on && action.params.as_dict().is_some() { Ok(action) } else { Err(Stop::Unreadable) }
    }

    fn act(&mut self, agent: &Agent, action: &Action, answer: &mut Option<Value>) -> Result<Value, Stop> {
        if let Some(other) = agent.team.iter().find(|other| other.name == action.name) {
            let task = action.params.get(prompt::TASK_PARAMETER).and_then(Value::as_str).ok_or(Stop::Unreadable)?;
            let answer = self.solve(other, task)?;
            return Ok(answer.unwrap_or_else(|| Value::Str(NO_ANSWER.to_owned())));
        }
        let Some(deed) = deed(agent, &action.name) else { return Ok(Value::Str(WRONG_ACTION.to_owned())) };
        let arguments = tools::arguments(deed, &action.params).ok_or(Stop::Unreadable)?;
        match (deed, arguments.as_slice()) {
            (Deed::Think, _) => Ok(Value::Str(THOUGHT.to_owned())),
            (Deed::Finish, [response]) => {
                *answer = Some((*response).clone());
                Ok(Value::Str(COMPLETED.to_owned()))
            }
            (Deed::CurDate, _) => Ok(Value::Str(self.query.today.to_string())),
            (Deed::Time, [query]) => Ok((*query).clone()),
            (Deed::Request, [url, query]) => {
                let exchange = tools::request(url, query, self.query.today).ok_or(Stop::Raised)?;
                // Nobody answered, and the library raises.
                let is_answered = exchange.status != 0;
                if is_answered {
                    self.print(&format!("{}\n", exchange.response));
                }
                let body = Value::Str(exchange.response.to_string());
                self.run.requests.push(exchange);
                if is_answered { Ok(body) } else { Err(Stop::Raised) }
            }
            _ => Err(Stop::Raised),
        }
    }

    fn print(&mut self, text: &str) {
        self.run.log.push_str(text);
    }
}

fn deed(agent: &Agent, name: &str) -> Option<Deed> {
    agent.deeds.iter().copied().find(|deed| deed.name() == name)
}

/// The id that the framework gives to tasks: a made-up one, always the same for one utterance.
fn task_id(query: &Query<'_>) -> String {
    let digest = Digest::of_parts([b"agentlite".as_slice(), query.iid.as_bytes(), query.text.as_bytes()]);
    let digits: String = digest.bytes().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}
