//! Loading of the data set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use regatta_benchmark_testing::{examples, miniature, read_folder};
use regatta_proto::FileSet;
use serde_json::{Value, json};

use super::scenario::Parameter;
use super::tool_text::time_in;
use super::*;
use crate::flowchart::{Finding, Visit, path_check};
use crate::setting::{Format, Level, Mode};
use crate::{FlowBench, vectors};

/// Reads the files below a folder that belong to the data set, without those that `skip` names.
fn folder(root: &Path, skip: &[&str]) -> FileSet {
    let mut files = FileSet::from_origin("the data");
    for (name, content) in read_folder(root, Some(&FlowBench)).iter() {
        if !skip.iter().any(|skipped| name.contains(skipped)) {
            files.insert(name, content.clone());
        }
    }
    files
}

/// Returns the folder of the shared data, if it exists.
fn shared() -> Option<PathBuf> {
    vectors::shared().map(|folder| folder.join("data"))
}

fn read(files: &FileSet) -> Data {
    load(files).unwrap_or_else(|error| unreachable!("{error}"))
}

fn of(data: &Data, origin: Origin, level: Level, scope: Scope) -> Vec<&Entry> {
    let wanted = (origin, level, scope);
    data.entries.iter().filter(|entry| (entry.origin, entry.level(), entry.group.scope) == wanted).collect()
}

#[test]
fn the_canonical_set_has_the_size_of_the_papers() {
    let Some(root) = shared() else { return };
    let data = read(&folder(&root, &[]));
    let scenarios = scenarios_of(&data);
    assert_eq!(scenarios.len(), 51);
    assert_eq!(scenarios.values().map(|scenario| scenario.tools.len()).sum::<usize>(), 109);
    let count = |level, scope| of(&data, Origin::Main, level, scope).len();
    assert_eq!((count(Level::Turn, Scope::Single), count(Level::Turn, Scope::Cross)), (3094, 2219));
    assert_eq!((count(Level::Session, Scope::Single), count(Level::Session, Scope::Cross)), (335, 201));
    let long = |scope| {
        of(&data, Origin::Main, Level::Session, scope).into_iter().filter(|entry| data.lengths.admit(entry)).count()
    };
    assert_eq!((long(Scope::Single), long(Scope::Cross)), (262, 149));
    let calls = data.entries.iter().filter(|entry| entry.origin == Origin::Main);
    assert_eq!(calls.filter(|entry| entry.gold().is_some_and(GoldTurn::has_action)).count(), 1203);
    assert_eq!(of(&data, Origin::RealSample, Level::Turn, Scope::Cross).len(), 10);
    assert_eq!(of(&data, Origin::Paper, Level::Turn, Scope::Cross).len(), 10);
    assert_eq!(of(&data, Origin::Paper, Level::Session, Scope::Cross).len(), 1);
    assert_eq!(data.entries.len(), 5313 + 536 + 10 + 11);
    assert!(data.is_synthetic());
    assert!(data.entries.iter().all(|entry| entry.synthetic == (entry.origin == Origin::Main)));
    for (index, entry) in data.indexed() {
        assert_eq!(data.position(entry.id.as_str()), Some(index));
    }
}

#[test]
fn the_official_form_of_the_set_says_the_same_as_the_canonical_one() {
    let Some(root) = shared() else { return };
    let canonical = read(&folder(&root, &[".zip", "sample_input", "paper/"]));
    let official =
        read(&folder(&root, &["sessions_single", "sessions_cross", "workflow_final", "sample_input", "paper/"]));
    assert_eq!(official.entries.len(), 5313 + 262 + 149);
    for entry in &official.entries {
        let same = canonical.position(entry.id.as_str()).and_then(|index| canonical.entry(index));
        let Some(same) = same else { unreachable!("{} is no canonical item", entry.id) };
        assert_eq!((&entry.group.file, &entry.group.role), (&same.group.file, &same.group.role), "{}", entry.id);
        assert_eq!(entry.group.scenarios.len(), same.group.scenarios.len(), "{}", entry.id);
        assert_eq!(
            (entry.gold(), entry.synthetic, entry.datetime()),
            (same.gold(), true, same.datetime()),
            "{}",
            entry.id
        );
        assert_eq!(entry.history(Format::Flowchart), same.history(Format::Flowchart), "{}", entry.id);
        let names = |entry: &Entry| entry.tools().into_iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
        if entry.group.scope == Scope::Single {
            assert_eq!(names(entry), names(same), "{}", entry.id);
        }
        if let (Some(theirs), Some(ours)) = (entry.script(), same.script()) {
            assert_eq!(theirs.gold_actions, ours.gold_actions, "{}", entry.id);
            assert_eq!(theirs.function_prompt, ours.function_prompt, "{}", entry.id);
            assert_eq!(theirs.datetime, ours.datetime, "{}", entry.id);
        }
    }
}

