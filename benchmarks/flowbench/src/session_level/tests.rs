//! Rules of session scores, and properties that hold for every conversation.

use proptest::prelude::*;
use regatta_proto::{Question, Verdict};

use super::*;
use crate::turn_level::ParameterSchema;

const ALL: [Evaluator; 3] = [Evaluator::Official, Evaluator::OfficialFixed, Evaluator::Paper];

const PROMPT: &str = "API: rent\nRents a bicycle.\n\nPlease note that the current time is:2024-01-01 00:00:00 Monday";

/// Uses the dialogue as the prompt, so that questions show their subject.
struct Plain;

impl JudgePrompts for Plain {
    fn completion(&self, dialogue: &str) -> String {
        format!("Done? {dialogue}")
    }

    fn failure_type(&self, dialogue: &str) -> String {
        format!("Why? {dialogue}")
    }
}

/// A judge with fixed answers by kind.
struct Judged(&'static [(&'static str, &'static str)]);

impl Verdicts for Judged {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        let Question::Judgement { kind, .. } = question else { return None };
        let (_, reply) = self.0.iter().find(|(known, _)| known == kind)?;
        Some(Verdict::Replies { replies: vec![(*reply).to_owned()] })
    }
}

const SUCCESS: (&str, &str) = ("completion", "Result: yes\nTotal number of goals: 2\nNumber of accomplished goals: 3");
const FAILURE: (&str, &str) = ("completion", "Result: no\nTotal number of goals: 2\nNumber of accomplished goals: 1");
const TYPE: (&str, &str) = ("failure_type", "Type: 4");

fn tools() -> Vec<ToolSchema> {
    let parameter = |name: &str, required, description: &str| ParameterSchema {
        name: name.to_owned(),
        required,
        description: description.to_owned(),
    };
    let parameters = vec![
        parameter("place", true, "Where"),
        parameter("note", false, "Anything"),
        parameter("kind", true, "Enumeration type, [city, race]"),
    ];
    vec![ToolSchema { name: "rent".to_owned(), parameters }]
}

fn session<'a>(gold: &'a str, messages: &'a [Message], tools: &'a [ToolSchema]) -> Session<'a> {
    Session {
        id: "s",
        scope: Scope::Single,
        domain: "Bicycles",
        messages,
        failure: None,
        gold_actions: gold,
        system_prompt: PROMPT,
        tools,
        charts: &[],
        prompts: &Plain,
        official: None,
    }
}

fn call(name: &str, input: &str) -> Message {
    Message::assistant(format!("Thought: t\nAction: {name}\nAction Input: {input}"), None)
}

fn gold(input: &str) -> String {
    format!("Action: rent\nAction Input: {input}")
}

/// Right, predicted and gold calls of each evaluator.
fn counts(gold: &str, messages: &[Message], judged: Judged) -> [(f64, f64, f64); 3] {
    let tools = tools();
    let Scoring::Scored(scores) = score(&session(gold, messages, &tools), &ALL, &judged) else { panic!("{gold}") };
    ALL.map(|evaluator| {
        let values = &scores[&evaluator].values;
        (values[value::RIGHT], values[value::PREDICTED], values[value::GOLD])
    })
}

fn rights(gold: &str, messages: &[Message], judged: Judged) -> [f64; 3] {
    counts(gold, messages, judged).map(|(right, ..)| right)
}

fn needs(session: &Session<'_>, evaluators: &[Evaluator], judged: Judged) -> Vec<(String, Vec<String>)> {
    match score(session, evaluators, &judged) {
        Scoring::Scored(_) | Scoring::Unfit(_) | Scoring::Failed(_) => Vec::new(),
        Scoring::Needs(questions) => questions
            .into_iter()
            .map(|question| match question {
                Question::Judgement { kind, about, .. } => (kind, about),
                Question::Similarity { .. } => panic!("{question:?}"),
            })
            .collect(),
    }
}

