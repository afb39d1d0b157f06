//! Books of the batch lane: every line of the batches that the endpoint was handed, as its own files have them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Method, header};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{Call, CallKind, ask, cost, numbered};
use crate::CertifyError;

/// Nano-dollars of an input and of an output token of a batch; the workload's spec says the same in dollars per million.
pub(crate) const PRICE: (u64, u64) = (500, 1_000);
/// Most batches on a page of the list.
const PAGE: usize = 100;
/// Longest time until a batch is answered.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

/// `true` for requests about batches and their files: they cost nothing themselves.
pub(super) fn is_of_batches(path: &str) -> bool {
    matches!(path.trim_start_matches("/v1").trim_start_matches('/').split('/').next(), Some("files" | "batches"))
}

/// `true` for the request that hands in a batch.
pub(super) fn hands_in(method: &Method, path: &str) -> bool {
    method == Method::POST && path.trim_start_matches("/v1").trim_matches('/') == "batches"
}

/// The answered lines of all batches that are not among `billed`, which these become part of; `begun_ms` tells when each was handed in. Waits
/// for those that are being worked on: whoever handed them in is billed.
pub(super) async fn bill(
    upstream: SocketAddr,
    billed: &mut BTreeSet<String>,
    begun_ms: impl Fn(&str) -> Option<u64>,
) -> Result<Vec<Call>, CertifyError> {
    let mut calls = Vec::new();
    for id in listed(upstream).await? {
        if !billed.contains(&id) {
            let nobodys = || CertifyError::Broken(format!("nobody has handed in the endpoint's batch {id}"));
            let begun_ms = begun_ms(&id).ok_or_else(nobodys)?;
            calls.extend(lines_of(upstream, &id, begun_ms).await?);
            billed.insert(id);
        }
    }
    Ok(calls)
}

async fn listed(upstream: SocketAddr) -> Result<Vec<String>, CertifyError> {
    let mut ids: Vec<String> = Vec::new();
    loop {
        let after = ids.last().map(|last| format!("&after={last}")).unwrap_or_default();
        let page = document(upstream, &format!("/v1/batches?limit={PAGE}{after}")).await?;
        let of_page = page["data"].as_array().into_iter().flatten();
        ids.extend(of_page.filter_map(|batch| Some(batch["id"].as_str()?.to_owned())));
        if page["has_more"] != true {
            return Ok(ids);
        }
    }
}

async fn lines_of(upstream: SocketAddr, id: &str, begun_ms: u64) -> Result<Vec<Call>, CertifyError> {
    let begun = Instant::now();
    let batch = loop {
        let batch = document(upstream, &format!("/v1/batches/{id}")).await?;
        if !matches!(batch["status"].as_str(), Some("in_progress" | "cancelling")) {
            break batch;
        }
        if begun.elapsed() > PATIENCE {
            return Err(CertifyError::Broken(format!("the endpoint does not answer its batch {id}")));
        }
        sleep(POLL).await;
    };
    let Some(output) = batch["output_file_id"].as_str() else { return Ok(Vec::new()) };
    let unreadable = || CertifyError::Broken(format!("the files of the endpoint's batch {id} cannot be read"));
    let input = batch["input_file_id"].as_str().ok_or_else(unreadable)?;
    let content = async |file: &str| get(upstream, &format!("/v1/files/{file}/content")).await;
    // Its name here, by which its copies are known.
    let name = batch["metadata"]["regatta_batch"].as_str().ok_or_else(unreadable)?;
    let batch = (numbered(name.as_bytes()), begun_ms);
    read(batch, &content(input).await?, &content(output).await?).ok_or_else(unreadable)
}

