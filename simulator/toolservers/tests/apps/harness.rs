//! The miniature phone, served, and a client of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use regatta_appbench::ServedApps;
use regatta_proto::FileSet;
use regatta_toolservers::SimulatedApps;
use reqwest::{Client, RequestBuilder};
use serde_json::Value;

pub(crate) struct Harness {
    pub(crate) server: SimulatedApps,
    pub(crate) client: Client,
}

impl Harness {
    pub(crate) async fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/appbench");
        let mut files = FileSet::from_origin("miniature");
        for name in ["test/test_ss.json", "test/test_sm.json", "apps.json"] {
            files.insert(name, std::fs::read(root.join(name)).unwrap());
        }
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = SimulatedApps::start(listen, ServedApps::load(&files).unwrap()).await.unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { server, client: Client::new() }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.client.get(self.url(path))).await
    }

    /// Calls an API in a session of an item.
    pub(crate) async fn call(&self, item: &str, session: &str, api: &str, arguments: Value) -> (u16, Value) {
        let request = self.client.post(self.url(&format!("/apps/{api}")));
        let request = request.header("x-regatta-item", item).header("x-regatta-session", session);
        answer(request.json(&arguments)).await
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
