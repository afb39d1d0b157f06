//! The scoring core against the golden vectors of the benchmark's evaluators.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use regatta_benchmark_testing::{document, lines};
use regatta_benchmarks::cosine::{cosine, to_micro};
use regatta_matching::{Matcher, Weights, descendants, first_orders, lexicographic_matching, longest_chain};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::averages::{Means, averages};
use super::error::ScoreError;
use super::official::OfficialScore;
use super::paper::PaperScore;
use super::similarity::Similarities;
use super::task::Task;
use super::{official, paper, parse_official, parse_paper};

/// Says how a vector was made; not part of a score.
const PASSED_OVER: [&str; 1] = ["tie_probe"];

const CASES: [&str; 8] = [
    "perfect_gold",
    "function_call_mixed",
    "embodied_mixed",
    "lumos_sql_mixed",
    "wikihow_mixed",
    "tie_heavy",
    "format_edges",
    "embeddings_small",
];

/// The benchmark's folder of official data, if there is one.
fn shared() -> Option<PathBuf> {
    regatta_benchmark_testing::shared("worfbench")
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn indices(value: &Value) -> Vec<Option<usize>> {
    value.as_array().unwrap().iter().map(|v| usize::try_from(v.as_i64().unwrap()).ok()).collect()
}

fn pairs(value: &Value) -> Vec<(usize, usize)> {
    let end = |v: &Value| match v {
        Value::String(digits) => digits.parse().unwrap_or(parse_official::BEYOND),
        _ => usize::try_from(v.as_u64().unwrap()).unwrap(),
    };
    value.as_array().unwrap().iter().map(|pair| (end(&pair[0]), end(&pair[1]))).collect()
}

#[test]
fn both_parsers_read_the_golden_texts() {
    let Some(shared) = shared() else { return };
    for vector in lines(&shared.join("golden/unit/parse.jsonl")) {
        let text = vector["text"].as_str();
        let read = text.and_then(parse_official::parse).map(|w| (w.nodes, w.edges));
        assert_eq!(read, workflow(&vector["official"]), "official: {text:?}");
        let read = text.and_then(parse_paper::parse).map(|w| (w.nodes, w.edges));
        assert_eq!(read, workflow(&vector["paper"]), "paper: {text:?}");
    }
}

/// Node texts and edges.
type Workflow<'a> = (Vec<&'a str>, Vec<(usize, usize)>);

fn workflow(value: &Value) -> Option<Workflow<'_>> {
    (!value.is_null()).then(|| (strings(&value["nodes"]), pairs(&value["edges"])))
}

#[test]
fn topological_orders_come_in_the_golden_order() {
    let Some(shared) = shared() else { return };
    for vector in lines(&shared.join("golden/unit/toposort.jsonl")) {
        let nodes = strings(&vector["nodes"]);
        let orders: Vec<Vec<&str>> = first_orders(nodes.len(), &pairs(&vector["edges"]), 20)
            .unwrap()
            .into_iter()
            .map(|order| order.into_iter().map(|v| nodes[v]).filter(|text| !["START", "END"].contains(text)).collect())
            .collect();
        assert_eq!(json!(orders), vector["orders"], "{vector}");
    }
}

fn micro(sim: &Value) -> Vec<Vec<i32>> {
    let row = |row| numbers(row).into_iter().map(|cosine| to_micro(cosine).unwrap()).collect();
    sim.as_array().unwrap().iter().map(row).collect()
}

fn weights_of(sim: &Value) -> Weights {
    let micro = micro(sim);
    let columns = micro.first().map_or(0, Vec::len);
    let texts = |side: &str, count: usize| (0..count).map(|at| format!("{side}{at}")).collect::<Vec<_>>();
    let (predicted, gold) = (texts("predicted", micro.len()), texts("gold", columns));
    let known = Similarities::new(&predicted, &gold, &micro).unwrap();
    let predicted: Vec<&str> = predicted.iter().map(String::as_str).collect();
    let gold: Vec<&str> = gold.iter().map(String::as_str).collect();
    known.weights(&predicted, &gold).unwrap()
}

#[test]
fn matchings_resolve_ties_as_the_golden_ones() {
    let Some(shared) = shared() else { return };
    let mut matcher = Matcher::default();
    for vector in lines(&shared.join("golden/unit/matching.jsonl")) {
        let weights = weights_of(&vector["sim"]);
        let mapping = matcher.solve(weights.rows(), weights.columns(), |i, j| f64::from(weights.get(i, j)) / 1e6);
        assert_eq!(mapping, indices(&vector["official"]), "official: {vector}");
        let mapping = lexicographic_matching(&weights, &mut matcher);
        assert_eq!(mapping, indices(&vector["paper"]), "paper: {vector}");
    }
}

#[test]
fn chains_and_common_subgraphs_have_the_golden_size() {
    let Some(shared) = shared() else { return };
    for vector in lines(&shared.join("golden/unit/paper_chain_graph.jsonl")) {
        let (predicted, gold) = (pairs(&vector["pred_edges"]), pairs(&vector["gold_edges"]));
        let mapping = indices(&vector["mapping"]);
        let nodes = usize::try_from(vector["n_gold"].as_u64().unwrap()).unwrap();
        let sequence: Vec<usize> = mapping.iter().copied().flatten().collect();
        assert_eq!(longest_chain(&sequence, &descendants(nodes, &gold).unwrap()), vector["l_chain"], "{vector}");
        assert_eq!(paper::common_induced_subgraph(&predicted, &gold, &mapping), vector["k_graph"], "{vector}");
    }
}

