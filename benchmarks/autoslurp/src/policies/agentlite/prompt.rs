//! The one text that is everything a model gets (docs/benchmarks/autoslurp.md §3.6): the framework's layout in our own words.

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Sampling};
use regatta_pycompat::yaml::{Dict, Value};
use regatta_pycompat::{dumps, repr};

use super::team::{Agent, Deed};
use crate::members::member;
use crate::policy::Policy;
use crate::prompts;

/// The line behind which task and past steps stand.
pub(super) const EXECUTION: &str = "[Execution]";
/// Label of an action, and the end of the prompt.
pub(super) const ACTION: &str = "Action:";
/// Label of an observation.
pub(super) const OBSERVATION: &str = "Observation: ";
/// Label of the task.
pub(super) const TASK: &str = "Task:";
/// The parameter of an agent's call.
pub(super) const TASK_PARAMETER: &str = "Task";

/// Most tokens of a step: the library's default.
const TOKENS_MAX: u32 = 256;

/// Request to `agent` for the next step of the task `instruction`; `history` is what [`step`] made of the steps so far.
pub(super) fn request(agent: &Agent, instruction: &str, history: &str) -> ChatRequest {
    let sampling = Sampling { temperature: Some(0.0), max_tokens: Some(TOKENS_MAX), ..Sampling::default() };
    let message = ChatMessage::new(ChatRole::User, text(agent, instruction, history));
    ChatRequest { member: member(agent.member), stop: vec!["\n".into()], ..ChatRequest::new(vec![message], sampling) }
}

/// A step as it stands in the prompts that follow: the action, and what came of it.
pub(super) fn step(name: &str, params: &Value, observation: &str) -> String {
    format!("{}\n{OBSERVATION}{observation}\n", action(name, params))
}

fn text(agent: &Agent, instruction: &str, history: &str) -> String {
    let is_manager = !agent.team.is_empty();
    let told = if is_manager {
        "You lead a team of agents, to whom you can give tasks. Go by your [Role], and choose your actions from [Action_Doc] and [Team_Doc]."
    } else {
        "You are an agent who works in steps. Go by your [Role], and choose your actions from [Action_Doc]. Write each action in the form of \
         the examples, and solve the task as well as you can."
    };
    let mut blocks = vec![
        told.to_owned(),
        block("Role", &prompts::told(Policy::AgentLite, agent.member)),
        block("Constraint", "Be simple and clear in all that you write."),
    ];
    if is_manager {
        let roles = agent.team.iter().map(|agent| {
            (Value::Str(agent.name.to_owned()), Value::Str(prompts::told(Policy::AgentLite, agent.member)))
        });
        blocks.push(block("Team_Doc", &repr(&Value::Dict(roles.collect()))));
    }
    blocks.push(block("Action_Doc", &repr(&Value::List(agent.deeds.iter().map(document).collect()))));
    let mut examples: Vec<String> = agent
        .team
        .iter()
        .map(|agent| {
            action(agent.name, &texts(&[(TASK_PARAMETER, "the task for this agent, with all that it needs to know")]))
        })
        .collect();
    examples.extend(agent.deeds.iter().map(|deed| action(deed.name(), &texts(deed.parameters()))));
    blocks.push(format!(
        "Write actions in the form of these examples, one action at a time, on one line.\n{}\n",
        block("ActionFormatExample", &examples.join("\n"))
    ));
    blocks.push(format!("{EXECUTION}\n{TASK}{instruction}\n{history}\n{ACTION}"));
    blocks.join("\n")
}

fn block(name: &str, content: &str) -> String {
    format!("[{name}]\n{content}\n[End of {name}]")
}

/// An action as the framework writes it, in JSON.
fn action(name: &str, params: &Value) -> String {
    format!("{ACTION}{name}[{}]", json(params))
}

fn document(deed: &Deed) -> Value {
    let entries = [
        ("name", Value::Str(deed.name().to_owned())),
        ("description", Value::Str(deed.description().to_owned())),
        ("parameters", texts(deed.parameters())),
    ];
    Value::Dict(entries.into_iter().map(|(key, value)| (Value::Str(key.to_owned()), value)).collect())
}

/// A dict of texts.
pub(super) fn texts(entries: &[(&str, &str)]) -> Value {
    let entries = entries.iter().map(|(key, value)| (Value::Str((*key).to_owned()), Value::Str((*value).to_owned())));
    Value::Dict(entries.collect::<Dict>())
}

/// `json.dumps`, which escapes all that is not ASCII.
#[expect(clippy::expect_used, reason = "a prompt without its literal would be another one")]
pub(super) fn json(value: &Value) -> String {
    let json = dumps(value).expect("literals have nothing that JSON could not say");
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if (' '..='~').contains(&c) {
            out.push(c);
            continue;
        }
        // Only inside of texts; beyond the first plane as two surrogates.
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::team::MANAGER;
    use super::*;

    fn prompt(agent: &Agent, history: &str) -> String {
        request(agent, "{\"iid\": \"1\", \"query\": \"it's cold\"}", history).messages[0].content.to_string()
    }

    #[test]
    fn the_layout_of_the_managers_prompt_is_the_frameworks() {
        let step = step("Think", &texts(&[("response", "é")]), "OK");
        let prompt = prompt(&MANAGER, &step);
        let marks = [
            "\n[Role]\n",
            "\n[End of Role]\n[Constraint]\n",
            "\n[End of Constraint]\n[Team_Doc]\n{'IntentAgent': ",
            "\n[End of Team_Doc]\n[Action_Doc]\n[{'name': 'Think', 'description': ",
            "\n[End of Action_Doc]\n",
            "\n[ActionFormatExample]\nAction:IntentAgent[{\"Task\": ",
            "\nAction:ExecAgent[{\"Task\": ",
            "\nAction:Think[{\"response\": ",
            "\nAction:Finish[{\"response\": ",
            "\n[End of ActionFormatExample]\n\n[Execution]\nTask:{\"iid\": \"1\", \"query\": \"it's cold\"}\n",
            "\nAction:Think[{\"response\": \"\\u00e9\"}]\nObservation: OK\n\nAction:",
        ];
        let mut rest = prompt.as_str();
        for mark in marks {
            let (_, after) = rest.split_once(mark).unwrap_or_else(|| panic!("{mark} in {prompt}"));
            rest = &prompt[prompt.len() - after.len() - usize::from(mark.ends_with('\n'))..];
        }
        assert!(prompt.ends_with("Observation: OK\n\nAction:"));
    }

    #[test]
    fn an_agent_has_no_team_and_sees_its_own_actions() {
        let prompt = prompt(&MANAGER.team[1], "");
        assert!(!prompt.contains("[Team_Doc]\n") && prompt.contains("Action:CurDate_Act[{\"query\": "), "{prompt}");
        assert!(prompt.ends_with("\n\nAction:"));
    }

    #[test]
    fn a_step_is_one_line_of_few_tokens_at_temperature_zero() {
        let request = request(&MANAGER, "", "");
        assert_eq!(request.stop, vec!["\n".into()]);
        assert_eq!((request.sampling.temperature, request.sampling.max_tokens), (Some(0.0), Some(256)));
        assert_eq!((request.messages.len(), request.tools.len()), (1, 0));
    }

    #[test]
    fn json_is_ascii() {
        assert_eq!(json(&Value::Str("é😀\u{7f}\"\n".to_owned())), "\"\\u00e9\\ud83d\\ude00\\u007f\\\"\\n\"");
    }
}
