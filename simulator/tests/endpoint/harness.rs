//! An endpoint with three items, and a client for its sessions.

use std::sync::Arc;

use jiff::Timestamp;
use regatta_proto::{Faults, ManualClock, Simulation};
use regatta_simulator::{Config, Script, SimulatedEndpoint, SimulatedSuite};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::three_items::{ThreeItems, prompt};

/// The `created` time of every answer of [`config`].
pub(crate) const STARTED: i64 = 1_754_000_000;

/// An endpoint without faults that serves [`ThreeItems`] under the name of a real benchmark.
pub(crate) fn config() -> Config {
    let suite = SimulatedSuite {
        benchmark: "worfbench".parse().unwrap(),
        default_setting: Some("zero-shot".parse().unwrap()),
        suite: Arc::new(ThreeItems::new()),
    };
    let clock = Arc::new(ManualClock::at(Timestamp::from_second(STARTED).unwrap()));
    Config { clock, ..Config::on_loopback(vec![suite]) }
}

pub(crate) fn simulating(simulation: Simulation) -> Config {
    Config { simulation, ..config() }
}

pub(crate) fn faulty(faults: Faults) -> Config {
    simulating(Simulation { faults, ..Simulation::default() })
}

pub(crate) fn scripted(lines: &str) -> Config {
    Config { script: Some(Script::parse("test", lines).unwrap()), ..config() }
}

/// A running endpoint and a client of it.
pub(crate) struct Harness {
    pub(crate) endpoint: SimulatedEndpoint,
    pub(crate) client: Client,
}

/// The formats of chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Chat,
    Messages,
    Responses,
}

impl Format {
    pub(crate) const ALL: [Self; 3] = [Self::Chat, Self::Messages, Self::Responses];

    const fn route(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Messages => "/messages",
            Self::Responses => "/responses",
        }
    }
}

/// The parts of an answer that tests look at.
#[derive(Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

impl Read {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in {}", self.text))
    }

    /// Names and data of the events of a stream.
    pub(crate) fn events(&self) -> Vec<(String, String)> {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        let blocks = self.text.split_terminator("\n\n");
        let field = |block: &str, name: &str| {
            block.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
        };
        blocks.map(|block| (field(block, "event: "), field(block, "data: "))).collect()
    }

    pub(crate) fn content(&self) -> String {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    }
}

impl Harness {
    pub(crate) async fn start(config: Config) -> Self {
        // Fails if another test of this process was first, which does no harm.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy().pool_idle_timeout(None).build().unwrap();
        Self { endpoint: SimulatedEndpoint::start(config).await.unwrap(), client }
    }

    pub(crate) fn post(&self, route: &str, body: &Value) -> RequestBuilder {
        self.client.post(format!("{}{route}", self.endpoint.url())).json(body)
    }

    /// A chat request about `id`, recognisable by its message.
    pub(crate) fn ask(&self, model: &str, id: &str) -> RequestBuilder {
        let body = json!({"model": model, "messages": [{"role": "user", "content": prompt(id)}]});
        self.post("/chat/completions", &body)
    }

    /// A request about `id` in any format, recognisable by its message, with `fields` beside it.
    pub(crate) fn ask_as(&self, format: Format, model: &str, id: &str, fields: &Value) -> RequestBuilder {
        let mut body = match format {
            Format::Chat => json!({"model": model, "messages": [{"role": "user", "content": prompt(id)}]}),
            Format::Messages => {
                json!({"model": model, "max_tokens": 1000, "messages": [{"role": "user", "content": prompt(id)}]})
            }
            Format::Responses => json!({"model": model, "input": prompt(id)}),
        };
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.post(format.route(), &body)
    }

    /// A chat request that only its headers connect with `encoded_id`.
    pub(crate) fn ask_by_header(&self, model: &str, encoded_id: &str, seed: u64) -> RequestBuilder {
        let body = json!({"model": model, "messages": [{"role": "user", "content": "go on"}]});
        self.post("/chat/completions", &body)
            .header("x-regatta-benchmark", "worfbench")
            .header("x-regatta-setting", "two-shot")
            .header("x-regatta-item", encoded_id)
            .header("x-regatta-trial", "0")
            .header("x-regatta-seed", seed.to_string())
    }
}

pub(crate) async fn read(request: RequestBuilder) -> Read {
    read_answer(request.send().await.unwrap()).await
}

pub(crate) async fn read_answer(answer: Response) -> Read {
    assert_eq!(answer.headers()["x-regatta-simulated"], "true");
    Read { status: answer.status(), text: answer.text().await.unwrap() }
}
