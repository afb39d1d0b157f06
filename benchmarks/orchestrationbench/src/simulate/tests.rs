//! Simulated models.

use std::collections::HashSet;

use regatta_proto::{ChatRequest, Finish, SessionSeed};

use super::*;
use crate::data::Suffix;
use crate::data::shared::{miniature, official};
use crate::protocol::{Unresolved, decision_request, judge_conversation, planning_request};

/// Every step of the miniature set at which a model is asked.
fn steps(data: &Data) -> Vec<(usize, u32)> {
    let mut steps = Vec::new();
    for (position, scenario) in data.scenarios.iter().enumerate() {
        let decisions = scenario.decisions.iter().filter(|decision| decision.is_asked).map(|decision| decision.step);
        steps.extend(scenario.planning.iter().copied().chain(decisions).map(|step| (position, step)));
    }
    steps
}

#[test]
fn the_oracle_answers_with_the_gold_word_for_word() {
    let data = miniature();
    for (position, step) in steps(data) {
        let scenario = &data.scenarios[position];
        let reply = reply(data, scenario, step, Persona::Oracle, SessionSeed(1));
        let gold = scenario.gold(step).unwrap();
        let calls: Vec<_> = reply.tool_calls.iter().map(|call| (&call.name, &call.arguments)).collect();
        assert_eq!(calls, gold.calls.iter().map(|call| (&call.name, &call.arguments)).collect::<Vec<_>>());
        match gold.calls.len() {
            0 => assert_eq!((reply.text, reply.finish), (gold.content.text().cloned(), Finish::Stop)),
            _ => assert_eq!((reply.text, reply.finish), (None, Finish::ToolCalls)),
        }
    }
}

#[test]
fn noise_depends_on_the_seed_and_grows_with_its_probability() {
    let data = miniature();
    let all = steps(data);
    let wrong = |probability, seed| {
        let differs = |(position, step): &&(usize, u32)| {
            let scenario = &data.scenarios[*position];
            let noisy = reply(data, scenario, *step, Persona::Noisy(probability), SessionSeed(seed));
            assert_eq!(noisy, reply(data, scenario, *step, Persona::Noisy(probability), SessionSeed(seed)));
            noisy != reply(data, scenario, *step, Persona::Oracle, SessionSeed(seed))
        };
        all.iter().filter(differs).count()
    };
    assert_eq!((wrong(0.0, 1), wrong(f64::NAN, 1)), (0, 0));
    let [little, much] = [0.1, 0.9].map(|probability| (1..6).map(|seed| wrong(probability, seed)).sum::<usize>());
    assert!(0 < little && little < much / 2, "{little} {much}");
}

#[test]
fn mistakes_are_of_every_kind() {
    let data = miniature();
    let mut kinds = HashSet::new();
    for (position, step) in steps(data) {
        let scenario = &data.scenarios[position];
        for seed in 0..30 {
            let reply = reply(data, scenario, step, Persona::Noisy(0.6), SessionSeed(seed));
            let text = reply.text.as_deref().unwrap_or_default();
            kinds.insert(match (scenario.planning.contains(&step), reply.tool_calls.len()) {
                (true, _)
                    if Some(text)
                        == scenario
                            .label(step, Suffix::Message)
                            .and_then(|entry| entry.content.text())
                            .map(|gold| &**gold) =>
                {
                    "gold plan"
                }
                (true, _) if text.starts_with('{') && text.contains("SUCCESS") => "chitchat",
                (true, _) if serde_json::from_str::<serde_json::Value>(text).is_ok() => "plan as JSON",
                (true, _) if text.contains("```") => "fence",
                (true, _) if text.contains("</think>") => "thought",
                (true, _) => "other plan",
                (false, 0) if text.contains("AWAITING_USER_INPUT") => "question",
                (false, 0) if text.contains("TOOL_CONSTRAINT_VIOLATION") => "refusal",
                (false, 0) => "plain text",
                (false, _)
                    if reply
                        .tool_calls
                        .iter()
                        .any(|call| serde_json::from_str::<serde_json::Value>(&call.arguments).is_err()) =>
                {
                    "no JSON"
                }
                (false, 1) => "call",
                (false, _) => "several calls",
            });
        }
    }
    assert_eq!(kinds.len(), 12, "{kinds:?}");
}

#[test]
fn dependencies_are_written_in_every_way() {
    let data = miniature();
    let scenario = data.named("EN/2");
    let step = *scenario.planning.last().unwrap();
    let texts: String = (0..300)
        .map(|seed| reply(data, scenario, step, Persona::Noisy(0.5), SessionSeed(seed)))
        .map(|reply| format!("{}\n", reply.text.as_deref().unwrap_or_default().split_whitespace().collect::<String>()))
        .collect();
    for way in
        [r#""depends_on":["workflow_1""#, r#""depends_on":"workflow_1""#, r#""depend_on":["#, r#""depends_on":{"#]
    {
        assert!(texts.contains(way), "{way}");
    }
    assert!(texts.contains("depend_on:[\"workflow_1\"") && texts.contains("depend_on:workflow_1"), "YAML too");
}

fn request(data: &Data, (position, step): (usize, u32)) -> ChatRequest {
    let scenario = &data.scenarios[position];
    decision_request(data, scenario, step).unwrap_or_else(|| planning_request(data, scenario, step))
}

#[test]
fn every_official_request_is_recognised() {
    let Some(data) = official() else { return };
    let requests = Requests::of(data);
    let steps = steps(data);
    assert_eq!(steps.len(), 2503);
    let mut equal = 0;
    for step in steps {
        let request = request(data, step);
        let found = requests.step(&request).unwrap();
        if found != step {
            assert_eq!(self::request(data, found), request, "two steps send the same: {step:?} {found:?}");
            equal += 1;
        }
    }
    assert!(equal < 10, "{equal}");
}

#[test]
fn a_request_is_recognised_by_what_it_says() {
    let data = miniature();
    let requests = Requests::of(data);
    for (position, step) in steps(data) {
        let mut request = request(data, (position, step));
        assert_eq!(requests.step(&request), Some((position, step)));
        request.messages[0].content = "Do as you are told.".into();
        let found = requests.step(&request).unwrap();
        assert_eq!(self::request(data, found).messages[1..], request.messages[1..]);
        request.messages.truncate(1);
        assert_eq!(requests.step(&request), None);
    }
}

#[test]
fn the_judge_takes_values_that_differ_in_case_for_the_same() {
    let data = miniature();
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let unresolved = [
        Unresolved {
            key: "city".to_owned(),
            predicted: texts(&["OSLO", "oslo", "rome"]),
            actual: texts(&["Oslo", "Paris"]),
        },
        Unresolved { key: "day".to_owned(), predicted: texts(&["ÉTÉ"]), actual: texts(&["été"]) },
    ];
    let (_, prompt) = judge_conversation(data, &data.scenarios[0], 5, &["x"], 0, &unresolved);
    insta::assert_snapshot!("judge_reply", judge_reply(&prompt, Persona::Oracle, SessionSeed(1)).unwrap());
    assert_eq!(judge_reply("Say yes or no.", Persona::Oracle, SessionSeed(1)), None);
    let replies: HashSet<Option<String>> =
        (0..40).map(|seed| judge_reply(&prompt, Persona::Noisy(0.7), SessionSeed(seed))).collect();
    assert!(replies.len() > 5);
}