#[test]
fn every_gold_way_stays_on_its_flowcharts() {
    let Some(root) = shared() else { return };
    let data = read(&folder(&root, &[".zip"]));
    for entry in of_level(&data, Level::Session) {
        assert_eq!(departures_of_gold(entry), [], "{}", entry.id);
    }
}

fn scenarios_of(data: &Data) -> BTreeMap<&str, &Scenario> {
    let scenarios = data.entries.iter().flat_map(|entry| &entry.group.scenarios);
    scenarios.map(|scenario| (&*scenario.uuid, &**scenario)).collect()
}

fn of_level(data: &Data, level: Level) -> impl Iterator<Item = &Entry> {
    data.entries.iter().filter(move |entry| entry.level() == level)
}

fn departures_of_gold(entry: &Entry) -> Vec<Finding> {
    let charts: Vec<_> = entry.group.scenarios.iter().map(|scenario| &*scenario.chart).collect();
    let turns = entry.session().into_iter().flat_map(Session::agent_turns);
    let visits: Vec<Visit<'_>> = turns
        .map(|(_, gold)| Visit {
            last: gold.text("last_node"),
            intent: gold.text("intent"),
            current: gold.text("current_node"),
        })
        .collect();
    path_check(&charts, &visits)
}

#[test]
fn every_format_of_every_item_can_be_rendered_and_names_its_tools() {
    let Some(root) = shared() else { return };
    let data = read(&folder(&root, &[".zip"]));
    for entry in of_level(&data, Level::Session) {
        for format in Format::ALL {
            let system = entry.system(format).unwrap_or_default();
            for tool in entry.tools() {
                assert!(system.contains(&format!("\nAPI: {}\n", tool.name)), "{} {}", entry.id, tool.name);
            }
            assert_eq!(time_in(&system), entry.datetime().as_deref(), "{}", entry.id);
        }
    }
}

#[test]
fn a_real_sample_gets_the_knowledge_of_its_role() {
    let Some(root) = shared() else { return };
    let data = read(&folder(&root, &[".zip", "sessions_"]));
    let id = "20240522183723870724158_agent_turn-4";
    let Some(entry) = data.position(id).and_then(|index| data.entry(index)) else { unreachable!("{id}") };
    assert_eq!((&*entry.group.role, &*entry.group.file), ("moving_service", "real_sample.jsonl"));
    assert_eq!(entry.gold().and_then(GoldTurn::action), Some("verifyInsurance"));
    assert_eq!(
        entry.gold().and_then(GoldTurn::action_input),
        Some("{\"thing_form\": \"laptop\", \"thing_name\": \"Dell XPS 15\"}")
    );
    assert_eq!(entry.datetime().as_deref(), Some("2030-03-29 06:03:01 Friday"));
    assert_eq!(entry.history(Format::Text).len(), 7);
    assert!(!data.is_synthetic());
}

#[test]
fn sessions_of_one_scenario_and_their_turns_are_one_group() {
    let data = read(&miniature(&FlowBench));
    let items = crate::items::items(&data);
    for level in [Level::Turn, Level::Session] {
        let of_level = data.entries.iter().zip(&items).filter(|(entry, _)| entry.level() == level);
        let by_file: std::collections::BTreeSet<_> =
            of_level.map(|(entry, item)| (entry.group.file.clone(), item.group.clone())).collect();
        let files: std::collections::BTreeSet<_> = by_file.iter().map(|(file, _)| file).collect();
        let groups: std::collections::BTreeSet<_> = by_file.iter().map(|(_, group)| group).collect();
        assert!(!groups.contains(&None));
        assert_eq!((files.len(), groups.len()), (by_file.len(), by_file.len()), "{by_file:?}");
    }
}

