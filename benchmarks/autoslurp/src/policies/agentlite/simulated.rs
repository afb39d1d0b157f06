//! A model that knows the gold, as each member of AgentLite's team.

use regatta_proto::{ChatRequest, Reply};
use regatta_pycompat::literal;
use regatta_pycompat::yaml::{Dict, Value};

use super::prompt::{ACTION, EXECUTION, OBSERVATION, TASK, json};
use crate::members;
use crate::simulate::{Gold, Heard};

/// Label of other agents' words in the manager's task for the execution agent, after those of the intent agent.
const TIME_SAID: &str = " | time: ";
const LOCATION_SAID: &str = " | location: ";

/// Reply of a model that knows (or believes) `gold` to `request`, of which it sees nothing but the prompt.
pub(crate) fn reply(request: &ChatRequest, gold: &Gold) -> Reply {
    let prompt = request.messages.last().map_or("", |message| &message.content);
    let session = Seen::of(prompt);
    let text = match request.member.as_ref().map(|member| member.as_str()) {
        Some(members::MANAGER) => manager(gold, &session),
        Some(members::INTENT) => finish(&gold.intent_text()),
        Some(members::TIME) if gold.needs_date() && session.observed("CurDate_Act").is_none() => {
            action("CurDate_Act", &[("query", "today")])
        }
        Some(members::TIME) => finish(&gold.time_text()),
        Some(members::LOCATION) => finish(&gold.location_text()),
        Some(members::REQUEST) => execution(gold, &session),
        _ => finish(""),
    };
    Reply::said(text)
}

/// Calls each agent that has something to do, once, and answers what the last one said.
fn manager(gold: &Gold, session: &Seen<'_>) -> String {
    let Some(intent) = session.observed("IntentAgent") else {
        return action("IntentAgent", &[("Task", session.task)]);
    };
    let mut known = intent.to_owned();
    for (agent, is_needed, said) in
        [("TimeAgent", gold.needs_time(), TIME_SAID), ("LocationAgent", gold.needs_location(), LOCATION_SAID)]
    {
        if !is_needed || gold.slips(agent) {
            continue;
        }
        let Some(words) = session.observed(agent) else { return action(agent, &[("Task", intent)]) };
        known = format!("{known}{said}{words}");
    }
    match session.observed("ExecAgent") {
        None if gold.slips("ExecAgent") => finish("Done."),
        None => action("ExecAgent", &[("Task", &known)]),
        Some(answer) => finish(answer),
    }
}

/// Reply of the execution agent: the next request of the gold, or, when none is left, an answer from the servers' answers.
fn execution(gold: &Gold, session: &Seen<'_>) -> String {
    let (known, location) = parted(session.task, LOCATION_SAID);
    let (intent, time) = parted(known, TIME_SAID);
    let gold = gold.clone().heard(&Heard { intent: Some(intent), time, location });
    let bodies: Vec<&str> =
        session.steps.iter().filter(|step| step.name == "request").map(|step| step.observation).collect();
    match gold.next_post(&bodies) {
        Some((url, query)) => action("request", &[("url", &url), ("query", &query)]),
        None => finish(&gold.answer(&bodies)),
    }
}

fn parted<'t>(text: &'t str, mark: &str) -> (&'t str, Option<&'t str>) {
    text.split_once(mark).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn finish(answer: &str) -> String {
    action("Finish", &[("response", answer)])
}

/// An action in JSON without a line end, which Python reads as well: what it would read otherwise are characters beyond the first plane in two
/// halves, so these stand as they are.
fn action(name: &str, params: &[(&str, &str)]) -> String {
    let params = params.iter().map(|(key, value)| (Value::Str((*key).to_owned()), Value::Str((*value).to_owned())));
    let params = Value::Dict(params.collect::<Dict>());
    let ascii = json(&params);
    let params = if literal(&ascii).is_some() { ascii } else { regatta_pycompat::repr(&params) };
    format!("{name}[{params}]")
}

/// Task and steps, as a prompt shows them.
struct Seen<'p> {
    task: &'p str,
    steps: Vec<Step<'p>>,
}

struct Step<'p> {
    name: &'p str,
    observation: &'p str,
}

impl<'p> Seen<'p> {
    fn of(prompt: &'p str) -> Self {
        let session = prompt.split_once(&format!("\n{EXECUTION}\n{TASK}")).map_or("", |(_, session)| session);
        let mark = format!("\n{ACTION}");
        let mut parts = session.split(&mark);
        let task = parts.next().unwrap_or_default().trim_end();
        let steps = parts.filter_map(|part| {
            let (action, observation) = part.split_once(&format!("\n{OBSERVATION}"))?;
            let name = action.split('[').next().unwrap_or_default();
            Some(Step { name, observation: observation.trim_end() })
        });
        Self { task, steps: steps.collect() }
    }

    /// Observation of the last action of this name.
    fn observed(&self, name: &str) -> Option<&'p str> {
        self.steps.iter().rev().find(|step| step.name == name).map(|step| step.observation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_read_again() {
        let seen = Seen::of(
            "[Role]\n\n[Execution]\nTask:wake me\nAction:A[{}]\nObservation: {\"x\":1}\n\n\nAction:B[{}]\nObservation: two\nlines\n\nAction:",
        );
        assert_eq!((seen.task, seen.steps.len()), ("wake me", 2));
        assert_eq!(
            (seen.observed("A"), seen.observed("B"), seen.observed("C")),
            (Some("{\"x\":1}"), Some("two\nlines"), None)
        );
        assert_eq!(Seen::of("").task, "");
    }

    #[test]
    fn what_it_writes_is_read_by_the_framework() {
        for text in ["it's \"so\"\nand é", "😀"] {
            let written = finish(text);
            let action = super::super::action::parse(&written).unwrap();
            assert_eq!(action.params.get("response").and_then(Value::as_str), Some(text), "{written}");
        }
    }
}
