//! Simulated models over the official data and the miniature: what the gold reaches.

mod gold;
mod judge;
mod noise;
mod single;

use std::path::Path;

use jiff::civil::Date;
use regatta_benchmarks::Persona;
use regatta_proto::{Exchange, SessionSeed};

use super::{Gold, judge_reply};
use crate::data::Utterance;
use crate::run::Run;
use crate::servers::{DATE_FORMAT, SERVERS, TIME_FORMAT, exchange};
use crate::structured;

/// A Wednesday, as in the golden cases.
pub(super) const TODAY: Date = jiff::civil::date(2025, 5, 28);

pub(super) const TEST: &str = "data/test.csv";
pub(super) const TEST_1K: &str = "data_5k/test_1k.csv";
pub(super) const TRAIN: &str = "data/train.csv";
pub(super) const TRAIN_5K: &str = "data_5k/train_5k.csv";

pub(super) fn official(file: &str) -> Option<Vec<Utterance>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/benchmarks/autoslurp/data");
    if !folder.is_dir() {
        eprintln!("skipped: no official data at {}", folder.display());
        return None;
    }
    Some(read(&folder.join(file)))
}

fn miniature(file: &str) -> Vec<Utterance> {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/autoslurp").join(file))
}

/// Every row of the miniature.
pub(super) fn all() -> Vec<Utterance> {
    [TEST, TEST_1K, TRAIN].map(miniature).concat()
}

fn read(path: &Path) -> Vec<Utterance> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let domain = reader.headers().unwrap().iter().position(|column| column == "domain");
    let rows = reader.records().map(|row| {
        let row = row.unwrap();
        let [iid, text, intent, slots] = [0, 1, 2, 3].map(|column| row[column].to_owned());
        Utterance { iid, text, intent, slots, domain: domain.map(|at| row[at].to_owned()).unwrap_or_default() }
    });
    rows.collect()
}

/// A session of one who knows everything that `gold` knows, and is all agents.
pub(super) fn session(gold: &Gold) -> Run {
    let mut requests: Vec<Exchange> = Vec::new();
    while let Some(url) = gold.next_url(&bodies(&requests)) {
        assert!(requests.len() < 2, "{url} after {requests:?}");
        requests.push(exchange("GET", &url, None, TODAY));
    }
    let final_text = Some(gold.answer(&bodies(&requests)));
    let log = requests.iter().map(|request| format!("{}\n{}\n", request.url, request.response)).collect::<String>();
    let log = format!("{}\n{log}{}\n", gold.intent_text(), final_text.as_deref().unwrap_or_default());
    Run { log, requests, final_text, intent_output: Some(gold.intent_text()), ..Run::default() }
}

fn bodies(requests: &[Exchange]) -> Vec<&str> {
    requests.iter().map(|request| &*request.response).collect()
}

pub(super) fn is_carried_out(utterance: &Utterance, run: &Run) -> bool {
    structured::score(utterance, TODAY, run).values["success"] == 1.0
}

/// Answer of a simulated server to the only request.
fn response(run: &Run) -> String {
    let body: serde_json::Value = serde_json::from_str(&run.requests[0].response).unwrap();
    assert_eq!(body["code"], "SUCCESS");
    body["data"]["response"].as_str().unwrap().to_owned()
}

pub(super) fn row(intent: &str, slots: &str) -> Utterance {
    Utterance {
        iid: "1".to_owned(),
        text: "do it for me".to_owned(),
        intent: intent.to_owned(),
        slots: slots.to_owned(),
        domain: String::new(),
    }
}

/// Numbers of local items that are answered, refused for a format, and unknown; with ids of the latter two.
fn answered(rows: &[Utterance]) -> ([usize; 3], [Vec<&str>; 2]) {
    let (mut counts, mut ids) = ([0; 3], [Vec::new(), Vec::new()]);
    for row in rows.iter().filter(|row| !row.is_external()) {
        let said = response(&session(&Gold::of(row, TODAY)));
        if [DATE_FORMAT, TIME_FORMAT].contains(&said.as_str()) {
            counts[1] += 1;
            ids[0].push(row.iid.as_str());
        } else if SERVERS.iter().any(|server| server.unknown_intent == said) {
            counts[2] += 1;
            ids[1].push(row.iid.as_str());
        } else {
            counts[0] += 1;
        }
    }
    (counts, ids)
}

