//! Requests to a suite that answers few calls at once, as one whose program has few processes.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use futures::FutureExt as _;
use hyper::Request;
use regatta_benchmarks::{Dataset, Item, Persona, SelectError, Simulated};
use regatta_proto::{ChatRequest, ItemIndex, Reply, Role, SessionSeed, Setting};
use regatta_simulator::{Config, InProcess, SimulatedSuite};
use serde_json::json;

use crate::harness::config;
use crate::three_items::{PLAIN, ThreeItems, prompt};

/// Answers as many calls at once as it says. While the first is answered, another request comes.
struct Narrow {
    items: ThreeItems,
    at_once: Option<NonZeroUsize>,
    endpoint: OnceLock<InProcess>,
    calls: AtomicU32,
    /// Calls when the other request had come, which was waiting or answered then.
    calls_meanwhile: AtomicU32,
}

fn request() -> Request<String> {
    let body = json!({"model": "oracle", "messages": [{"role": "user", "content": prompt(PLAIN)}]});
    Request::post("/v1/chat/completions").body(body.to_string()).unwrap()
}

impl Dataset for Narrow {
    fn items(&self) -> &[Item] {
        self.items.items()
    }

    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        self.items.select(setting, tasks, limit)
    }

    fn calls_at_once(&self) -> Option<NonZeroUsize> {
        self.at_once
    }
}

impl Simulated for Narrow {
    fn simulate(
        &self,
        item: ItemIndex,
        setting: &Setting,
        role: Role,
        persona: Persona,
        seed: SessionSeed,
        request_to_first: &ChatRequest,
    ) -> Reply {
        if self.calls.fetch_add(1, Ordering::SeqCst) == 0 {
            let _ = self.endpoint.get().unwrap().answer(request()).now_or_never();
            self.calls_meanwhile.store(self.calls.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        self.items.simulate(item, setting, role, persona, seed, request_to_first)
    }

    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex> {
        self.items.recognise(request)
    }
}

/// Calls until the first request was answered, and after a further one.
async fn calls(at_once: Option<usize>) -> (u32, u32) {
    let suite = Arc::new(Narrow {
        items: ThreeItems::new(),
        at_once: at_once.and_then(NonZeroUsize::new),
        endpoint: OnceLock::new(),
        calls: AtomicU32::new(0),
        calls_meanwhile: AtomicU32::new(0),
    });
    let simulated = SimulatedSuite {
        benchmark: "worfbench".parse().unwrap(),
        default_setting: Some("zero-shot".parse().unwrap()),
        suite: suite.clone(),
    };
    let endpoint = InProcess::new(Config { suites: vec![simulated], ..config() }).unwrap();
    suite.endpoint.set(endpoint.clone()).unwrap();
    for _ in 0..2 {
        assert_eq!(endpoint.answer(request()).await.unwrap().status(), 200);
    }
    (suite.calls_meanwhile.load(Ordering::SeqCst), suite.calls.load(Ordering::SeqCst))
}

#[tokio::test]
async fn no_more_calls_are_begun_than_a_suite_answers_at_once_and_turns_are_given_back() {
    assert_eq!(calls(Some(1)).await, (1, 2), "the other request waits without a thread");
    assert_eq!(calls(Some(2)).await, (2, 3));
    assert_eq!(calls(None).await, (2, 3), "where calls wait for nothing, none is held up");
}
