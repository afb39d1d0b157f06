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

#[test]
fn a_data_set_becomes_items_whose_targets_are_golds() {
    let imported = inspect("questions.jsonl", QUESTIONS.as_bytes(), &InspectOptions::default()).unwrap();
    assert_eq!(
        imported.notes,
        [
            "the file names no solver: generate is used; --solver names another one",
            "the file names no scorer: match is used; --scorer names another one",
        ]
    );
    let suite = suite(&imported);
    let ids: Vec<&str> = suite.items().iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["1", "two"]);
    assert_eq!(asked(&*suite, 0), ["Where is Cologne?"]);
    assert_eq!((values(&*suite, 1, "It is **White**."), values(&*suite, 1, "white, I think")), (vec![1.0], vec![0.0]));
    assert_oracle_is_right(&*suite);
}

#[test]
fn fields_are_found_under_the_names_that_are_given() {
    let fields = InspectFields {
        input: "question".to_owned(),
        target: "answer".to_owned(),
        metadata: vec!["level".to_owned()],
        ..InspectFields::default()
    };
    let options = InspectOptions { fields, ..scored_by("includes", json!({})) };
    let csv = "question,answer,level,source\nTwo and two?,four,easy,a\n,,,\nThree and three?,six,hard,b\n";
    let imported = inspect("sums.csv", csv.as_bytes(), &options).unwrap();
    assert!(imported.notes.contains(&"fields that are not read: source (2); --metadata NAME keeps one".to_owned()));
    assert_eq!(
        imported.data.lines().next().unwrap(),
        r#"{"input":"Two and two?","target":["four"],"metadata":{"level":"easy"}}"#
    );
    assert_eq!(values(&*suite(&imported), 1, "I say SIX."), [1.0]);
}

#[test]
fn a_sample_may_be_a_conversation_that_ends_with_the_user() {
    let conversation = json!({
        "input": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Hello" },
            { "role": "assistant", "content": "Hello!" },
            { "role": "user", "content": [{ "type": "text", "text": "Where is" }, { "type": "text", "text": "Cologne?" }] },
        ],
        "target": "Germany",
    });
    let suite = lines(&conversation.to_string(), &InspectOptions::default());
    assert_eq!(asked(&*suite, 0), ["Be brief.", "Hello", "Hello!", "Where is\nCologne?"]);
}

#[test]
fn choices_are_shown_with_letters_and_answered_by_one() {
    let imported = inspect("tea.json", CHOICES.as_bytes(), &InspectOptions::default()).unwrap();
    assert!(imported.notes.iter().any(|note| note.contains("the words around a question are Regatta's")));
    let suite = suite(&imported);
    let question = "Which is a fruit?\n\nA) leek\nB) quince\nC) kale\n\nReply with one line, \"ANSWER: X\", where X is one of A,B,C.";
    assert_eq!(asked(&*suite, 1), [question]);
    for (reply, value) in [
        ("ANSWER: B", 1.0),
        ("answer : b.", 1.0),
        ("ANSWER: A\nNo:\nANSWER: B,", 1.0),
        ("I say answer: B!", 1.0),
        ("ANSWER: A", 0.0),
        ("ANSWER: Z", 0.0),
        ("ANSWER: A, B", 0.0),
        ("B", 0.0),
    ] {
        assert_eq!(values(&*suite, 1, reply), [value], "{reply}");
    }
    assert_oracle_is_right(&*suite);
}

#[test]
fn the_places_and_numbers_of_match_are_those_of_inspect() {
    let at = |params: Value, reply: &str| values(&*lines(QUESTIONS, &scored_by("match", params)), 0, reply);
    for (location, reply, value) in [
        ("begin", "\"Germany\", of course", 1.0),
        ("begin", "In Germany", 0.0),
        ("any", "In Germany, of course", 1.0),
        ("exact", "**germany**.", 1.0),
        ("exact", "In Germany", 0.0),
    ] {
        assert_eq!(at(json!({ "location": location }), reply), [value], "{location}: {reply}");
    }
    assert_eq!(at(json!({ "ignore_case": false }), "germany"), [0.0]);
    let sums = "{\"input\": \"How much?\", \"target\": \"$1,250\"}";
    let number = |location: &str, reply: &str| {
        values(&*lines(sums, &scored_by("match", json!({ "numeric": true, "location": location }))), 0, reply)
    };
    for (location, reply, value) in [
        ("end", "First 3, then **$1,250.00**.", 1.0),
        ("end", "1250 and 3", 0.0),
        ("begin", "1250 and 3", 1.0),
        ("end", "It is 1250.001 CHF", 1.0),
        ("end", "It is 1250.1 CHF", 0.0),
        ("end", "It is 1251 CHF", 0.0),
        ("end", "about 1250%", 0.0),
        ("exact", "1250", 1.0),
        ("exact", "It is 1250", 0.0),
        ("end", "nothing", 0.0),
    ] {
        assert_eq!(number(location, reply), [value], "{location}: {reply}");
    }
}

