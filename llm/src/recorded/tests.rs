use std::path::PathBuf;

use super::*;

const PAIRS: &str = concat!(
    r#"{"item": "a", "pred_texts": ["go", "sée \"x\""], "gold_texts": ["go", "stop"], "sim": [[1.0, 0.25], [-0.1, 0.0000005]]}"#,
    "\n\n"
);

fn question(left: &[&str], right: &[&str]) -> Question {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    Question::Similarity { left: texts(left), right: texts(right) }
}

fn error(lines: &str) -> String {
    RecordedVerdicts::parse("dir/judge.jsonl", lines.as_bytes()).unwrap_err().to_string()
}

#[test]
fn recorded_similarities_are_found_in_either_order() {
    let verdicts = RecordedVerdicts::parse("judge.jsonl", PAIRS.as_bytes()).unwrap();
    let expected = |micro: &[&[i32]]| Ok(Verdict::Similarity { micro: micro.iter().map(|row| row.to_vec()).collect() });
    assert_eq!(verdicts.verdict(&question(&["go", "sée \"x\""], &["stop"])), expected(&[&[250_000], &[1]]));
    assert_eq!(verdicts.verdict(&question(&["stop"], &["sée \"x\"", "go"])), expected(&[&[1, 250_000]]));
}

#[test]
fn a_text_is_like_itself_without_being_recorded() {
    let verdicts = RecordedVerdicts::parse("judge.jsonl", b"").unwrap();
    assert_eq!(verdicts.verdict(&question(&["new"], &["new"])), Ok(Verdict::Similarity { micro: vec![vec![ONE]] }));
}

#[test]
fn recorded_vectors_are_compared_in_double_precision() {
    let lines = "{\"text\": \"a\", \"embedding\": [0.1, 0.2]}\n{\"text\": \"b\", \"embedding\": [0.2, -0.1]}\n{\"text\": \"c\", \"embedding\": [1, 1]}";
    let verdicts = RecordedVerdicts::parse("judge.jsonl", lines.as_bytes()).unwrap();
    let Ok(Verdict::Similarity { micro }) = verdicts.verdict(&question(&["a"], &["a", "b", "c"])) else { panic!() };
    assert_eq!(micro, [[ONE, 0, 948_683]]);
}

