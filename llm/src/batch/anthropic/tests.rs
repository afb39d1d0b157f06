use proptest::prelude::*;
use serde_json::json;

use super::*;

fn batch(status: &str, counts: [u64; 5]) -> Batch {
    let [processing, succeeded, errored, canceled, expired] = counts;
    let body = json!({
        "id": "msgbatch_013Zva2CMHLNnXjNJJKqJ2EF", "type": "message_batch", "processing_status": status,
        "request_counts": {
            "processing": processing, "succeeded": succeeded, "errored": errored, "canceled": canceled, "expired": expired
        },
        "ended_at": if status == "ended" { json!("2024-08-20T19:37:24.100435Z") } else { json!(null) },
        "created_at": "2024-08-20T18:37:24.100435Z", "expires_at": "2024-08-21T18:37:24.100435Z", "archived_at": null,
        "cancel_initiated_at": null, "results_url": null
    });
    read_batch(body.to_string().as_bytes()).unwrap()
}

fn ending(result: serde_json::Value) -> Ending {
    let line = json!({"custom_id": "0a1b-1", "result": result}).to_string();
    let read = read_result(line.as_bytes()).unwrap();
    assert_eq!(read.custom_id, "0a1b-1");
    read.ending
}

#[test]
fn a_batch_is_made_of_its_requests() {
    let mut body = envelope().head.to_vec();
    for position in 0..2 {
        let params = RawValue::from_string(r#"{"model":"m","max_tokens":9}"#.to_owned()).unwrap();
        write_line(&mut body, position == 0, &format!("0a1b-{position}"), &params).unwrap();
    }
    body.extend_from_slice(&envelope().tail);
    insta::assert_snapshot!(String::from_utf8(body).unwrap(), @r#"{"requests":[{"custom_id":"0a1b-0","params":{"model":"m","max_tokens":9}},{"custom_id":"0a1b-1","params":{"model":"m","max_tokens":9}}]}"#);
}

#[test]
fn a_batch_is_over_when_it_has_ended_and_not_while_it_is_being_cancelled() {
    assert_eq!(batch("in_progress", [100, 0, 0, 0, 0]).stage, Stage::Running);
    assert_eq!(batch("canceling", [100, 0, 0, 0, 0]).stage, Stage::Running);
    let ended = batch("ended", [0, 50, 30, 10, 10]);
    assert_eq!((ended.stage, ended.done, ended.total), (Stage::Ended, 100, 100));
    assert_eq!(ended.ended_at.unwrap().duration_since(ended.created_at.unwrap()).as_secs(), 3_600);
}

#[test]
fn pages_follow_one_another_by_the_last_id() {
    let page = |more: bool| {
        let body = json!({"data": [{"id": "b1", "processing_status": "ended"}], "has_more": more, "first_id": "b1", "last_id": "b1"});
        read_page(body.to_string().as_bytes()).unwrap()
    };
    assert_eq!((page(true).next.as_deref(), page(false).next), (Some("b1"), None));
    assert_eq!(super::page(Some("b1")), "/messages/batches?limit=100&after_id=b1");
}

#[test]
fn a_message_is_an_answer_and_an_error_has_the_status_that_it_would_have_had() {
    let message = json!({"id": "msg_1", "type": "message"});
    let body = Bytes::from(message.to_string());
    assert_eq!(
        ending(json!({"type": "succeeded", "message": message})),
        Ending::Answered { status: 200, request_id: None, body }
    );
    for (kind, expected) in [
        ("invalid_request_error", 400),
        ("rate_limit_error", 429),
        ("overloaded_error", 529),
        ("api_error", 500),
        ("new_error", 500),
    ] {
        let error = json!({"type": "error", "error": {"type": kind, "message": "m"}});
        let body = Bytes::from(error.to_string());
        assert_eq!(
            ending(json!({"type": "errored", "error": error})),
            Ending::Answered { status: expected, request_id: None, body }
        );
    }
}

#[test]
fn what_was_not_reached_says_why() {
    assert_eq!(ending(json!({"type": "expired"})), Ending::Expired);
    assert_eq!(ending(json!({"type": "canceled"})), Ending::Cancelled);
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = (read_batch(&bytes), read_page(&bytes), read_result(&bytes));
    }
}
