//! All golden cases of kind `structured`.

use std::collections::BTreeMap;
use std::path::Path;

use regatta_benchmark_testing::document;
use regatta_benchmarks::case::Case;
use regatta_proto::{BenchmarkName, Evaluator, FileSet};

use super::score_case;
use crate::data::Utterance;

/// The folder with data and golden cases beside the project, if there is one.
fn shared() -> Option<std::path::PathBuf> {
    regatta_benchmark_testing::shared("autoslurp")
}

pub(super) fn utterances(path: &Path) -> Vec<Utterance> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let has_domain = reader.headers().unwrap().iter().any(|column| column == "domain");
    let read = |row: Result<csv::StringRecord, csv::Error>| {
        let row = row.unwrap();
        let domain = if has_domain { row[4].to_owned() } else { String::new() };
        let [iid, text, intent, slots] = [0, 1, 2, 3].map(|column| row[column].to_owned());
        Utterance { iid, text, intent, slots, domain }
    };
    reader.records().map(read).collect()
}

#[test]
fn golden_cases_come_out_as_their_author_has_them() {
    let Some(folder) = shared() else { return };
    let mut data: BTreeMap<String, Vec<Utterance>> = BTreeMap::new();
    let (mut cases, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(folder.join("golden")).unwrap() {
        let path = entry.unwrap().path();
        let case_file = path.join("case.json");
        if !case_file.is_file() || document(&case_file)["kind"] != "structured" {
            continue;
        }
        let said = document(&case_file);
        let case = Case {
            benchmark: BenchmarkName::new("autoslurp").unwrap(),
            kind: "structured".to_owned(),
            outputs: BTreeMap::from([("expected.json".to_owned(), Evaluator::Structured)]),
            inputs: Vec::new(),
            params: said["params"].as_object().unwrap().clone(),
        };
        let dataset = said["params"]["dataset"].as_str().unwrap();
        data.entry(dataset.to_owned()).or_insert_with(|| utterances(&folder.join("data").join(dataset)));
        let mut files = FileSet::from_origin("case");
        files.insert("predictions.jsonl", std::fs::read(path.join("predictions.jsonl")).unwrap());
        let got = score_case(&case, &files, |file, row| data.get(file)?.get(row)).unwrap();
        let expected = document(&path.join("expected.json"));
        let got = &got["expected.json"];
        for (item, expected) in expected["items"].as_object().unwrap() {
            if *expected != got["items"][item] {
                wrong.push(format!("{dataset} {item}: {expected}\n  but {}", got["items"][item]));
            }
        }
        assert_eq!(expected["items"].as_object().unwrap().len(), got["items"].as_object().unwrap().len());
        if expected["aggregate"] != got["aggregate"] {
            wrong.push(format!("{dataset}: {}\n  but {}", expected["aggregate"], got["aggregate"]));
        }
        cases += 1;
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases > 0, "there are such cases");
}
