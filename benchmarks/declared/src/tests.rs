//! Whole benchmarks: the miniatures, and files in which something is wrong.

use std::path::PathBuf;

use regatta_benchmark_testing::{drive, drive_agent, drive_with, examples};
use regatta_benchmarks::{Benchmark, Persona, RecordedVerdicts, Scoring, Step, Suite};
use regatta_proto::{Evaluator, FileSet, ItemIndex, Reply, Role, SessionSeed, Setting, ToolCall, Transcript};

use super::*;

const MINIATURES: [&str; 5] = ["arithmetic", "knowledge", "instructions", "functions", "pictures"];

fn declared() -> Declared {
    Declared::new(Permissions::trusting())
}

fn files_of(folder: &str) -> FileSet {
    let root: PathBuf = examples().join("benchmarks").join(folder);
    let mut files = FileSet::from_origin(folder);
    files.insert(FILE, std::fs::read(root.join(FILE)).unwrap());
    // Records name images.
    for _ in 0..2 {
        for path in declared().further_files(&files).unwrap() {
            files.insert(path.clone(), std::fs::read(root.join(path)).unwrap());
        }
    }
    files
}

fn score(suite: &dyn Suite, item: ItemIndex, transcript: &Transcript) -> Vec<(String, f64)> {
    match suite.score(item, &[Evaluator::Declared], transcript, &RecordedVerdicts::default()) {
        Scoring::Scored(mut scores) => scores.remove(&Evaluator::Declared).unwrap().values.into_iter().collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_oracle_is_right_in_every_miniature_and_setting_and_silence_is_unreadable_and_wrong() {
    for folder in MINIATURES {
        let suite = declared().load(&files_of(folder)).unwrap();
        for setting in suite.declared_settings() {
            for item in suite.select(&setting, &[], None).unwrap() {
                let right = drive(&*suite, item, &setting, Persona::Oracle, 1);
                let Step::Done = suite.next(item, &setting, &right) else { panic!("{folder} {setting}") };
                assert!(!suite.is_invalid_format(item, &setting, &right), "{folder} {setting} {item}");
                let scores = score(&*suite, item, &right);
                let wrong: Vec<_> = scores.iter().filter(|(name, value)| !name.contains('_') && *value < 1.0).collect();
                assert!(wrong.is_empty(), "{folder} {setting} {item}: {wrong:?}");
                let silent =
                    drive_with(&*suite, item, &setting, |_, _| Reply::of_text(None, regatta_proto::Finish::Stop));
                assert!(suite.is_invalid_format(item, &setting, &silent), "{folder} {setting} {item}");
                let worst = suite.score_failure(item, &[Evaluator::Declared]).remove(&Evaluator::Declared).unwrap();
                assert_eq!(score(&*suite, item, &silent), worst.values.into_iter().collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn an_external_agent_answers_in_the_models_place_in_every_miniature_and_setting() {
    for folder in MINIATURES {
        let suite = declared().load(&files_of(folder)).unwrap();
        for (at, native) in suite.declared_settings().into_iter().enumerate() {
            let name = if at == 0 { "external/mine".to_owned() } else { format!("external/mine/{native}") };
            let name: Setting = name.parse().unwrap();
            let items = suite.select(&native, &[], None).unwrap();
            assert_eq!(suite.select(&name, &[], None).unwrap(), items, "{folder} {name}");
            for item in items {
                let by_model = drive(&*suite, item, &native, Persona::Noisy(0.3), 1);
                let by_agent = drive_agent(&*suite, item, &name, |task| {
                    let request = regatta_benchmarks::delegated::asked(task).unwrap();
                    let reply = suite.simulate(item, &name, Role::Agent, Persona::Noisy(0.3), SessionSeed(1), &request);
                    let text = reply.text.as_deref().unwrap_or_default();
                    serde_json::json!({"answer": text, "tool_calls": reply.tool_calls}).to_string()
                });
                assert_eq!(suite.next(item, &name, &by_agent), Step::Done, "{folder} {name}");
                assert_eq!(score(&*suite, item, &by_agent), score(&*suite, item, &by_model), "{folder} {name} {item}");
                let is_invalid =
                    [(&name, &by_agent), (&native, &by_model)].map(|(of, by)| suite.is_invalid_format(item, of, by));
                assert_eq!(is_invalid[0], is_invalid[1], "{folder} {name} {item}");
            }
        }
        let default = format!("external/mine/{}", suite.declared_settings()[0]).parse().unwrap();
        assert!(suite.select(&default, &[], None).is_err(), "{folder}: the default has one name");
    }
}

#[test]
fn an_external_agent_is_given_the_images_that_the_model_would_be_shown() {
    let suite = declared().load(&files_of("pictures")).unwrap();
    let native = suite.declared_settings().remove(0);
    let mine: Setting = "external/mine".parse().unwrap();
    for item in suite.select(&native, &[], None).unwrap() {
        let [shown, given] = [&native, &mine].map(|setting| suite.next(item, setting, &Transcript::default()));
        let (Step::Ask(_, shown), Step::Delegate(given)) = (shown, given) else { panic!("{item}") };
        assert!(shown.images().next().is_some(), "{item}");
        assert_eq!(regatta_benchmarks::delegated::asked(&given).unwrap().messages, shown.messages, "{item}");
    }
}

#[test]
fn a_wrong_answer_is_readable_and_a_simulated_model_errs_as_often_as_it_is_told() {
    let suite = declared().load(&files_of("arithmetic")).unwrap();
    let setting: Setting = "shots=0".parse().unwrap();
    let wrong = drive_with(&*suite, ItemIndex(0), &setting, |_, _| Reply::said("So it is\n#### 18"));
    assert_eq!(score(&*suite, ItemIndex(0), &wrong), [("correct".to_owned(), 0.0)]);
    assert!(!suite.is_invalid_format(ItemIndex(0), &setting, &wrong));
    let errors: f64 = (0..200)
        .map(|seed| {
            let item = ItemIndex(u32::try_from(seed % 12).unwrap());
            1.0 - score(&*suite, item, &drive(&*suite, item, &setting, Persona::Noisy(0.3), seed))[0].1
        })
        .sum();
    assert!((40.0..80.0).contains(&errors), "{errors} of 200");
}

#[test]
fn the_templates_of_a_benchmark_share_the_steps_that_it_may_take_to_be_loaded() {
    let load = |steps: u64| {
        let files = files_of("arithmetic");
        suite::Loaded::load(Source::of(&files).unwrap().with_steps(steps), &files)
    };
    let loaded = load(100_000).unwrap();
    // Once it is loaded, sessions go on for ever.
    let setting: Setting = "shots=4".parse().unwrap();
    for _ in 0..2_000 {
        assert!(!drive(&loaded, ItemIndex(1), &setting, Persona::Oracle, 1).events.is_empty());
    }
    for steps in [0, 300] {
        let refused = load(steps).map(drop).unwrap_err().to_string();
        assert!(refused.contains("arithmetic: benchmark.yaml, line "), "{refused}");
        assert!(refused.contains("take more than 200000000 steps in all"), "{refused}");
    }
}

#[test]
fn prompts_are_what_the_file_says() {
    let mut said = String::new();
    for (folder, setting, item) in [
        ("arithmetic", "shots=4", 1),
        ("knowledge", "style=letter/shots=3", 3),
        ("knowledge", "style=reason/shots=0", 3),
        ("functions", "default", 3),
    ] {
        let suite = declared().load(&files_of(folder)).unwrap();
        let step = suite.next(ItemIndex(item), &setting.parse().unwrap(), &Transcript::default());
        let Step::Ask(_, request) = step else { panic!("{step:?}") };
        said.push_str(&format!("=== {folder} {setting}\n"));
        for message in &request.messages {
            said.push_str(&format!("--- {:?}\n{}\n", message.role, message.content));
        }
        said.push_str(&format!("--- {:?} {} tools\n", request.sampling, request.tools.len()));
        assert_eq!(suite.recognise(&request), Some(ItemIndex(item)));
    }
    insta::assert_snapshot!(said);
}

#[test]
fn settings_are_the_grid_of_the_axes_tasks_and_parts_are_columns_and_stories_are_clusters() {
    let suite = declared().load(&files_of("knowledge")).unwrap();
    let names: Vec<String> = suite.declared_settings().iter().map(Setting::to_string).collect();
    assert_eq!(names, ["style=letter/shots=0", "style=letter/shots=3", "style=reason/shots=0", "style=reason/shots=3"]);
    assert_eq!(&*suite.items()[3].task, "physics");
    assert_eq!(suite.parts(ItemIndex(2))[0].as_ref(), "level=hard");
    let physics = suite.select(&suite.declared_settings()[0], &["physics".to_owned()], Some(2)).unwrap();
    assert_eq!(physics, [ItemIndex(3), ItemIndex(4)]);
    assert!(suite.select(&"shots=9".parse().unwrap(), &[], None).is_err());
    let arithmetic = declared().load(&files_of("arithmetic")).unwrap();
    assert_eq!(arithmetic.items()[1].group.as_deref(), Some("bakery"));
}

#[test]
fn the_grid_refuses_what_it_cannot_be_and_names_the_line() {
    let wrong = [
        ("settings: { shots: [] }", ""),
        ("settings: { shots: [1, 1] }", ""),
        ("settings: { cast: [a] }", ""),
        ("settings: { a: ['x y'] }", ""),
        ("settings:\n  a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n  b: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n  c: [1, 2, 3]", ""),
    ];
    let said: Vec<String> = wrong.iter().map(|(settings, _)| refused(&format!("{GOOD}{settings}\n"))).collect();
    insta::assert_snapshot!(said.join("\n"));
}

/// A benchmark to which a test adds what is wrong.
const GOOD: &str = "v: 1\ndata: { test: test.jsonl }\nprompt:\n  turns:\n    - user: \"{{ q }}\"\nscorers:\n  right: { exact: { gold: \"{{ a }}\" } }\n";
const DATA: &str = "{\"q\": \"2+2?\", \"a\": \"4\", \"golds\": [\"4\", \"four\"], \"n\": null}\n{\"q\": \"3+3?\", \"a\": \"six\", \"golds\": [\"6\"], \"n\": 1}\n";

fn of_text(text: &str) -> FileSet {
    let mut files = FileSet::from_origin("folder");
    files.insert(FILE, text.to_owned());
    files.insert("test.jsonl", DATA.to_owned());
    files
}

fn refused(text: &str) -> String {
    declared().load(&of_text(text)).err().map_or_else(|| format!("not refused: {text}"), |error| error.to_string())
}

#[test]
fn whatever_is_wrong_in_the_file_is_named_with_its_line() {
    assert!(declared().load(&of_text(GOOD)).is_ok());
    let with = |from: &str, to: &str| refused(&GOOD.replace(from, to));
    let right = "exact: { gold: \"{{ a }}\" }";
    let said = [
        with("v: 1", "v: 2"),
        with("v: 1\n", ""),
        with("scorers:", "scorer:"),
        with("turns:", "turn:"),
        with("\"{{ q }}\"", "\"{{ q }\""),
        with("\"{{ q }}\"", "\"{{ question }}\""),
        with("\"{{ q }}\"", "|\n        Think.\n        {{ q }} {{ n.deep.deeper }}"),
        with("\"{{ q }}\"", "\" \""),
        with("- user:", "- usr:"),
        with("  turns:", "  few_shot: { split: train, count: 2, turns: [user: x] }\n  turns:"),
        with("  turns:", "  few_shot: { split: test, count: 2, turns: [user: x] }\n  turns:"),
        with("  turns:", "  few_shot: { split: test, count: shots, turns: [user: x] }\n  turns:"),
        with("  turns:", "  tools: functions\n  turns:"),
        with("{ test: test.jsonl }", "{ test: test.json }"),
        with("{ test: test.jsonl }", "{ test: other.jsonl }"),
        with("{ test: test.jsonl }", "{ dev: test.jsonl }"),
        with(right, "exact: {}"),
        with(right, "exact: { gold: x, answer: final }"),
        with(right, "exactly: { gold: x }"),
        with(right, "exact: { golds: a }"),
        with(right, "number: { gold: \"{{ a }}\" }"),
        with(right, "number: { gold: \"4\", absolute: -1 }"),
        with(right, "choice: { gold: \"{{ a }}\" }"),
        with(right, "schema: { schema: { $ref: 'file:///etc/passwd' } }"),
        with(right, "fields: { gold: a }"),
        with(right, "calls: { gold: golds }"),
        with(right, "constraints: { column: a }"),
        with(right, "judge: { rubric: Good?, grades: { good: 1 } }"),
        with("scorers:", "metrics: { all: { mean: wrong } }\nscorers:"),
        with("scorers:", "metrics: { all: { } }\nscorers:"),
        with("scorers:", "items: { id: id }\nscorers:"),
        with("scorers:", "items: { task: n }\nscorers:"),
        with("scorers:", "answers: { a: [number: last], b: [number: first] }\nscorers:"),
        with("scorers:", "simulate: { reply: \"{{ missing }}\" }\nscorers:"),
        with("data:", "data: { test: test.jsonl }\ndata:"),
        refused("a: [\n"),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_gold_that_is_the_name_of_a_column_is_refused_with_what_was_meant() {
    let right = "exact: { gold: \"{{ a }}\" }";
    let said = |scorer: &str| refused(&GOOD.replace(right, scorer));
    for kind in ["exact", "normalised", "f1", "rouge", "bleu", "chrf", "contains", "number", "choice"] {
        let said = said(&format!("{kind}: {{ gold: a }}"));
        let meant =
            format!("scorers.right.{kind}.gold: is a template, so that the gold of every item is the word \"a\"");
        assert!(said.contains(&meant) && said.contains("write \"{{ a }}\" for what the column holds"), "{said}");
    }
    assert!(said("f1: { gold: golds }").ends_with(", or, where it holds lists of texts, `golds: golds`"));
    // A word that is meant as it is written, in quotes of the template.
    assert!(declared().load(&of_text(&GOOD.replace(right, "exact: { gold: \"{{ 'a' }}\" }"))).is_ok());
}

#[test]
fn scorers_of_shared_n_grams_score_the_reply_and_refuse_what_they_cannot_compute() {
    let right = "exact: { gold: \"{{ a }}\" }";
    for scorer in [
        "rouge: { gold: four of them }",
        "rouge: { golds: golds, kind: rouge2 }",
        "bleu: { golds: golds }",
        "chrf: { gold: four, word_order: 2 }",
    ] {
        let suite = declared().load(&of_text(&GOOD.replace(right, scorer))).unwrap();
        let setting = suite.declared_settings().remove(0);
        let transcript = drive_with(&*suite, ItemIndex(0), &setting, |_, _| Reply::said("four of them"));
        let scores = score(&*suite, ItemIndex(0), &transcript);
        assert!(matches!(scores.as_slice(), [(name, 0.0..=1.0)] if name == "right"), "{scorer}: {scores:?}");
    }
    let with = |to: &str| refused(&GOOD.replace(right, to));
    assert_eq!(
        with("chrf: { gold: x, word_order: 3 }"),
        "folder: benchmark.yaml, line 7, scorers.right.chrf.word_order: is 3; 0 makes it chrF, 2 chrF++, and more than 2 nothing that has a name"
    );
    let said = with("rouge: { gold: x, kind: rougeLsum }");
    assert!(said.contains("benchmark.yaml, line 7") && said.contains("`rouge1`, `rouge2`, `rougeL`"), "{said}");
    let mut files = of_text(&GOOD.replace(right, "rouge: { gold: \"{{ a }}\" }"));
    files.insert("test.jsonl", format!("{{\"q\": \"Why?\", \"a\": \"{}\"}}\n", "w ".repeat(20_001)));
    let said = declared().load(&files).err().unwrap().to_string();
    assert!(said.contains("line 7, scorers.right.rouge: test.jsonl line 1: the gold has 20001 words"), "{said}");
}

#[test]
fn an_item_has_a_thousand_golds_at_most() {
    let text = GOOD.replace("exact: { gold: \"{{ a }}\" }", "contains: { golds: golds }");
    let of = |count: usize| {
        let mut files = of_text(&text);
        files.insert(
            "test.jsonl",
            format!("{}\n", serde_json::json!({"q": "Why?", "a": "x", "golds": vec!["x"; count]})),
        );
        declared().load(&files).map(|_| ())
    };
    of(1000).unwrap();
    let said = of(1001).unwrap_err().to_string();
    let expected = "line 7, scorers.right.contains.golds: test.jsonl line 1, column \"golds\": has 1001 golds, at most 1000 are compared";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_conversation_goes_on_with_what_the_model_said() {
    let text = GOOD.replace(
        "- user: \"{{ q }}\"",
        "- user: \"{{ q }}\"\n    - user: \"You said {{ replies[0] }}.\"\n    - assistant: I did.\n    - user: Sure?",
    );
    let suite = declared().load(&of_text(&text)).unwrap();
    let setting = suite.declared_settings().remove(0);
    let transcript = drive_with(&*suite, ItemIndex(0), &setting, |_, _| Reply::said("4"));
    assert_eq!(transcript.replies(regatta_proto::Role::Agent).count(), 2);
    let calls: Vec<_> = transcript.calls().collect();
    let said: Vec<String> =
        calls[1].request.messages.iter().map(|one| format!("{:?}: {}", one.role, one.content)).collect();
    insta::assert_snapshot!(said.join("\n"));
    assert_eq!(score(&*suite, ItemIndex(0), &transcript), [("right".to_owned(), 1.0)]);
}

/// Calls, and whether BFCL's matcher of syntax trees takes them; written by `tests/differential/peers.py`.
const VERDICTS: &str = include_str!("peers/verdicts.json");

#[test]
fn calls_of_functions_are_right_where_the_peers_matcher_takes_them() {
    let verdicts: serde_json::Value = serde_json::from_str(VERDICTS).unwrap();
    let suite = declared().load(&files_of("functions")).unwrap();
    let setting = suite.declared_settings().remove(0);
    for case in verdicts["functions"].as_array().unwrap() {
        let item = suite.items().iter().position(|item| case["item"] == item.id.as_str()).unwrap();
        let item = ItemIndex(u32::try_from(item).unwrap());
        let made = case["output"].as_array().unwrap().iter().map(|call| {
            let (name, arguments) = call.as_object().unwrap().iter().next().unwrap();
            ToolCall { id: "call".into(), name: name.as_str().into(), arguments: arguments.to_string().into() }
        });
        let made: Vec<ToolCall> = made.collect();
        let reply = || if made.is_empty() { Reply::said("None.") } else { Reply::calling(None, made.clone()) };
        let transcript = drive_with(&*suite, item, &setting, |_, _| reply());
        let expected = f64::from(u8::from(case["right"].as_bool().unwrap()));
        assert_eq!(score(&*suite, item, &transcript), [("correct".to_owned(), expected)], "{case}");
    }
}

#[test]
fn predictions_are_lines_of_item_and_output() {
    let suite = declared().load(&of_text(GOOD)).unwrap();
    let read = suite
        .read_predictions("p.jsonl", b"{\"item\": \"2\", \"output\": \"six\"}\n{\"item\": \"1\", \"output\": null}")
        .unwrap();
    assert_eq!(read.iter().map(|(item, _)| item.0).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(score(&*suite, read[0].0, &read[0].1), [("right".to_owned(), 1.0)]);
    for wrong in [
        "{\"item\": \"3\", \"output\": \"x\"}",
        "{\"item\": \"1\"}",
        "",
        "{\"item\": \"1\", \"output\": \"x\"}\n{\"item\": \"1\", \"output\": \"x\"}",
    ] {
        assert!(suite.read_predictions("p.jsonl", wrong.as_bytes()).is_err(), "{wrong}");
    }
}
