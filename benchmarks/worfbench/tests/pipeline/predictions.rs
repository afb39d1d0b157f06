//! Formats of predictions, and what is refused.

use regatta_benchmarks::{RecordedVerdicts, score_predictions};
use regatta_proto::{Evaluator, Role, Transcript};
use serde_json::json;

use crate::harness::{index_of, miniature};

fn read(content: &str) -> Result<Vec<(String, Option<String>)>, String> {
    let suite = miniature();
    let predictions = suite.read_predictions("file", content.as_bytes()).map_err(|error| error.to_string())?;
    let text =
        |transcript: &Transcript| transcript.replies(Role::Agent).next().unwrap().text.as_deref().map(str::to_owned);
    Ok(predictions
        .iter()
        .map(|(item, transcript)| (suite.items()[item.0 as usize].id.to_string(), text(transcript)))
        .collect())
}

fn pair(id: &str, reply: Option<&str>) -> (String, Option<String>) {
    (id.to_owned(), reply.map(str::to_owned))
}

#[test]
fn named_lines_pair_by_id_and_keep_replies_that_are_no_text() {
    let content = "{\"item\":\"os_mini2\",\"task\":\"os\",\"output\":\"b\",\"style\":\"x\"}\n\n\
                   {\"item\":\"os_mini1\",\"output\":null}\r\n{\"item\":\"os_mini3\",\"output\":{\"error\":\"x\"}}";
    assert_eq!(read(content).unwrap(), [pair("os_mini2", Some("b")), pair("os_mini1", None), pair("os_mini3", None)]);
}

#[test]
fn the_official_array_pairs_by_the_id_of_the_query() {
    let content = json!([
        { "query": { "id": "os_mini2", "source": "os" }, "workflow": "b" },
        { "query": { "id": "os_mini1" }, "workflow": { "error": "x" } },
    ]);
    assert_eq!(read(&content.to_string()).unwrap(), [pair("os_mini2", Some("b")), pair("os_mini1", None)]);
}

#[test]
fn official_lines_pair_by_position_with_the_one_task_of_as_many_items() {
    let line = |text: &str| json!({ "answer": { "choices": [{ "message": { "content": text } }] } }).to_string();
    let error = r#"{"answer":{"error":"HTTP error 500"}}"#.to_owned();
    let webshop = [line("a"), error, line("c")].join("\n");
    let expected = [pair("webshop_mini1", Some("a")), pair("webshop_mini2", None), pair("webshop_mini3", Some("c"))];
    assert_eq!(read(&webshop).unwrap(), expected);
    let all = vec![line("a"); 35].join("\n");
    assert_eq!(read(&all).unwrap().len(), 35);
}

#[test]
fn predictions_that_cannot_be_paired_are_refused_with_their_place() {
    let line = r#"{"answer":{"choices":[{"message":{"content":"x"}}]}}"#;
    let cases = [
        String::new(),
        "\n  \n".to_owned(),
        "{\"item\":\"os_mini1\",\"output\":\"a\"}\nnot json".to_owned(),
        "{\"output\":\"a\"}".to_owned(),
        "[7]".to_owned(),
        "[{\"query\":{\"id\":\"os_mini1\"}}]".to_owned(),
        "[{\"query\":{\"id\":\"os_9\"},\"workflow\":\"\"}]".to_owned(),
        "{\"item\":\"os_9\",\"output\":\"a\"}".to_owned(),
        "{\"item\":\"os_mini1\"}".to_owned(),
        "{\"item\":\"os_mini1\",\"task\":\"lumos\",\"output\":\"a\"}".to_owned(),
        "{\"item\":\"os_mini1\",\"output\":\"a\"}\n{\"item\":\"os_mini1\",\"output\":\"a\"}".to_owned(),
        "{\"item\":\"os_mini1\",\"output\":\"a\"}\n{\"answer\":{}}".to_owned(),
        [line; 2].join("\n"),
        [line; 6].join("\n"),
        [line, line, "{\"answer\":{\"choices\":[]}}"].join("\n"),
    ];
    let report: String = cases.iter().map(|content| read(content).unwrap_err() + "\n").collect();
    insta::assert_snapshot!(report);
}

#[test]
fn items_without_a_prediction_are_reported_and_not_scored() {
    let suite = miniature();
    let item = index_of(&*suite, "os_mini1");
    let none = RecordedVerdicts::default();
    let scored =
        score_predictions(&*suite, None, Evaluator::Official, &[(item, Transcript::of_recorded(None))], &none).unwrap();
    assert_eq!(scored.aggregate["all_items"]["n"], 1);
    assert_eq!(scored.items.keys().collect::<Vec<_>>(), ["os_mini1"]);
    assert_eq!(scored.not_predicted.count, 34);
    assert!(!scored.not_predicted.ids.iter().any(|id| id.as_str() == "os_mini1"));
}

#[test]
fn a_missing_verdict_is_an_error_that_names_item_and_texts() {
    let suite = miniature();
    let item = index_of(&*suite, "lumos_mini1");
    let reply = Transcript::of_recorded(Some("1: add that many minutes to noon\n2: rest"));
    let error = score_predictions(&*suite, None, Evaluator::Paper, &[(item, reply)], &RecordedVerdicts::default());
    insta::assert_snapshot!(
        error.unwrap_err(),
        @r#"failed to score item lumos_mini1: no verdict is recorded for "add that many minutes to noon" and "find the least common multiple of 12 and 18"; add their similarity, or the embeddings of both, to the verdicts file"#
    );
}
