//! Turns and conversations against the golden vectors of the released code.

use std::collections::BTreeMap;
use std::path::Path;

use regatta_proto::Role;
use serde_json::{Map, Value, json};

use super::*;
use crate::flowbench::session::{actions_string, dialogue, intents, nodes};
use crate::flowbench::vectors::{document, lines, shared};

/// A model that says what a script says, the last line for ever.
struct Script<'s> {
    lines: &'s [Value],
    asked: usize,
}

impl<'s> Script<'s> {
    fn of(lines: &'s Value) -> Self {
        Self { lines: lines.as_array().unwrap(), asked: 0 }
    }

    fn reply(&mut self) -> Option<&'s str> {
        let line = self.lines.get(self.asked).or(self.lines.last()).unwrap();
        self.asked += 1;
        line.as_str()
    }
}

#[test]
fn every_golden_turn_is_inferred_as_by_the_released_code() {
    let Some(shared) = shared() else { return };
    let expected = document(&shared.join("golden/turn-inference/expected.json"))["items"].clone();
    for line in lines(&shared.join("golden/turn-inference/predictions.jsonl")) {
        let mut script = Script::of(&line["attempts"]);
        let mut turn = TurnInference::default();
        while turn.step() == TurnStep::Ask {
            turn.push(script.reply());
        }
        let predict = match turn.step() {
            TurnStep::Predicted(text) => Some(text),
            _ => None,
        };
        let expected = &expected[line["item"].as_str().unwrap()];
        assert_eq!(json!(predict), expected["predict"], "{line}");
        assert_eq!(json!(turn.step().official_error()), expected["error"], "{line}");
        assert_eq!(json!(script.asked), expected["llm_calls"], "{line}");
    }
}

/// Names of the tools by session.
fn tools_by_session(shared: &Path) -> BTreeMap<String, Vec<String>> {
    let mut by_scenario: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut by_role: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for scenario in lines(&shared.join("data/data/workflow_final.jsonl")) {
        for api in scenario["apis"].as_array().unwrap() {
            let name = api["api_name"].as_str().unwrap().to_owned();
            by_scenario.entry(scenario["uuid"].as_str().unwrap().to_owned()).or_default().push(name.clone());
            by_role.entry(scenario["role"].as_str().unwrap().to_owned()).or_default().push(name);
        }
    }
    let mut by_session = BTreeMap::new();
    for file in ["data/synthetic/sessions_single.jsonl", "data/synthetic/sessions_cross.jsonl"] {
        for session in lines(&shared.join(file)) {
            let tools = match session["setting"].as_str().unwrap() {
                "single" => &by_scenario[session["scenarios"][0]["uuid"].as_str().unwrap()],
                _ => &by_role[session["role"].as_str().unwrap()],
            };
            by_session.insert(session["session_id"].as_str().unwrap().to_owned(), tools.clone());
        }
    }
    by_session
}

fn message(message: &Message) -> Value {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!(message.speaker.as_str()));
    if let Speaker::Function(name) = &message.speaker {
        fields.insert("name".to_owned(), json!(name));
    }
    fields.insert("content".to_owned(), json!(message.content));
    if let Some(call) = &message.call {
        fields.insert("function_call".to_owned(), json!({"name": call.name, "arguments": call.arguments}));
    }
    Value::Object(fields)
}

#[test]
fn every_golden_conversation_goes_as_by_the_released_code() {
    let Some(shared) = shared() else { return };
    let expected = document(&shared.join("golden/sim-loop/expected.json"))["items"].clone();
    let tools = tools_by_session(&shared);
    for line in lines(&shared.join("golden/sim-loop/predictions.jsonl")) {
        let item = line["item"].as_str().unwrap();
        let session = item.split('#').next().unwrap();
        let plan = Plan { limits: Limits::Code, tools: tools[session].iter().cloned().collect() };
        let mut scripts: BTreeMap<Role, Script<'_>> =
            [(Role::User, "user"), (Role::Agent, "assistant"), (Role::Environment, "function")]
                .map(|(role, name)| (role, Script::of(&line["script"][name])))
                .into();
        let mut conversation = Conversation::new(&plan);
        loop {
            let role = match conversation.next() {
                Next::User(_) => Role::User,
                Next::Agent(_) => Role::Agent,
                Next::Environment(_) => Role::Environment,
                Next::Over(_) => break,
            };
            let reply = scripts.get_mut(&role).unwrap().reply();
            conversation.push(Exchange { role, reply }).unwrap();
        }
        let expected = &expected[item];
        let error = conversation.ending().unwrap().failure().and_then(Failure::official_error);
        assert_eq!(json!(error), expected["error"], "{item}");
        let asked = |role| scripts[&role].asked;
        let calls = json!({
            "user": asked(Role::User), "assistant": asked(Role::Agent), "function": asked(Role::Environment),
        });
        assert_eq!(calls, expected["llm_calls"], "{item}");
        if error.is_some() {
            continue;
        }
        let messages: Vec<Value> = conversation.messages().iter().map(message).collect();
        assert_eq!(json!(messages), expected["messages"], "{item}");
        let text = dialogue(conversation.messages());
        assert_eq!(json!(text), expected["gen_dialog_str"], "{item}");
        assert_eq!(json!(nodes(&text)), expected["gen_nodes_list"], "{item}");
        assert_eq!(json!(intents(&text)), expected["gen_intents_list"], "{item}");
        assert_eq!(json!(actions_string(&text)), expected["gen_actions_string"], "{item}");
    }
}