#[test]
fn the_miniature_loads_by_the_same_code_and_its_golds_follow_its_workflows() {
    let data = read(&miniature(&FlowBench));
    let count = |level, scope| of(&data, Origin::Main, level, scope).len();
    assert_eq!((count(Level::Turn, Scope::Single), count(Level::Turn, Scope::Cross)), (56, 35));
    assert_eq!((count(Level::Session, Scope::Single), count(Level::Session, Scope::Cross)), (8, 4));
    assert!(data.entries.iter().all(|entry| entry.synthetic));
    assert_eq!(of_level(&data, Level::Session).filter(|entry| data.lengths.admit(entry)).count(), 9);
    for entry in of_level(&data, Level::Session) {
        assert_eq!(departures_of_gold(entry), [], "{}", entry.id);
        let Some(session) = entry.session() else { unreachable!() };
        for call in &session.invocations {
            let tool = entry.tools().into_iter().find(|tool| tool.name == call.action);
            let Some(tool) = tool else { unreachable!("{}: {}", entry.id, call.action) };
            assert!(call.input.keys().all(|name| tool.inputs.contains_key(name)), "{}: {}", entry.id, call.action);
            let needed = tool.inputs.keys().filter(|name| tool.parameter(name).is_some_and(Parameter::required));
            assert!(needed.into_iter().all(|name| call.input.contains_key(name)), "{}: {}", entry.id, call.action);
        }
    }
    let scenarios = scenarios_of(&data);
    let nodes: usize = scenarios.values().map(|scenario| scenario.chart.nodes().count()).sum();
    assert_eq!((scenarios.len(), nodes), (4, 30));
}

#[test]
fn the_example_names_settings_and_data_that_there_are() {
    let text = std::fs::read_to_string(examples().join("flowbench.yaml")).unwrap_or_default();
    let spec = regatta_proto::parse_spec(&text, &|_| None).unwrap_or_else(|error| unreachable!("{error}"));
    let Some((name, benchmark)) = spec.benchmarks.first_key_value() else { unreachable!("one benchmark") };
    assert_eq!(name.as_str(), "flowbench");
    assert!(!benchmark.settings.is_empty());
    assert!(benchmark.settings.iter().all(|setting| Mode::of(setting).is_some()));
    assert!(benchmark.data.as_ref().is_some_and(|data| examples().join(data).is_dir()));
}

/// A small data set with one scenario and one session, which `change` may make invalid.
fn spoiled(change: impl FnOnce(&mut Value, &mut Value)) -> FileSet {
    let mut scenario = json!({
        "uuid": "u-1", "domain": "Shops", "role": "bicycle_shop", "scenario": "Buy a bicycle",
        "apis": [{
            "api_name": "findBicycle", "api_description": "Finds one", "output_parameters": {},
            "input_parameters": {"size": {"type": "string", "description": "as \"M\"", "required": true}},
        }],
        "workflow": {"text": "Ask.", "code": "ask", "flowchart": "：\nflowchart TD\nAB000(Start)--Buy-->AB001[Ask]"},
    });
    let call = json!({"last_node": "AB000", "intent": "Buy", "current_node": "AB001", "Action": "findBicycle",
        "Action Input": "{\"size\": \"M\"}"});
    let mut session = json!({
        "session_id": "s-1", "synthetic": true, "setting": "single", "domain": "Shops", "role": "bicycle_shop",
        "scenarios": [{"uuid": "u-1", "scenario": "Buy a bicycle"}], "file": "bicycle_shop__Buy_a_bicycle.jsonl",
        "datetime": "2040-01-02 03:04:05 Monday",
        "user_profile": {"name": "Ada", "tone": "brief", "background": "Ada is new in town."},
        "user_goals": ["a bicycle of size M"],
        "tool_invocations": [{"action": "findBicycle", "action_input": {"size": "M"}, "result": {"is_found": "no"}}],
        "turns": 2,
        "messages": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "turn": 1, "thought": call, "response": "Action: findBicycle\nAction Input: {\"size\": \"M\"}",
             "content": "Thought: x\nAction: findBicycle\nAction Input: {\"size\": \"M\"}"},
            {"role": "function", "name": "findBicycle", "content": "{\"is_found\":\"no\"}"},
            {"role": "assistant", "turn": 2, "thought": "{\"current_node\": \"AB001\"}", "response": "Sorry.",
             "content": "Thought: y\nResponse: Sorry."},
        ],
    });
    change(&mut scenario, &mut session);
    let mut files = FileSet::from_origin("here");
    files.insert("data/workflow_final.jsonl", format!("{scenario}\n"));
    files.insert("synthetic/sessions_single.jsonl", format!("\n{session}\n"));
    files
}

