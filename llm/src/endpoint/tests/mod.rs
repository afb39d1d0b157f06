//! Tests through the public interface, against a scripted server.

mod chat;
mod error_table;
mod fault_matrix;
mod hostile;
mod judge;
mod judgement;
mod silent;
mod simulated;

use std::path::Path;

use prometheus::Registry;
use regatta_proto::{
    CacheMode, ChatMessage, ChatRequest, ChatRole, ManualClock, Price, Retries, Role, Sampling, Share, SweepId,
};

use super::*;
use crate::permits::fake::FakeStore;
use crate::scripted::Server;

const KEY: &str = "sk-a-secret-key-of-40-characters-12345678";

/// An answer with every field that a client may need.
const HELLO: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"served-model","system_fingerprint":"fp_1",
"choices":[{"index":0,"message":{"role":"assistant","content":"hello \"you\"","refusal":null},"logprobs":null,"finish_reason":"stop"}],
"usage":{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":6},
"completion_tokens_details":{"reasoning_tokens":1}}}"#;

struct Bench {
    endpoint: Endpoint,
    registry: Registry,
    interrupt: CancellationToken,
    sweep: SweepId,
}

fn spec(server: &Server) -> EndpointSpec {
    EndpointSpec {
        base_url: Some(server.base_url.clone()),
        retries: Retries { attempts: 3, base_delay_ms: 1, max_delay_ms: 5, deadline_ms: 600_000, quarantine_after: 16 },
        api_key_env: Some("OPENAI_API_KEY".to_owned()),
        ..EndpointSpec::of_kind(EndpointKind::Openai)
    }
}

fn try_open(
    spec: &EndpointSpec,
    base_dir: &Path,
    recorded: Option<&[u8]>,
    registry: &Registry,
) -> Result<Endpoint, OpenError> {
    try_open_with(spec, base_dir, recorded, registry, &FakeStore::default())
}

fn try_open_with(
    spec: &EndpointSpec,
    base_dir: &Path,
    recorded: Option<&[u8]>,
    registry: &Registry,
    store: &FakeStore,
) -> Result<Endpoint, OpenError> {
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| KEY.to_owned());
    let parse = |bytes| Arc::new(RecordedVerdicts::parse("judge.jsonl", bytes).unwrap());
    let recorded = recorded.map(parse);
    let context = OpenContext { env: &env, base_dir, recorded, ..store.context(registry, "worker") };
    Endpoint::open(&"main".parse().unwrap(), spec, &context)
}

fn open(spec: &EndpointSpec) -> Bench {
    open_with(spec, &FakeStore::default())
}

fn open_with(spec: &EndpointSpec, store: &FakeStore) -> Bench {
    let registry = Registry::new();
    let endpoint = try_open_with(spec, Path::new("/nowhere"), None, &registry, store).unwrap();
    Bench { endpoint, registry, interrupt: CancellationToken::new(), sweep: sweep() }
}

fn sweep() -> SweepId {
    "nightly-1".parse().unwrap()
}

fn payer<'a>(sweep: &'a SweepId, price: Option<&'a Price>) -> Payer<'a> {
    Payer { sweep, share: Share::default(), accounts: &[], price, cache: CacheMode::Off }
}

fn request() -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "hi")], Sampling::default())
}

impl Bench {
    fn call<'a>(&'a self, request: &'a ChatRequest) -> ChatCall<'a> {
        ChatCall {
            holder: None,
            model: "asked-model",
            role: Role::Agent,
            attempt: 2,
            request,
            payer: payer(&self.sweep, None),
            session: None,
            repeat: 0,
            interrupt: &self.interrupt,
            meter: None,
        }
    }

    async fn chat(&self) -> Result<Call, CallError> {
        self.endpoint.chat(self.call(&request())).await
    }

    /// The tries of a call that was given up.
    async fn tries(&self) -> Vec<Try> {
        self.tries_of(self.call(&request())).await
    }

    async fn tries_of(&self, call: ChatCall<'_>) -> Vec<Try> {
        match self.endpoint.chat(call).await {
            Err(CallError::Failed(failed)) => failed.tries,
            other => panic!("not given up: {other:?}"),
        }
    }

    fn metrics(&self) -> String {
        prometheus::TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap()
    }
}
