//! The endpoint's batches, in its books.

use std::collections::BTreeMap;

use bytes::Bytes;
use hyper::{Method, Request};
use regatta_proto::Money;
use regatta_simulator::InProcess;
use serde_json::Value;

use crate::referee::Identity;

/// Nano-dollars of an input and of an output token of a batch, as in the spec.
const PRICE: (u64, u64) = (500, 5_000);

/// Part of the API of batches that a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A file is uploaded.
    Upload,
    /// A batch of an uploaded file is made, which costs.
    Creation,
    /// Something is looked at.
    Look,
}

impl Part {
    /// `None` for a request that is about no batch.
    pub(crate) fn of(request: &reqwest::Request) -> Option<Self> {
        let (method, path) = (request.method(), request.url().path());
        match path.trim_start_matches("/v1/").split('/').next() {
            Some("files" | "batches") if *method != Method::POST => Some(Self::Look),
            Some("files") => Some(Self::Upload),
            Some("batches") if path == "/v1/batches" => Some(Self::Creation),
            Some("batches") => Some(Self::Look),
            _ => None,
        }
    }
}

/// A line of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BatchLine {
    /// The endpoint's id of the batch.
    pub(crate) batch: String,
    /// Name of the line in it.
    pub(crate) custom_id: String,
}

/// Batches that were made, and the files of their lines.
#[derive(Debug, Default)]
pub(crate) struct BatchBooks {
    files: BTreeMap<String, Vec<(String, Identity)>>,
    made: Vec<String>,
}

impl BatchBooks {
    /// Notes what the endpoint has answered to `request` of that part; returns the calls of a batch that was made.
    pub(crate) fn note(&mut self, part: Part, request: &[u8], answer: &[u8]) -> Vec<(BatchLine, Identity)> {
        let document = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("the API of batches speaks JSON");
        let id = || document(answer)["id"].as_str().expect("what was made has an id").to_owned();
        match part {
            Part::Upload => {
                self.files.insert(id(), lines(request));
                Vec::new()
            }
            Part::Creation => {
                let batch = id();
                self.made.push(batch.clone());
                let file = document(request)["input_file_id"].as_str().expect("a batch has a file").to_owned();
                let lines = self.files.get(&file).expect("it was uploaded").iter();
                let call = |(custom_id, identity): &(String, Identity)| {
                    (BatchLine { batch: batch.clone(), custom_id: custom_id.clone() }, identity.clone())
                };
                lines.map(call).collect()
            }
            Part::Look => Vec::new(),
        }
    }

    /// Ids of all batches that were made.
    pub(crate) fn made(&self) -> Vec<String> {
        self.made.clone()
    }
}

/// Names and calls of the lines of an upload.
fn lines(upload: &[u8]) -> Vec<(String, Identity)> {
    let call = |line: Value| {
        let body = line.get("body")?;
        let named = |name: &str| body["metadata"][format!("regatta_{name}")].as_str().map(str::to_owned);
        let session = [named("benchmark")?, named("setting")?, named("item")?, named("trial")?];
        let identity = Identity { session, model: body["model"].as_str()?.to_owned(), body: body.to_string() };
        Some((line["custom_id"].as_str()?.to_owned(), identity))
    };
    documents(upload).into_iter().filter_map(call).collect()
}

fn documents(lines: &[u8]) -> Vec<Value> {
    lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Names of the lines of the batch `id` that were answered, with what each costs, once it is over.
pub(crate) async fn answered(endpoint: &InProcess, id: &str) -> BTreeMap<String, Money> {
    let batch: Value = serde_json::from_slice(&read(endpoint, &format!("/v1/batches/{id}")).await).expect("a batch");
    let Some(output) = batch["output_file_id"].as_str() else { return BTreeMap::new() };
    let output = read(endpoint, &format!("/v1/files/{output}/content")).await;
    let cost = |answer: Value| {
        let usage = &answer["response"]["body"]["usage"];
        let tokens = |name: &str| usage[name].as_u64().expect("every answer says what it is billed for");
        let cost = Money(tokens("prompt_tokens") * PRICE.0 + tokens("completion_tokens") * PRICE.1);
        (answer["custom_id"].as_str().expect("every answer says to which line it is").to_owned(), cost)
    };
    documents(&output).into_iter().map(cost).collect()
}

async fn read(endpoint: &InProcess, path: &str) -> Bytes {
    let request = Request::get(path).body(reqwest::Body::default()).expect("a path of ours");
    endpoint.answer(request).await.expect("nothing breaks here").into_body()
}
