use std::borrow::Cow;
use std::collections::BTreeSet;

use bytes::Bytes;
use jiff::Timestamp;
use regatta_backends::{Blobs, TranscriptRef};
use regatta_proto::{
    Attempt, CellIndex, Event, ItemId, ItemIndex, Outcome, SessionKey, SessionOutcome, SweepId, Transcript,
};

use super::reading::next_line;
use super::*;

fn outcome(item: u32) -> SessionOutcome {
    SessionOutcome {
        key: SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(1), item: ItemIndex(item) },
        lock: Digest::of(b"lock"),
        attempt: Attempt {
            id: format!("w-{item}").parse().unwrap(),
            number: 2,
            worker: "w".parse().unwrap(),
            started_at: Timestamp::UNIX_EPOCH,
            ended_at: Timestamp::UNIX_EPOCH,
        },
        outcome: Outcome::Measured,
        transcript: Transcript::of_recorded(Some(&format!("answer {item}"))),
    }
}

#[tokio::test]
async fn every_transcript_is_read_back_by_its_reference() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::directory(folder.path()).unwrap();
    let sweep: SweepId = "s".parse().unwrap();
    let outcomes = [outcome(7), outcome(8)];
    let id: ItemId = "tea".parse().unwrap();
    let named: Vec<_> = outcomes.iter().map(|outcome| (&id, outcome)).collect();
    let written = write_segment(&blobs, &sweep, &named).await.unwrap();
    for (at, outcome) in written.iter().zip(&outcomes) {
        let read = read_transcript(&blobs, &sweep, at).await.unwrap();
        assert_eq!((read.position, &read.transcript), (outcome.key.item.0, &outcome.transcript));
    }
    let beyond = TranscriptRef { line: 2, ..written[0].clone() };
    assert!(matches!(read_transcript(&blobs, &sweep, &beyond).await, Err(SegmentError::Missing { line: 2, .. })));
    let bytes = blobs.get(&format!("sweeps/s/{}", written[0].segment)).await.unwrap().unwrap();
    let lines = read_segment(&written[0].segment, &bytes).unwrap();
    assert_eq!(lines.map(|line| line.unwrap().position).collect::<Vec<_>>(), [7, 8]);
    let mut some = Vec::new();
    let wanted = BTreeSet::from([1, 5]);
    read_lines_of_segment(&written[0].segment, &bytes, &wanted, |line, stored| some.push((line, stored.position)))
        .unwrap();
    assert_eq!(some, [(1, 8)]);
}

#[test]
fn a_line_names_its_item_as_results_and_attempts_do_and_older_lines_are_read() {
    let line = |item: &str| {
        format!("{{\"cell\":1,{item},\"attempt\":2,\"attempt_id\":\"w-7\",\"transcript\":{{\"events\":[]}}}}")
    };
    let read = |item: &str| serde_json::from_str::<StoredTranscript>(&line(item)).map(|stored| stored.position);
    assert_eq!(read("\"item\":\"os_92\",\"position\":7").unwrap(), 7);
    assert_eq!(read("\"item\":7").unwrap(), 7, "a line of an older version");
    assert!(read("\"item\":\"os_92\"").unwrap_err().to_string().contains("item os_92 has no position"));
}

#[tokio::test]
async fn a_line_is_written_with_the_names_that_results_and_attempts_have() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::directory(folder.path()).unwrap();
    let (id, outcome): (ItemId, _) = ("os_92".parse().unwrap(), outcome(7));
    let sweep = outcome.key.sweep.clone();
    let written = write_segment(&blobs, &sweep, &[(&id, &outcome)]).await.unwrap();
    let bytes = blobs.get(&format!("sweeps/{sweep}/{}", written[0].segment)).await.unwrap().unwrap();
    let lines: Vec<String> = segment_lines(&written[0].segment, &bytes).unwrap().map(|line| line.unwrap()).collect();
    let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!((&line["item"], &line["position"]), (&"os_92".into(), &7.into()), "{line}");
    let (cell, attempt) = (outcome.key.cell.0, outcome.attempt.number);
    assert_eq!((&line["cell"], &line["attempt"]), (&cell.into(), &attempt.into()), "{line}");
}

/// An event of a call with these texts of a user.
fn call(said: &[&str]) -> serde_json::Value {
    let said: Vec<_> = said.iter().map(|text| serde_json::json!({ "role": "user", "content": text })).collect();
    serde_json::json!({ "call": {
        "role": "agent", "attempt": 2, "model": "sim/m", "request": { "messages": said },
        "reply": { "text": null, "finish": "stop" }, "usage": { "input": 1, "output": 1 }, "cost": null, "latency_us": 1
    }})
}

