//! Simulated tools, and two clients of them: a third-party one, and one that sends given bytes.

use std::collections::BTreeMap;

use jiff::civil::date;
use regatta_autoslurp::ServedTools;
use regatta_proto::{Faults, Simulation};
use regatta_toolservers::{SimulatedTools, ToolPort, ToolsConfig};
use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

pub(crate) struct Harness {
    pub(crate) server: SimulatedTools,
    pub(crate) client: Client,
}

/// Tools without faults, on the day of the recorded answers.
pub(crate) fn config() -> ToolsConfig {
    ToolsConfig::on_loopback(ServedTools::on(date(2025, 5, 28)))
}

impl Harness {
    pub(crate) async fn start(config: ToolsConfig) -> Self {
        let server = SimulatedTools::start(config).await.unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { server, client: Client::builder().no_proxy().build().unwrap() }
    }

    /// Starts every server on a free port of its own too.
    pub(crate) async fn with_ports() -> Self {
        let ports = ServedTools::servers().map(|(server, _)| ToolPort { server: server.to_owned(), port: 0 }).collect();
        Self::start(ToolsConfig { ports, ..config() }).await
    }

    /// Starts tools with these faults.
    pub(crate) async fn with_faults(seed: u64, faults: Faults) -> Self {
        Self::start(ToolsConfig { simulation: Simulation { seed, faults, ..Simulation::default() }, ..config() }).await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.client.get(self.url(path))).await
    }

    /// The log of a session.
    pub(crate) async fn log(&self, session: &str) -> Vec<Value> {
        let response = self.client.get(self.url(&format!("/sessions/{session}/log"))).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.text().await.unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// A request in the format of MCP, as its specification of 2025-06-18 describes it.
    pub(crate) async fn mcp(&self, path: &str, message: Value) -> (u16, Value) {
        let request = self.client.post(self.url(path)).header("accept", "application/json, text/event-stream");
        answer(request.header("mcp-protocol-version", "2025-06-18").json(&message)).await
    }
}

/// Status and JSON of an answer, or its text if that is no JSON.
pub(crate) async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// A connection that sends requests byte for byte.
pub(crate) struct Wire {
    stream: BufReader<TcpStream>,
    host: String,
}

/// A received answer.
pub(crate) struct Received {
    pub(crate) status: u16,
    /// Headers by name in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Wire {
    pub(crate) async fn connect(url: &str) -> Self {
        let host = url.strip_prefix("http://").unwrap().to_owned();
        Self { stream: BufReader::new(TcpStream::connect(&host).await.unwrap()), host }
    }

    pub(crate) async fn ask(
        &mut self,
        method: &str,
        target: &str,
        content_type: Option<&str>,
        body: Option<&[u8]>,
    ) -> Received {
        let mut request = format!("{method} {target} HTTP/1.1\r\nHost: {}\r\n", self.host);
        if let Some(content_type) = content_type {
            request.push_str(&format!("Content-Type: {content_type}\r\n"));
        }
        if let Some(body) = body {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        let bytes = [request.as_bytes(), body.unwrap_or_default()].concat();
        self.stream.write_all(&bytes).await.unwrap();
        let status = self.line().await.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = BTreeMap::new();
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; if method == "HEAD" { 0 } else { length }];
        self.stream.read_exact(&mut body).await.unwrap();
        Received { status, headers, body }
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }
}
