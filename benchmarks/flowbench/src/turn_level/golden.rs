//! Turns scored by all evaluators of a case at once, compared with the golden vectors; and the gold scored against
//! itself.

use std::collections::BTreeMap;
use std::path::Path;

use regatta_benchmark_testing::{document, lines, published, read_folder};
use regatta_benchmarks::{RecordedVerdicts, Score, Scoring};
use regatta_proto::Evaluator;
use serde_json::{Map, Value};

use super::folder::{FolderScoring, score_folder};
use super::{aggregate, by_file};
use crate::scoring::{Answer, score_answer};
use crate::vectors::{assert_alike, shared};
use crate::{FlowBench, data};

const TURN_CASES: [&str; 5] = ["turn-mixed", "turn-strong", "turn-edge", "turn-real", "turn-crash"];

fn verdicts(case: &Path) -> RecordedVerdicts {
    RecordedVerdicts::read("judge.jsonl", &std::fs::read(case.join("judge.jsonl")).unwrap()).unwrap()
}

#[test]
fn the_golden_turns_are_scored_alike_by_evaluators_that_ask_together() {
    let Some(shared) = shared() else { return };
    let data = data::load(&published(&FlowBench).unwrap()).unwrap();
    for name in TURN_CASES {
        let case = shared.join("golden").join(name);
        let verdicts = verdicts(&case);
        let outputs: BTreeMap<String, Evaluator> =
            serde_json::from_value(document(&case.join("case.json"))["outputs"].clone()).unwrap();
        let asking: Vec<Evaluator> = outputs.values().copied().collect();
        let mut scored: BTreeMap<Evaluator, Vec<(String, String, Score)>> = BTreeMap::new();
        for prediction in lines(&case.join("predictions.jsonl")) {
            let text = |field: &str| prediction[field].as_str().unwrap();
            let item = text("item");
            let entry = data.position(item.split('#').next().unwrap()).and_then(|at| data.entry(at)).unwrap();
            match score_answer(item, entry, None, &Answer::Turn(Some(text("output"))), &asking, &verdicts) {
                Scoring::Scored(scores) => {
                    for (evaluator, score) in scores {
                        let entry = (item.to_owned(), text("file").to_owned(), score);
                        scored.entry(evaluator).or_default().push(entry);
                    }
                }
                Scoring::Needs(questions) => {
                    panic!("{name}, {item}: not recorded: {:?}", verdicts.missing(&questions[0]))
                }
                Scoring::Unfit(reason) => panic!("{name}, {item}: {reason}"),
                Scoring::Failed(failed) => panic!("{name}, {item}: {failed:?}"),
            }
        }
        for (output, evaluator) in outputs {
            let place = format!("{name}/{output}");
            let expected = document(&case.join(&output));
            let scores = &scored[&evaluator];
            let all: Vec<&Score> = scores.iter().map(|(_, _, score)| score).collect();
            assert_alike(&expected["aggregate"], &aggregate(evaluator, &all), &place);
            if let Some(expected) = expected.get("by_file") {
                let named: Vec<(&str, &Score)> = scores.iter().map(|(_, file, score)| (file.as_str(), score)).collect();
                assert_alike(expected, &by_file(evaluator, &named), &place);
            }
            let items: Map<String, Value> =
                scores.iter().map(|(item, _, score)| (item.clone(), score.detail.clone())).collect();
            assert_eq!(expected["items"].as_object().unwrap().len(), items.len(), "{place}");
            assert_alike(&expected["items"], &Value::Object(items), &place);
        }
    }
}

#[test]
fn the_golden_folders_are_scored_as_the_official_code_scores_them_and_the_repair_leaves_no_error() {
    let Some(shared) = shared() else { return };
    let case = shared.join("golden/turn-branches");
    let (files, verdicts) = (read_folder(&case, None), verdicts(&case));
    let expected = document(&case.join("expected.json"));
    for line in lines(&case.join("predictions.jsonl")) {
        let (folder, filter) = (line["dir"].as_str().unwrap(), line["filter_name"].as_str());
        let FolderScoring::Scored(official) = score_folder(&files, folder, filter, false, &verdicts) else {
            panic!("{folder}: a judgement is not recorded")
        };
        assert_alike(&expected["items"][line["item"].as_str().unwrap()], &official, folder);
        match score_folder(&files, folder, filter, true, &verdicts) {
            FolderScoring::Scored(repaired) => assert!(repaired["error"].is_null(), "{folder}: {repaired}"),
            // Only questions that the official code could not ask are missing from the record.
            FolderScoring::Needs(_) => assert_eq!(official["error"], "AttributeError", "{folder}"),
        }
    }
}

#[test]
fn the_gold_of_the_whole_data_scores_full_marks_without_any_judge() {
    let Some(files) = published(&FlowBench) else { return };
    let data = data::load(&files).unwrap();
    let no_verdicts = RecordedVerdicts::default();
    let evaluators = [Evaluator::Official, Evaluator::OfficialFixed];
    let mut scores: BTreeMap<Evaluator, Vec<Score>> = BTreeMap::new();
    for entry in data.entries.iter().filter(|entry| entry.id.as_str().starts_with("syn-")) {
        let Some(content) = entry.gold().and_then(|gold| gold.content.as_deref()) else { continue };
        let id = entry.id.as_str();
        match score_answer(id, entry, None, &Answer::Turn(Some(content)), &evaluators, &no_verdicts) {
            Scoring::Scored(all) => {
                all.into_iter().for_each(|(evaluator, score)| scores.entry(evaluator).or_default().push(score));
            }
            other => panic!("{id}: the gold needs a judge: {other:?}"),
        }
    }
    assert_eq!(scores.len(), evaluators.len());
    for (evaluator, scores) in scores {
        assert_eq!(scores.len(), 5313);
        let total = aggregate(evaluator, &scores.iter().collect::<Vec<_>>());
        for name in ["call_right", "call_all_gt", "call_all_pred"] {
            assert_eq!(total[name], 1203, "{evaluator}, {name}");
        }
        for name in ["params_right", "params_all_gt", "params_all_pred"] {
            assert_eq!(total[name], 2655, "{evaluator}, {name}");
        }
    }
}
