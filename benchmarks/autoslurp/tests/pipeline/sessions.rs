//! Whole sessions with simulated agents, in every policy.

use std::collections::BTreeMap;

use proptest::prelude::*;
use regatta_benchmark_testing::{SimulatedJudge, answered, drive, drive_with};
use regatta_benchmarks::{Persona, Score, Scores, Scoring, Step, Suite, ToolRequest};
use regatta_proto::{
    ChatRequest, Ended, Evaluator, Event, HowEnded, ItemIndex, Reply, Role, Script, SessionSeed, Started, Transcript,
};

use crate::harness::{miniature, published, setting};

const POLICIES: [&str; 4] = ["camelai", "langgraph", "autogen", "agentlite"];

fn score(suite: &dyn Suite, item: ItemIndex, name: &str, evaluators: &[Evaluator], transcript: &Transcript) -> Scores {
    let transcript = transcript.without_requests();
    match suite.score_session(item, &setting(name), evaluators, &transcript, &SimulatedJudge(suite)) {
        Scoring::Scored(scores) => scores,
        other => panic!("{name} {item}: {other:?}"),
    }
}

/// Sessions of `name` that succeeded, and all of them.
fn successes(suite: &dyn Suite, name: &str, agent: Persona, evaluator: Evaluator, value: &str) -> (u32, u32) {
    let setting = setting(name);
    let (mut succeeded, mut all) = (0, 0);
    for item in suite.select(&setting, &[], None).unwrap() {
        let transcript = drive(suite, item, &setting, agent, 7);
        let scores = score(suite, item, name, &[evaluator], &transcript);
        succeeded += u32::from(scores[&evaluator].values[value] > 0.5);
        all += 1;
    }
    (succeeded, all)
}

/// The resolved gold of 94 and 918 items is a legal request (docs/benchmarks/autoslurp.md §2.3). Some of these are answered and yet not
/// what the structured rules ask for: a slot that is named twice is sent once, takeaway echoes no `food_type`, `my city` is resolved to
/// other words, and `six thirty am` to another time. Whoever orchestrates, that is the ceiling.
#[test]
fn the_oracle_reaches_the_ceiling_of_the_data_in_every_policy() {
    let Some(suite) = published() else { return };
    for policy in POLICIES {
        let reached = |name: &str| successes(&*suite, name, Persona::Oracle, Evaluator::Structured, "success");
        assert_eq!(reached(policy), (92, 100), "{policy}");
        assert_eq!(reached(&format!("{policy}/test_1k")), (907, 1000), "{policy}");
    }
}

#[test]
fn every_script_judges_every_policy_and_noise_makes_it_less_content() {
    let suite = miniature();
    for policy in POLICIES {
        let count = |agent, evaluator, value| successes(&*suite, policy, agent, evaluator, value).0;
        for evaluator in [Evaluator::Official, Evaluator::Structured] {
            let value = if evaluator == Evaluator::Structured { "success" } else { "right" };
            assert!(
                count(Persona::Noisy(0.9), evaluator, value) < count(Persona::Oracle, evaluator, value),
                "{policy} {evaluator}"
            );
        }
        let item = ItemIndex(0);
        let transcript = drive(&*suite, item, &setting(policy), Persona::Oracle, 1);
        let scripts: Vec<Evaluator> = Script::ALL.into_iter().map(Evaluator::OfficialOf).collect();
        assert_eq!(score(&*suite, item, policy, &scripts, &transcript).len(), 7);
    }
}

#[test]
fn a_session_that_is_not_over_cannot_be_scored() {
    let suite = miniature();
    for policy in POLICIES {
        let whole = drive(&*suite, ItemIndex(0), &setting(policy), Persona::Oracle, 1);
        let mut part = whole.clone();
        part.events.pop();
        let scoring = |transcript: &Transcript| {
            let (judge, evaluators) = (SimulatedJudge(&*suite), [Evaluator::Structured]);
            suite.score_session(ItemIndex(0), &setting(policy), &evaluators, transcript, &judge)
        };
        assert!(matches!(scoring(&part), Scoring::Unfit(_)), "{policy}");
        let mut more = whole.clone();
        more.events.push(whole.events.last().unwrap().clone());
        assert!(matches!(scoring(&more), Scoring::Unfit(_)), "{policy}");
        assert!(matches!(suite.next(ItemIndex(0), &setting(policy), &more), Step::Unfit(_)), "{policy}");
    }
}

