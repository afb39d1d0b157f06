//! Value scores of judges' answers.

use proptest::prelude::*;
use regatta_benchmarks::{RecordedVerdicts, Verdicts};
use regatta_proto::{PanelRule, Question, Verdict};

use super::panel::Said;
use super::*;
use crate::data::Agents;
use crate::decision::{Aggregated, Called, Quality};

/// `x` has one match and one unmatched value on each side; `y` has one match and is settled.
fn quality() -> Quality {
    let side = |value: &str| {
        let mut arguments = Aggregated::default();
        arguments.add_text(r#"{"x": "same", "y": 1, "z": 1}"#).unwrap();
        arguments.add_text(&format!(r#"{{"x": "{value}"}}"#)).unwrap();
        Called { names: Vec::new(), arguments }
    };
    Quality::new(&side("a"), &side("b"), &Agents::default())
}

fn score(text: &str, credit: Credit) -> ValueScore {
    value_score(&quality(), &Said::Text(text.to_owned()), credit)
}

/// F1 of `tp`, `fp`, `fn` beside the two settled matches.
fn with(tp: f64, fp: f64, fn_: f64) -> f64 {
    let tp = tp + 2.0;
    crate::decision::f1(tp / (tp + fp), tp / (tp + fn_))
}

#[test]
fn counts_of_the_judge_take_the_place_of_exact_matches_unless_these_are_kept() {
    let said = r#"{"x": {"matches": [], "tp_count": 1, "fp_count": 0, "fn_count": 0}}"#;
    let lost = score(said, Credit::Lost);
    assert_eq!((lost.f1, lost.is_error), (1.0, false));
    let none = value_score(&quality(), &Said::Nothing, Credit::Lost);
    assert_eq!(none.f1, with(0.0, 1.0, 1.0));
    let kept = value_score(&quality(), &Said::Nothing, Credit::Kept);
    assert_eq!(kept.f1, with(1.0, 1.0, 1.0));
}

#[test]
fn what_cannot_be_read_counts_as_not_said() {
    let fallback = with(0.0, 1.0, 1.0);
    for said in [
        "",
        "no JSON",
        "{",
        "}{",
        "{x}",
        r#"{"y": {"tp_count": 9}}"#,
        r#"{"x": {}}"#,
        r#"{"x": null}"#,
        r#"{"x": 0.0}"#,
    ] {
        assert_eq!(score(said, Credit::Lost).f1, fallback, "{said}");
    }
    assert_eq!(score(r#"{"x": {"tp_count": 1}} and {"x": 1}"#, Credit::Lost).f1, fallback, "two objects are none");
}

#[test]
fn thoughts_prose_fences_and_single_quotes_are_passed_over() {
    for said in [
        r#"[ID: EVAL_BATCH_0_0] {"x": {"tp_count": 1, "fp_count": 1}} Done."#,
        "```json\n{'x': {'tp_count': 1, 'fp_count': 1}}\n```",
        r#"<think>{"x": {"tp_count": 7}}</think>{"x": {"fp_count": 1, "tp_count": 1}}"#,
        r#"[{"x": {"tp_count": 1, "fp_count": 1}}]"#,
    ] {
        assert_eq!(score(said, Credit::Lost).f1, with(1.0, 1.0, 0.0), "{said}");
    }
}

#[test]
fn any_number_counts() {
    let said = |tp: &str| score(&format!(r#"{{"x": {{"tp_count": {tp}, "fp_count": 1}}}}"#), Credit::Lost);
    assert_eq!(said("0.5").f1, with(0.5, 1.0, 0.0));
    assert_eq!(said("true").f1, with(1.0, 1.0, 0.0));
    assert_eq!(said("-1").f1, with(-1.0, 1.0, 0.0));
    assert_eq!(said("-5").f1, 0.0);
    assert!((said("1e30").f1 - 1.0).abs() < 1e-9);
    assert!((said(&format!("1{}", "0".repeat(60))).f1 - 1.0).abs() < 1e-9);
    let beyond_floats = said(&format!("1{}", "0".repeat(400)));
    assert_eq!((beyond_floats.f1, beyond_floats.is_error), (1.0, false), "integers are divided as they are");
    assert_eq!((said("NaN").f1, said("NaN").is_error), (0.0, false));
}

#[test]
fn entries_that_are_no_objects_and_counts_that_are_no_numbers_spoil_the_step() {
    for said in [
        r#"{"x": 1}"#,
        r#"{"x": "yes"}"#,
        r#"{"x": [1]}"#,
        r#"{"x": true}"#,
        r#"{"x": {"tp_count": "1"}}"#,
        r#"{"x": {"fn_count": null}}"#,
        r#"{"x": {"fp_count": []}}"#,
    ] {
        assert!(score(said, Credit::Lost).is_error, "{said}");
        assert_eq!(score(said, Credit::Lost).f1, 0.0, "{said}");
    }
    assert!(value_score(&quality(), &Said::Null, Credit::Lost).is_error);
}

#[test]
fn nothing_called_for_nothing_is_right_for_the_paper_alone() {
    let empty = Quality::new(&Called::default(), &Called::default(), &Agents::default());
    assert_eq!(value_score(&empty, &Said::Nothing, Credit::Lost).f1, 0.0);
    assert_eq!(value_score(&empty, &Said::Nothing, Credit::Kept).f1, 1.0);
}

const RECORDED: &str = r#"{"item": "EN/1/1/7", "arguments": [], "response": "{}", "kind": "plain"}
{"item": "EN/1/1/8", "arguments": [], "response": null, "kind": "null"}
{"item": "EN/1/1/9", "arguments": [], "response": null, "error": true, "kind": "exception"}
{"item": "EN/1/2/7", "judge": "b", "key": "x", "tp": 1, "fp": 0, "fn": 0}
{"item": "EN/1/2/7", "judge": "a", "key": "x", "tp": 0, "fp": 1, "fn": 1}
"#;

fn about(item: &str) -> Question {
    question(item, Conversation { before: Vec::new(), prompt: "?".to_owned() })
}

#[test]
fn recorded_judgements_are_found_by_their_item() {
    let verdicts = RecordedVerdicts::read("judge.jsonl", RECORDED.as_bytes()).unwrap();
    let heard = |item: &str| verdicts.answer(&about(item)).map(|verdict| Heard::new(verdict).said().to_vec());
    let counts =
        |tp: u8, wrong: u8| Said::Text(format!(r#"{{"x":{{"tp_count":{tp},"fp_count":{wrong},"fn_count":{wrong}}}}}"#));
    assert_eq!(heard("EN/1/1/7"), Some(vec![Said::Text("{}".to_owned())]));
    assert_eq!(heard("EN/1/1/8"), Some(vec![Said::Null]));
    assert_eq!(heard("EN/1/1/9"), Some(vec![Said::Nothing]));
    assert_eq!(heard("EN/1/2/7"), Some(vec![counts(0, 1), counts(1, 0)]));
    assert_eq!(heard("EN/1/2/8"), None);
    assert!(verdicts.missing(&about("EN/1/2/8")).is_some() && verdicts.missing(&about("EN/1/1/9")).is_none());
    assert_eq!(verdicts.judges_of_arguments(), 2);
}

#[test]
fn malformed_records_are_refused_with_line_and_field() {
    let refused = |line: &str| RecordedVerdicts::read("judge.jsonl", line.as_bytes()).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            refused(r#"{"item": 1, "response": "x"}"#),
            refused(r#"{"item": "a", "response": 1}"#),
            refused(r#"{"item": "a", "response": null, "error": "yes"}"#),
            refused("{\"item\": \"a\", \"response\": \"x\"}\n{\"item\": \"a\", \"response\": \"y\"}"),
            refused(r#"{"item": "a", "judge": "b", "key": "x", "tp": 1, "fp": "0", "fn": 0}"#),
            refused(r#"{"item": "a", "judge": "b", "key": "x", "tp": 1, "fp": 0}"#),
            refused("{\"item\": \"a\", \"judge\": \"b\", \"key\": \"x\", \"tp\": 1, \"fp\": 0, \"fn\": 0}\n{\"item\": \"a\", \"judge\": \"b\", \"key\": \"x\", \"tp\": 2, \"fp\": 0, \"fn\": 0}"),
        ]
        .join("\n")
    );
}

#[test]
fn the_last_reply_of_each_member_counts() {
    let member = |replies: &[&str]| replies.iter().map(|reply| (*reply).to_owned()).collect::<Vec<_>>();
    let verdict = Verdict::Panel { rule: PanelRule::Majority, members: vec![member(&["a", "b"]), member(&[])] };
    assert_eq!(Heard::new(verdict).said(), [Said::Text("b".to_owned()), Said::Nothing]);
}

#[test]
fn without_an_answer_the_question_is_what_is_missing() {
    let verdicts = RecordedVerdicts::default();
    let conversation = || Conversation { before: Vec::new(), prompt: "which?".to_owned() };
    let asked = Judging::Verdicts(&verdicts).hear("EN/1/1/7", conversation).unwrap_err();
    assert_eq!(*asked, question("EN/1/1/7", conversation()));
    assert_eq!(Judging::Skip.hear("EN/1/1/7", conversation), Ok(Heard::nothing()));
}

proptest! {
    #[test]
    fn no_answer_makes_scoring_panic(said in prop_oneof![any::<String>(), "(\\{|\\}|\"x\"|:|'|1|e|-|tp_count|</think>| ){0,40}"]) {
        for credit in [Credit::Lost, Credit::Kept] {
            let score = score(&said, credit);
            prop_assert!(score.f1.is_finite() && score.precision.is_finite() && score.recall.is_finite());
        }
    }

    #[test]
    fn sensible_counts_give_a_share(tp in 0_u32..9, fp in 0_u32..9, fn_ in 0_u32..9) {
        let said = format!(r#"{{"x": {{"tp_count": {tp}, "fp_count": {fp}, "fn_count": {fn_}}}}}"#);
        prop_assert!((0.0..=1.0).contains(&score(&said, Credit::Lost).f1));
    }
}