/// Calls of the answered lines of `output`, of the batch of this number that began then; `input` has their sessions.
fn read((request, begun_ms): (u64, u64), input: &[u8], output: &[u8]) -> Option<Vec<Call>> {
    let parse = |lines: &[u8]| -> Option<Vec<Value>> {
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).ok()).collect()
    };
    let mut sessions = BTreeMap::new();
    for line in parse(input)? {
        let of = |name: &str| line["body"]["metadata"][format!("regatta_{name}")].as_str();
        let session = format!("{}/{}/{}/{}", of("benchmark")?, of("setting")?, of("trial")?, of("item")?);
        sessions.insert(line["custom_id"].as_str()?.to_owned(), session);
    }
    let mut calls = Vec::new();
    for line in parse(output)?.iter().filter(|line| line["response"]["status_code"] == 200) {
        calls.push(Call {
            session: sessions.get(line["custom_id"].as_str()?)?.clone(),
            kind: CallKind::Batched,
            request,
            texts: Vec::new(),
            client: 0,
            begun_ms,
            ended_ms: Some(begun_ms),
            was_refused: false,
            cost: cost(&line["response"]["body"], PRICE)?,
        });
    }
    Some(calls)
}

async fn document(upstream: SocketAddr, path: &str) -> Result<Value, CertifyError> {
    let body = get(upstream, path).await?;
    serde_json::from_slice(&body).map_err(|error| failed(path, &error))
}

async fn get(upstream: SocketAddr, path: &str) -> Result<Bytes, CertifyError> {
    let request = hyper::Request::get(path).header(header::HOST, upstream.to_string()).body(Body::empty());
    let (status, _, body) =
        ask(upstream, request.map_err(|error| failed(path, &error))?).await.map_err(|error| failed(path, &error))?;
    if status.is_success() { Ok(body) } else { Err(failed(path, &status)) }
}

fn failed(path: &str, why: &dyn std::fmt::Display) -> CertifyError {
    CertifyError::Broken(format!("failed to read {path} of the endpoint: {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(custom_id: &str, item: &str) -> String {
        let metadata =
            json!({"regatta_benchmark": "b", "regatta_setting": "s/3", "regatta_trial": "1", "regatta_item": item});
        json!({"custom_id": custom_id, "method": "POST", "body": {"metadata": metadata}}).to_string()
    }

    fn output(custom_id: &str, status: u16) -> String {
        let body = json!({"usage": {"prompt_tokens": 3, "completion_tokens": 2}});
        json!({"custom_id": custom_id, "response": {"status_code": status, "body": body}}).to_string()
    }

    #[test]
    fn answered_lines_are_calls_of_their_sessions_at_the_price_of_batches() {
        let (input, output) = ([input("0", "x"), input("1", "y")], [output("1", 200), output("0", 500)]);
        let calls = read((7, 50), input.join("\n").as_bytes(), (output.join("\n") + "\n").as_bytes()).unwrap();
        let told: Vec<_> = calls.iter().map(|call| (call.session.as_str(), call.kind, call.cost)).collect();
        assert_eq!(told, [("b/s/3/1/y", CallKind::Batched, 3_500)]);
        assert_eq!((calls[0].request, calls[0].begun_ms), (7, 50), "those of its batch");
    }

    #[test]
    fn an_answer_that_nobody_asked_for_is_refused() {
        assert_eq!(read((7, 50), input("0", "x").as_bytes(), output("1", 200).as_bytes()), None);
    }

    #[test]
    fn requests_about_batches_are_told_from_calls() {
        let about = ["/v1/files", "/v1/files/1/content", "/v1/batches", "/batches/1"];
        assert!(about.iter().all(|path| is_of_batches(path)));
        assert!(!is_of_batches("/v1/chat/completions") && !is_of_batches("/v1/embeddings"));
    }

    #[test]
    fn a_batch_is_handed_in_by_one_request_alone() {
        assert!(hands_in(&Method::POST, "/v1/batches") && hands_in(&Method::POST, "/batches"));
        assert!(!hands_in(&Method::GET, "/v1/batches"), "that lists them");
        assert!(!hands_in(&Method::POST, "/v1/batches/1/cancel") && !hands_in(&Method::POST, "/v1/files"));
    }
}
