//! Through the public door, against a scripted server.

mod chat;
mod error_table;
mod judge;

use std::path::Path;

use prometheus::Registry;
use regatta_proto::{ChatMessage, ChatRequest, ChatRole, ManualClock, Retries, Role, Sampling};

use super::*;
use crate::CallMetrics;
use crate::scripted::Server;

const KEY: &str = "sk-a-secret-key-of-40-characters-12345678";

/// Answers everything a client wants.
const HELLO: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"served-model","system_fingerprint":"fp_1",
"choices":[{"index":0,"message":{"role":"assistant","content":"hello \"you\"","refusal":null},"logprobs":null,"finish_reason":"stop"}],
"usage":{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":6},
"completion_tokens_details":{"reasoning_tokens":1}}}"#;

struct Bench {
    endpoint: Endpoint,
    registry: Registry,
    interrupt: CancellationToken,
}

fn spec(server: &Server) -> EndpointSpec {
    EndpointSpec {
        base_url: Some(server.base_url.clone()),
        retries: Retries { attempts: 3, base_delay_ms: 1, max_delay_ms: 5, deadline_ms: 600_000, quarantine_after: 16 },
        ..EndpointSpec::of_kind(EndpointKind::Openai)
    }
}

fn try_open(
    spec: &EndpointSpec,
    base_dir: &Path,
    recorded: Option<&[u8]>,
    registry: &Registry,
) -> Result<Endpoint, OpenError> {
    let context = OpenContext {
        env: &|name| (name == "OPENAI_API_KEY").then(|| KEY.to_owned()),
        base_dir,
        recorded,
        metrics: Arc::new(CallMetrics::register(registry).unwrap()),
        clock: Arc::new(ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap())),
        seed: 1,
    };
    Endpoint::open(&"main".parse().unwrap(), spec, &context)
}

fn open(spec: &EndpointSpec) -> Bench {
    let registry = Registry::new();
    let endpoint = try_open(spec, Path::new("/nowhere"), None, &registry).unwrap();
    Bench { endpoint, registry, interrupt: CancellationToken::new() }
}

fn request() -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "hi")], Sampling::default())
}

impl Bench {
    fn call<'a>(&'a self, request: &'a ChatRequest) -> ChatCall<'a> {
        ChatCall {
            model: "asked-model",
            role: Role::Agent,
            attempt: 2,
            request,
            price: None,
            session: None,
            interrupt: &self.interrupt,
        }
    }

    async fn chat(&self) -> Result<Call, CallError> {
        self.endpoint.chat(self.call(&request())).await
    }

    /// The tries of a call that was given up.
    async fn tries(&self) -> Vec<Try> {
        match self.chat().await {
            Err(CallError::Failed(failed)) => failed.tries,
            other => panic!("not given up: {other:?}"),
        }
    }

    fn metrics(&self) -> String {
        prometheus::TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap()
    }
}