#[test]
fn patterns_and_marked_answers_are_read_and_compared() {
    let pattern = scored_by("pattern", json!({ "pattern": r"country[[:]\s*(\w+)\Z" }));
    let suite = lines(QUESTIONS, &pattern);
    assert_eq!((values(&*suite, 0, "Country: GERMANY"), values(&*suite, 0, "Germany")), (vec![1.0], vec![0.0]));
    let options = scored_by("pattern", json!({ "pattern": r"ANSWER: (.*)", "ignore_case": false }));
    let imported = inspect("questions.jsonl", QUESTIONS.as_bytes(), &options).unwrap();
    assert!(!imported.notes.iter().any(|note| note.contains("simulate.reply")), "it is one of the usual ones");
    let answer = |pattern: &str, reply: &str| {
        values(&*lines(QUESTIONS, &scored_by("answer", json!({ "pattern": pattern }))), 0, reply)
    };
    assert_eq!(answer("word", "ANSWER: France\nANSWER: Germany."), [1.0]);
    assert_eq!(answer("word", "ANSWER: Germany\nANSWER: I do not know"), [0.0], "the last one counts");
    assert_eq!(answer("line", "So.\nAnswer: germany"), [1.0]);
    assert_eq!(answer("letter", "ANSWER: G"), [0.0]);
}

#[test]
fn several_scorers_score_the_reply_each_in_its_way() {
    let scorers = ["answer", "exact", "f1"]
        .map(|name| step(name, if name == "answer" { json!({ "pattern": "word" }) } else { json!({}) }));
    let suite = lines(QUESTIONS, &with(Vec::new(), scorers.to_vec()));
    assert_eq!(values(&*suite, 0, "ANSWER: Germany"), [1.0, 0.0, 0.67]);
    assert_eq!(values(&*suite, 0, "Germany"), [0.0, 1.0, 1.0]);
}

#[test]
fn solvers_are_the_messages_of_the_conversation() {
    let solvers = vec![
        step("system_message", json!({ "template": "Be {tone}. {unknown} {{x}} {{% %}}\n" })),
        step("prompt_template", json!({ "template": "{greeting} {prompt}", "greeting": "Hello {{ you }}." })),
        step("assistant_message", json!({ "template": "Which?" })),
        step("user_message", json!({ "template": "The one." })),
        step("generate", json!({ "temperature": 0.5, "tool_calls": "loop", "seed": 3 })),
        step("user_message", json!({ "template": "Are you sure?" })),
        step("generate", json!({ "temperature": 0.5, "tool_calls": "loop", "seed": 3 })),
    ];
    let options = with(solvers, vec![step("includes", json!({}))]);
    let imported = inspect("questions.jsonl", QUESTIONS.as_bytes(), &options).unwrap();
    assert!(
        imported.notes.contains(&"not carried over from generate: seed; parameters of models are in a spec".to_owned())
    );
    let suite = suite(&imported);
    assert_eq!(
        asked(&*suite, 1),
        ["Be dry. {unknown} {x} {% %}\n", "Hello {{ you }}. Name a colour of the flag of Japan.", "Which?", "The one."]
    );
    let setting = suite.declared_settings().remove(0);
    let transcript = drive(&*suite, ItemIndex(0), &setting, Persona::Oracle, 1);
    assert_eq!(transcript.replies(regatta_proto::Role::Agent).count(), 2);
}

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
fn samples_that_need_a_sandbox_are_refused_until_a_person_leaves_it_out() {
    let sample = r#"{"input": "Count the files.", "target": "3", "sandbox": "docker", "files": {"a": "b"}}"#;
    let mut options = scored_by("includes", json!({}));
    let said = refused("files.jsonl", sample, &options);
    assert!(
        said.starts_with("line 1, sandbox: a declared benchmark has no sandbox; leave it out with --leave-out sandbox"),
        "{said}"
    );
    options.leave_out = vec![InspectField::Sandbox, InspectField::Files];
    let imported = inspect("files.jsonl", sample.as_bytes(), &options).unwrap();
    assert!(imported.notes.contains(&"left out of samples, as you said: files (1), sandbox (1)".to_owned()));
}

