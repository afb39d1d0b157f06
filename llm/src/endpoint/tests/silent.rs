//! An endpoint that takes calls and answers none.

use std::future::pending;
use std::time::Duration;

use futures::future::join_all;
use regatta_tests::Logged;
use tokio::time::timeout;

use super::*;
use crate::{Network, NoAnswer};

/// Network on which every request arrives, and no answer leaves.
struct Silent;

impl Network for Silent {
    fn answer(&self, _request: reqwest::Request) -> BoxFuture<'_, Result<reqwest::Response, NoAnswer>> {
        Box::pin(pending())
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_takes_calls_and_answers_nothing_is_warned_of_within_half_a_minute_of_the_first_of_them() {
    let (log, _listening) = Logged::listen();
    let (registry, store) = (Registry::new(), FakeStore::default());
    let spec = EndpointSpec {
        base_url: Some("http://127.0.0.1:9/v1".to_owned()),
        api_key_env: Some("none".to_owned()),
        ..EndpointSpec::of_kind(EndpointKind::Openai)
    };
    let context = OpenContext { network: Some(Arc::new(Silent)), ..store.context(&registry, "worker") };
    let endpoint = Endpoint::open(&"main".parse().unwrap(), &spec, &context).unwrap();
    let bench = Bench { endpoint, registry, interrupt: CancellationToken::new(), sweep: sweep() };
    let request = request();
    let calls = join_all((0..3).map(|_| bench.endpoint.chat(bench.call(&request))));
    assert!(timeout(Duration::from_secs(30), calls).await.is_err(), "they wait on");
    let [warning] = &log.lines()[..] else { panic!("{:?}", log.lines()) };
    let expected = " WARN endpoint main has answered nothing for 20 s; 3 calls wait for it, each as long as `timeouts` of the endpoint allow";
    assert!(warning.starts_with(expected), "{warning}");
}
