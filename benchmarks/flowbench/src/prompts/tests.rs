//! Snapshots of the prompts.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::*;
use crate::data::{Function, Invocation, Scenario, Session, TIME_LABEL, Tool, UserProfile};
use crate::flowchart;
use crate::protocol::{HistoryLine, Side};
use crate::setting::{Format, Scope};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn tool(name: &str) -> Arc<Tool> {
    Arc::new(Tool {
        name: name.into(),
        description: "Finds a bicycle".into(),
        inputs: object(json!({"size": {"type": "string", "description": "as \"M\"", "required": true}})),
        outputs: object(json!({"is_found": {"type": "string", "description": "[yes, no]"}})),
        block: format!("API: {name}\nAPI Desciption: Finds a bicycle\nInput parameters: {{…}}").into(),
    })
}

fn scenario(name: &str, node: &str, tools: &[&str]) -> Arc<Scenario> {
    let text = format!("：\nflowchart TD\n{node}000(Start)--{name}-->{node}001[Ask for the size]\n");
    let chart = flowchart::parse(&text).unwrap_or_else(|error| unreachable!("{error}"));
    Arc::new(Scenario {
        uuid: name.into(),
        domain: "Shops".into(),
        role: "bicycle_shop".into(),
        name: name.into(),
        tools: tools.iter().map(|name| tool(name)).collect(),
        text: format!("{name}: first ask for the size.").into(),
        code: "start:\n    ask size\n".into(),
        flowchart: text.into(),
        chart: Arc::new(chart),
    })
}

fn agent(scope: Scope, format: Format) -> String {
    let scenarios = match scope {
        Scope::Single => vec![scenario("Buy a bicycle", "AB", &["findBicycle"])],
        Scope::Cross => {
            vec![scenario("Buy a bicycle", "AB", &["findBicycle", "pay"]), scenario("Rent a bicycle", "CD", &["pay"])]
        }
    };
    let background = (scope == Scope::Cross).then_some("The shop sells and rents bicycles.");
    let (role, datetime) = ("bicycle_shop", "2040-01-02 03:04:05 Monday");
    agent_system(&AgentPrompt { role, background, scope, format, scenarios: &scenarios, datetime })
}

#[test]
fn the_agent_is_told_its_knowledge_in_each_format() {
    for format in Format::ALL {
        insta::assert_snapshot!(format!("agent_single_{}", format.name()), agent(Scope::Single, format));
    }
    insta::assert_snapshot!("agent_cross_flowchart", agent(Scope::Cross, Format::Flowchart));
}

#[test]
fn every_prompt_has_what_evaluators_search_for_and_has_it_once() {
    for scope in Scope::ALL {
        for format in Format::ALL {
            let prompt = agent(scope, format);
            assert_eq!(prompt.matches(super::agent::KNOWLEDGE_LINE).count(), 1);
            assert_eq!(prompt.matches("Please note that the current time").count(), 1);
            assert!(prompt.ends_with(&format!("\n\n\n{TIME_LABEL}2040-01-02 03:04:05 Monday")));
            let first_tool = prompt.find("API: ").map(|at| &prompt[at..]).unwrap_or_default();
            assert!(first_tool.starts_with("API: findBicycle\n"), "nothing before the blocks looks like one");
            assert!(workflow_info(&prompt).contains("API: findBicycle"));
        }
    }
}

#[test]
fn blocks_that_scenarios_share_stand_in_a_prompt_once_behind_all_workflows() {
    let prompt = agent(Scope::Cross, Format::Text);
    assert_eq!(prompt.matches("API: pay\n").count(), 1);
    let place = |text: &str| prompt.find(text).unwrap_or(usize::MAX);
    assert!(place("scenario 1 \"Buy a bicycle\"") < place("scenario 2 \"Rent a bicycle\""));
    assert!(place("Rent a bicycle: first ask") < place("API: findBicycle"));
}

#[test]
fn the_demand_for_a_thought_comes_after_the_time() {
    let asked = thought_first(&agent(Scope::Single, Format::None));
    assert!(asked.lines().last().is_some_and(|line| line.contains("Thought")));
    assert_eq!(workflow_info("no such lines"), "");
}

fn history() -> Vec<HistoryLine<'static>> {
    vec![
        HistoryLine { side: Side::User, text: "Hello, I need a bicycle." },
        HistoryLine { side: Side::Assistant, text: "Which size?" },
    ]
}

fn calls() -> Vec<Invocation> {
    vec![
        Invocation {
            action: "findBicycle".into(),
            input: object(json!({"size": "M", "extras": ["bell", "é"], "year": 2040})),
            result: "{\"is_found\":\"yes\"}".into(),
        },
        Invocation { action: "pay".into(), input: object(json!({"size": "M"})), result: "{}".into() },
    ]
}

fn session(invocations: Vec<Invocation>) -> Session {
    Session {
        id: "s-1".into(),
        datetime: "2040-01-02 03:04:05 Monday".into(),
        profile: Some(UserProfile {
            name: "Ada Quill".into(),
            tone: "brief".into(),
            background: "Ada Quill has just moved to town.".into(),
        }),
        goals: vec!["buy a bicycle of size M".into(), "pay for it".into()],
        scenarios: Vec::new(),
        invocations,
        messages: Vec::new(),
    }
}

#[test]
fn the_user_is_told_who_they_are_and_what_was_said() {
    let session = session(calls());
    let system = user_system(&first_turn_hint(&session), &session.datetime);
    let text = user_text(&every_turn_hint(&session), &history());
    insta::assert_snapshot!("user", format!("{system}\n=====\n{text}"));
}

#[test]
fn the_tools_are_told_the_gold_calls_the_tool_and_the_call() {
    let function = Function {
        name: "findBicycle".into(),
        parameters: super::environment::descriptions(&tool("findBicycle").inputs),
        result: json!({"is_found": {"type": "string"}}),
    };
    let system = environment_system(&calls_with_results(&calls()));
    let text = environment_text(&function, "2040-01-02 03:04:05 Monday", &history(), Some("{\"size\": \"M\"}"));
    insta::assert_snapshot!("environment", format!("{system}\n=====\n{text}"));
    assert_eq!(section(&environment_text(&function, "now", &[], None), "arguments"), Some("null"));
}

#[test]
fn gold_calls_are_blocks_with_json_as_python_writes_it() {
    let gold = "Action: findBicycle\nAction Input: {\"size\": \"M\", \"extras\": [\"bell\", \"é\"], \"year\": 2040}\n\n\
                Action: pay\nAction Input: {\"size\": \"M\"}";
    assert_eq!(call_blocks(&calls()), gold);
    assert_eq!(call_blocks(&[]), "");
}

#[test]
fn the_judges_are_told_what_they_judge_and_how_to_answer() {
    let target = user_target(&session(calls()), "bicycle_shop");
    let judged = [
        completion(&target, "the workflow", "user:\nHello"),
        response_score("Which size?", "What size do you need?", "the workflow"),
        failure_type(&user_target(&session(vec![]), "bicycle_shop"), "the workflow", "user:\nHello"),
    ];
    insta::assert_snapshot!("judges", judged.join("\n=====\n"));
    assert_eq!(section(&judged[0], "target"), Some(&*target));
    assert_eq!(section(&judged[1], "reply"), Some("What size do you need?"));
}
