//! Requests of the miniature set with our own prompts.

use regatta_proto::{ChatMessage, ChatRequest};

use super::*;
use crate::data::shared::miniature;

/// A request as text for snapshots, without its instructions.
fn written(request: &ChatRequest) -> String {
    let said = request.messages.iter().skip(1).map(|message| format!("{:?}: {}\n", message.role, message.content));
    let tools: Vec<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
    format!("{}tools: {tools:?}\n", said.collect::<String>())
}

#[test]
fn the_requests_of_a_scenario() {
    let data = miniature();
    for name in ["EN/2", "KO/2"] {
        let scenario = data.named(name);
        let mut text = String::new();
        for step in 1..=u32::try_from(scenario.labels.len()).unwrap() {
            let request = if scenario.planning.contains(&step) {
                Some(planning_request(data, scenario, step))
            } else {
                decision_request(data, scenario, step)
            };
            if let Some(request) = request {
                text.push_str(&format!("--- {step}\n{}", written(&request)));
            }
        }
        insta::assert_snapshot!(format!("requests_{}", name.replace('/', "_")), text);
    }
}

#[test]
fn the_main_agent_reads_every_agent_by_ascending_id() {
    let data = miniature();
    let scenario = data.named("EN/1");
    let request = planning_request(data, scenario, scenario.planning[0]);
    let system = &request.messages[0].content;
    let positions: Vec<Option<usize>> = data
        .agents(scenario.language)
        .cards()
        .iter()
        .map(|card| system.find(&format!("**{} ({})**", card.name, card.agent_id)))
        .collect();
    assert!(positions.is_sorted() && positions.iter().all(Option::is_some), "{positions:?}");
    assert!(system.contains(&*scenario.system_info) && !system.contains("%%"));
    assert!(request.tools.is_empty() && request.sampling == SAMPLING);
}

#[test]
fn a_conversation_without_a_user_is_replaced_by_one_request() {
    let data = miniature();
    let scenario = data.named("KO/1");
    let said = vec![ChatMessage::new(ChatRole::Assistant, "something")];
    let request = planning_after(data, scenario, said);
    assert_eq!(request.messages.len(), 2);
    assert_eq!(
        (request.messages[1].role, &*request.messages[1].content),
        (ChatRole::User, prompts::plan_please(scenario.language))
    );
}

#[test]
fn nobody_is_asked_in_the_place_of_an_agent_that_does_not_exist() {
    let data = miniature();
    for scenario in &data.scenarios {
        for decision in &scenario.decisions {
            assert_eq!(decision_request(data, scenario, decision.step).is_some(), decision.is_asked);
        }
        assert!(decision_request(data, scenario, 999).is_none());
    }
}

fn unresolved(key: &str, predicted: &[&str], actual: &[&str]) -> Unresolved {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Unresolved { key: key.to_owned(), predicted: owned(predicted), actual: owned(actual) }
}

#[test]
fn the_question_to_a_judge() {
    let data = miniature();
    let scenario = data.named("EN/2");
    let decision = scenario.decisions.last().unwrap();
    let unresolved =
        [unresolved("city", &["Oslo"], &["the city of Oslo", "it's \"Bergen\""]), unresolved("q", &["a\nb"], &["가"])];
    let tools = ["noSuchTool"];
    let index = judge_index(scenario, decision.step);
    let (before, prompt) = judge_conversation(data, scenario, decision.step, &tools, index, &unresolved);
    let said = before.iter().skip(1).map(|message| format!("{:?}: {}\n", message.role, message.content));
    insta::assert_snapshot!("judge_en_2", format!("{}---\n{prompt}", said.collect::<String>()));
    let system = &before[0].content;
    assert!(system.contains(&*scenario.system_info) && system.contains("<tool_description>\n{}\n"));
}

#[test]
fn the_arguments_are_found_again_in_the_question() {
    let data = miniature();
    let scenario = data.named("EN/1");
    let asked = [
        unresolved("", &[], &["x"]),
        unresolved("odd:**\n Prediction", &["']", "\n**Argument: a:**"], &["' Actual: '"]),
        unresolved("한글", &["값"], &["it's", "\"", "\\"]),
    ];
    let (_, prompt) = judge_conversation(data, scenario, 3, &["a"], 7, &asked);
    assert_eq!(unresolved_in(&prompt), Some(("[ID: EVAL_BATCH_7_7]", asked.to_vec())));
    assert_eq!(unresolved_in("What is the capital of Norway?"), None);
    assert_eq!(unresolved_in("[ID: EVAL_BATCH_0_0]\n**Argument: a:**\n Prediction: '[1]'\n Actual: '[]'\n"), None);
}
