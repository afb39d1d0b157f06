//! An endpoint that says everything it was sent in headers back to whoever asks: encoded, cut, split over the chunks of a stream; in
//! texts, calls, thoughts, names, headers and errors. It is a receiver of notices too, which fails, and a collector of traces, which takes none
//! and keeps what it was sent.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use regatta_tests::http::Request;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Encodings of the echo; the first part of a model's name.
pub(crate) const ENCODINGS: [&str; 8] = ["plain", "base64", "base64url", "percent", "hex", "json", "unicode", "cut"];
/// Ways to say it; the second part of a model's name.
pub(crate) const WAYS: [&str; 3] = ["answer", "error", "refusal"];
/// Headers that carry credentials.
const TOLD: [&str; 3] = ["authorization: ", "x-litellm-api-key: ", "x-collector-key: "];

/// Bodies of all requests with spans of traces, one after another.
pub(crate) type Spans = Arc<Mutex<Vec<u8>>>;

/// Listens until the process ends.
pub(crate) async fn start() -> (SocketAddr, Spans) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, spans) = (listener.local_addr().unwrap(), Spans::default());
    let kept = Arc::clone(&spans);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&kept)));
        }
    });
    (address, spans)
}

async fn serve(stream: TcpStream, spans: Spans) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(Request { head, body }) = Request::read(&mut stream).await? {
        if head.starts_with("POST /v1/traces ") {
            spans.lock().unwrap().extend_from_slice(&body);
        }
        let told: Vec<&str> =
            TOLD.iter().filter_map(|name| head.lines().find_map(|line| line.strip_prefix(name))).collect();
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        let model = asked["model"].as_str().unwrap_or_default();
        let (encoding, way) = model.split_once('-').unwrap_or(("plain", "error"));
        let echo = told.iter().map(|told| encoded(told, encoding)).collect::<Vec<_>>().join(" ");
        let written = if asked["stream"] == true {
            streamed(&echo)
        } else if head.contains("/embeddings") {
            whole(200, &echo, &embeddings(&asked, &echo))
        } else {
            match way {
                "answer" => whole(200, &echo, &answer(&echo)),
                "refusal" => whole(200, &echo, &refusal(&echo)),
                _ => whole(400, &echo, &json!({"error": {"message": echo, "type": echo, "code": echo, "param": echo}})),
            }
        };
        stream.write_all(&written).await?;
    }
    Ok(())
}

fn encoded(text: &str, encoding: &str) -> String {
    let each = |write: fn(&mut String, u8)| {
        text.bytes().fold(String::new(), |mut out, byte| {
            write(&mut out, byte);
            out
        })
    };
    match encoding {
        "base64" => STANDARD.encode(text),
        "base64url" => URL_SAFE_NO_PAD.encode(text),
        "percent" => each(|out, byte| write!(out, "%{byte:02X}").unwrap()),
        "hex" => each(|out, byte| write!(out, "{byte:02x}").unwrap()),
        "json" => json!(json!(text).to_string()).to_string(),
        "unicode" => each(|out, byte| write!(out, "\\u{byte:04x}").unwrap()),
        "cut" => format!("{}...", &text[..text.len() * 3 / 4]),
        _ => text.to_owned(),
    }
}

fn answer(echo: &str) -> Value {
    let token =
        |token: &str| json!({"token": token, "logprob": -0.1, "top_logprobs": [{"token": token, "logprob": -0.1}]});
    json!({
        "id": echo, "model": echo, "system_fingerprint": echo, "service_tier": echo, "provider": echo,
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": {
                "role": "assistant", "content": format!("You sent {echo}."), "reasoning_content": echo,
                "tool_calls": [{"id": echo, "type": "function", "function": {"name": echo, "arguments": json!({"said": echo}).to_string()}}],
            },
            "logprobs": {"content": [token(echo)]},
        }],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10, "said": echo},
    })
}

fn refusal(echo: &str) -> Value {
    json!({
        "id": "1", "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": null, "refusal": echo}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10},
    })
}

fn embeddings(asked: &Value, echo: &str) -> Value {
    let count = asked["input"].as_array().map_or(1, Vec::len);
    let data: Vec<Value> = (0..count).map(|index| json!({"index": index, "embedding": [1.0, 0.5]})).collect();
    json!({"model": echo, "data": data, "usage": {"prompt_tokens": 10, "total_tokens": 10}})
}

/// The echo in two deltas of the text, and two of everything else that a stream may have.
fn streamed(echo: &str) -> Vec<u8> {
    let (first, second) = echo.split_at(echo.len() / 2);
    let mut body = String::new();
    for (part, finish) in [(first, Value::Null), (second, json!("stop"))] {
        let delta = json!({"content": part, "reasoning_content": part});
        let chunk =
            json!({"id": echo, "model": echo, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        write!(body, "data: {chunk}\n\n").unwrap();
    }
    let usage = json!({"id": "1", "model": "m", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 10, "said": echo}});
    write!(body, "data: {usage}\n\ndata: [DONE]\n\n").unwrap();
    response(200, echo, "text/event-stream", &body)
}

fn whole(status: u16, echo: &str, body: &Value) -> Vec<u8> {
    response(status, echo, "application/json", &body.to_string())
}

fn response(status: u16, echo: &str, kind: &str, body: &str) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Echo\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n", body.len());
    for name in ["x-request-id", "x-litellm-model-id", "retry-after", "openai-organization", "set-cookie"] {
        write!(head, "{name}: {echo}\r\n").unwrap();
    }
    format!("{head}\r\n{body}").into_bytes()
}