#[test]
fn every_member_that_is_asked_is_one_that_the_setting_has() {
    let suite = miniature();
    for policy in POLICIES {
        let setting = setting(policy);
        let known = suite.members(&setting);
        for item in suite.select(&setting, &[], None).unwrap() {
            for call in drive(&*suite, item, &setting, Persona::Noisy(0.4), 3).calls() {
                let member = call.request.member.clone().expect("policies say who asks");
                assert!(known.contains(&member), "{policy}: {member}");
            }
        }
    }
}

#[test]
fn a_poor_intent_agent_alone_makes_the_team_fail_through_its_intents() {
    let suite = miniature();
    let setting = setting("autogen");
    let (mut failed, mut by_intent) = (0.0, 0.0);
    for item in suite.select(&setting, &[], None).unwrap() {
        let transcript = drive_with(&*suite, item, &setting, |role, request| {
            let is_intent = request.member.as_ref().is_some_and(|member| member.as_str() == "intent");
            let persona = if is_intent { Persona::Noisy(1.0) } else { Persona::Oracle };
            suite.simulate(item, &setting, role, persona, SessionSeed(11), request)
        });
        let scores = score(&*suite, item, "autogen", &[Evaluator::Structured], &transcript);
        let values = &scores[&Evaluator::Structured].values;
        failed += values["failed"];
        by_intent += values["fail_intent"];
    }
    assert!(failed > 0.0 && by_intent / failed > 0.5, "{by_intent} of {failed}");
}

#[test]
fn an_external_agent_is_given_the_utterance_and_the_day() {
    let suite = miniature();
    let name = setting("external/mine/today=2025-06-01");
    let Step::Delegate(task) = suite.next(ItemIndex(0), &name, &Transcript::default()) else {
        panic!("an external agent runs the session")
    };
    assert_eq!(task.agent.as_str(), "mine");
    assert_eq!(task.input["today"], "2025-06-01");
    assert_eq!(task.input["servers"]["alarm"], "http://127.0.0.1:3000/alarm");
    let url = "http://127.0.0.1:3000/alarm?intent=alarm_query".to_owned();
    let answer = suite.serve(ItemIndex(0), &name, &ToolRequest { method: "GET".to_owned(), url, body: None });
    assert_eq!(answer.status, 200);
}

#[test]
fn a_failure_of_the_model_has_every_value_that_a_session_has() {
    let suite = miniature();
    let evaluators: Vec<Evaluator> = [Evaluator::Official, Evaluator::Paper, Evaluator::Structured]
        .into_iter()
        .chain(Script::ALL.map(Evaluator::OfficialOf))
        .collect();
    let setting = setting("langgraph");
    for item in suite.select(&setting, &[], None).unwrap() {
        let transcript = drive(&*suite, item, &setting, Persona::Oracle, 1);
        let failure = suite.score_failure(item, &evaluators);
        for (evaluator, scored) in score(&*suite, item, "langgraph", &evaluators, &transcript) {
            let names = |score: &Score| score.values.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(&failure[&evaluator]), names(&scored), "{evaluator}");
        }
    }
}

