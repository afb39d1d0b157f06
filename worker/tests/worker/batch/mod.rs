//! The batch lane, between queues in memory and a provider's batch API.

mod claimed;
mod continued;
mod copied;
mod failing;
mod killed;
mod life;
mod paid;
mod redelivered;
mod server;
mod simulated;
mod told;
mod unconfirmed;

use std::sync::Mutex;

use regatta_proto::{BatchSettings, Cause, EndpointKind, Lane, Money, Outcome};

use crate::stage::{Stage, within};
use server::{BatchServer, Line};

const MEASURED: Outcome = Outcome::Measured;
/// Longer than any test.
const FOR_EVER_MS: u64 = 86_400_000;
/// Worst case of a session, and the cost of the server's usual answer, at batch rates.
const AT_MOST: Money = Money(500_000_000);
const COST: Money = Money(5_000_000);

/// A stage whose endpoint is of the batch lane; a batch is closed when it has `requests_max` sessions, and not before.
async fn lane_of(kind: EndpointKind, requests_max: u32) -> (Stage, BatchServer) {
    let mut stage = Stage::set().await;
    let server = into_lane(&mut stage, requests_max).await;
    stage.route.endpoint.kind = kind;
    stage.route.endpoint.identify_sessions = kind == EndpointKind::Simulated;
    (stage, server)
}

/// Makes the stage's endpoint one of OpenAI's kind and of the batch lane.
async fn into_lane(stage: &mut Stage, requests_max: u32) -> BatchServer {
    let server = BatchServer::start().await;
    let endpoint = &mut stage.route.endpoint;
    endpoint.base_url = Some(server.url());
    endpoint.api_key_env = Some("none".to_owned());
    endpoint.lane = Lane::Batch;
    endpoint.batch = Some(BatchSettings { requests_max, gather_ms: FOR_EVER_MS, poll_ms: 5 });
    endpoint.retries.base_delay_ms = 1;
    endpoint.retries.max_delay_ms = 5;
    endpoint.retries.attempts = 3;
    server
}

async fn lane(requests_max: u32) -> (Stage, BatchServer) {
    lane_of(EndpointKind::Openai, requests_max).await
}

/// Fails each line of the first batch that it sees as `line` says; all others are answered.
fn at_first(line: Line) -> impl Fn(&str, &serde_json::Value) -> Line {
    let first = Mutex::new(None);
    move |custom_id, _| {
        let batch = custom_id.split('-').next().unwrap_or_default().to_owned();
        let mut first = first.lock().unwrap();
        if *first.get_or_insert_with(|| batch.clone()) == batch { line.clone() } else { Line::Says("an answer") }
    }
}

fn not_measured(cause: Cause) -> Outcome {
    Outcome::NotMeasured { cause }
}

/// Looks again and again, letting others work, until `done` holds.
async fn until(mut done: impl AsyncFnMut() -> bool) {
    within(async {
        while !done().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
