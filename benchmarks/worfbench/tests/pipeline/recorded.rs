//! Recorded verdicts.

use regatta_benchmarks::{MissingVerdict, RecordedVerdicts, Verdicts};
use regatta_proto::{Question, Verdict};

fn question(left: &[&str], right: &[&str]) -> Question {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    Question::Similarity { left: texts(left), right: texts(right) }
}

fn read(content: &str) -> RecordedVerdicts {
    RecordedVerdicts::read("judge.jsonl", content.as_bytes()).unwrap()
}

fn micro(verdicts: &RecordedVerdicts, left: &[&str], right: &[&str]) -> Option<Vec<Vec<i32>>> {
    match verdicts.answer(&question(left, right)) {
        Some(Verdict::Similarity { micro }) => Some(micro),
        _ => None,
    }
}

#[test]
fn similarities_are_looked_up_by_pair_whoever_asks() {
    let verdicts = read(
        "{\"item\":\"x\",\"pred_texts\":[\"a\",\"b\"],\"gold_texts\":[\"b\",\"c\"],\"sim\":[[0.5,-0.1234567],[0.1,0.25]]}\n\
         {\"item\":\"y\",\"pred_texts\":[\"d\"],\"gold_texts\":[\"c\"],\"sim\":[[1]]}",
    );
    assert_eq!(micro(&verdicts, &["a", "d"], &["c"]), Some(vec![vec![-123_457], vec![1_000_000]]));
    assert_eq!(micro(&verdicts, &["c"], &["b"]), Some(vec![vec![250_000]]), "in either order");
    assert_eq!(micro(&verdicts, &["b", "z"], &["b"]), None);
    let missing = MissingVerdict::Similarity { left: "z".into(), right: "b".into() };
    assert_eq!(verdicts.missing(&question(&["b", "z"], &["b"])), Some(missing));
    assert_eq!(verdicts.missing(&question(&["a"], &["b"])), None);
}

#[test]
fn equal_texts_are_exactly_alike_whatever_is_recorded() {
    let verdicts = read("{\"pred_texts\":[\"a\"],\"gold_texts\":[\"a\"],\"sim\":[[0.99]]}");
    assert_eq!(micro(&verdicts, &["a"], &["a"]), Some(vec![vec![1_000_000]]));
    assert_eq!(micro(&RecordedVerdicts::default(), &["q"], &["q"]), Some(vec![vec![1_000_000]]));
}

#[test]
fn embeddings_give_their_cosine_rounded_to_six_decimals() {
    let verdicts = read(
        "{\"text\":\"a\",\"embedding\":[3,4]}\n{\"text\":\"b\",\"embedding\":[1,0]}\n{\"text\":\"c\",\"embedding\":[1,1]}",
    );
    assert_eq!(micro(&verdicts, &["a"], &["b", "c"]), Some(vec![vec![600_000, 989_949]]));
}

fn judgement(kind: &str, about: &[&str], accept: &str, replies_max: u8) -> Question {
    Question::Judgement {
        kind: kind.to_owned(),
        about: about.iter().map(|&text| text.to_owned()).collect(),
        before: Vec::new(),
        prompt: "in any words".to_owned(),
        swapped: None,
        accept: vec![accept.to_owned()],
        replies_max,
    }
}

const JUDGEMENTS: &str = r#"{"kind": "fuzzy", "api": "a", "parameter": "p", "input_a": "x", "input_b": "y", "responses": ["?", "Yes", "no"]}
{"kind": "completion", "item": "a", "responses": ["first", "second"], "success": "1"}
{"kind": "response_score", "item": "a", "responses": ["Score: 3"]}
{"kind": "failure_type", "item": "a", "responses": ["Type: 1"]}"#;