#[tokio::test]
async fn a_line_has_each_message_once_and_is_given_in_full_to_those_who_know_no_prefixes() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::directory(folder.path()).unwrap();
    let id: ItemId = "tea".parse().unwrap();
    let events = [call(&["first {\"prefix\":{"]), call(&["first {\"prefix\":{", "second"]), call(&["third"])];
    let transcript: Transcript = serde_json::from_value(serde_json::json!({ "events": events })).unwrap();
    let told = [SessionOutcome { transcript, ..outcome(7) }, outcome(8)];
    let sweep = told[0].key.sweep.clone();
    let named: Vec<_> = told.iter().map(|outcome| (&id, outcome)).collect();
    let at = write_segment(&blobs, &sweep, &named).await.unwrap().remove(0);
    assert_eq!(read_transcript(&blobs, &sweep, &at).await.unwrap().transcript, told[0].transcript);

    let bytes = blobs.get(&format!("sweeps/{sweep}/{}", at.segment)).await.unwrap().unwrap();
    let lines: Vec<String> = segment_lines(&at.segment, &bytes).unwrap().map(|line| line.unwrap()).collect();
    assert_eq!(lines[0].matches("first").count(), 1, "{}", lines[0]);
    let whole = write_segment_in_full(&blobs, &sweep, &named).await.unwrap().remove(0);
    let bytes = blobs.get(&format!("sweeps/{sweep}/{}", whole.segment)).await.unwrap().unwrap();
    let all_in_full: Vec<String> = segment_lines(&whole.segment, &bytes).unwrap().map(|line| line.unwrap()).collect();
    assert_eq!(all_in_full, [&*line_in_full(&lines[0]).unwrap(), lines[1].as_str()]);
    let in_full = line_in_full(&lines[0]).unwrap();
    let written: serde_json::Value = serde_json::from_str(&in_full).unwrap();
    assert_eq!(written["transcript"], serde_json::to_value(&told[0].transcript).unwrap());
    assert_eq!((&written["item"], &written["position"]), (&"tea".into(), &7.into()));
    assert!(matches!(line_in_full(&lines[1]).unwrap(), Cow::Borrowed(line) if line == lines[1]));

    let broken = lines[0].replace("\"event\":0", "\"event\":7");
    let error = line_in_full(&broken).unwrap_err();
    assert!(error.is_loss() && error.to_string().contains("from event 7, which is not an earlier one"), "{error}");
}

#[tokio::test]
async fn a_transcript_that_is_large_in_full_has_each_message_once_wherever_it_is_large() {
    let long = "x".repeat(9 << 20);
    let mut calls = call(&["x"]);
    calls["call"]["request"]["messages"][0]["tool_calls"] =
        serde_json::json!([{ "id": "1", "name": "write", "arguments": long }]);
    for (event, times) in [(call(&[&long]), 2), (calls, 2), (call(&[""; 1_000]), 600)] {
        let events: Vec<Event> = vec![serde_json::from_value(event).unwrap(); times];
        let told = SessionOutcome { transcript: Transcript { events }, ..outcome(7) };
        let blobs = Blobs::memory();
        let id: ItemId = "tea".parse().unwrap();
        let sweep = told.key.sweep.clone();
        let at = write_segment_in_full(&blobs, &sweep, &[(&id, &told)]).await.unwrap().remove(0);
        let bytes = blobs.get(&format!("sweeps/{sweep}/{}", at.segment)).await.unwrap().unwrap();
        let line = segment_lines(&at.segment, &bytes).unwrap().next().unwrap().unwrap();
        assert!(line.len() < 10 << 20, "{} bytes", line.len());
        assert!(read_transcript(&blobs, &sweep, &at).await.unwrap().transcript == told.transcript);
    }
}

/// Name under which `bytes` are intact.
fn name_of(bytes: &[u8]) -> String {
    format!("transcripts/{}.jsonl.zst", called(bytes))
}

#[tokio::test]
async fn the_report_that_a_line_was_written_from_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::directory(folder.path()).unwrap();
    let (id, outcome): (ItemId, _) = ("tea".parse().unwrap(), outcome(7));
    let sweep = outcome.key.sweep.clone();
    let written = write_segment(&blobs, &sweep, &[(&id, &outcome)]).await.unwrap();
    let stored = read_transcript(&blobs, &sweep, &written[0]).await.unwrap();
    let reported = stored.reported.clone().unwrap();
    assert_eq!(stored.into_outcome(sweep, outcome.lock, reported), outcome);
}

#[test]
fn a_line_that_says_only_in_part_how_its_attempt_ended_is_refused() {
    let line = r#"{"cell":1,"item":7,"attempt":2,"attempt_id":"w-7","worker":"w","transcript":{"events":[]}}"#;
    let error = serde_json::from_str::<StoredTranscript>(line).unwrap_err().to_string();
    assert!(error.contains("only in part"), "{error}");
}

#[test]
fn a_line_that_is_too_long_moves_no_other_to_another_place() {
    let mut text = &b"first\nmuch too long\nthird\nlast\n"[..];
    let mut next = || next_line(&mut text, 6).map_err(|error| error.to_string());
    assert_eq!(next().unwrap(), b"first\n");
    assert_eq!(next().unwrap_err(), "a line has more than 6 bytes");
    assert_eq!(next().unwrap(), b"third\n");
    assert_eq!(next().unwrap(), b"last\n");
    assert_eq!(next().unwrap(), b"");
}

#[test]
fn segments_that_are_none_are_errors() {
    let plain = b"not compressed";
    let lines: Vec<_> = read_segment(&name_of(plain), plain).unwrap().collect();
    assert!(matches!(lines[..], [Err(SegmentError::Compression(_))]));
    let compressed = zstd::bulk::compress(b"{}\n{}\n", 1).unwrap();
    let lines: Vec<_> = read_segment(&name_of(&compressed), &compressed).unwrap().collect();
    assert!(matches!(lines[..], [Err(SegmentError::Json(_)), Err(SegmentError::Json(_))]));
}

#[tokio::test]
async fn nothing_is_read_from_a_segment_of_which_a_byte_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::directory(folder.path()).unwrap();
    let (id, outcome): (ItemId, _) = ("tea".parse().unwrap(), outcome(7));
    let sweep = outcome.key.sweep.clone();
    let written = write_segment(&blobs, &sweep, &[(&id, &outcome)]).await.unwrap().remove(0);
    let key = format!("sweeps/s/{}", written.segment);
    let whole = blobs.get(&key).await.unwrap().unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.to_vec();
        changed[at] ^= 1;
        assert!(!is_intact(&written.segment, &changed));
        blobs.put(&key, Bytes::from(changed)).await.unwrap();
        let read = read_transcript(&blobs, &sweep, &written).await;
        assert!(matches!(read, Err(SegmentError::Damaged { .. })), "byte {at}");
    }
}