fn refusal(files: &FileSet) -> String {
    load(files).map_or_else(|error| error.to_string(), |data| format!("{} items", data.entries.len()))
}

#[test]
fn a_turn_sees_calls_whole_and_other_replies_as_responses() {
    let data = read(&spoiled(|_, session| {
        if let Some(messages) = session["messages"].as_array_mut() {
            let mut again = messages[3].clone();
            again["turn"] = json!(3);
            messages.extend([json!({"role": "user", "content": "Pity"}), again]);
        }
        session["turns"] = json!(3);
    }));
    let Some(third) = data.position("s-1_agent_turn-3").and_then(|index| data.entry(index)) else { unreachable!() };
    let history = third.history(Format::Flowchart);
    let seen: Vec<(&str, Option<&str>, &str)> =
        history.iter().map(|line| (line.speaker.name(), line.name.as_deref(), &*line.content)).collect();
    assert_eq!(
        seen,
        [
            ("user", None, "Hello"),
            ("assistant", None, "Thought: x\nAction: findBicycle\nAction Input: {\"size\": \"M\"}"),
            ("function", Some("findBicycle"), "{\"is_found\":\"no\"}"),
            ("assistant", None, "Response: Sorry."),
            ("user", None, "Pity"),
        ]
    );
    assert_eq!(&*third.group.file, "single__bicycle_shop__Buy_a_bicycle.jsonl");
    assert_eq!(third.tools()[0].parameter("size").map(Parameter::required), Some(true));
}

#[test]
fn whatever_is_malformed_is_named_by_file_line_and_field() {
    type Change = fn(&mut Value, &mut Value);
    let changes: &[Change] = &[
        |scenario, _| scenario["uuid"] = json!(7),
        |scenario, _| scenario["apis"][0]["api_name"] = json!(""),
        |scenario, _| scenario["apis"][0]["input_parameters"]["size"] = json!("text"),
        |scenario, _| scenario["apis"][0]["input_parameters"]["size"]["required"] = json!("yes"),
        |scenario, _| scenario["apis"][0]["raw_block"] = json!([]),
        |scenario, _| scenario["workflow"]["code"] = json!(null),
        |scenario, _| scenario["workflow"]["flowchart"] = json!("：\nflowchart TD\nAB000(Start)->AB001[Ask]"),
        |_, session| *session = json!([]),
        |_, session| session["session_id"] = json!("two\nlines"),
        |_, session| session["synthetic"] = json!("yes"),
        |_, session| session["setting"] = json!("double"),
        |_, session| session["role"] = json!("ferry"),
        |_, session| session["domain"] = json!("Ships"),
        |_, session| session["scenarios"] = json!([]),
        |_, session| session["scenarios"][0]["uuid"] = json!("u-2"),
        |_, session| session["user_profile"]["tone"] = json!(1),
        |_, session| session["user_goals"][0] = json!({}),
        |_, session| session["tool_invocations"][0]["action_input"] = json!("{}"),
        |_, session| session["tool_invocations"][0]["result_text"] = json!("{}"),
        |_, session| session["turns"] = json!(3),
        |_, session| session["messages"][0]["role"] = json!("tool"),
        |_, session| session["messages"][1]["turn"] = json!(2),
        |_, session| session["messages"][1]["thought"]["Action Input"] = json!({}),
        |_, session| {
            session["messages"][1]["thought"] = json!({"Action": "findBicycle"});
        },
        |_, session| session["messages"][3]["thought"] = json!("no object"),
        |_, session| session["messages"][2]["name"] = json!(null),
    ];
    let mut said: Vec<String> = changes.iter().map(|change| refusal(&spoiled(change))).collect();
    let mut files = spoiled(|_, _| {});
    files.insert("synthetic/sessions_cross.jsonl", &b"{\"session_id\": \"s-2\",\n"[..]);
    said.push(refusal(&files));
    let mut files = spoiled(|_, _| {});
    let again = files.get("synthetic/sessions_single.jsonl").cloned().unwrap_or_default();
    files.insert("synthetic/sessions_cross.jsonl", again);
    said.push(refusal(&files));
    let mut files = FileSet::from_origin("here");
    said.push(refusal(&files));
    files.insert("paper/x.json", &b"{}"[..]);
    said.push(refusal(&files));
    insta::assert_snapshot!("malformed_canonical", said.join("\n"));
}

