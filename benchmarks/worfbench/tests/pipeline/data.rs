//! Data sets that load, and data sets that are refused, with the location of the fault.

use std::collections::BTreeMap;

use regatta_benchmarks::Suite;
use regatta_proto::ItemIndex;

use crate::harness::{
    index_of, indices, load, miniature, miniature_files, published, refusal, setting, user_request, worfbench,
};

const RECORD: &str = r#"{"source":"os","id":"os_1","target":"graph","category":"eval","note":"extra","conversations":[
    {"role":"system","content":"plan"},
    {"role":"user","content":" count the files "},
    {"role":"assistant","content":"Node:\n1: count\nEdge: (START,1) (1,END)"}]}"#;

const OS: &str = "gold_traj/os/graph_eval.json";

fn with(from: &str, to: &str) -> String {
    assert!(RECORD.contains(from), "{from}");
    format!("[{}]", RECORD.replacen(from, to, 1))
}

fn counts(suite: &dyn Suite) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for item in suite.items() {
        *counts.entry(item.task.to_string()).or_default() += 1;
    }
    counts
}

#[test]
fn the_miniature_loads() {
    let suite = miniature();
    insta::assert_debug_snapshot!(counts(&*suite));
}

#[test]
fn the_official_data_loads_completely() {
    let Some(suite) = published() else { return };
    let expected = [
        ("alfworld", 312),
        ("intercodesql", 500),
        ("lumos", 489),
        ("os", 20),
        ("seal_tools", 223),
        ("toolalpaca", 93),
        ("toolbench", 114),
        ("webshop", 133),
        ("wikihow", 262),
    ];
    assert_eq!(counts(&*suite), expected.map(|(task, count)| (task.to_owned(), count)).into());
    assert_eq!(suite.items().len(), 2146);
    assert_eq!(suite.select(&setting("two-shot"), &[], None).unwrap().len(), 2146);
}

#[test]
fn only_files_of_the_data_set_are_wanted() {
    let wanted = ["gold_traj/os/graph_eval.json", "gold_traj/os/other.json", "few_shot/os.json"];
    let unwanted = [
        "README.md",
        "gold_traj/notes.json",
        "gold_traj/os/graph_eval.txt",
        "gold_traj/os/deep/x.json",
        "gold_traj/.git/x.json",
        "few_shot/os.txt",
        "published/main_results.json",
    ];
    for path in wanted {
        assert!(worfbench().wants(path), "{path}");
    }
    for path in unwanted {
        assert!(!worfbench().wants(path), "{path}");
    }
}