#[test]
fn the_resolved_gold_of_the_test_set_is_answered_as_often_as_the_spec_says() {
    let Some(rows) = official(TEST) else { return };
    let (counts, [formats, unknown]) = answered(&rows);
    assert_eq!(counts, [76, 5, 1]);
    assert_eq!(formats, ["7817", "8904", "6964", "7161", "6909"]);
    assert_eq!(unknown, ["2816"]);
}

#[test]
fn the_resolved_gold_of_the_later_test_set_is_answered_as_often_as_the_spec_says() {
    let Some(rows) = official(TEST_1K) else { return };
    assert_eq!(answered(&rows).0, [644, 78, 4]);
}

/// Verdicts of the structured evaluator on the oracle's sessions: local and external items that were carried out, and the ids of those that
/// were not although a server or service answered.
fn carried_out(rows: &[Utterance]) -> ([usize; 2], Vec<String>) {
    let mut counts = [0; 2];
    let mut others = Vec::new();
    for row in rows {
        let run = session(&Gold::of(row, TODAY));
        let score = structured::score(row, TODAY, &run);
        if score.values["success"] == 1.0 {
            counts[usize::from(row.is_external())] += 1;
        } else {
            others.push(format!("{} {} {}", row.iid, score.detail["reason"], score.detail["errors"]));
        }
    }
    (counts, others)
}

#[test]
fn the_structured_evaluator_passes_what_can_be_reached_in_the_test_set() {
    let Some(rows) = official(TEST) else { return };
    let (counts, others) = carried_out(&rows);
    insta::assert_snapshot!(format!("local {}, external {}\n{}", counts[0], counts[1], others.join("\n")));
}

#[test]
fn the_structured_evaluator_passes_what_can_be_reached_in_the_later_test_set() {
    let Some(rows) = official(TEST_1K) else { return };
    let (counts, others) = carried_out(&rows);
    insta::assert_snapshot!(format!("local {}, external {}\n{}", counts[0], counts[1], others.join("\n")));
}

#[test]
fn the_judge_is_content_with_what_was_carried_out_and_was_not_dropped_by_the_server() {
    let Some(rows) = official(TEST) else { return };
    let is_right = |prompt: &str| judge_reply(prompt, Persona::Oracle, SessionSeed(1)).unwrap().contains("<Right>");
    let mut refused = Vec::new();
    for row in &rows {
        let run = session(&Gold::of(row, TODAY));
        let resolved = crate::official::resolve(None, &row.slots, TODAY);
        let task = format!("the task is {}. The annotation is {resolved}\n{}\nyour answer is :", row.text, run.log);
        let slots = format!(
            "The golden slot is :{{{resolved}}}. The result is {}",
            run.requests.last().map_or("", |request| &request.response)
        );
        if !is_right(&task) || (!row.is_external() && !is_right(&slots)) {
            refused.push(row.iid.as_str());
        }
    }
    // Those that nobody could carry out; and those of whose slots a server takes only some.
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
fn a_posted_request_is_answered_like_one_in_a_url() {
    for row in &all() {
        let gold = Gold::of(row, TODAY);
        let Some(url) = gold.next_url(&[]) else { continue };
        let (posted_url, body) = gold.next_post(&[]).unwrap();
        let got = exchange("GET", &url, None, TODAY);
        let posted = exchange("POST", &posted_url, Some(&body), TODAY);
        assert_eq!((posted.status, got.status), (200, 200), "{posted_url}");
        // Rates are asked for elsewhere.
        if !row.intent.contains("currency") {
            assert_eq!(posted.response, got.response, "{posted_url} {body}");
        }
    }
}

#[test]
fn the_miniature_has_something_of_everything() {
    let rows = miniature(TEST);
    let (counts, [formats, unknown]) = answered(&rows);
    assert_eq!((rows.len(), counts), (26, [17, 1, 1]));
    assert_eq!((formats, unknown), (vec!["177"], vec!["143"]));
    let external: Vec<&Utterance> = rows.iter().filter(|row| row.is_external()).collect();
    assert_eq!(external.len(), 7);
    for row in external {
        assert!(is_carried_out(row, &session(&Gold::of(row, TODAY))), "{row:?}");
    }
}