#[test]
fn tables_need_flat_values_alone() {
    let suite = miniature();
    let name = setting("camelai");
    let mut scores: BTreeMap<Evaluator, Vec<(ItemIndex, Score)>> = BTreeMap::new();
    for item in suite.select(&name, &[], None).unwrap() {
        let transcript = drive(&*suite, item, &name, Persona::Noisy(0.3), 2);
        for (evaluator, scored) in
            score(&*suite, item, "camelai", &[Evaluator::Official, Evaluator::Structured], &transcript)
        {
            scores.entry(evaluator).or_default().push((item, scored));
        }
    }
    for (evaluator, scores) in scores {
        let whole: Vec<(ItemIndex, &Score)> = scores.iter().map(|(item, score)| (*item, score)).collect();
        let flat: Vec<(ItemIndex, Score)> = scores
            .iter()
            .map(|(item, score)| (*item, Score { detail: serde_json::Value::Null, ..score.clone() }))
            .collect();
        let flat: Vec<(ItemIndex, &Score)> = flat.iter().map(|(item, score)| (*item, score)).collect();
        assert_eq!(suite.tabulate(evaluator, &[whole]), suite.tabulate(evaluator, &[flat]), "{evaluator}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_models_say_every_session_ends_and_can_be_scored(
        said in proptest::collection::vec("(intent|FINISH|\\PC{0,40}|http://127.0.0.1:3000/alarm\\?intent=alarm_set|<task>\\PC{0,9}</task>|Finish\\[\\{\"response\": \"x\"\\}\\])", 1..6),
        policy in 0..4_usize,
        item in 0..20_u32,
    ) {
        let suite = miniature();
        let policy = POLICIES[policy];
        let mut turn = 0;
        let transcript = drive_with(&*suite, ItemIndex(item), &setting(policy), |_, _| {
            turn += 1;
            Reply::said(said[turn % said.len()].as_str())
        });
        let scores = score(&*suite, ItemIndex(item), policy, &[Evaluator::Official, Evaluator::Structured], &transcript);
        prop_assert_eq!(scores.len(), 2);
    }
}

#[test]
fn who_only_says_whose_turn_it_is_gives_no_answer() {
    let suite = miniature();
    let name = setting("external/mine");
    let said = |member: &str, text: &str| {
        let request = ChatRequest { member: Some(member.parse().unwrap()), ..ChatRequest::default() };
        answered(Role::Agent, request, Reply::said(text))
    };
    let ended = Ended { how: HowEnded::Exited(0), output: "printed".into(), is_cut: false, errors: "".into() };
    let score_of = |events: Vec<Event>| {
        let started = Event::Started(Started { agent: "mine".parse().unwrap(), attempt: 1 });
        let end = Event::Ended(Box::new(ended.clone()));
        let transcript = Transcript { events: std::iter::once(started).chain(events).chain([end]).collect() };
        let talk = talk_item(&*suite);
        score(&*suite, talk, name.as_str(), &[Evaluator::Structured], &transcript)[&Evaluator::Structured].values["success"]
    };
    assert_eq!(score_of(vec![said("selector", "the manager speaks next now")]), 0.0);
    assert_eq!(score_of(vec![said("manager", "hello to you, too"), said("selector", "user_proxy")]), 1.0);
    assert_eq!(score_of(vec![said("response", "http://127.0.0.1:1/"), said("manager", "this is long enough")]), 0.0);
}

/// An item that needs no server, only something to be said.
fn talk_item(suite: &dyn Suite) -> ItemIndex {
    let all = suite.select(&setting("autogen"), &[], None).unwrap();
    let needs_none = |item: &&ItemIndex| {
        let transcript = drive(suite, **item, &setting("autogen"), Persona::Oracle, 1);
        let scores = score(suite, **item, "autogen", &[Evaluator::Structured], &transcript);
        let values = &scores[&Evaluator::Structured].values;
        values.contains_key("success_external") && values["success"] > 0.5 && !asks_a_server(&transcript)
    };
    *all.iter().find(needs_none).expect("the miniature has small talk")
}

fn asks_a_server(transcript: &Transcript) -> bool {
    transcript.calls().any(|call| call.reply.tool_calls.iter().any(|tool| tool.arguments.contains("http")))
}

#[test]
fn an_agent_that_fails_without_a_word_has_no_right_intent_and_one_that_tells_none_has_no_accuracy() {
    let suite = miniature();
    let intent_of = |code: i32| {
        let started = Event::Started(Started { agent: "mine".parse().unwrap(), attempt: 1 });
        let ended = Ended { how: HowEnded::Exited(code), output: "".into(), is_cut: false, errors: "".into() };
        let transcript = Transcript { events: vec![started, Event::Ended(Box::new(ended))] };
        let scores = score(&*suite, ItemIndex(0), "external/mine", &[Evaluator::Structured], &transcript);
        scores[&Evaluator::Structured].values.get("intent_strict").copied()
    };
    assert_eq!((intent_of(1), intent_of(0)), (Some(0.0), None));
}