const SYSTEM: &str = "Be kind.\nYour capabilities are based on the following workflows and API information:\nAsk.\n\n\
    API: findBicycle\nAPI Desciption: Finds one\nInput parameters: {\"size\": {\"type\": \"string\"}}\n\n\n\
    Please note that the current time is:2040-01-02 03:04:05 Monday";

fn turn_record() -> Value {
    json!({
        "id": "2024_agent_turn-1", "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Hello"}],
        "apis": [], "gt_thought": "{\"intent\": \"Buy\"}", "predict": "kept",
    })
}

fn session_record() -> Value {
    json!({
        "id": "2024", "datetime": "2040-01-02 03:04:05 Monday", "assistant_prompt": SYSTEM,
        "assistant_agent": {"assistant_prompt": SYSTEM},
        "user_agent": {"first_turn_hint": "first", "every_turn_hint": "every"},
        "function_agent": {"function_prompt": "calls", "functions_with_response": [
            {"name": "findBicycle", "parameters": {"properties": {"size": {"description": "as M"}}},
             "response": {"properties": {"is_found": {}}}},
            {"name": "pay", "response": "a receipt"},
        ]},
        "user_target": "target", "gt_actions_string": "",
    })
}

fn official(files: &[(&str, Value)]) -> FileSet {
    let mut set = FileSet::from_origin("here");
    for (path, record) in files {
        set.insert(*path, format!("{record}\n"));
    }
    set
}

#[test]
fn a_record_of_unknown_tools_keeps_its_own_prompt_and_fields() {
    let data = read(&official(&[
        ("turn_data/single/text/a.jsonl", turn_record()),
        ("session_data/single/text/a.jsonl", session_record()),
    ]));
    let [turn, session] = data.entries.as_slice() else { unreachable!("two items") };
    assert_eq!((turn.system(Format::Text).as_deref(), turn.system(Format::Code)), (Some(SYSTEM), None));
    assert_eq!(&*turn.reference_system(), SYSTEM);
    assert_eq!((&*turn.group.file, &*turn.group.role), ("single__a.jsonl", ""));
    assert_eq!(turn.gold().and_then(|gold| gold.text("intent")), Some("Buy"));
    assert_eq!(turn.tools()[0].name, "findBicycle".into());
    assert!(turn.workflow_text().starts_with("Ask."));
    let Content::TurnRecord(record) = &turn.content else { unreachable!() };
    assert_eq!(record.extra.get("predict"), Some(&json!("kept")));
    let script = session.script().unwrap_or_else(|| unreachable!());
    assert_eq!((&*script.first_turn_hint, &*script.function_prompt), ("first", "calls"));
    assert_eq!(script.functions[0].parameters, *json!({"size": "as M"}).as_object().unwrap_or(&serde_json::Map::new()));
    assert_eq!(script.functions[0].result, json!({"is_found": {}}));
    assert_eq!(script.functions[1].result, json!({"result": "a receipt"}));
    assert!(data.lengths.admit(session) && session.agent_turns().is_none());
}

#[test]
fn a_record_in_several_formats_is_one_item() {
    let mut chart = turn_record();
    chart["messages"][0]["content"] = json!(SYSTEM.replace("Ask.", "flowchart TD"));
    chart["messages"][1]["content"] = json!("Hi");
    let data =
        read(&official(&[("turn_data/cross/text/a.jsonl", turn_record()), ("turn_data/cross/x/a.jsonl", chart)]));
    let [turn] = data.entries.as_slice() else { unreachable!("one item") };
    let history = |format| turn.history(format)[0].content.to_string();
    assert_eq!((history(Format::Text), history(Format::Flowchart)), ("Hello".to_owned(), "Hi".to_owned()));
    assert!(turn.system(Format::Flowchart).is_some_and(|system| system.contains("flowchart TD")));
    assert!(turn.reference_system().contains("flowchart TD"));
}

