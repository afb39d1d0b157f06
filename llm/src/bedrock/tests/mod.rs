//! Tests against a local server, with the formats of the Bedrock Runtime API reference and made-up values.

mod answers;
mod failures;
mod requests;
mod streams;

use regatta_proto::{ChatMessage, ChatRole, EndpointKind, ManualClock, Sampling};

use super::*;
use crate::scripted::{Seen, Server, Step};

const MODEL: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

fn env(name: &str) -> Option<String> {
    let value = match name {
        "AWS_ACCESS_KEY_ID" => "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY" => "wJalrXUtnFEMI-secret",
        "AWS_SESSION_TOKEN" => "session-token",
        "AWS_DEFAULT_REGION" => "eu-central-2",
        _ => return None,
    };
    Some(value.to_owned())
}

fn spec(server: &Server) -> EndpointSpec {
    EndpointSpec { base_url: Some(server.base_url.clone()), ..EndpointSpec::of_kind(EndpointKind::Bedrock) }
}

fn open(spec: &EndpointSpec) -> BedrockClient {
    let settings = Settings::new(&"aws".parse().unwrap(), spec, &env, &crate::OutboundPolicy::trusting()).unwrap();
    BedrockClient::new(settings, spec, Arc::new(ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap())))
}

fn hi() -> ChatRequest {
    ChatRequest::new(vec![message(ChatRole::User, "hi")], Sampling::default())
}

fn message(role: ChatRole, content: &str) -> ChatMessage {
    ChatMessage::new(role, content)
}

async fn ask(client: &BedrockClient, request: &ChatRequest) -> Result<Completion, Failure> {
    let held = regatta_memory::ByteBudget::new(256 << 20).holder().read();
    Ok(client.once(&client.prepare(MODEL, request)?, held).await?.value)
}

/// The result of a plain request to a server that does `step`, and the requests that it got.
async fn ask_one(step: Step) -> (Result<Completion, Failure>, Vec<Seen>) {
    let server = Server::scripted(vec![step]).await;
    let result = ask(&open(&spec(&server)), &hi()).await;
    (result, server.seen())
}