#[test]
fn samples_that_make_no_sense_are_refused_with_their_place() {
    let options = InspectOptions::default();
    let line = |sample: Value| refused("a.jsonl", &format!("\n{sample}"), &options);
    let long = format!("{{\"input\": \"{}\", \"target\": \"x\"}}", "a".repeat(5 << 20));
    for (said, expected) in [
        (refused("a.jsonl", &long, &options), "line 1 has 5242"),
        (refused("a.jsonl", "{\"input\": ", &options), "line 1 is no JSON"),
        (refused("a.jsonl", "[1]", &options), "line 1 must be an object, is an array"),
        (refused("a.json", "7", &options), "record 1 must be an object, is a number"),
        (refused("a.json", &"[".repeat(100_000), &options), "not JSON that can be read"),
        (refused("a.jsonl", "", &options), "holds no samples"),
        (refused("a.csv", "input,input\na,b\n", &options), "the column \"input\" is there twice"),
        (refused("a.csv", "input,target\na\n", &options), "not CSV that can be read"),
        (refused("a.eval", "PK\u{3}\u{4}", &options), "inspect log dump"),
        (refused("a.parquet", "PAR1", &options), "must end in .jsonl, .json or .csv"),
        (line(json!({ "target": "x" })), "line 2, input: is missing; fields: target"),
        (
            line(json!({ "input": 7, "target": "x" })),
            "line 2, input: must be a text or a list of messages, is a number",
        ),
        (line(json!({ "input": "a" })), "line 2: has no target"),
        (line(json!({ "input": "a", "target": [{}] })), "line 2, target: must be a text or a list of texts"),
        (line(json!({ "input": "a", "target": "x", "id": [1] })), "line 2, id: must be a text or a whole number"),
        (line(json!({ "input": "a", "target": "x", "metadata": [1] })), "line 2, metadata: must be an object"),
        (line(json!({ "input": [{ "role": "tool", "content": "x" }], "target": "x" })), "has the role \"tool\""),
        (
            line(json!({ "input": [{ "role": "assistant", "content": "x" }], "target": "x" })),
            "must end with a message of the user",
        ),
        (
            line(
                json!({ "input": [{ "role": "user", "content": [{ "type": "image", "image": "x.png" }] }], "target": "x" }),
            ),
            "has a part of type image",
        ),
        (
            line(
                json!({ "input": [{ "role": "user", "content": "a" }, { "role": "user", "content": "b" }], "target": "x" }),
            ),
            "no answer follows",
        ),
        (
            line(json!({ "input": "a", "choices": ["x", "y"], "target": "C" })),
            "line 2: the target \"C\" is none of its 2 choices (AB)",
        ),
        (line(json!({ "input": "a", "choices": ["x", "y"], "target": ["A", "B"] })), "several right choices"),
        (
            line(json!({ "input": "a", "choices": vec!["x"; 27], "target": "A" })),
            "has 27 choices, and there are 26 letters",
        ),
    ] {
        assert!(said.contains(expected), "{said} has no {expected:?}");
    }
    let twice =
        "{\"id\": 1, \"input\": \"a\", \"target\": \"x\"}\n{\"id\": \"1\", \"input\": \"b\", \"target\": \"y\"}";
    assert_eq!(
        refused("a.jsonl", twice, &options),
        "line 2 (\"1\"): the id is that of line 1 (\"1\") too; give each sample its own"
    );
    let some = "{\"id\": 1, \"input\": \"a\", \"target\": \"x\"}\n{\"input\": \"b\", \"target\": \"y\"}";
    assert!(refused("a.jsonl", some, &options).contains("line 2 has no id, and others have one"));
}

