//! Files and batches in OpenAI's format.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::{Ending, Handed, Inner, Line, Ours, Place, answer_creation, failure, jsonl, refusal};

pub(super) async fn upload(State(shared): Ours, body: Bytes) -> Response {
    shared.pass(Place::Upload).await;
    let form = String::from_utf8(body.to_vec()).unwrap();
    assert!(form.contains("name=\"purpose\"\r\n\r\nbatch\r\n"), "{form}");
    let (_, rest) = form.split_once("content-type: application/jsonl\r\n\r\n").unwrap();
    let (lines, _) = rest.split_once("\r\n--").unwrap();
    let mut inner = shared.inner.lock().unwrap();
    let id = format!("file-{}", inner.files.len());
    inner.files.insert(id.clone(), lines.to_owned());
    axum::Json(json!({"id": id, "object": "file", "purpose": "batch"})).into_response()
}

pub(super) async fn create(State(shared): Ours, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&body["endpoint"], &body["completion_window"]), (&json!("/v1/chat/completions"), &json!("24h")));
    let (batch, lie) = {
        let mut inner = shared.inner.lock().unwrap();
        if let Some(status) = inner.creation_refused.take() {
            return refusal(status, "No such batches.");
        }
        let lines = inner.files[body["input_file_id"].as_str().unwrap()].clone();
        let lines = lines.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!((&line["method"], &line["url"]), (&json!("POST"), &json!("/v1/chat/completions")));
            (line["custom_id"].as_str().unwrap().to_owned(), line["body"].clone())
        });
        let lines = lines.collect();
        let name = body["metadata"]["regatta_batch"].as_str().map(str::to_owned);
        let handed = inner.take(name, lines);
        (describe(&inner, &handed), inner.creation_answers.take())
    };
    shared.pass(Place::Creation).await;
    answer_creation(batch, lie)
}

fn describe(inner: &Inner, handed: &Handed) -> Value {
    let ending = inner.ending_of(handed);
    let status = match ending {
        _ if handed.cancelled => "cancelled",
        Ending::Running => "in_progress",
        Ending::Completed => "completed",
        Ending::Expired => "expired",
        Ending::Refused(_) => "failed",
    };
    let errors = match ending {
        Ending::Refused(code) => {
            json!({"object": "list", "data": [{"code": code, "message": "It is no good.", "line": 1}]})
        }
        _ => json!(null),
    };
    let is_over = matches!(ending, Ending::Completed | Ending::Expired);
    let file = |name: &str| if is_over { json!(format!("{name}-{}", handed.id)) } else { json!(null) };
    let created = handed.created_at.as_second();
    json!({
        "id": handed.id, "object": "batch", "endpoint": "/v1/chat/completions", "status": status, "errors": errors,
        "output_file_id": file("out"), "error_file_id": file("err"), "created_at": created,
        "completed_at": if is_over { json!(created + 60) } else { json!(null) },
        "request_counts": {"total": handed.lines.len(), "completed": 0, "failed": 0},
        "metadata": handed.name.as_ref().map(|name| json!({"regatta_batch": name}))
    })
}

pub(super) async fn list(State(shared): Ours) -> Response {
    shared.count(Place::List);
    let mut inner = shared.inner.lock().unwrap();
    let listed = inner.listed();
    let data: Vec<Value> = listed.iter().map(|handed| describe(&inner, handed)).collect();
    axum::Json(json!({"object": "list", "data": data, "has_more": false})).into_response()
}

pub(super) async fn look(State(shared): Ours, Path(id): Path<String>) -> Response {
    let batch = {
        let inner = shared.inner.lock().unwrap();
        if let Some(status) = inner.looks_refused {
            shared.count(Place::Look);
            return refusal(status, "Not now.");
        }
        let Some(handed) = inner.find(&id) else { return refusal(404, "There is no such batch.") };
        describe(&inner, &handed)
    };
    shared.pass(Place::Look).await;
    axum::Json(batch).into_response()
}

pub(super) async fn content(State(shared): Ours, Path(id): Path<String>) -> Response {
    shared.pass(Place::Results).await;
    let (kind, batch) = id.split_once('-').unwrap();
    let inner = shared.inner.lock().unwrap();
    // Results come in any order.
    let lines = inner.find(batch).unwrap().lines.into_iter().rev().filter_map(|(custom_id, body)| {
        let (response, error) = match (inner.script)(&custom_id, &body) {
            Line::Says(text) => (answer(&body, text), json!(null)),
            Line::Fails(status, message) => {
                (json!({"status_code": status, "request_id": "req", "body": failure(status, message)}), json!(null))
            }
            Line::Expires => (json!(null), json!({"code": "batch_expired", "message": "It was not reached in time."})),
            Line::IsLost => return None,
        };
        let is_output = response["status_code"] == json!(200);
        let line = json!({"id": "r", "custom_id": custom_id, "response": response, "error": error});
        (is_output == (kind == "out")).then_some(line)
    });
    jsonl(lines.collect()).into_response()
}

fn answer(body: &Value, text: &str) -> Value {
    json!({
        "status_code": 200, "request_id": "req-1",
        "body": {
            "id": "chatcmpl-1", "object": "chat.completion", "model": body["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        }
    })
}
