//! Imports of Inspect's data sets and logs.

mod data_sets;
mod logs;
mod malformed;
mod steps;

use regatta_benchmark_testing::drive;
use regatta_benchmarks::{Benchmark, Persona, RecordedVerdicts, Scoring, Step, Suite};
use regatta_coded::Permissions;
use regatta_proto::{Evaluator, FileSet, ItemIndex, Transcript};
use serde_json::json;

use super::*;
use crate::Declared;

const QUESTIONS: &str = r#"{"id": 1, "input": "Where is Cologne?", "target": "Germany", "metadata": {"tone": "kind"}}
{"id": "two", "input": "Name a colour of the flag of Japan.", "target": ["red", "white"], "metadata": {"tone": "dry"}}
"#;
const CHOICES: &str = r#"[
    {"input": "Which is a tea?", "choices": ["sencha", "arabica"], "target": "A"},
    {"input": "Which is a fruit?", "choices": "leek, quince, kale", "target": "b"}
]"#;

fn step(name: &str, params: Value) -> InspectStep {
    let Value::Object(params) = params else { panic!("{params} is no object") };
    InspectStep { name: name.to_owned(), params }
}

fn with(solvers: Vec<InspectStep>, scorers: Vec<InspectStep>) -> InspectOptions {
    InspectOptions { solvers, scorers, ..InspectOptions::default() }
}

fn scored_by(name: &str, params: Value) -> InspectOptions {
    with(Vec::new(), vec![step(name, params)])
}

fn suite(imported: &InspectBenchmark) -> std::sync::Arc<dyn Suite> {
    let mut folder = FileSet::from_origin("folder");
    folder.insert("benchmark.yaml", imported.yaml.clone());
    folder.insert(imported.data_file, imported.data.clone());
    Declared::new(Permissions::trusting()).load(&folder).unwrap()
}

fn lines(content: &str, options: &InspectOptions) -> std::sync::Arc<dyn Suite> {
    suite(&inspect("questions.jsonl", content.as_bytes(), options).unwrap())
}

fn refused(file: &str, content: &str, options: &InspectOptions) -> String {
    inspect(file, content.as_bytes(), options).unwrap_err()
}

/// Values of a reply to the item, by the scorers in alphabetical order.
fn values(suite: &dyn Suite, item: u32, reply: &str) -> Vec<f64> {
    let transcript = Transcript::of_recorded(Some(reply));
    match suite.score(ItemIndex(item), &[Evaluator::Declared], &transcript, &RecordedVerdicts::default()) {
        Scoring::Scored(scores) => scores[&Evaluator::Declared].values.values().copied().collect(),
        other => panic!("{other:?}"),
    }
}

/// Messages of the first request of an item.
fn asked(suite: &dyn Suite, item: u32) -> Vec<String> {
    let setting = suite.declared_settings().remove(0);
    let Step::Ask(_, request) = suite.next(ItemIndex(item), &setting, &Transcript::default()) else { panic!() };
    request.messages.iter().map(|message| message.content.to_string()).collect()
}

/// The oracle is right about every item.
fn assert_oracle_is_right(suite: &dyn Suite) {
    let setting = suite.declared_settings().remove(0);
    for item in (0..).map(ItemIndex).take(suite.items().len()) {
        let transcript = drive(suite, item, &setting, Persona::Oracle, 1);
        let scoring = suite.score(item, &[Evaluator::Declared], &transcript, &RecordedVerdicts::default());
        let Scoring::Scored(scores) = scoring else { panic!("{scoring:?}") };
        assert!(scores[&Evaluator::Declared].values.values().all(|value| *value == 1.0), "{scores:?}");
    }
}