/// Gold text by item id.
fn golds(shared: &Path) -> HashMap<String, String> {
    let mut golds = HashMap::new();
    for task in std::fs::read_dir(shared.join("data/gold_traj")).unwrap() {
        for item in document(&task.unwrap().path().join("graph_eval.json")).as_array().unwrap() {
            let text = item["conversations"][2]["content"].as_str().unwrap();
            golds.insert(item["id"].as_str().unwrap().to_owned(), text.to_owned());
        }
    }
    golds
}

/// One prediction of a case with all that scoring it takes.
struct Vector {
    item: String,
    task: Task,
    prediction: Option<String>,
    gold: String,
    similarities: Similarities,
}

fn vectors(case: &Path, golds: &HashMap<String, String>) -> Vec<Vector> {
    let mut recorded = HashMap::new();
    let mut embeddings: HashMap<String, Vec<f64>> = HashMap::new();
    for line in lines(&case.join("judge.jsonl")) {
        if let Some(text) = line["text"].as_str() {
            embeddings.insert(text.to_owned(), numbers(&line["embedding"]));
        } else {
            let (predicted, gold) = (strings(&line["pred_texts"]), strings(&line["gold_texts"]));
            let known = Similarities::new(&predicted, &gold, &micro(&line["sim"]));
            recorded.insert(line["item"].as_str().unwrap().to_owned(), known.unwrap());
        }
    }
    let all: Vec<&str> = embeddings.keys().map(String::as_str).collect();
    lines(&case.join("predictions.jsonl"))
        .into_iter()
        .map(|line| {
            let item = line["item"].as_str().unwrap().to_owned();
            let prediction = line["output"].as_str().map(str::to_owned);
            let gold = golds[&item].clone();
            let similarities = if embeddings.is_empty() {
                recorded.remove(&item).unwrap_or_default()
            } else {
                let used: Vec<&str> = all
                    .iter()
                    .copied()
                    .filter(|&text| {
                        text == "START"
                            || text == "END"
                            || gold.contains(text)
                            || prediction.as_ref().is_some_and(|p| p.contains(text))
                    })
                    .collect();
                let row = |a: &&str| {
                    used.iter().map(|b| to_micro(cosine(&embeddings[*a], &embeddings[*b])).unwrap()).collect()
                };
                Similarities::new(&used, &used, &used.iter().map(row).collect::<Vec<_>>()).unwrap()
            };
            Vector { task: serde_json::from_value(line["task"].clone()).unwrap(), item, prediction, gold, similarities }
        })
        .collect()
}

/// Collects the paths at which `got` is not as wanted: numbers to 1e-9, the rest exactly, surplus keys allowed.
fn differences(want: &Value, got: &Value, path: &str, out: &mut Vec<String>) {
    match (want, got) {
        (Value::Object(want), Value::Object(got)) => {
            for (key, want) in want.iter().filter(|(key, _)| !PASSED_OVER.contains(&key.as_str())) {
                differences(want, got.get(key).unwrap_or(&Value::Null), &format!("{path}/{key}"), out);
            }
        }
        (Value::Array(want), Value::Array(got)) if want.len() == got.len() => {
            for (at, (want, got)) in want.iter().zip(got).enumerate() {
                differences(want, got, &format!("{path}[{at}]"), out);
            }
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            if (a - b).abs() > 1e-9 * a.abs().max(1.0) {
                out.push(format!("{path}: want {a}, got {b}"));
            }
        }
        _ if want == got => {}
        _ => out.push(format!("{path}: want {want}, got {got}")),
    }
}

fn item(task: Task, score: impl Serialize) -> Value {
    let mut object = Map::from_iter([("task".to_owned(), json!(task))]);
    let Value::Object(fields) = serde_json::to_value(score).unwrap() else { panic!("a score is an object") };
    object.extend(fields);
    Value::Object(object)
}

fn check(case: &str, file: &Path, items: BTreeMap<String, Value>, aggregate: impl Serialize) {
    let want = document(file);
    let got = json!({ "items": items, "aggregate": aggregate });
    let mut out = Vec::new();
    for part in ["items", "aggregate"] {
        differences(&want[part], &got[part], part, &mut out);
    }
    assert!(
        out.is_empty(),
        "{case}/{}: {} differences\n{}",
        file.display(),
        out.len(),
        out[..out.len().min(10)].join("\n")
    );
    assert_eq!(want["items"].as_object().unwrap().len(), got["items"].as_object().unwrap().len());
}

/// Scores every case by `score`, and compares the scores and the averages of their `values` with `file`.
fn check_cases<S: Serialize, M: Means + Serialize>(
    file: &str,
    score: fn(Option<&str>, &str, &Similarities) -> Result<S, ScoreError>,
    values: fn(&S) -> M,
) {
    let Some(shared) = shared() else { return };
    let golds = golds(&shared);
    for case in CASES {
        let folder = shared.join("golden").join(case);
        let scores: Vec<_> = vectors(&folder, &golds)
            .into_iter()
            .map(|v| (v.item, v.task, score(v.prediction.as_deref(), &v.gold, &v.similarities).unwrap()))
            .collect();
        let items = scores.iter().map(|(id, task, score)| (id.clone(), item(*task, score))).collect();
        let aggregate = averages(scores.iter().map(|(_, task, score)| (*task, values(score))));
        check(case, &folder.join(file), items, aggregate);
    }
}

#[test]
fn every_golden_case_is_scored_as_by_the_official_evaluator() {
    check_cases("expected.json", official::score, OfficialScore::values);
}

#[test]
fn every_golden_case_is_scored_as_by_the_paper_evaluator() {
    check_cases("expected.paper.json", paper::score, PaperScore::values);
}