#[test]
fn the_released_code_finds_no_call_with_a_text_in_it() {
    let same = [call("rent", r#"{"place": "Bonn"}"#)];
    assert_eq!(rights(&gold(r#"{"place": "Bonn"}"#), &same, Judged(&[SUCCESS])), [0.0, 1.0, 1.0]);
    let number = [call("rent", r#"{"place": 1, "note": "n"}"#)];
    assert_eq!(rights(&gold(r#"{"place": 1}"#), &number, Judged(&[SUCCESS])), [1.0, 1.0, 1.0]);
}

#[test]
fn no_call_counts_as_one_in_the_released_code() {
    let talk = [Message::assistant("Thought: t\nResponse: r", None)];
    assert_eq!(counts("", &talk, Judged(&[SUCCESS])), [(1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)]);
    let made = [call("rent", "{}")];
    assert_eq!(counts("", &made, Judged(&[SUCCESS])), [(0.0, 1.0, 1.0), (0.0, 1.0, 1.0), (0.0, 1.0, 0.0)]);
}

#[test]
fn one_call_may_be_right_for_several_and_the_order_does_not_matter() {
    let twice = format!("{}\n\n{}", gold(r#"{"place": 1}"#), gold(r#"{"place": 1}"#));
    let made = [call("other", "{}"), call("rent", r#"{"place": 1}"#)];
    assert_eq!(rights(&twice, &made, Judged(&[SUCCESS])), [2.0, 2.0, 2.0]);
}

#[test]
fn nested_arguments_read_as_none_in_the_released_code() {
    let nested = r#"{"place": {"city": 1}}"#;
    assert_eq!(rights(&gold(nested), &[call("rent", "{}")], Judged(&[SUCCESS])), [1.0, 1.0, 0.0]);
    assert_eq!(rights(&gold(r#"{"place": 1}"#), &[call("rent", nested)], Judged(&[SUCCESS])), [0.0, 0.0, 0.0]);
    assert_eq!(rights(&gold(nested), &[call("rent", nested)], Judged(&[SUCCESS])), [1.0, 1.0, 1.0]);
}

#[test]
fn capitals_in_names_matter_to_the_paper_only() {
    let made = [call("functions.RENT", r#"{"PLACE": 1}"#)];
    assert_eq!(rights(&gold(r#"{"place": 1}"#), &made, Judged(&[SUCCESS])), [1.0, 1.0, 0.0]);
}

#[test]
fn optional_and_empty_gold_arguments_need_not_be_there_in_the_paper() {
    let made = [call("rent", r#"{"place": 1.0}"#)];
    assert_eq!(rights(&gold(r#"{"place": 1, "note": "n", "kind": ""}"#), &made, Judged(&[SUCCESS])), [0.0, 0.0, 1.0]);
}

#[test]
fn enumerations_are_compared_exactly_without_a_judge() {
    let made = [call("rent", r#"{"kind": "City"}"#)];
    assert_eq!(rights(&gold(r#"{"kind": "city"}"#), &made, Judged(&[SUCCESS])), [0.0, 1.0, 0.0]);
}

#[test]
fn calls_of_the_user_count_in_the_released_code_only() {
    let said = [Message::user(format!("x\n{}", gold(r#"{"place": 1}"#)))];
    assert_eq!(rights(&gold(r#"{"place": 1}"#), &said, Judged(&[SUCCESS])), [1.0, 1.0, 0.0]);
}

#[test]
fn an_undecided_judge_agrees_officially_and_not_in_the_paper() {
    let made = [call("rent", r#"{"place": "Bonn"}"#)];
    let rights = rights(&gold(r#"{"place": "Köln"}"#), &made, Judged(&[SUCCESS, ("fuzzy", "maybe")]));
    assert_eq!(rights, [0.0, 1.0, 0.0]);
}

#[test]
fn everything_that_is_missing_is_asked_at_once_and_the_reason_once_it_is_known_to_have_failed() {
    let tools = tools();
    let made = [call("rent", r#"{"place": "Bonn"}"#), call("rent", r#"{"place": "Köln"}"#)];
    let gold = gold(r#"{"place": "Trier"}"#);
    let session = session(&gold, &made, &tools);
    let question =
        |kind: &str, about: &[&str]| (kind.to_owned(), about.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    let completion = question("completion", &["s"]);
    let places = [
        question("fuzzy", &["rent", "place", "trier", "bonn"]),
        question("fuzzy", &["rent", "place", "trier", "köln"]),
        question("fuzzy", &["rent", "place", "Trier", "Bonn"]),
        question("fuzzy", &["rent", "place", "Trier", "Köln"]),
    ];
    assert_eq!(needs(&session, &[Evaluator::Official], Judged(&[])), std::slice::from_ref(&completion));
    let all: Vec<_> = [completion].into_iter().chain(places.clone()).collect();
    assert_eq!(needs(&session, &ALL, Judged(&[])), all);
    assert_eq!(needs(&session, &ALL, Judged(&[SUCCESS])), places);
    let reason = question("failure_type", &["s"]);
    assert_eq!(needs(&session, &ALL, Judged(&[FAILURE, ("fuzzy", "no")])), [reason]);
    assert_eq!(needs(&session, &ALL, Judged(&[FAILURE, TYPE, ("fuzzy", "no")])), []);
}

#[test]
fn a_tool_that_the_prompt_lacks_is_a_refusal_in_the_repaired_code() {
    let tools = tools();
    let made = [call("lend", r#"{"place": "Bonn"}"#)];
    let gold = "Action: lend\nAction Input: {\"place\": \"Trier\"}";
    let session = session(gold, &made, &tools);
    assert_eq!(needs(&session, &[Evaluator::OfficialFixed], Judged(&[SUCCESS])), []);
    assert_eq!(needs(&session, &[Evaluator::Paper], Judged(&[SUCCESS])).len(), 1);
}

#[test]
fn a_success_beyond_the_limit_of_turns_is_none_in_the_paper() {
    let tools = tools();
    let many = vec![Message::assistant("Thought: t\nResponse: r", None); 16];
    let scored = |scope| {
        let session = Session { scope, ..session("", &many, &tools) };
        let Scoring::Scored(scores) = score(&session, &ALL, &Judged(&[SUCCESS, TYPE])) else { panic!() };
        scores
    };
    let (single, cross) = (scored(Scope::Single), scored(Scope::Cross));
    assert_eq!(single[&Evaluator::Official].detail["success_gpt"], "1");
    assert_eq!(single[&Evaluator::Official].detail["progress_gpt"], 1.5);
    let paper = &single[&Evaluator::Paper];
    assert_eq!((&paper.detail["success"], &paper.detail["over_limit"]), (&json!(0), &json!(true)));
    assert_eq!((&paper.detail["failure_type"], paper.values[value::PROGRESS]), (&json!(4), 1.0));
    assert_eq!(cross[&Evaluator::Paper].detail["success"], 1);
    assert_eq!(cross[&Evaluator::Paper].detail.get("failure_type"), None);
}

#[test]
fn a_session_that_broke_off_has_failed_without_asking_whether() {
    let tools = tools();
    let said = [Message::user("hello"), call("rent", "{}")];
    let failure = Failure::UnknownTool("lend".to_owned());
    let session = Session { failure: Some(&failure), ..session("", &said, &tools) };
    let Scoring::Scored(scores) = score(&session, &ALL, &Judged(&[SUCCESS, TYPE])) else { panic!() };
    for score in scores.values() {
        assert_eq!((score.values[value::SUCCESS], score.values[value::PROGRESS]), (0.0, 0.0));
        assert_eq!(score.detail["broke_off"], json!({"reason": "unknown_tool", "by": "agent"}));
    }
}

#[test]
fn a_session_that_broke_off_at_once_is_wrong_throughout_and_lacks_no_value() {
    let (tools, gold) = (tools(), gold(r#"{"place": 1}"#));
    let made = [call("rent", r#"{"place": 1}"#)];
    let Scoring::Scored(full) = score(&session(&gold, &made, &tools), &ALL, &Judged(&[SUCCESS])) else { panic!() };
    for gold in ["", &gold] {
        let broken = Session { failure: Some(&Failure::NoAgentOutput), ..session(gold, &[], &tools) };
        let Scoring::Scored(scores) = score(&broken, &ALL, &Judged(&[TYPE])) else { panic!() };
        for (evaluator, score) in scores {
            assert!(score.values.keys().eq(full[&evaluator].values.keys()));
            assert!([value::SUCCESS, value::PROGRESS, value::RIGHT].iter().all(|name| score.values[*name] == 0.0));
        }
    }
}

#[test]
fn a_model_that_repeats_itself_costs_no_fortune() {
    let (tools, gold) = (tools(), gold(r#"{"place": "Trier"}"#));
    let made: Vec<Message> = (0..300).map(|n| call("rent", &format!(r#"{{"place": "{n}"}}"#))).collect();
    let asked = needs(&session(&gold, &made, &tools), &[Evaluator::Paper], Judged(&[SUCCESS, TYPE]));
    assert_eq!(asked.len(), 100);
}

#[test]
fn what_can_be_seen_without_a_judge_stands_beside_the_judges_category() {
    let tools = tools();
    let gold = gold("{}");
    let Scoring::Scored(scores) = score(&session(&gold, &[], &tools), &[Evaluator::Paper], &Judged(&[FAILURE, TYPE]))
    else {
        panic!()
    };
    let detail = &scores[&Evaluator::Paper].detail;
    assert_eq!(detail["failure_type"], 4);
    assert_eq!(detail["failure_structured"], json!({"category": 1, "call_missing": "rent"}));
}

#[test]
fn a_megabyte_of_anything_is_scored_at_once() {
    let tools = tools();
    for part in [
        "Action: ",
        "Action: rent\n",
        "Action: rent\nAction Input: {",
        "{\"a\":",
        "\n\n",
        "intent=",
        "Action Input: {",
        "é",
    ] {
        let text = part.repeat(1_000_000 / part.len());
        let messages = [Message::assistant(text.clone(), None)];
        let gold = gold(r#"{"place": 1}"#);
        assert!(matches!(score(&session(&gold, &messages, &tools), &ALL, &Judged(&[SUCCESS])), Scoring::Scored(_)));
        assert!(intents(&text).is_empty() && nodes(&text).is_empty());
    }
}

fn text() -> impl Strategy<Value = String> {
    let parts = vec![
        "Thought: t",
        "\nResponse: r",
        "Action: ",
        "rent",
        "\n",
        "\nAction Input: ",
        "{\"place\": \"Bonn\"}",
        "{\"place\": 1}",
        "{",
        "}",
        "\n\n",
        "// why",
        "current_node=AB001.",
        "intent=x,",
        "é\u{0}",
        "NaN",
        "functions.",
    ];
    proptest::collection::vec(prop::sample::select(parts), 0..16).prop_map(|parts| parts.concat())
}

fn arguments() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(|value| json!(value)),
        any::<i32>().prop_map(|value| json!(value)),
        "[a-zA-Z0-9 .,:é-]{0,12}".prop_map(|value| json!(value)),
        Just(Value::Null),
    ];
    proptest::collection::btree_map("[a-z]{1,5}", leaf, 0..4).prop_map(|map| json!(map))
}

proptest! {
    #[test]
    fn any_texts_are_scored(texts in proptest::collection::vec((0_u8..3, text()), 0..6), gold in text()) {
        let message = |(speaker, text): &(u8, String)| match speaker {
            0 => Message::user(text),
            1 => Message::function("rent", text),
            _ => Message::assistant(text, None),
        };
        let messages: Vec<Message> = texts.iter().map(message).collect();
        let tools = tools();
        let judged = Judged(&[FAILURE, TYPE, ("fuzzy", "yes")]);
        let Scoring::Scored(scores) = score(&session(&gold, &messages, &tools), &ALL, &judged) else { panic!() };
        for score in scores.values() {
            prop_assert!(score.values.values().all(|value| value.is_finite()));
            prop_assert!(score.values[value::RIGHT] <= score.values[value::GOLD]);
        }
    }

    #[test]
    fn whoever_makes_the_gold_calls_has_made_them(calls in proptest::collection::vec(arguments(), 0..5), reversed in any::<bool>()) {
        let gold: Vec<String> = calls.iter().map(|arguments| gold(&arguments.to_string())).collect();
        let mut messages: Vec<Message> = gold.iter().map(|text| Message::assistant(format!("Thought: t\n{text}"), None)).collect();
        if reversed {
            messages.reverse();
        }
        let [_, fixed, paper] = counts(&gold.join("\n\n"), &messages, Judged(&[SUCCESS]));
        prop_assert_eq!(fixed.0, fixed.2);
        prop_assert_eq!(paper, (calls.len() as f64, calls.len() as f64, calls.len() as f64));
    }
}
