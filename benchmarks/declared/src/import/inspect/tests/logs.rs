//! Logs of evaluations.

use super::*;

fn log() -> Value {
    let sample = |id: u32, epoch: u32| {
        json!({
            "id": id,
            "epoch": epoch,
            "input": if id == 1 { "attachment://abc" } else { "Which is a fruit?" },
            "choices": ["leek", "quince"],
            "target": "B",
            "messages": [],
            "metadata": {},
            "files": null,
            "attachments": { "abc": "Which is a tree?" },
        })
    };
    json!({
        "version": 2,
        "status": "success",
        "eval": {
            "task": "plants",
            "dataset": { "name": "plants", "samples": 3 },
            "model": "mockllm/model",
            "config": { "epochs": 2, "epochs_reducer": ["max"], "message_limit": 9, "log_samples": true, "limit": 2 },
            "scorers": [
                { "name": "inspect_ai/choice", "options": {}, "metrics": [{ "name": "accuracy" }, { "name": "grouped" }] },
                { "name": "model_graded_qa", "options": {}, "metrics": [] },
            ],
        },
        "plan": {
            "name": "plan",
            "steps": [
                { "solver": "system_message", "params": { "template": "You know plants." } },
                { "solver": "multiple_choice", "params": {
                    "template": "{question}\n{choices}\nOne of {letters}:", "cot": false, "multiple_correct": false, "max_tokens": 40, "kwargs": {},
                } },
            ],
            "config": { "temperature": 0.0, "stop_seqs": ["\n\n"] },
        },
        "samples": [sample(1, 1), sample(2, 1), sample(1, 2), sample(2, 2)],
    })
}

#[test]
fn a_log_has_samples_solvers_and_scorers() {
    let imported = inspect("log.json", log().to_string().as_bytes(), &InspectOptions::default()).unwrap();
    assert_eq!(imported.epochs, 2);
    assert_eq!(
        imported.notes,
        [
            "the log holds 2 of the data set's 3 samples",
            "not carried over from eval.config: message_limit, limit; limits are those of a spec",
            "not carried over from eval.config: log_samples; a run is described by its spec",
            "not carried over from eval: task, model; a run is described by its spec",
            "epochs are reduced by max in Inspect; here trials are averaged, and pass@k is shown",
            "not carried over from eval.dataset: name; items come in the order of the log",
            "not carried over from plan: name; a run is described by its spec",
            "metrics that are not mapped: grouped; each scorer has its mean with an interval",
            "the scorer model_graded_qa is not mapped: a model grades; write a scorer `judge` with its rubric and grades into benchmark.yaml",
        ]
    );
    let suite = suite(&imported);
    assert_eq!(suite.items().len(), 2, "an epoch is a trial, and no item");
    assert_eq!(asked(&*suite, 0), ["You know plants.", "Which is a tree?\nA) leek\nB) quince\nOne of A,B:"]);
    let setting = suite.declared_settings().remove(0);
    let Step::Ask(_, request) = suite.next(ItemIndex(0), &setting, &Transcript::default()) else { panic!() };
    assert_eq!((request.sampling.temperature, request.sampling.max_tokens), (Some(0.0), Some(40)));
    assert_eq!(request.stop.iter().map(|text| text.to_string()).collect::<Vec<_>>(), ["\n\n"]);
    assert_oracle_is_right(&*suite);
}

