//! Answers of batch APIs: descriptions of batches, pages of their list, uploads, files of results.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_llm::{BatchCall, BatchClient, Network, NoAnswer, SessionTag};
use regatta_proto::{
    BenchmarkName, CacheMode, ChatMessage, ChatRequest, ChatRole, EndpointKind, ItemId, Role, Sampling, SessionSeed,
    Setting, Trial, Try,
};
use reqwest::{Request, Response};
use tokio_util::sync::CancellationToken;

use crate::input::Input;
use crate::providers::{assert_hides_key, spec, with_context, with_key};
use crate::runtime::block_on;

/// Our id of the batch, as results name it.
const ID: &str = "0a1b";
/// Calls of the batch.
const CALLS: usize = 3;

/// Whatever a batch API answers, every call has one result, and no failure shows the key.
pub(crate) fn run(mut input: Input<'_>) {
    let kind = *input.choose(&[EndpointKind::Openai, EndpointKind::Anthropic]);
    let step = input.byte();
    let answers = Answers(Mutex::new(input.records().map(|record| answer(Input(record))).collect()));
    let failed = |failed: Option<Try>| failed.iter().for_each(|failed| assert_hides_key(&failed.detail));
    block_on(async {
        let client =
            with_context(answers, |context| BatchClient::open(&"main".parse().unwrap(), &spec(kind), context).unwrap());
        match step % 5 {
            0 => failed(client.poll("batch_1").await.err()),
            1 => {
                let intended_at = "2026-01-01T00:00:00Z".parse().unwrap();
                failed(client.find(ID, intended_at..=intended_at, CALLS).await.err());
            }
            2 => failed(client.holds("batch_1", ID).await.err()),
            3 => {
                with_calls(async |calls| {
                    let prepared = client.prepare(ID, calls).await;
                    let _ = client
                        .submit(ID, prepared, &CancellationToken::new(), &|| std::future::ready(true).boxed())
                        .await;
                })
                .await
            }
            _ => {
                with_calls(async |calls| match client.collect(ID, "batch_1", calls).await {
                    Ok(collected) => {
                        assert_eq!(collected.calls.len(), CALLS);
                        let tries = collected.calls.into_iter().filter_map(Result::err).flat_map(|call| call.tries);
                        tries.for_each(|tried| failed(Some(tried)));
                    }
                    Err(tried) => failed(Some(tried)),
                })
                .await
            }
        }
    });
}

/// An answer is its status and its body.
fn answer(mut record: Input<'_>) -> (u16, Vec<u8>) {
    let status = *record.choose(&[200, 200, 200, 200, 400, 404, 429, 500]);
    (status, with_key(record.0).to_vec())
}

async fn with_calls(ask: impl AsyncFnOnce(&[BatchCall<'_>])) {
    let (benchmark, setting): (BenchmarkName, Setting) = ("b".parse().unwrap(), "s".parse().unwrap());
    let item: ItemId = "i".parse().unwrap();
    let request = ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "hi")], Sampling::default());
    let session = SessionTag {
        benchmark: &benchmark,
        setting: &setting,
        item: &item,
        trial: Trial(0),
        role: Role::Agent,
        seed: SessionSeed(7),
    };
    let call = BatchCall {
        model: "m",
        role: Role::Agent,
        attempt: 1,
        request: &request,
        price: None,
        cache: CacheMode::Off,
        session,
    };
    ask(&[call; CALLS]).await;
}

/// A network that gives one answer after the other, and then none any more.
struct Answers(Mutex<VecDeque<(u16, Vec<u8>)>>);

impl Network for Answers {
    fn answer(&self, _: Request) -> BoxFuture<'_, Result<Response, NoAnswer>> {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let (status, body) = next.unwrap_or((404, Vec::new()));
        let response = hyper::Response::builder().status(status).body(reqwest::Body::from(body)).unwrap();
        async move { Ok(Response::from(response)) }.boxed()
    }
}
