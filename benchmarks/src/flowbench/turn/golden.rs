//! The turn level against the golden vectors.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use regatta_proto::{Evaluator, FileSet};
use serde_json::{Map, Value, json};

use super::folder::{FolderScoring, score_folder};
use super::{GoldCall, GoldTurn, ParameterSchema, ToolSchema, TurnRecord, aggregate, by_file, score};
use crate::{RecordedVerdicts, Score, Scoring};

const TURN_CASES: [&str; 5] = ["turn-mixed", "turn-strong", "turn-edge", "turn-real", "turn-crash"];

/// Explains a vector; not part of a score.
const PASSED_OVER: [&str; 1] = ["notes"];

/// The benchmark's folder of data and golden vectors, if there is one.
fn shared() -> Option<PathBuf> {
    let root = std::env::var_os("REGATTA_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let folder = root.join("benchmarks/flowbench");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no golden vectors at {} (set REGATTA_SHARED)", folder.display());
    None
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn lines(path: &Path) -> Vec<Value> {
    text(path).split('\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn document(path: &Path) -> Value {
    serde_json::from_str(&text(path)).unwrap()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A turn of the data, with everything that it needs.
struct Turn {
    system_prompt: String,
    thought: Value,
    response: String,
    tools: Vec<ToolSchema>,
    workflow_text: String,
}

impl Turn {
    fn record<'a>(&'a self, id: &'a str) -> TurnRecord<'a> {
        let field = |name: &str| self.thought.get(name).and_then(Value::as_str);
        let call = match (field("Action"), field("Action Input")) {
            (Some(action), Some(input)) if !action.is_empty() && !input.is_empty() => Some(GoldCall { action, input }),
            _ => None,
        };
        TurnRecord {
            id,
            system_prompt: &self.system_prompt,
            gold: GoldTurn { call, current_node: field("current_node"), response: &self.response },
            tools: &self.tools,
            workflow_text: &self.workflow_text,
        }
    }
}

/// The scenarios, in the order of their file.
struct Scenarios(Vec<Value>);

impl Scenarios {
    fn uuids(&self, uuids: &[Value]) -> Vec<&Value> {
        self.0.iter().filter(|scenario| uuids.contains(&scenario["uuid"])).collect()
    }

    fn of_role(&self, role: &str) -> Vec<&Value> {
        self.0.iter().filter(|scenario| scenario["role"] == role).collect()
    }

    fn role_of(&self, uuid: &Value) -> Option<String> {
        self.0.iter().find(|scenario| scenario["uuid"] == *uuid).map(|scenario| string(&scenario["role"]))
    }
}

/// What the prompt, the toolbox and the judge of responses are made of.
fn knowledge(scenarios: &[&Value], datetime: &str) -> (String, Vec<ToolSchema>, String) {
    let tools = || scenarios.iter().flat_map(|scenario| scenario["apis"].as_array().unwrap());
    let workflows = |format: &str| {
        scenarios.iter().map(|scenario| string(&scenario["workflow"][format])).collect::<Vec<_>>().join("\n\n")
    };
    let block = |tool: &Value| string(&tool["raw_block"]).split("\n\n\n").next().unwrap().to_owned();
    let prompt = format!(
        "{}\n\n{}\n\n\nPlease note that the current time is:{datetime}",
        workflows("flowchart"),
        tools().map(block).collect::<Vec<_>>().join("\n\n"),
    );
    let parameter = |(name, spec): (&String, &Value)| ParameterSchema {
        name: name.clone(),
        required: spec["required"] == true,
        description: string(&spec["description"]),
    };
    let schemas = tools().map(|tool| ToolSchema {
        name: string(&tool["api_name"]),
        parameters: tool["input_parameters"].as_object().unwrap().iter().map(parameter).collect(),
    });
    (prompt, schemas.collect(), workflows("text"))
}

/// Every turn of the data, by item id.
fn turns(shared: &Path) -> HashMap<String, Turn> {
    let data = shared.join("data");
    let scenarios = Scenarios(lines(&data.join("data/workflow_final.jsonl")));
    let datetimes = document(&data.join("role_datetime.json"));
    let mut turns = HashMap::new();
    let mut add = |id: String, knowledge: &(String, Vec<ToolSchema>, String), thought: &Value, response: &Value| {
        let (system_prompt, tools, workflow_text) = knowledge.clone();
        let turn = Turn { system_prompt, thought: thought.clone(), response: string(response), tools, workflow_text };
        assert!(turns.insert(id.clone(), turn).is_none(), "{id} twice");
    };

    for file in ["synthetic/sessions_single.jsonl", "synthetic/sessions_cross.jsonl"] {
        for session in lines(&data.join(file)) {
            let chosen = if session["setting"] == "cross" {
                scenarios.of_role(session["role"].as_str().unwrap())
            } else {
                let uuids: Vec<Value> =
                    session["scenarios"].as_array().unwrap().iter().map(|scenario| scenario["uuid"].clone()).collect();
                scenarios.uuids(&uuids)
            };
            let knowledge = knowledge(&chosen, session["datetime"].as_str().unwrap());
            for message in session["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "assistant") {
                let id = format!("{}_agent_turn-{}", session["session_id"].as_str().unwrap(), message["turn"]);
                add(id, &knowledge, &message["thought"], &message["response"]);
            }
        }
    }
    for sample in lines(&data.join("data/sample_input.jsonl")) {
        let uuids = ["answer", "last_turn_workflow"].into_iter().filter_map(|field| sample[field].as_array()).flatten();
        let Some(role) = uuids.into_iter().find_map(|uuid| scenarios.role_of(uuid)) else { continue };
        let knowledge = knowledge(&scenarios.of_role(&role), datetimes[&role].as_str().unwrap());
        let gold = &sample["ground_truth"];
        add(string(&sample["turn_id"]), &knowledge, &gold["thought"], &gold["response"]);
    }
    let session = document(&data.join("paper/listing9_session.json"));
    let role = session["role"].as_str().unwrap();
    let knowledge = knowledge(&scenarios.of_role(role), datetimes[role].as_str().unwrap());
    for message in session["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "assistant") {
        let id = format!("paper-listing9_agent_turn-{}", message["turn"]);
        add(id, &knowledge, &message["thought"], &message["response"]);
    }
    turns
}

/// Paths of everything in `expected` that `computed` lacks or has otherwise; numbers may differ by 1e-9.
fn differences(expected: &Value, computed: &Value, path: &str, found: &mut Vec<String>) {
    match (expected, computed) {
        (Value::Object(expected), Value::Object(computed)) => {
            for (key, expected) in expected.iter().filter(|(key, _)| !PASSED_OVER.contains(&key.as_str())) {
                match computed.get(key) {
                    Some(computed) => differences(expected, computed, &format!("{path}/{key}"), found),
                    None => found.push(format!("{path}/{key} is missing; expected {expected}")),
                }
            }
        }
        (Value::Number(a), Value::Number(b)) if (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() <= 1e-9 => {}
        _ if expected == computed => {}
        _ => found.push(format!("{path}: expected {expected}, computed {computed}")),
    }
}

#[track_caller]
fn assert_equal(expected: &Value, computed: &Value, what: &str) {
    let mut found = Vec::new();
    differences(expected, computed, what, &mut found);
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found[..found.len().min(12)].join("\n"));
}

fn verdicts(case: &Path) -> RecordedVerdicts {
    RecordedVerdicts::read("judge.jsonl", &std::fs::read(case.join("judge.jsonl")).unwrap()).unwrap()
}

fn evaluators(case: &Path) -> Vec<(String, Evaluator)> {
    let outputs = document(&case.join("case.json"))["outputs"].clone();
    let outputs: BTreeMap<String, Evaluator> = serde_json::from_value(outputs).unwrap();
    outputs.into_iter().collect()
}

#[test]
fn the_golden_turns_are_scored_alike_by_every_evaluator() {
    let Some(shared) = shared() else { return };
    let turns = turns(&shared);
    for name in TURN_CASES {
        let case = shared.join("golden").join(name);
        let verdicts = verdicts(&case);
        let predictions = lines(&case.join("predictions.jsonl"));
        let outputs = evaluators(&case);
        let asked: Vec<Evaluator> = outputs.iter().map(|(_, evaluator)| *evaluator).collect();
        let mut scored: BTreeMap<Evaluator, Vec<(String, String, Score)>> = BTreeMap::new();
        for prediction in &predictions {
            let (item, file) = (string(&prediction["item"]), string(&prediction["file"]));
            let turn = &turns[item.split('#').next().unwrap()];
            let scores = match score(&turn.record(&item), prediction["output"].as_str(), &asked, &verdicts) {
                Scoring::Scored(scores) => scores,
                Scoring::Needs(questions) => {
                    panic!("{name}, {item}: not recorded: {:?}", verdicts.missing(&questions[0]))
                }
            };
            for (evaluator, score) in scores {
                scored.entry(evaluator).or_default().push((item.clone(), file.clone(), score));
            }
        }
        for (output, evaluator) in outputs {
            let scores = &scored[&evaluator];
            let items: Map<String, Value> =
                scores.iter().map(|(item, _, score)| (item.clone(), score.detail.clone())).collect();
            let computed = json!({
                "evaluator": evaluator,
                "aggregate": aggregate(evaluator, &scores.iter().map(|(_, _, score)| score).collect::<Vec<_>>()),
                "by_file": by_file(evaluator, &scores.iter().map(|(_, file, s)| (file.as_str(), s)).collect::<Vec<_>>()),
                "items": items,
            });
            assert_equal(&document(&case.join(&output)), &computed, &format!("{name}/{output}"));
        }
    }
}

#[test]
fn the_golden_folders_are_scored_as_the_official_code_scores_them() {
    let Some(shared) = shared() else { return };
    let case = shared.join("golden/turn-branches");
    let verdicts = verdicts(&case);
    let mut files = FileSet::from_origin("turn-branches");
    for folder in std::fs::read_dir(case.join("input")).unwrap().map(|entry| entry.unwrap().path()) {
        for file in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let path = file.strip_prefix(&case).unwrap().to_str().unwrap().to_owned();
            files.insert(path, std::fs::read(&file).unwrap());
        }
    }
    let mut items = Map::new();
    for line in lines(&case.join("predictions.jsonl")) {
        let (folder, filter) = (line["dir"].as_str().unwrap(), line["filter_name"].as_str());
        match score_folder(&files, folder, filter, false, &verdicts) {
            FolderScoring::Scored(scored) => items.insert(string(&line["item"]), scored),
            FolderScoring::Needs(questions) => panic!("{folder}: {:?}", verdicts.missing(&questions[0])),
        };
        // The repaired form scores every folder, whatever is in it.
        let repaired = score_folder(&files, folder, filter, true, &verdicts);
        assert!(matches!(repaired, FolderScoring::Scored(_)) || folder.ends_with("no_time_line_crash"), "{folder}");
    }
    let computed = json!({ "evaluator": "official", "aggregate": null, "items": items });
    assert_equal(&document(&case.join("expected.json")), &computed, "turn-branches");
}

#[test]
fn the_gold_of_the_whole_data_scores_full_marks() {
    let Some(shared) = shared() else { return };
    let turns = turns(&shared);
    let no_verdicts = RecordedVerdicts::default();
    let mut official = Vec::new();
    let mut nodes = 0;
    for (id, turn) in turns.iter().filter(|(id, _)| id.starts_with("syn-")) {
        let node = turn.thought["current_node"].as_str().unwrap();
        let label = if turn.thought.get("Action").is_some() { "" } else { "Response: " };
        let gold = format!("Thought: current_node={node}.\n{label}{}", turn.response);
        let Scoring::Scored(mut scores) =
            score(&turn.record(id), Some(&gold), &[Evaluator::Official, Evaluator::OfficialFixed], &no_verdicts)
        else {
            panic!("{id}: the gold needs a judge")
        };
        official.extend(scores.remove(&Evaluator::Official));
        nodes += usize::from(super::node::predicted(&gold).is_some_and(|predicted| super::node::same(node, predicted)));
    }
    let total = aggregate(Evaluator::Official, &official.iter().collect::<Vec<_>>());
    assert_eq!(
        (&total["call_right"], &total["call_all_gt"], &total["call_all_pred"]),
        (&json!(1203), &json!(1203), &json!(1203))
    );
    assert_eq!(
        (&total["params_right"], &total["params_all_gt"], &total["params_all_pred"]),
        (&json!(2655), &json!(2655), &json!(2655))
    );
    assert_eq!((nodes, official.len()), (5313, 5313));
}
