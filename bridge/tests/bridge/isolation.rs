//! Many sessions at once.

use std::sync::Arc;

use futures::future::BoxFuture;
use regatta_benchmarks::{ToolAnswer, ToolRequest};
use regatta_bridge::{Answered, BridgedSession, Refused};
use regatta_proto::{ChatRequest, Reply, Usage};
use serde_json::Value;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::harness::{bridge, chat, client, said};

const SESSIONS: usize = 1_000;

/// Answers when all sessions have been asked.
struct Marked {
    mark: usize,
    all: Arc<Barrier>,
}

impl BridgedSession for Marked {
    fn call(&self, request: ChatRequest, _: &str) -> BoxFuture<'_, Result<Answered, Refused>> {
        Box::pin(async move {
            self.all.wait().await;
            let reply = Reply::said(format!("{} of {}", request.messages[0].content, self.mark));
            Ok(Answered { reply, usage: Usage::default(), model: "m".to_owned() })
        })
    }

    fn serve(&self, _: ToolRequest) -> ToolAnswer {
        ToolAnswer { status: 200, body: self.mark.to_string().into_bytes(), ..ToolAnswer::not_found() }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sessions_at_once_each_get_their_own_answers() {
    let (bridge, client) = (bridge().await, client());
    let all = Arc::new(Barrier::new(SESSIONS));
    let mut agents = JoinSet::new();
    for mark in 0..SESSIONS {
        let open = bridge.open(Arc::new(Marked { mark, all: Arc::clone(&all) }));
        let client = client.clone();
        agents.spawn(async move {
            let url = |path: &str| format!("{}{path}", open.base_url());
            // Half of them ask for the same, so that only the session tells them apart.
            let asked = if mark % 2 == 0 { "the same".to_owned() } else { format!("number {mark}") };
            let call = client.post(url("/v1/chat/completions")).json(&chat(&asked)).send().await.unwrap();
            assert_eq!(said(&call.json::<Value>().await.unwrap()), format!("{asked} of {mark}"));
            let tool = client.get(url("/tools/proxy/http/h/")).send().await.unwrap();
            assert_eq!(tool.text().await.unwrap(), mark.to_string());
        });
    }
    while let Some(agent) = agents.join_next().await {
        agent.unwrap();
    }
    bridge.shutdown().await;
}
