//! Recorded verdicts.

use regatta_benchmarks::{RecordedVerdicts, Verdicts};
use regatta_proto::{Question, Verdict};

fn question(left: &[&str], right: &[&str]) -> Question {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    Question::Similarity { left: texts(left), right: texts(right) }
}

fn read(content: &str) -> RecordedVerdicts {
    RecordedVerdicts::read("judge.jsonl", content.as_bytes()).unwrap()
}

fn micro(verdicts: &RecordedVerdicts, left: &[&str], right: &[&str]) -> Option<Vec<Vec<i32>>> {
    verdicts.answer(&question(left, right)).and_then(|verdict| match verdict {
        Verdict::Similarity { micro } => Some(micro),
        Verdict::Replies { .. } => None,
    })
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
    assert_eq!(verdicts.missing(&question(&["b", "z"], &["b"])), Some(("z".into(), "b".into())));
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
    ];
    let error =
        |content: &&str| RecordedVerdicts::read("judge.jsonl", content.as_bytes()).unwrap_err().to_string() + "\n";
    insta::assert_snapshot!(cases.iter().map(error).collect::<String>());
}