#[test]
fn parameters_without_a_counterpart_are_refused_by_name() {
    let scorer = |name: &str, params: Value| refused("a.jsonl", QUESTIONS, &scored_by(name, params));
    for (said, expected) in [
        (scorer("match", json!({ "location": "middle" })), "the location middle has no counterpart"),
        (scorer("match", json!({ "numeric": true, "location": "any" })), "the location any of numbers"),
        (scorer("match", json!({ "numeric": true })), "line 1 (\"1\"): the target \"Germany\" is no number"),
        (scorer("match", json!({ "ignore_case": "yes" })), "ignore_case must be true or false"),
        (scorer("f1", json!({ "stop_words": ["of"] })), "the parameter stop_words has no counterpart"),
        (scorer("pattern", json!({ "pattern": "(a)(b)" })), "has 2 groups"),
        (scorer("pattern", json!({ "pattern": "a" })), "has no group"),
        (scorer("pattern", json!({ "pattern": "(a)(?=b)" })), "no look-around"),
        (scorer("pattern", json!({ "pattern": "([a--b])" })), "has --"),
        (scorer("choice", json!({})), "line 1 (\"1\"): the target \"Germany\" must be one letter"),
        (scorer("math", json!({})), "the scorer math is not mapped"),
    ] {
        assert!(said.contains(expected), "{said} has no {expected:?}");
    }
    let solver =
        |steps: Vec<InspectStep>| refused("a.jsonl", QUESTIONS, &with(steps, vec![step("includes", json!({}))]));
    let generate = || step("generate", json!({}));
    let words = |template: &str| step("prompt_template", json!({ "template": template }));
    for (said, expected) in [
        (solver(vec![words("{prompt}")]), "add generate at the end"),
        (solver(vec![generate(), words("{prompt}")]), "changes a message that has been answered"),
        (solver(vec![generate(), generate()]), "asks again where nothing was said"),
        (solver(vec![step("user_message", json!({ "template": "b c" })), generate()]), "that is not answered"),
        (solver(vec![words("{prompt:>9}"), generate()]), "has a form, an index or an attribute"),
        (solver(vec![words("{prompt"), generate()]), "a { without its }"),
        (solver(vec![words("prompt} it"), generate()]), "a } without its {"),
        (solver(vec![words("{} it"), generate()]), "has no name"),
        (solver(vec![step("multiple_choice", json!({}))]), "line 1 (\"1\") has no choices"),
    ] {
        assert!(said.contains(expected), "{said} has no {expected:?}");
    }
    let uneven = QUESTIONS.replace("\"tone\": \"dry\"", "");
    let options = with(vec![words("{tone}: {prompt}"), generate()], vec![step("includes", json!({}))]);
    assert!(refused("a.jsonl", &uneven, &options).contains("the metadata \"tone\", which line 2 (\"two\") has not"));
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
fn fields_of_messages_that_are_not_carried_over_are_named() {
    let part = json!({ "type": "text", "text": "Hello", "refusal": false, "citations": [] });
    let message =
        json!({ "role": "user", "content": [part], "source": "input", "metadata": { "page": 3 }, "tool_calls": null });
    let sample = json!({ "input": [message], "target": "Hi" }).to_string();
    let imported = inspect("a.jsonl", format!("{sample}\n{sample}").as_bytes(), &InspectOptions::default()).unwrap();
    let note = "not carried over from messages of samples: metadata (2), refusal (2), source (2)";
    assert!(imported.notes.iter().any(|one| one == note), "{:#?}", imported.notes);
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
fn numbers_are_written_as_python_writes_them_or_refused() {
    let options = scored_by("includes", json!({}));
    let target = |number: &str| format!("{{\"input\": \"a\", \"target\": {number}}}");
    for (number, written) in [("7", "7"), ("1.50", "1.5"), ("2.0", "2.0"), ("1e-7", "1e-07"), ("true", "True")] {
        let imported = inspect("a.jsonl", target(number).as_bytes(), &options).unwrap();
        assert_eq!(imported.data, format!("{{\"input\":\"a\",\"target\":[\"{written}\"]}}\n"));
    }
    for (said, expected) in [
        (refused("a.jsonl", &target("123456789012345678901234567890"), &options), "write it as a text"),
        (refused("a.jsonl", &target("1e999"), &options), "line 1 is no JSON: number out of range"),
    ] {
        assert!(said.contains(expected), "{said} has no {expected:?}");
    }
    let metadata = "{\"input\": \"a\", \"target\": \"x\", \"metadata\": {\"key\": [123456789012345678901234567890]}}";
    let imported = inspect("a.jsonl", metadata.as_bytes(), &options).unwrap();
    assert!(imported.notes.iter().any(|note| note.contains("are rounded") && note.contains("key (1)")));
}

#[test]
fn an_id_is_the_one_of_the_item_or_refused() {
    let options = scored_by("includes", json!({}));
    let sample = |id: Value| json!({ "id": id, "input": "a", "target": "x" }).to_string();
    let suite = lines(&sample(json!("../a/b:c")), &options);
    assert_eq!(suite.items()[0].id.as_str(), "../a/b:c");
    for (id, expected) in [
        (json!("a\nb"), "line 1, id: item id \"a\\nb\" contains '\\n'"),
        (json!("a\u{1b}[2J"), "line 1, id: item id \"a\\u{1b}[2J\" contains"),
        (json!("x".repeat(300)), "line 1, id: item id is 300 bytes long"),
        (json!(1e300), "line 1, id: must be a text or a whole number of 64 bits"),
        (json!(true), "line 1, id: must be a text or a whole number, is a boolean"),
    ] {
        let said = refused("a.jsonl", &sample(id), &options);
        assert!(said.contains(expected), "{said} has no {expected:?}");
    }
}

#[test]
fn a_field_that_is_named_and_not_there_and_an_empty_choice_are_refused() {
    let naming = |fields: InspectFields| InspectOptions { fields, ..InspectOptions::default() };
    let choices = InspectFields { choices: "optoins".to_owned(), ..InspectFields::default() };
    assert_eq!(
        refused("tea.json", CHOICES, &naming(choices)),
        "no record has the field \"optoins\", which you name; record 1 has input, choices, target"
    );
    let metadata = InspectFields { metadata: vec!["level".to_owned()], ..InspectFields::default() };
    assert!(refused("tea.json", CHOICES, &naming(metadata)).contains("no record has the field \"level\""));
    let options = InspectOptions::default();
    for (choices, target) in [(json!(["", "x", "y"]), json!("B")), (json!("x,,y"), json!("C"))] {
        let sample = json!({ "input": "a", "choices": choices, "target": target }).to_string();
        let said = refused("a.jsonl", &sample, &options);
        assert!(said.contains("line 1, choices: holds an empty text"), "a letter would be another choice's: {said}");
    }
    let sample = json!({ "input": "a", "target": ["x", ""] }).to_string();
    assert!(refused("a.jsonl", &sample, &options).contains("line 1, target: holds an empty text"));
}

#[test]
fn a_file_of_the_other_kind_and_a_sample_of_any_number_of_fields_are_told_in_a_few_words() {
    let options = scored_by("includes", json!({}));
    assert!(refused("a.json", QUESTIONS, &options).ends_with("a file with a record in each line must end in .jsonl"));
    assert!(refused("a.jsonl", CHOICES, &options).ends_with("a file with one list of records must end in .json"));
    let mut sample = json!({ "input": "a", "target": "x" });
    for number in 0..100 {
        sample[format!("field{number}")] = json!(number);
    }
    let imported = inspect("a.jsonl", sample.to_string().as_bytes(), &options).unwrap();
    assert!(imported.notes.iter().any(|note| note.contains(" and 60 others; --metadata NAME keeps one")));
}

#[test]
fn what_would_grow_without_end_is_refused() {
    let doubling = vec![step("prompt_template", json!({ "template": "{prompt} {prompt}" })); 60];
    let options = with(doubling, vec![step("includes", json!({}))]);
    let said = refused("a.jsonl", QUESTIONS, &options);
    assert!(said.contains("the solver prompt_template: it makes a template of more than 65536 bytes"), "{said}");
    let said = refused("a.jsonl", QUESTIONS, &with(Vec::new(), vec![step("includes", json!({})); 101]));
    assert!(said.contains("has 101 scorers, at most 100 are read"), "{said}");
    let options = scored_by("includes", json!({}));
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    let sample = format!("{{\"id\": 7, \"input\": \"a\", \"target\": \"x\", \"metadata\": {{\"tree\": {deep}}}}}");
    let said = refused("a.jsonl", &sample, &options);
    assert!(said.contains("line 1 (\"7\"), metadata: \"tree\" is nested deeper than the 32 levels"), "{said}");
    let long = json!([{ "input": "a".repeat(5 << 20), "target": "x" }]).to_string();
    let said = refused("a.json", &long, &options);
    assert!(said.starts_with("record 1 makes a record of 5242"), "{said}");
}
