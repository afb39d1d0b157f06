//! Message batches in Anthropic's format.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::{Ending, Handed, Inner, Line, Ours, Place, answer_creation, failure, jsonl};

pub(super) async fn create(State(shared): Ours, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let lines = body["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|request| (request["custom_id"].as_str().unwrap().to_owned(), request["params"].clone()));
    let (batch, lie) = {
        let mut inner = shared.inner.lock().unwrap();
        let handed = inner.take(None, lines.collect());
        (describe(&inner, &handed), inner.creation_answers.take())
    };
    shared.pass(Place::Creation).await;
    answer_creation(batch, lie)
}

fn describe(inner: &Inner, handed: &Handed) -> Value {
    let is_over = inner.ending_of(handed) != Ending::Running;
    let (processing, succeeded) = if is_over { (0, handed.lines.len()) } else { (handed.lines.len(), 0) };
    json!({
        "id": handed.id, "type": "message_batch", "processing_status": if is_over { "ended" } else { "in_progress" },
        "request_counts": {"processing": processing, "succeeded": succeeded, "errored": 0, "canceled": 0, "expired": 0},
        "created_at": handed.created_at.to_string(),
        "ended_at": if is_over { json!((handed.created_at + jiff::SignedDuration::from_secs(60)).to_string()) } else { json!(null) }
    })
}

pub(super) async fn list(State(shared): Ours, Query(query): Query<BTreeMap<String, String>>) -> Response {
    shared.count(Place::List);
    let mut inner = shared.inner.lock().unwrap();
    let listed = inner.listed();
    let all: Vec<Value> = listed.iter().map(|handed| describe(&inner, handed)).collect();
    // One a page, so that pages are turned.
    let start =
        query.get("after_id").map_or(0, |after| all.iter().position(|batch| batch["id"] == **after).unwrap() + 1);
    let data: Vec<Value> = all.iter().skip(start).take(1).cloned().collect();
    let last = data.last().map(|batch| batch["id"].clone());
    axum::Json(json!({"data": data, "has_more": start + 1 < all.len(), "last_id": last})).into_response()
}

pub(super) async fn look(State(shared): Ours, Path(id): Path<String>) -> Response {
    let batch = {
        let inner = shared.inner.lock().unwrap();
        describe(&inner, &inner.find(&id).unwrap())
    };
    shared.pass(Place::Look).await;
    axum::Json(batch).into_response()
}

pub(super) async fn results(State(shared): Ours, Path(id): Path<String>) -> Response {
    shared.pass(Place::Results).await;
    let inner = shared.inner.lock().unwrap();
    let lines = inner.find(&id).unwrap().lines.into_iter().rev().filter_map(|(custom_id, body)| {
        let result = match (inner.script)(&custom_id, &body) {
            Line::Says(text) => json!({"type": "succeeded", "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "stop_reason": "end_turn",
                "stop_sequence": null, "content": [{"type": "text", "text": text}],
                "usage": {"input_tokens": 100, "output_tokens": 10}
            }}),
            Line::Fails(status, message) => json!({"type": "errored", "error": failure(status, message)}),
            Line::Expires => json!({"type": "expired"}),
            Line::IsLost => return None,
        };
        Some(json!({"custom_id": custom_id, "result": result}))
    });
    jsonl(lines.collect()).into_response()
}