#[test]
fn a_pair_that_is_not_recorded_is_named() {
    let verdicts = RecordedVerdicts::parse("judge.jsonl", PAIRS.as_bytes()).unwrap();
    let reason = verdicts.verdict(&question(&["go"], &["stop", "wait"])).unwrap_err();
    assert_eq!(reason, r#"no similarity of "go" and "wait" is recorded"#);
}

#[test]
fn a_bad_line_is_named_with_its_file() {
    insta::assert_snapshot!(
        [
            "{}",
            "\n[1]",
            "{\"text\": \"a\"}",
            "{\"kind\": \"completion\", \"responses\": [\"yes\"]}",
            "{\"kind\": \"completion\", \"item\": \"a\", \"responses\": []}",
            "{\"kind\": \"completion\", \"item\": \"a\", \"responses\": [\"yes\"]}\n{\"kind\": \"completion\", \"item\": \"a\", \"responses\": [\"no\"]}",
            "{\"text\": \"a\", \"embedding\": []}",
            "{\"text\": \"a\", \"embedding\": [1]}\n{\"text\": \"a\", \"embedding\": [2]}",
            "{\"pred_texts\": [\"a\"], \"gold_texts\": [\"b\"], \"sim\": [[1, 2]]}",
            "{\"pred_texts\": [\"a\"], \"gold_texts\": [\"b\"], \"sim\": [[1.5]]}",
            "{\"pred_texts\": [\"a\"], \"gold_texts\": [\"b\"], \"sim\": [[0.5]]}\n{\"pred_texts\": [\"b\"], \"gold_texts\": [\"a\"], \"sim\": [[0.4]]}",
        ]
        .map(error)
        .join("\n"),
        @r"
    failed to read verdicts of dir/judge.jsonl, line 1: a line holds either `text` and `embedding`, or `pred_texts`, `gold_texts` and `sim`, or `kind` and `responses`
    failed to read verdicts of dir/judge.jsonl, line 2: not a verdict: found `1`, expected a text (column 2)
    failed to read verdicts of dir/judge.jsonl, line 1: a line holds either `text` and `embedding`, or `pred_texts`, `gold_texts` and `sim`, or `kind` and `responses`
    failed to read verdicts of dir/judge.jsonl, line 1: a judgement is about an `item`, or an `api`, a `parameter`, `input_a` and `input_b`
    failed to read verdicts of dir/judge.jsonl, line 1: `responses` must hold at least one reply
    failed to read verdicts of dir/judge.jsonl, line 2: line 1 holds other replies to the same question
    failed to read verdicts of dir/judge.jsonl, line 1: `embedding` has no direction: it is empty, zero or not finite
    failed to read verdicts of dir/judge.jsonl, line 2: line 1 holds another vector of this text
    failed to read verdicts of dir/judge.jsonl, line 1: `sim` must have 1 rows of 1 numbers
    failed to read verdicts of dir/judge.jsonl, line 1: 1.5 in `sim` is not between -1 and 1
    failed to read verdicts of dir/judge.jsonl, line 2: line 1 gives one of these pairs another similarity
    "
    );
}

#[test]
fn every_golden_file_of_the_benchmark_is_read() {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let golden =
        std::env::var_os("REGATTA_SHARED").map_or_else(beside, PathBuf::from).join("benchmarks/worfbench/golden");
    let Ok(cases) = std::fs::read_dir(&golden) else {
        println!("skipped: no golden vectors at {} (set REGATTA_SHARED)", golden.display());
        return;
    };
    let mut read = 0;
    for file in cases.map(|case| case.unwrap().path().join("judge.jsonl")).filter(|file| file.exists()) {
        let bytes = std::fs::read(&file).unwrap();
        let verdicts = RecordedVerdicts::parse(&file.to_string_lossy(), &bytes).unwrap();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line: serde_json::Value = serde_json::from_slice(line).unwrap();
            let Some(sim) = line.get("sim") else { continue };
            let texts = |name: &str| serde_json::from_value::<Vec<String>>(line[name].clone()).unwrap();
            let asked = Question::Similarity { left: texts("pred_texts"), right: texts("gold_texts") };
            let Verdict::Similarity { micro } = verdicts.verdict(&asked).unwrap() else { panic!("not similarities") };
            let back: Vec<Vec<f64>> =
                micro.iter().map(|row| row.iter().map(|micro| f64::from(*micro) / 1e6).collect()).collect();
            assert_eq!(back, serde_json::from_value::<Vec<Vec<f64>>>(sim.clone()).unwrap(), "{}", file.display());
        }
        read += 1;
    }
    assert_eq!(read, 8);
}

#[test]
fn verdicts_that_take_much_more_memory_than_their_file_are_refused() {
    // Two bytes a similarity, of a thousand texts with a thousand others in each line.
    let texts = |from: usize| (from..from + 1000).map(|number| number.to_string()).collect::<Vec<_>>();
    let row = vec![0; 1000];
    let sim = vec![row; 1000];
    let line = |number: usize| {
        let (left, right) = (texts(number * 2000), texts(number * 2000 + 1000));
        serde_json::json!({ "pred_texts": left, "gold_texts": right, "sim": sim }).to_string()
    };
    let lines: Vec<String> = (0..6).map(line).collect();
    let read = |count: usize| RecordedVerdicts::parse("judge.jsonl", lines[..count].join("\n").as_bytes());
    let kept = read(5).unwrap().kept_bytes();
    assert!((200 << 20..=VERDICTS_KEPT_MAX).contains(&kept), "{kept}");
    let error = read(6).unwrap_err();
    assert_eq!(error.line, 6);
    assert!(error.problem.contains("take more than 268435456 bytes of memory"), "{error}");
}

#[test]
fn a_line_that_is_too_long_is_not_parsed() {
    let problem = error(&" ".repeat(LINE_BYTES_MAX + 1).replacen(' ', "[", 1));
    assert!(problem.contains("line 1: has 16777217 bytes, at most 16777216 are read; split the line"), "{problem}");
}