#[test]
fn judgements_are_looked_up_by_kind_and_what_they_are_about() {
    let verdicts = read(JUDGEMENTS);
    let reply = |kind, about: &[&str]| match verdicts.answer(&judgement(kind, about, "", 1)) {
        Some(Verdict::Replies { replies }) => replies.concat(),
        other => format!("{other:?}"),
    };
    assert_eq!(reply("response_score", &["a"]), "Score: 3");
    assert_eq!(reply("failure_type", &["a"]), "Type: 1");
    assert_eq!(reply("fuzzy", &["a", "p", "x", "y"]), "?");
    assert_eq!(reply("fuzzy", &["a", "p", "y", "x"]), "None", "gold and prediction are not exchanged");
    assert_eq!(reply("completion", &["b"]), "None");
    let missing = MissingVerdict::Judgement { kind: "completion".into(), about: vec!["b".into()] };
    assert_eq!(verdicts.missing(&judgement("completion", &["b"], "", 1)), Some(missing));
    assert_eq!(verdicts.missing(&judgement("completion", &["a"], "", 1)), None);
}

#[test]
fn a_judge_is_heard_until_its_reply_can_be_taken() {
    let verdicts = read(JUDGEMENTS);
    let replies =
        |accept, replies_max| match verdicts.answer(&judgement("fuzzy", &["a", "p", "x", "y"], accept, replies_max)) {
            Some(Verdict::Replies { replies }) => replies,
            other => panic!("{other:?}"),
        };
    assert_eq!(replies("(?i)yes|no", 10), ["?", "Yes"]);
    assert_eq!(replies("(?i)yes|no", 1), ["?"], "the limit counts even if it could not be taken");
    assert_eq!(replies("^no$", 10), ["?", "Yes", "no"]);
    assert_eq!(replies("never", 5), ["?", "Yes", "no", "no", "no"], "the last one is repeated");
}

#[test]
fn malformed_verdicts_are_refused_with_line_and_field() {
    let cases = [
        "{}",
        "\n[",
        "{\"sim\":[]}",
        "{\"pred_texts\":[\"a\"],\"gold_texts\":[1],\"sim\":[]}",
        "{\"pred_texts\":[\"a\"],\"gold_texts\":[\"b\"],\"sim\":[]}",
        "{\"pred_texts\":[\"a\"],\"gold_texts\":[\"b\"],\"sim\":[[]]}",
        "{\"pred_texts\":[\"a\"],\"gold_texts\":[\"b\"],\"sim\":[[2]]}",
        "{\"pred_texts\":[\"a\",\"a\"],\"gold_texts\":[\"b\"],\"sim\":[[0.5],[0.6]]}",
        "{\"embedding\":[1]}",
        "{\"text\":\"a\",\"embedding\":[\"1\"]}",
        "{\"text\":\"a\",\"embedding\":[0,0]}",
        "{\"text\":\"a\",\"embedding\":[1]}\n{\"text\":\"b\",\"embedding\":[1,2]}",
        "{\"text\":\"a\",\"embedding\":[1]}\n{\"text\":\"a\",\"embedding\":[2]}",
        "{\"kind\":1}",
        "{\"kind\":\"guess\",\"item\":\"a\",\"responses\":[\"x\"]}",
        "{\"kind\":\"completion\",\"responses\":[\"x\"]}",
        "{\"kind\":\"fuzzy\",\"api\":\"a\",\"parameter\":\"p\",\"input_a\":1,\"input_b\":\"y\",\"responses\":[\"x\"]}",
        "{\"kind\":\"completion\",\"item\":\"a\"}",
        "{\"kind\":\"completion\",\"item\":\"a\",\"responses\":[]}",
        "{\"kind\":\"completion\",\"item\":\"a\",\"responses\":[\"x\",null]}",
        "{\"kind\":\"completion\",\"item\":\"a\",\"responses\":[\"x\"]}\n{\"kind\":\"completion\",\"item\":\"a\",\"responses\":[\"y\"]}",
    ];
    let error =
        |content: &&str| RecordedVerdicts::read("judge.jsonl", content.as_bytes()).unwrap_err().to_string() + "\n";
    insta::assert_snapshot!(cases.iter().map(error).collect::<String>());
}
