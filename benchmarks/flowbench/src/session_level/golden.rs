//! Sessions scored by all three evaluators, compared with the golden vectors.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use regatta_benchmark_testing::{document, lines};
use regatta_benchmarks::source_location::SourceLocation;
use regatta_proto::{Question, Verdict};
use regex::Regex;
use serde_json::{Map, Value};

use super::*;
use crate::protocol::read_messages;
use crate::turn_level::ParameterSchema;
use crate::vectors::{assert_alike, shared};

const CASES: [&str; 2] = ["session-mixed", "session-edge"];

const EVALUATORS: [(Evaluator, &str); 3] = [
    (Evaluator::Official, "expected.json"),
    (Evaluator::OfficialFixed, "expected.official_fixed.json"),
    (Evaluator::Paper, "expected.paper.json"),
];

/// Recorded replies by kind and subject.
struct Recorded(HashMap<(String, Vec<String>), Vec<String>>);

impl Recorded {
    fn read(file: &Path) -> Self {
        let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
        let replies = lines(file).into_iter().map(|line| {
            let about = match text(&line, "kind").as_str() {
                "fuzzy" => ["api", "parameter", "input_a", "input_b"].map(|key| text(&line, key)).to_vec(),
                _ => vec![text(&line, "item")],
            };
            let responses =
                line["responses"].as_array().unwrap().iter().map(|reply| reply.as_str().unwrap().to_owned());
            ((text(&line, "kind"), about), responses.collect())
        });
        Self(replies.collect())
    }
}

impl Verdicts for Recorded {
    /// Returns the replies up to the first valid one, as a judge that is asked again until then.
    fn answer(&self, question: &Question) -> Option<Verdict> {
        let Question::Judgement { kind, about, accept, replies_max, .. } = question else { return None };
        let recorded = self.0.get(&(kind.clone(), about.clone()))?;
        let accept: Vec<Regex> = accept.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
        let mut replies = Vec::new();
        for reply in recorded.iter().take(usize::from(*replies_max)) {
            replies.push(reply.clone());
            if accept.iter().all(|pattern| pattern.is_match(reply)) {
                break;
            }
        }
        Some(Verdict::Replies { replies })
    }
}

/// A session of the data with everything that its scoring needs.
struct Target {
    scope: Scope,
    domain: String,
    gold_actions: String,
    system_prompt: String,
    tools: Vec<ToolSchema>,
}

fn tool(api: &Value) -> ToolSchema {
    let parameter = |(name, spec): (&String, &Value)| ParameterSchema {
        name: name.clone(),
        required: spec["required"].as_bool().unwrap_or_default(),
        description: spec["description"].as_str().unwrap_or_default().to_owned(),
    };
    ToolSchema {
        name: api["api_name"].as_str().unwrap().to_owned(),
        parameters: api["input_parameters"].as_object().unwrap().iter().map(parameter).collect(),
    }
}

fn targets(shared: &Path) -> HashMap<String, Target> {
    let scenarios = lines(&shared.join("data/data/workflow_final.jsonl"));
    let mut sessions = vec![document(&shared.join("data/paper/listing9_session.json"))];
    for file in ["sessions_single.jsonl", "sessions_cross.jsonl"] {
        sessions.extend(lines(&shared.join("data/synthetic").join(file)));
    }
    let target = |session: &Value| {
        let scope = Scope::named(session["setting"].as_str().unwrap()).unwrap();
        let known = scenarios.iter().filter(|scenario| match scope {
            Scope::Single => scenario["uuid"] == session["scenarios"][0]["uuid"],
            Scope::Cross => scenario["role"] == session["role"],
        });
        let apis: Vec<&Value> = known.flat_map(|scenario| scenario["apis"].as_array().unwrap()).collect();
        let block = |api: &&Value| format!("API: {}\nA tool.\n\n", api["api_name"].as_str().unwrap());
        let blocks: String = apis.iter().map(block).collect();
        let gold = session["tool_invocations"].as_array().unwrap().iter().map(|call| {
            format!("Action: {}\nAction Input: {}", call["action"].as_str().unwrap(), call["action_input"])
        });
        Target {
            scope,
            domain: session["domain"].as_str().unwrap().to_owned(),
            gold_actions: gold.collect::<Vec<_>>().join("\n\n"),
            system_prompt: format!("{blocks}Please note that the current time is:{}", session["datetime"]),
            tools: apis.into_iter().map(tool).collect(),
        }
    };
    sessions.iter().map(|session| (session["session_id"].as_str().unwrap().to_owned(), target(session))).collect()
}

fn messages(line: &Value) -> Vec<Message> {
    read_messages(&SourceLocation::file("here", "predictions.jsonl"), line, "messages").unwrap()
}

struct NoPrompts;

impl JudgePrompts for NoPrompts {
    fn completion(&self, _: &str) -> String {
        String::new()
    }