#[test]
fn an_archive_is_read_as_its_folder_is_and_beside_canonical_sessions_not_at_all() {
    let record = turn_record().to_string();
    let packed = super::archive::tests::packed(&[("turn_data/single/text/a.jsonl", record.as_bytes())]);
    let mut files = FileSet::from_origin("here");
    files.insert("turn_data.zip", packed.clone());
    let data = read(&files);
    assert_eq!(data.unpacked_bytes, record.len() as u64);
    assert_eq!(data.entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["2024_agent_turn-1"]);
    assert_eq!(&*data.entries[0].group.file, "single__a.jsonl");
    let mut files = spoiled(|_, _| {});
    files.insert("turn_data.zip", packed);
    assert_eq!(read(&files).position("2024_agent_turn-1"), None);
    assert_eq!(read(&files).entries.len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_damage_to_a_file_makes_the_loader_panic(which in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(), byte: u8) {
        let records = [
            ("turn_data/single/text/a.jsonl", turn_record()),
            ("session_data/single/text/a.jsonl", session_record()),
        ];
        // Canonical sessions take the place of records, so each form is damaged separately.
        for whole in [spoiled(|_, _| {}), official(&records)] {
            let paths: Vec<&str> = whole.iter().map(|(path, _)| path).collect();
            let path = paths[which.index(paths.len())];
            let mut content = whole.get(path).map(|content| content.to_vec()).unwrap_or_default();
            let place = cut.index(content.len());
            let mut damaged = whole.clone();
            content[place] = byte;
            damaged.insert(path, content.clone());
            let _ = load(&damaged);
            content.truncate(place);
            damaged.insert(path, content);
            let said = refusal(&damaged);
            prop_assert!(said.ends_with(" items") || said.starts_with("here: "), "{}", said);
        }
    }
}

#[test]
fn whatever_is_malformed_in_a_record_is_named_by_file_line_and_field() {
    type Change = fn(&mut Value);
    let turns: &[Change] = &[
        |record| record["id"] = json!(""),
        |record| record["messages"] = json!([]),
        |record| record["messages"][0]["role"] = json!("user"),
        |record| record["messages"][1]["role"] = json!("tool"),
        |record| record["messages"][1]["content"] = json!(null),
        |record| record["gt_thought"] = json!(null),
        |record| record["gt_response"] = json!(1),
        |record| record["messages"][0]["content"] = json!("API: a\nInput parameters: {"),
    ];
    let sessions: &[Change] = &[
        |record| record["assistant_prompt"] = json!("another"),
        |record| record["assistant_agent"] = json!("text"),
        |record| record["user_agent"]["every_turn_hint"] = json!(null),
        |record| record["function_agent"]["functions_with_response"] = json!({}),
        |record| record["function_agent"]["functions_with_response"][0]["parameters"]["properties"] = json!([]),
        |record| record["gt_actions_string"] = json!([]),
    ];
    let spoil = |mut record: Value, change: &Change| {
        change(&mut record);
        record
    };
    let mut said = Vec::new();
    for change in turns {
        said.push(refusal(&official(&[("turn_data/single/text/a.jsonl", spoil(turn_record(), change))])));
    }
    for change in sessions {
        said.push(refusal(&official(&[("session_data/single/text/a.jsonl", spoil(session_record(), change))])));
    }
    said.push(refusal(&official(&[("turn_data/a.jsonl", turn_record())])));
    said.push(refusal(&official(&[("turn_data/single/a.jsonl", turn_record())])));
    let twice = [("turn_data/single/text/a.jsonl", turn_record()), ("turn_data/single/text/b.jsonl", turn_record())];
    said.push(refusal(&official(&twice)));
    let twice = [("turn_data/single/text/a.jsonl", turn_record()), ("turn_data/cross/text/b.jsonl", turn_record())];
    said.push(refusal(&official(&twice)));
    let mut knowledge = official(&[("turn_data/single/text/a.jsonl", turn_record())]);
    knowledge.insert("turn_data/knowledge.json", &b"[]"[..]);
    said.push(refusal(&knowledge));
    knowledge.insert("session_data/knowledge.json", &b"{}"[..]);
    knowledge.insert("turn_data/knowledge.json", &b"{ }"[..]);
    said.push(refusal(&knowledge));
    insta::assert_snapshot!("malformed_official", said.join("\n"));
}
