use proptest::prelude::*;
use serde_json::json;

use super::*;

fn batch(fields: serde_json::Value) -> Batch {
    let mut batch = json!({
        "id": "batch_abc123", "object": "batch", "endpoint": "/v1/chat/completions", "errors": null,
        "input_file_id": "file-abc123", "completion_window": "24h", "status": "in_progress", "output_file_id": null,
        "error_file_id": null, "created_at": 1_711_471_533, "in_progress_at": 1_711_471_538, "expires_at": 1_711_557_933,
        "finalizing_at": null, "completed_at": null, "failed_at": null, "expired_at": null, "cancelling_at": null,
        "cancelled_at": null, "request_counts": {"total": 100, "completed": 95, "failed": 5}, "metadata": null
    });
    for (name, value) in fields.as_object().unwrap() {
        batch[name] = value.clone();
    }
    read_batch(batch.to_string().as_bytes()).unwrap()
}

fn ending(line: &str) -> Ending {
    read_result(line.as_bytes()).unwrap().ending
}

#[test]
fn a_file_of_lines_is_uploaded_as_a_form() {
    let envelope = envelope("0a1b");
    let mut lines = Vec::new();
    for position in 0..2 {
        let body = RawValue::from_string(r#"{"model":"m","messages":[]}"#.to_owned()).unwrap();
        write_line(&mut lines, &format!("0a1b-{position}"), &body).unwrap();
    }
    let sent = [&envelope.head, lines.as_slice(), &envelope.tail].concat();
    insta::assert_snapshot!(envelope.content_type, @"multipart/form-data; boundary=regatta-0a1b");
    insta::assert_snapshot!(String::from_utf8(sent).unwrap().replace('\r', ""), @r#"
    --regatta-0a1b
    content-disposition: form-data; name="purpose"

    batch
    --regatta-0a1b
    content-disposition: form-data; name="file"; filename="0a1b.jsonl"
    content-type: application/jsonl

    {"custom_id":"0a1b-0","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[]}}
    {"custom_id":"0a1b-1","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[]}}

    --regatta-0a1b--
    "#);
}

#[test]
fn a_batch_is_made_of_a_file_and_carries_our_name() {
    let body = String::from_utf8(creation("file-abc123", "0a1b").unwrap()).unwrap();
    insta::assert_snapshot!(body, @r#"{"input_file_id":"file-abc123","endpoint":"/v1/chat/completions","completion_window":"24h","metadata":{"regatta_batch":"0a1b"}}"#);
    assert_eq!(batch(json!({"metadata": {"regatta_batch": "0a1b", "team": "a"}})).name.as_deref(), Some("0a1b"));
    assert_eq!(batch(json!({"metadata": {"team": "a"}})).name, None);
}

#[test]
fn a_batch_runs_until_it_says_that_it_is_over() {
    for status in ["validating", "in_progress", "finalizing", "cancelling", "something new"] {
        assert_eq!(batch(json!({"status": status})).stage, Stage::Running, "{status}");
    }
    for (status, stage) in [("completed", Stage::Ended), ("expired", Stage::Expired), ("cancelled", Stage::Cancelled)] {
        assert_eq!(batch(json!({"status": status})).stage, stage);
    }
}

#[test]
fn counts_times_and_files_are_those_of_the_description() {
    let batch = batch(json!({
        "status": "completed", "output_file_id": "file-out", "error_file_id": "file-err", "completed_at": 1_711_475_133
    }));
    assert_eq!((batch.done, batch.total), (100, 100));
    assert_eq!(batch.files, ["file-out", "file-err"]);
    let lasted = batch.ended_at.unwrap().duration_since(batch.created_at.unwrap());
    assert_eq!(lasted.as_secs(), 3_600);
}

#[test]
fn a_refused_batch_says_whose_fault_it_is_and_in_which_line() {
    let refused = |code: &str, line: serde_json::Value| {
        let error = json!({"code": code, "message": "No.", "param": null, "line": line});
        match batch(json!({"status": "failed", "errors": {"object": "list", "data": [error]}})).stage {
            Stage::Failed { class, message } => (class, message),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        refused("invalid_json_line", json!(3)),
        (ErrorClass::BadRequest, "the batch was refused: line 3: No.".to_owned())
    );
    assert_eq!(refused("token_limit_exceeded", json!(null)).0, ErrorClass::RateLimited);
    assert_eq!(refused("billing_hard_limit_reached", json!(null)).0, ErrorClass::Quota);
    assert!(matches!(batch(json!({"status": "failed"})).stage, Stage::Failed { class: ErrorClass::BadRequest, .. }));
}

#[test]
fn pages_follow_one_another_by_the_last_id() {
    let page = |more: bool| {
        let body = json!({"object": "list", "data": [{"id": "b1", "status": "completed"}, {"id": "b2", "status": "failed"}], "has_more": more});
        read_page(body.to_string().as_bytes()).unwrap()
    };
    assert_eq!((page(true).next.as_deref(), page(false).next), (Some("b2"), None));
    assert_eq!(
        (super::page(None), super::page(Some("b2"))),
        ("/batches?limit=100".into(), "/batches?limit=100&after=b2".into())
    );
}

#[test]
fn the_answer_of_a_line_is_what_a_live_call_would_have_got() {
    let ok = r#"{"id":"batch_req_1","custom_id":"0a1b-1","response":{"status_code":200,"request_id":"req_1","body":{"id":"c", "object":"chat.completion"}},"error":null}"#;
    let read = read_result(ok.as_bytes()).unwrap();
    assert_eq!(read.custom_id, "0a1b-1");
    let body = Bytes::from_static(br#"{"id":"c", "object":"chat.completion"}"#);
    assert_eq!(read.ending, Ending::Answered { status: 200, request_id: Some("req_1".to_owned()), body });
    let refused = r#"{"id":"batch_req_2","custom_id":"0a1b-2","response":{"status_code":400,"request_id":"","body":{"error":{"message":"no"}}},"error":null}"#;
    let body = Bytes::from_static(br#"{"error":{"message":"no"}}"#);
    assert_eq!(ending(refused), Ending::Answered { status: 400, request_id: None, body });
}

#[test]
fn a_line_without_an_answer_expired_or_was_cancelled_or_met_an_error() {
    let of = |code: &str| {
        ending(&format!(r#"{{"id":"r","custom_id":"x","response":null,"error":{{"code":"{code}","message":"m"}}}}"#))
    };
    assert_eq!(of("batch_expired"), Ending::Expired);
    assert_eq!(of("batch_cancelled"), Ending::Cancelled);
    let body = Bytes::from_static(br#"{"error":{"code":"gone","message":"m"}}"#);
    assert_eq!(of("gone"), Ending::Answered { status: 500, request_id: None, body });
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = (read_batch(&bytes), read_page(&bytes), read_result(&bytes), read_file(&bytes));
    }
}