#[test]
fn unknown_fields_are_allowed_and_the_source_may_be_missing() {
    let suite = load(&[(OS, &with(r#""source":"os","#, ""))]).unwrap();
    assert_eq!(suite.items()[0].id.as_str(), "os_1");
}

#[test]
fn malformed_records_are_refused_with_file_record_and_field() {
    let two = format!("[{RECORD},{RECORD}]");
    let cases: Vec<(&str, String)> = vec![
        ("not JSON", "[{]".to_owned()),
        ("no array", "{}".to_owned()),
        ("no record", "[]".to_owned()),
        ("no object", "[7]".to_owned()),
        ("no id", with(r#""id":"os_1","#, "")),
        ("id with a control character", with("os_1", "os\\u0007")),
        ("other source", with(r#""source":"os""#, r#""source":"lumos""#)),
        ("no conversations", with("conversations", "conversation")),
        ("no system message", with(r#"{"role":"system","content":"plan"},"#, "")),
        ("role", with(r#""role":"user""#, r#""role":"human""#)),
        ("no content", with(r#""content":" count the files ""#, r#""text":"""#)),
        ("content of another kind", with(r#"" count the files ""#, "null")),
        ("empty content", with(r#""plan""#, r#""""#)),
        ("gold without edges", with("Edge: (START,1) (1,END)", "")),
        ("gold with a cycle", with("(START,1) (1,END)", "(1,1)")),
        ("same id twice", two),
    ];
    let report: String =
        cases.iter().map(|(name, content)| format!("{name}: {}\n", refusal(&[(OS, content)]))).collect();
    insta::assert_snapshot!(report);
}

#[test]
fn missing_and_unknown_files_are_refused_by_name() {
    let good = with("plan", "plan");
    let shots = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"},
        {"role":"user","content":"c"},{"role":"assistant","content":"d"}]"#;
    let cases: Vec<(&str, Vec<(&str, &str)>)> = vec![
        ("nothing", vec![]),
        ("folder without its file", vec![(OS, &good), ("gold_traj/lumos/graph.json", &good)]),
        ("unknown task", vec![("gold_traj/oss/graph_eval.json", &good)]),
        ("few-shot of an unknown task", vec![(OS, &good), ("few_shot/oss.json", shots)]),
        ("few-shot of a held-out task", vec![(OS, &good), ("few_shot/seal_tools.json", shots)]),
        (
            "few-shot with a message too few",
            vec![(OS, &good), ("few_shot/os.json", r#"[{"role":"user","content":"a"}]"#)],
        ),
        (
            "few-shot in the wrong order",
            vec![(OS, &good), ("few_shot/os.json", &*shots.replacen("user", "system", 1).leak())],
        ),
    ];
    let report: String = cases.iter().map(|(name, files)| format!("{name}: {}\n", refusal(files))).collect();
    insta::assert_snapshot!(report);
}

#[test]
fn an_id_may_not_occur_in_two_tasks() {
    let other = with(r#""source":"os","#, "");
    insta::assert_snapshot!(
        refusal(&[(OS, &other), ("gold_traj/lumos/graph_eval.json", &other)]),
        @"here: gold_traj/os/graph_eval.json, record 1 (os_1), field id: is the id of an earlier record too; every id may occur once"
    );
}

#[test]
fn a_selection_is_ascending_and_the_limit_counts_for_each_task() {
    let suite = miniature();
    let chosen =
        suite.select(&setting("zero-shot"), &["wikihow".into(), "lumos".into(), "lumos".into()], Some(2)).unwrap();
    let ids: Vec<&str> = chosen.iter().map(|item| suite.items()[item.0 as usize].id.as_str()).collect();
    assert_eq!(ids, ["lumos_mini1", "lumos_mini2", "wikihow_mini1", "wikihow_mini2"]);
    assert_eq!(suite.select(&setting("two-shot"), &[], None).unwrap(), indices(&*suite));
}

#[test]
fn what_cannot_be_selected_is_refused_with_what_can() {
    let suite = miniature();
    let refused = |name: &str, tasks: &[&str]| {
        let tasks: Vec<String> = tasks.iter().map(|&task| task.to_owned()).collect();
        suite.select(&setting(name), &tasks, None).unwrap_err().to_string()
    };
    insta::assert_snapshot!(
        [
            refused("three-shot", &[]),
            refused("zero-shot", &["lumos", "Lumos"]),
            refused("zero-shot", &["toolbench"]),
            refused("two-shot", &["seal_tools"]),
            refused("external/mine/two-shot", &["seal_tools"]),
        ]
        .join("\n")
    );
}

#[test]
fn a_main_task_without_examples_cannot_run_two_shot() {
    let suite = load(&[(OS, &with("plan", "plan"))]).unwrap();
    assert_eq!(
        suite.select(&setting("two-shot"), &[], None).unwrap_err().to_string(),
        "task \"os\" cannot be run two-shot: the data has no few_shot/os.json; add it, or use zero-shot"
    );
    assert_eq!(
        suite.select(&setting("external/mine/two-shot"), &[], None).unwrap_err().to_string(),
        "task \"os\" cannot be run external/mine/two-shot: the data has no few_shot/os.json; add it, or use external/mine"
    );
    assert_eq!(suite.select(&setting("zero-shot"), &[], None).unwrap(), [ItemIndex(0)]);
}

#[test]
fn the_first_setting_is_zero_shot_and_the_first_evaluator_official() {
    let settings: Vec<String> = worfbench().settings().iter().map(ToString::to_string).collect();
    assert_eq!(settings, ["zero-shot", "two-shot"]);
    assert_eq!(worfbench().evaluators(), crate::harness::BOTH);
}

#[test]
fn a_request_is_recognised_by_its_last_user_message_with_and_without_the_prefix() {
    let suite = load(&[(OS, &with("plan", "plan"))]).unwrap();
    for text in ["Now it's your turn.\n count the files ", " count the files "] {
        assert_eq!(suite.recognise(&user_request(text)), Some(ItemIndex(0)), "{text:?}");
    }
    assert_eq!(suite.recognise(&user_request("count the files")), None);
}

#[test]
fn every_session_of_the_miniature_is_recognised_in_both_settings() {
    let suite = miniature();
    for name in ["zero-shot", "two-shot"] {
        for item in indices(&*suite) {
            let request = crate::session::first_request(&*suite, item, name);
            assert_eq!(suite.recognise(&request), Some(item));
        }
    }
}

#[test]
fn of_several_items_with_one_message_the_first_is_recognised() {
    let Some(suite) = published() else { return };
    let mut others = 0;
    for item in indices(&*suite) {
        let recognised = suite.recognise(&crate::session::first_request(&*suite, item, "zero-shot")).unwrap();
        assert!(recognised <= item);
        others += usize::from(recognised != item);
    }
    assert_eq!(others, 15);
}

#[test]
fn the_miniature_is_varied() {
    let files = miniature_files();
    let gold_files = files.iter().filter(|(path, _)| path.starts_with("gold_traj/"));
    let (mut repeated, mut branching, mut sizes) = (0, 0, std::collections::BTreeSet::new());
    for (_, content) in gold_files {
        let records: Vec<serde_json::Value> = serde_json::from_slice(content).unwrap();
        for record in records {
            let gold = record["conversations"][2]["content"].as_str().unwrap();
            let nodes: Vec<&str> = gold
                .lines()
                .filter_map(|line| line.split_once(": "))
                .filter(|(n, _)| n.parse::<u8>().is_ok())
                .map(|(_, text)| text)
                .collect();
            let distinct: std::collections::BTreeSet<&&str> = nodes.iter().collect();
            repeated += usize::from(distinct.len() < nodes.len());
            branching += usize::from(gold.matches('(').count() > nodes.len() + 1 || gold.matches("START").count() > 1);
            sizes.insert(nodes.len());
        }
    }
    assert_eq!((repeated, branching), (2, 17));
    assert_eq!((sizes.first(), sizes.last()), (Some(&2), Some(&8)));
    assert_eq!(index_of(&*miniature(), "alfworld_mini1"), ItemIndex(0));
}