    fn failure_type(&self, _: &str) -> String {
        String::new()
    }
}

#[test]
fn every_golden_session_is_scored_as_by_each_evaluator() {
    let Some(shared) = shared() else { return };
    let targets = targets(&shared);
    for case in CASES {
        let folder = shared.join("golden").join(case);
        let recorded = Recorded::read(&folder.join("judge.jsonl"));
        let mut scored: BTreeMap<Evaluator, Vec<(String, String, Score)>> = BTreeMap::new();
        for line in lines(&folder.join("predictions.jsonl")) {
            let item = line["item"].as_str().unwrap();
            let target = &targets[item.split('#').next().unwrap()];
            let messages: Vec<Message> = messages(&line);
            let session = Session {
                id: item,
                scope: target.scope,
                domain: &target.domain,
                messages: &messages,
                failure: None,
                gold_actions: &target.gold_actions,
                system_prompt: &target.system_prompt,
                tools: &target.tools,
                charts: &[],
                prompts: &NoPrompts,
                official: None,
            };
            for (evaluator, _) in EVALUATORS {
                match score(&session, &[evaluator], &recorded) {
                    Scoring::Scored(mut scores) => {
                        let entry = (
                            item.to_owned(),
                            line["file"].as_str().unwrap().to_owned(),
                            scores.remove(&evaluator).unwrap(),
                        );
                        scored.entry(evaluator).or_default().push(entry);
                    }
                    other => panic!("{case} {item} {evaluator}: {other:?}"),
                }
            }
        }
        for (evaluator, file) in EVALUATORS {
            let expected = document(&folder.join(file));
            let scored = &scored[&evaluator];
            let items: Map<String, Value> =
                scored.iter().map(|(item, _, score)| (item.clone(), score.detail.clone())).collect();
            let place = format!("{case} {evaluator}");
            assert_alike(&expected["items"], &Value::Object(items), &place);
            assert_eq!(scored.len(), expected["items"].as_object().unwrap().len(), "{place}");
            let scores: Vec<&Score> = scored.iter().map(|(_, _, score)| score).collect();
            assert_alike(&expected["aggregate"], &aggregate(evaluator, &scores), &place);
            for (group, key) in [
                ("by_file", None),
                ("by_setting", Some(["setting"].as_slice())),
                ("by_domain", Some(&["setting", "domain"])),
            ] {
                let of = |(_, file, score): &(String, String, Score)| match key {
                    None => file.clone(),
                    Some(keys) => keys
                        .iter()
                        .map(|key| score.detail[key].as_str().unwrap_or_default())
                        .collect::<Vec<_>>()
                        .join("|"),
                };
                if expected.get(group).is_some() {
                    let names: Vec<String> = scored.iter().map(of).collect();
                    let groups: Vec<(&str, &Score)> =
                        names.iter().map(String::as_str).zip(scores.iter().copied()).collect();
                    let got = by_group(evaluator, &groups);
                    assert_alike(&expected[group], &got, &format!("{place} {group}"));
                    assert_eq!(expected[group].as_object().unwrap().len(), got.as_object().unwrap().len());
                }
            }
        }
    }
}

/// The gold conversation of every session, its calls included.
#[test]
fn every_synthetic_gold_session_makes_every_gold_call() {
    let Some(shared) = shared() else { return };
    let targets = targets(&shared);
    let (mut entries, mut literal, mut fixed, mut calls, mut right) = (0, 0, 0, 0, 0);
    for file in ["sessions_single.jsonl", "sessions_cross.jsonl"] {
        for session in lines(&shared.join("data/synthetic").join(file)) {
            let target = &targets[session["session_id"].as_str().unwrap()];
            let messages: Vec<Message> = messages(&session);
            let nobody = Recorded(HashMap::new());
            let mut judge = Judge::new(&nobody, None);
            let predicted = actions_string(&dialogue(&messages));
            let mut official = |names| {
                matching_official::count(&target.gold_actions, &predicted, names, &target.system_prompt, &mut judge)
            };
            let (as_is, supplied) = (official(Names::Undefined), official(Names::Supplied));
            let gold = matching_paper::gold_calls(&target.gold_actions);
            let made = matching_paper::made_calls(&messages);
            let paper = matching_paper::count(&gold, &made, &target.tools, &target.system_prompt, &mut judge);
            entries += as_is.gold;
            literal += as_is.right;
            fixed += supplied.right;
            calls += paper.gold;
            right += paper.right;
            assert!(judge.into_missing().is_empty(), "{session}");
        }
    }
    // docs/benchmarks/flowbench.md §5.4 and §7; 16 of the entries belong to sessions without calls.
    assert_eq!((entries, literal, fixed), (1219, 113, 1219));
    assert_eq!((calls, right), (1203, 1203));
}