#[test]
fn a_log_that_says_less_or_something_else_is_refused_by_name() {
    let said = |change: &dyn Fn(&mut Value)| {
        let mut log = log();
        change(&mut log);
        refused("log.json", &log.to_string(), &InspectOptions::default())
    };
    assert!(said(&|log| log["samples"] = json!(null)).contains("the log holds no samples"));
    assert!(said(&|log| log["samples"] = json!({})).contains("samples must be a list"));
    assert!(
        said(&|log| log["samples"][2]["epoch"] = json!(1))
            .contains("sample 3 (\"1\"): the id is there twice in epoch 1")
    );
    assert!(
        said(&|log| log["samples"][3]["input"] = json!("Other?"))
            .contains("sample 4 (\"2\"): the sample is another one in epoch 2")
    );
    assert!(
        said(&|log| log["samples"][0]["attachments"] = json!({})).contains("the attachment \"abc\" is not in the log")
    );
    assert!(said(&|log| log["eval"]["sandbox"] = json!({ "type": "docker" })).contains("--leave-out sandbox"));
    let scorers = json!([{ "name": "model_graded_qa" }, { "name": "plants/own" }]);
    let none = said(&|log| log["eval"]["scorers"] = scorers.clone());
    assert!(none.contains("model_graded_qa is not mapped") && none.contains("plants/own is not mapped"), "{none}");
    let solver = said(&|log| log["plan"]["steps"][0] = json!({ "solver": "use_tools", "params": {} }));
    assert!(
        solver.contains("the solver use_tools: has no counterpart") && solver.contains("--solver generate"),
        "{solver}"
    );
    assert!(
        said(&|log| log["plan"]["steps"][1]["params"]["multiple_correct"] = json!(true)).contains("multiple_correct")
    );
    assert!(said(&|log| log["plan"]["steps"][0]["params"]["template"] = json!("words.txt")).contains("\"words.txt\""));
    assert!(said(&|log| log["plan"]["steps"] = json!(3)).contains("plan.steps must be a list"));
}

#[test]
fn every_field_of_a_log_that_is_not_carried_over_is_named() {
    let mut log = log();
    log["status"] = json!("cancelled");
    log["results"] = json!({ "total_samples": 2 });
    log["eval"]["task_args"] = json!({ "subset": "trees" });
    log["eval"]["dataset"]["shuffled"] = json!(true);
    log["eval"]["config"]["approval"] = json!({ "approvers": [] });
    log["plan"]["steps"][0]["note"] = json!("new");
    log["eval"]["scorers"][0]["metrics"] = json!([{ "name": "stderr", "options": { "cluster": "kind" } }]);
    log["eval"]["config"]["epochs_reducer"] = json!("median");
    log["eval"]["scorers"][0]["metadata"] = json!({ "kind": "letters" });
    log["samples"][0]["scores"] = json!({ "choice": { "value": "C" } });
    log["samples"][1]["scores"] = json!({ "choice": { "value": "I" } });
    log["samples"][1]["tools"] = json!(["search"]);
    log["samples"][3]["metadata"] = json!({ "seen": 2 });
    let imported = inspect("log.json", log.to_string().as_bytes(), &InspectOptions::default()).unwrap();
    for note in [
        "the status of the log is cancelled, so that samples may be missing",
        "not carried over from the log: results; a run is described by its spec",
        "not carried over from eval: task, model, task_args; a run is described by its spec",
        "not carried over from eval.dataset: name, shuffled; items come in the order of the log",
        "not carried over from eval.config: log_samples, approval; a run is described by its spec",
        "not carried over from plan.steps: note; a run is described by its spec",
        "not carried over from eval.scorers: metadata; a run is described by its spec",
        "metrics that are not mapped: stderr by a cluster (items.group); each scorer has its mean with an interval",
        "epochs are reduced by median in Inspect; here trials are averaged, and pass@k is shown",
        "not carried over from samples, because the run has made it: scores (2)",
        "not carried over from samples, because it is not known: tools (1)",
        "samples whose metadata is another one than in their first epoch, which is carried over: 1",
    ] {
        assert!(imported.notes.iter().any(|one| one == note), "{note} is none of {:#?}", imported.notes);
    }
}

