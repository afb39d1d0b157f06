//! Scoring of a turn: properties, and examples that the golden vectors lack.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use regatta_benchmarks::{Score, Scoring, Verdicts};
use regatta_proto::{Evaluator, FileSet, Question, Verdict};
use serde_json::{Value, json};

use super::folder::{FolderScoring, score_folder};
use super::{GoldCall, GoldTurn, ParameterSchema, ToolSchema, TurnRecord, score};

const ALL: [Evaluator; 3] = [Evaluator::Official, Evaluator::OfficialFixed, Evaluator::Paper];

const PROMPT: &str = "Be kind.\n\nAPI: alpha\nAPI Desciption: first\n\nAPI: beta\nAPI Desciption: second\n\n\n\
                      Please note that the current time is:2035-01-02 10:00:00 Tuesday";

/// A judge that always gives the same reply, if any.
struct Says(Option<&'static str>);

impl Verdicts for Says {
    fn answer(&self, _: &Question) -> Option<Verdict> {
        self.0.map(|reply| Verdict::Replies { replies: vec![reply.to_owned()] })
    }
}

fn record<'a>(call: Option<(&'a str, &'a str)>) -> TurnRecord<'a> {
    TurnRecord {
        id: "s1_agent_turn-1",
        system_prompt: PROMPT,
        gold: GoldTurn {
            call: call.map(|(action, input)| GoldCall { action, input }),
            current_node: Some("AB001 AND CD002"),
            response: "Hello.",
        },
        tools: &[],
        workflow_text: "First greet.",
        official: None,
    }
}

fn output(action: &str, input: &str) -> String {
    format!("Thought: current_node=AB001 AND CD002.\nAction: {action}\nAction Input: {input}")
}

#[track_caller]
fn scored(record: &TurnRecord<'_>, output: &str, judge: Option<&'static str>) -> BTreeMap<Evaluator, Score> {
    match score(record, Some(output), &ALL, &Says(judge)) {
        Scoring::Scored(scores) => scores,
        other => panic!("needs {other:?}"),
    }
}

fn questions(record: &TurnRecord<'_>, output: &str, evaluator: Evaluator) -> Vec<Vec<String>> {
    match score(record, Some(output), &[evaluator], &Says(None)) {
        Scoring::Scored(_) | Scoring::Unfit(_) | Scoring::Failed(_) => Vec::new(),
        Scoring::Needs(questions) => questions
            .into_iter()
            .map(|question| match question {
                Question::Judgement { about, .. } => about,
                Question::Similarity { .. } => panic!("no judgement"),
            })
            .collect(),
    }
}

/// `right_function` and the flag of the report.
fn call_right(score: &Score) -> (Value, Value) {
    (score.detail["right_function"].clone(), score.detail["right_api_flag"].clone())
}

#[test]
fn the_parameters_count_even_for_the_wrong_tool() {
    let scores =
        scored(&record(Some(("alpha", r#"{"k": 1, "m": "x"}"#))), &output("beta", r#"{"k": 1, "n": 2}"#), None);
    for evaluator in ALL {
        let detail = &scores[&evaluator].detail;
        assert_eq!(detail["right_function"], 0, "{evaluator}");
        assert_eq!(
            (&detail["all_params"], &detail["all_params_pred"], &detail["right_params"]),
            (&json!(2), &json!(2), &json!(1))
        );
    }
}

#[test]
fn the_evaluators_ask_a_question_they_share_once() {
    let record = record(Some(("alpha", r#"{"city": "New York"}"#)));
    let output = output("alpha", r#"{"city": "York, new"}"#);
    let Scoring::Needs(all) = score(&record, Some(&output), &ALL, &Says(None)) else { panic!("needs nothing") };
    assert_eq!(all.len(), 2, "as it is, and in lower case");
    let about = |city: [&str; 2]| ["alpha", "city", city[0], city[1]].map(str::to_owned).to_vec();
    let as_it_is = about(["New York", "York, new"]);
    assert_eq!(questions(&record, &output, Evaluator::Official), [as_it_is.clone(), about(["new york", "york, new"])]);
    assert_eq!(questions(&record, &output, Evaluator::Paper), [as_it_is]);
}

#[test]
fn an_undecided_judge_agrees_officially_and_not_for_the_paper() {
    let scores = scored(&record(Some(("alpha", r#"{"k": "a"}"#))), &output("alpha", r#"{"k": "b"}"#), Some("perhaps"));
    let right: Vec<&Value> = ALL.iter().map(|evaluator| &scores[evaluator].detail["right_function"]).collect();
    assert_eq!(right, [1, 1, 0]);
}

#[test]
fn a_tool_that_the_prompt_lacks_ends_the_official_run_only_when_a_judge_is_needed() {
    let record = record(Some(("alpha", r#"{"k": "a"}"#)));
    let scores = scored(&record, &output("gamma", r#"{"k": "b"}"#), Some("yes"));
    assert_eq!(scores[&Evaluator::Official].detail, json!({ "error": "ValueError" }));
    assert_eq!(scores[&Evaluator::Official].values["crashed"], 1.0);
    assert_eq!(scores[&Evaluator::OfficialFixed].detail["right_params"], 1);
    let scores = scored(&record, &output("gamma", r#"{"k": "a"}"#), None);
    assert_eq!(scores[&Evaluator::Official].detail["right_params"], 1);
}

#[test]
fn the_time_must_be_in_the_prompt_when_a_judge_is_needed() {
    let mut record = record(Some(("alpha", r#"{"k": "a"}"#)));
    record.system_prompt = "API: alpha\n\n";
    let scores = scored(&record, &output("alpha", r#"{"k": "b"}"#), Some("yes"));
    assert_eq!(scores[&Evaluator::Official].detail, json!({ "error": "AttributeError" }));
    assert_eq!(
        call_right(&scores[&Evaluator::OfficialFixed]),
        (json!(1), json!("1")),
        "asked anyway, in both comparisons"
    );
}

#[test]
fn an_exception_of_the_second_comparison_only_makes_the_call_wrong() {
    // The keys differ in case, so the first comparison asks nothing; the second one would, but lacks the tool.
    let mut record = record(Some(("alpha", r#"{"K": "a"}"#)));
    record.system_prompt = "nothing";
    let scores = scored(&record, &output("alpha", r#"{"k": "b"}"#), Some("yes"));
    for evaluator in [Evaluator::Official, Evaluator::OfficialFixed] {
        assert_eq!(call_right(&scores[&evaluator]), (json!(0), json!("")), "{evaluator}");
    }
}

#[test]
fn a_missing_argument_does_not_end_the_comparison_but_a_wrong_type_does() {
    let record = record(Some(("alpha", r#"{"a": 1, "b": "x", "c": 2, "d": "y"}"#)));
    let asked = questions(&record, &output("alpha", r#"{"B": "u", "C": 2.0, "D": "v"}"#), Evaluator::Official);
    let names: Vec<&str> = asked.iter().map(|about| about[1].as_str()).collect();
    assert_eq!(names, ["b"]);
}

#[test]
fn lower_case_may_break_and_mend_json() {
    let nan = scored(&record(Some(("alpha", r#"{"k": 1}"#))), &output("alpha", r#"{"k": 1, "extra": NaN}"#), None);
    assert_eq!(call_right(&nan[&Evaluator::Official]), (json!(0), json!("")));
    assert_eq!(nan[&Evaluator::Official].detail["right_params"], 1);
    let escape = scored(&record(Some(("alpha", r#"{"k": "abc"}"#))), &output("alpha", r#"{"k": "\U0061BC"}"#), None);
    assert_eq!(call_right(&escape[&Evaluator::Official]), (json!(1), json!("1")));
    assert_eq!(escape[&Evaluator::Official].detail["all_params_pred"], 0);
}

#[test]
fn the_message_of_a_failed_call_is_skipped_officially_and_empty_for_the_paper() {
    let scores =
        scored(&record(Some(("alpha", r#"{"k": 1}"#))), " api call error: x current_node=AB001 AND CD002", None);
    assert_eq!(scores[&Evaluator::Official].detail, json!({ "skipped": true }));
    assert_eq!(scores[&Evaluator::OfficialFixed].detail["all_function"], 0);
    assert_eq!(scores[&Evaluator::Paper].detail["all_function"], 1);
    assert_eq!(scores[&Evaluator::Paper].detail["node_pred"], Value::Null);
}

#[test]
fn a_prediction_that_is_no_text_ends_the_official_run_and_is_empty_otherwise() {
    let record = record(Some(("alpha", "{}")));
    let Scoring::Scored(scores) = score(&record, None, &ALL, &Says(None)) else { panic!("needs a judge") };
    assert_eq!(scores[&Evaluator::Official].detail, json!({ "error": "TypeError" }));
    assert_eq!(scores[&Evaluator::OfficialFixed].detail["all_function"], 1);
    assert_eq!(scores[&Evaluator::Paper].detail["all_function"], 1);
}

#[test]
fn the_paper_checks_required_parameters_and_those_that_no_schema_has() {
    let parameter = |name: &str, required, description: &str| ParameterSchema {
        name: name.to_owned(),
        required,
        description: description.to_owned(),
    };
    let tools = [
        ToolSchema {
            name: "alpha".to_owned(),
            parameters: vec![
                parameter("must", true, "Something"),
                parameter("may", false, "Something"),
                parameter("kind", true, "The kind. Enumeration type, [one, two]"),
            ],
        },
        ToolSchema { name: "alpha".to_owned(), parameters: Vec::new() },
    ];
    let right = |gold: &str, predicted: &str| {
        let mut record = record(Some(("alpha", gold)));
        record.tools = &tools;
        scored(&record, &output("alpha", predicted), Some("yes"))[&Evaluator::Paper].detail["right_function"] == 1
    };
    assert!(right(r#"{"must": 1, "may": 2}"#, r#"{"must": 1.0}"#));
    assert!(!right(r#"{"must": 1}"#, r#"{"must": true}"#));
    assert!(!right(r#"{"must": 1, "other": 2}"#, r#"{"must": 1}"#));
    assert!(right(r#"{"must": 1, "other": []}"#, r#"{"must": 1}"#), "an argument left out in the gold");
    assert!(!right(r#"{"other": {}}"#, "{}"), "an empty object is not left out");
    assert!(right(r#"{"must": "a"}"#, r#"{"must": "b"}"#), "the judge says so");
    assert!(!right(r#"{"kind": "one"}"#, r#"{"kind": "One"}"#), "an enumeration is not judged");
    assert!(!right(r#"{"must": ["a"]}"#, r#"{"must": ["b"]}"#), "nor is what is inside a list");
}

#[test]
fn a_reply_that_only_the_judge_gave_no_points_counts_in_no_mean() {
    let of = |judge| scored(&record(None), "Response: Hi!", Some(judge)).remove(&Evaluator::Paper).unwrap();
    let (scored, unread) = (of("Score: 8"), of("ten"));
    assert!(!unread.values.contains_key("response_score"));
    let found = super::aggregate(Evaluator::Paper, &[&scored, &unread]);
    let told = ["response_score_mean", "response_scored", "response_unscored"].map(|name| found[name].clone());
    assert_eq!(told, [json!(8.0), json!(1), json!(1)]);
}

#[test]
fn only_gold_replies_are_given_points() {
    let reply = scored(&record(None), "Thought: x\nResponse: Hi!", Some("Score: 7.5"));
    assert_eq!(reply[&Evaluator::Paper].values["response_score"], 7.5);
    assert!(!reply[&Evaluator::Official].values.contains_key("response_score"));
    let unread = scored(&record(None), "Response: Hi!", Some("ten"));
    assert_eq!(unread[&Evaluator::Paper].detail["response_score"], Value::Null);
    assert_eq!(unread[&Evaluator::Paper].values["response_unscored"], 1.0);
    let Scoring::Needs(needs) = score(&record(None), Some("Response: Hi!"), &ALL, &Says(None)) else {
        panic!("needs nothing")
    };
    let [Question::Judgement { kind, about, prompt, .. }] = &needs[..] else { panic!("{needs:?}") };
    assert_eq!((kind.as_str(), &about[..]), ("response_score", &["s1_agent_turn-1".to_owned()][..]));
    assert!(["First greet.", "Hello.", "Hi!"].iter().all(|told| prompt.contains(told)), "{prompt}");
}

const SYSTEM: &str = "API: alpha\\n\\nPlease note that the current time is:now";

fn line(thought: &str, prediction: &str) -> String {
    format!(
        r#"{{"id": "x", "messages": [{{"role": "system", "content": "{SYSTEM}"}}], "gt_thought": {thought}, "predict": {prediction}}}"#
    )
}

fn folder(lines: &[String], repaired: bool) -> Value {
    let mut files = FileSet::from_origin("test");
    files.insert("runs/a.jsonl", lines.join("\n").into_bytes());
    files.insert("runs/deeper/b.jsonl", b"{}".to_vec());
    match score_folder(&files, "runs/", None, repaired, &Says(Some("yes"))) {
        FolderScoring::Scored(scored) => scored,
        FolderScoring::Needs(questions) => panic!("{questions:?}"),
    }
}

#[test]
fn what_is_no_text_where_a_text_must_be_ends_the_official_run_with_the_error_of_python() {
    let call = r#"{"Action": "alpha", "Action Input": "{\"k\": 1}"}"#;
    for (thought, prediction, error) in [
        (call, "null", "TypeError"),
        (call, "4", "TypeError"),
        (call, r#"" 4e2 ""#, "TypeError"),
        (call, "[]", "AttributeError"),
        (r#""the Action""#, "\"x\"", "TypeError"),
        ("null", "\"x\"", "TypeError"),
        (r#"{"Action": "alpha"}"#, "\"x\"", "KeyError"),
        ("{}", r#""Action Input: {{}""#, "AttributeError"),
    ] {
        let line = [line(thought, prediction)];
        assert_eq!(folder(&line, false), json!({ "error": error, "aggregate": null }), "{line:?}");
        assert_eq!(folder(&line, true)["error"], Value::Null, "{line:?}");
    }
}

#[test]
fn a_numeric_text_beside_others_stays_a_text() {
    let lines = [line("{}", "\"42\""), line("{}", "\"x\"")];
    assert_eq!(folder(&lines, false)["error"], Value::Null);
    assert_eq!(folder(&lines[..1], false)["error"], "TypeError");
    assert_eq!(folder(&lines[..1], true)["error"], Value::Null);
}

#[test]
fn files_without_predictions_end_the_official_loop_and_unreadable_ones_do_not() {
    let good = line(r#"{"Action": "alpha", "Action Input": "{}"}"#, r#""Action: alpha\nAction Input: {}""#);
    let good = good.as_str();
    let right = |between: &str| {
        let mut files = FileSet::from_origin("test");
        for (name, content) in [("a.jsonl", good), ("b.jsonl", between), ("c.jsonl", good)] {
            files.insert(name, content.as_bytes().to_vec());
        }
        match score_folder(&files, "", None, false, &Says(None)) {
            FolderScoring::Scored(scored) => scored["aggregate"]["call_right"].clone(),
            FolderScoring::Needs(questions) => panic!("{questions:?}"),
        }
    };
    for unreadable in ["{\"id\":", "{}\n5", "[]\n5", "\u{feff}{}", "{\"a\": 18446744073709551616}"] {
        assert_eq!(right(unreadable), 2, "{unreadable:?}");
    }
    for without in ["", "\n \n", "{}", "{}\n[]", "{\"a\":1,},{}", "[1]\n{\"predict\": \"x\"}"] {
        assert_eq!(right(without), 1, "{without:?}");
    }
}

/// A JSON argument, and `true` if the evaluators treat it as left out.
fn argument() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(Value::from),
        "[a-zA-Z0-9 .,!é\\\\-]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{1,4}", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

/// Outputs composed of the labels that the evaluators search for.
fn any_output() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("Thought: ".to_owned()),
        Just("Action: ".to_owned()),
        Just("Action Input: ".to_owned()),
        Just("Response: ".to_owned()),
        Just("current_node=AB001".to_owned()),
        Just("functions.".to_owned()),
        Just("\n".to_owned()),
        Just("alpha".to_owned()),
        Just("gamma".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just(r#"{"k": "a"}"#.to_owned()),
        Just(r#"{"k": "b", "l": 1.0}"#.to_owned()),
        Just(r#"{"K": "b"}"#.to_owned()),
        Just("api call error".to_owned()),
        ".{0,4}",
    ];
    proptest::collection::vec(part, 0..16).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn the_gold_as_prediction_is_right_without_any_question(
        arguments in proptest::collection::btree_map("[a-z_]{1,6}", argument(), 0..5),
    ) {
        let input = json!(arguments).to_string();
        let scores = scored(&record(Some(("alpha", &input))), &output("alpha", &input), None);
        for evaluator in ALL {
            let detail = &scores[&evaluator].detail;
            prop_assert_eq!(&detail["right_function"], 1, "{}", evaluator);
            prop_assert_eq!(&detail["right_params"], arguments.len(), "{}", evaluator);
        }
        prop_assert_eq!(&scores[&Evaluator::Paper].detail["node_right"], 1);
    }

    #[test]
    fn any_output_is_scored_and_the_repair_changes_only_what_crashes(
        output in any_output(),
        gold in prop_oneof![
            Just(None),
            Just(Some(("alpha", r#"{"k": "a", "l": 1}"#))),
            Just(Some(("gamma", r#"{"k": "a"}"#))),
            Just(Some(("alpha", "{k: 1}"))),
        ],
        time in any::<bool>(),
        says in prop_oneof![Just("yes"), Just("no"), Just("perhaps")],
    ) {
        let mut record = record(gold);
        if !time {
            record.system_prompt = "API: alpha\n\n";
        }
        let scores = scored(&record, &output, Some(says));
        let (official, fixed) = (&scores[&Evaluator::Official], &scores[&Evaluator::OfficialFixed]);
        if official.detail.get("error").is_none() {
            let differing: Vec<&String> = official
                .detail
                .as_object()
                .unwrap()
                .iter()
                .filter(|(name, value)| fixed.detail[name.as_str()] != **value)
                .map(|(name, _)| name)
                .collect();
            prop_assert!(differing.is_empty(), "{:?}: {} {}", differing, official.detail, fixed.detail);
        }
    }

    #[test]
    fn answers_to_what_was_asked_are_enough(output in any_output()) {
        let record = record(Some(("alpha", r#"{"k": "a", "l": 1}"#)));
        if let Scoring::Needs(asked) = score(&record, Some(&output), &ALL, &Says(None)) {
            struct Asked(Vec<Question>);
            impl Verdicts for Asked {
                fn answer(&self, question: &Question) -> Option<Verdict> {
                    self.0.contains(question).then(|| Verdict::Replies { replies: vec!["yes".to_owned()] })
                }
            }
            prop_assert!(matches!(score(&record, Some(&output), &ALL, &Asked(asked)), Scoring::Scored(_)));
        }
    }
}

#[test]
fn a_megabyte_of_anything_is_scored_in_linear_time() {
    let start = Instant::now();
    let gold = format!(r#"{{"k": "{}"}}"#, "a".repeat(1000));
    for part in
        ["Action: ", "Action Input: {", "{\"k\":", "[", "\"", "Response: ", "current_node=", " AND ", "a", "\u{130}"]
    {
        let long = part.repeat(1_000_000 / part.len());
        for output in [&long, &output("alpha", &long), &output("alpha", &format!("{{\"k\": {}}}", json!(long)))] {
            for call in [None, Some(("alpha", gold.as_str()))] {
                let scores = score(&record(call), Some(output), &ALL, &Says(Some("no")));
                assert!(matches!(scores, Scoring::Scored(_)));
            }
        }
    }
    // Generous; quadratic time would take hours.
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
}