#[test]
fn a_log_of_another_form_is_refused_with_the_field() {
    let said = |change: &dyn Fn(&mut Value)| {
        let mut log = log();
        change(&mut log);
        refused("log.json", &log.to_string(), &InspectOptions::default())
    };
    for (said, expected) in [
        (said(&|log| log["version"] = json!(3)), "version 3 of logs is not known; known: up to 2"),
        (said(&|log| log["plan"] = json!(3)), "plan must be an object, is a number"),
        (said(&|log| log["plan"]["config"] = json!([])), "plan.config must be an object, is an array"),
        (said(&|log| log["eval"]["config"] = json!("x")), "eval.config must be an object, is a text"),
        (said(&|log| log["eval"]["config"]["epochs"] = json!("2")), "eval.config.epochs: must be a number"),
        (said(&|log| log["eval"]["config"]["epochs"] = json!(u64::MAX)), "a spec has at most 1000 trials"),
        (said(&|log| log["samples"][1]["epoch"] = json!(-1)), "sample 2, epoch: must be a whole number"),
        (said(&|log| log["samples"][1]["attachments"] = json!([])), "sample 2, attachments must be an object"),
        (said(&|log| log["samples"][1] = json!([])), "sample 2 must be an object"),
        (said(&|log| log["samples"][1]["id"] = json!(null)), "sample 2 has no id"),
        (said(&|log| log["samples"][1]["files"] = json!(["a"])), "sample 2 (\"2\"), files: a declared benchmark"),
        (
            said(&|log| log["plan"]["finish"] = json!({ "solver": "clean_up", "params": {} })),
            "the solver clean_up: has no counterpart",
        ),
    ] {
        assert!(said.contains(expected), "{said} has no {expected:?}");
    }
    let fields = InspectFields { input: "question".to_owned(), ..InspectFields::default() };
    let options = InspectOptions { fields, ..InspectOptions::default() };
    assert!(refused("log.json", &log().to_string(), &options).contains("a log has its own names of fields"));
}

#[test]
fn scores_that_are_no_numbers_hinder_nobody_and_are_counted() {
    let mut log = log();
    log["results"] = json!({ "scores": "HERE" });
    log["samples"][0]["metadata"] = json!({ "said": "NaN, \"NaN\"" });
    let text = log.to_string().replace("\"HERE\"", "[NaN, Infinity, -Infinity]");
    let imported = inspect("log.json", text.as_bytes(), &InspectOptions::default()).unwrap();
    let note = "NaN and Infinity are no numbers of JSON, and are read as null: 3 of them";
    assert!(imported.notes.iter().any(|one| one == note), "{:#?}", imported.notes);
    assert!(imported.data.contains(r#"{"said":"NaN, \"NaN\""}"#), "a text is left as it is: {}", imported.data);
    let broken = refused("log.json", &text.replace("\"plan\"", "plan"), &InspectOptions::default());
    assert!(broken.starts_with("not JSON that can be read: "), "{broken}");
    let target = "{\"input\": \"a\", \"target\": NaN}";
    assert!(refused("a.jsonl", target, &InspectOptions::default()).contains("line 1: has no target"));
}

#[test]
fn scorers_of_a_log_that_names_them_in_its_results_alone_are_read_from_there() {
    let mut log = log();
    log["eval"]["scorers"] = json!(null);
    log["results"] = json!({
        "total_samples": 2,
        "scores": [{ "name": "choice", "scorer": "choice", "params": {}, "metrics": { "accuracy": { "value": 1 } } }],
    });
    let imported = inspect("log.json", log.to_string().as_bytes(), &InspectOptions::default()).unwrap();
    for note in [
        "not carried over from results: total_samples; a run is described by its spec",
        "not carried over from results.scores: metrics; a run is described by its spec",
    ] {
        assert!(imported.notes.iter().any(|one| one == note), "{note} is none of {:#?}", imported.notes);
    }
    assert!(
        !imported.notes.iter().any(|note| note.starts_with("not carried over from the log")),
        "{:#?}",
        imported.notes
    );
    assert_oracle_is_right(&*suite(&imported));
}
