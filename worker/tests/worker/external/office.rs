//! A benchmark of errands, an endpoint, and agents that are a few lines of Python.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use regatta_benchmarks::{
    Dataset, DelegatedTask, Item, Persona, SelectError, Sessions, Simulated, Step, Suite, ToolAnswer, ToolRequest,
    delegated,
};
use regatta_catalog::Sweep;
use regatta_proto::{
    AccountId, ChatRequest, Digest, EndpointKind, EndpointSpec, Event, ExternalAgent, HowEnded, ItemIndex, MemberName,
    ModelRef, ModelSpec, Money, Price, Reply, Role, SessionOutcome, SessionSeed, Setting, Simulation, SweepLock,
    Transcript,
};
use regatta_simulator::{Config, SimulatedEndpoint, SimulatedSuite};
use regatta_stage::benchmark_lock;
use serde_json::json;

use crate::stage::{Stage, unscored};

/// Setting in which an agent has two turns.
const TALK: &str = "external/mine/talk";

/// A suite whose items are tasks for an agent: the item's name is the text of its task.
struct Errands {
    items: Vec<Item>,
    folder: PathBuf,
}

impl Dataset for Errands {
    fn items(&self) -> &[Item] {
        &self.items
    }

    fn select(&self, _: &Setting, _: &[String], _: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        Ok((0..self.items.len() as u32).map(ItemIndex).collect())
    }
}

impl Sessions for Errands {
    fn members(&self, _: &Setting) -> Vec<MemberName> {
        vec!["cook".parse().unwrap()]
    }

    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step {
        let talks = setting.as_str() == TALK;
        if talks && delegated::turns(transcript).len() >= 2 {
            return Step::Done;
        }
        match transcript.events.last().filter(|_| !talks) {
            Some(Event::Ended(ended)) if !matches!(ended.how, HowEnded::Killed(_) | HowEnded::Interrupted) => {
                Step::Done
            }
            _ => Step::Delegate(DelegatedTask {
                agent: "mine".parse().unwrap(),
                input: json!({"task": self.items[item.0 as usize].id.as_str(), "folder": self.folder}),
            }),
        }
    }

    fn serve(&self, item: ItemIndex, _: &Setting, request: &ToolRequest) -> ToolAnswer {
        let body = format!("{} for {}", request.method, self.items[item.0 as usize].id);
        ToolAnswer { status: 200, body: body.into_bytes(), ..ToolAnswer::not_found() }
    }
}

impl Simulated for Errands {
    fn simulate(
        &self,
        item: ItemIndex,
        _: &Setting,
        _: Role,
        _: Persona,
        SessionSeed(seed): SessionSeed,
        request: &ChatRequest,
    ) -> Reply {
        let heard = request.messages.last().map(|message| message.content.to_string()).unwrap_or_default();
        let who = request.member.as_ref().map_or("nobody", |member| member.as_str());
        Reply::said(format!("{} {who} {seed} heard ({heard})", self.items[item.0 as usize].id))
    }
}

unscored!(Errands);

/// Python code that every agent of these tests begins with.
const PRELUDE: &str = r#"
import json, os, signal, sys, time, urllib.error, urllib.request
errand = json.loads(sys.stdin.readline())
def fetch(url, body=None):
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    try:
        return urllib.request.urlopen(urllib.request.Request(url, body, headers)).read().decode()
    except urllib.error.HTTPError as error:
        return json.dumps({"choices": [{"message": {"content": "refused " + str(error.code)}}]})
def ask(text, base=os.environ["OPENAI_BASE_URL"]):
    body = {"model": os.environ["REGATTA_MODEL"], "messages": [{"role": "user", "content": text}]}
    return json.loads(fetch(base + "/chat/completions", json.dumps(body).encode()))["choices"][0]["message"]["content"]
def first_time(name):
    try:
        os.close(os.open(os.path.join(errand["folder"], name), os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
"#;

/// An agent in Python.
pub(super) fn python(script: &str) -> ExternalAgent {
    command(&["python3", "-c", &format!("{PRELUDE}{script}")])
}

pub(super) fn command(words: &[&str]) -> ExternalAgent {
    ExternalAgent { command: words.iter().map(|word| (*word).to_owned()).collect(), ..service("") }
}

/// An agent behind `url`.
pub(super) fn service(url: &str) -> ExternalAgent {
    let mut agent: ExternalAgent = serde_json::from_str("{}").unwrap();
    agent.url = (!url.is_empty()).then(|| url.to_owned());
    agent
}

/// The stage with an endpoint and a sweep of errands.
pub(super) struct Office {
    pub(super) stage: Stage,
    pub(super) server: SimulatedEndpoint,
    pub(super) folder: tempfile::TempDir,
}

/// Worst case of one call.
pub(super) const CALL_AT_MOST: Money = Money(1_000_000_000);

impl Office {
    /// One item, and an endpoint without faults.
    pub(super) async fn of(agent: ExternalAgent) -> Self {
        Self::with(1, agent, Simulation::default(), |_| {}).await
    }

    pub(super) async fn with(
        items: u32,
        agent: ExternalAgent,
        simulation: Simulation,
        adjust: impl FnOnce(&mut SweepLock),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let name = |number| Item { id: format!("item-{number}-").parse().unwrap(), task: "errand".into(), group: None };
        let suite: Arc<dyn Suite> =
            Arc::new(Errands { items: (0..items).map(name).collect(), folder: folder.path().to_owned() });
        let suites =
            vec![SimulatedSuite { benchmark: "errands".parse().unwrap(), default_setting: None, suite: suite.clone() }];
        let server = SimulatedEndpoint::start(Config { simulation, ..Config::on_loopback(suites) }).await.unwrap();
        let mut lock = lock(items, agent, endpoint(&server));
        adjust(&mut lock);
        let mut stage = Stage::of(Sweep::new(lock, BTreeMap::from([("errands".parse().unwrap(), suite)])).unwrap());
        stage.variables.insert("PATH".to_owned(), "/usr/bin:/bin".to_owned());
        Self { stage, server, folder }
    }

    /// Gives the sweep this much money.
    pub(super) async fn fund(&self, money: Money) {
        self.stage.permits.open_account(&self.account(), money, Money::ZERO).await.unwrap();
    }

    pub(super) async fn spent(&self) -> Money {
        self.stage.permits.account(&self.account()).await.unwrap().unwrap().spent
    }

    fn account(&self) -> AccountId {
        AccountId { sweep: self.stage.sweep.id.clone(), model: None }
    }

    /// The outcome of the only session, by a worker that leaves afterwards.
    pub(super) async fn outcome(&self) -> SessionOutcome {
        self.outcomes(1).await.remove(0)
    }

    /// The outcomes of the sessions of the first `count` items, by a worker that leaves afterwards.
    pub(super) async fn outcomes(&self, count: usize) -> Vec<SessionOutcome> {
        self.stage.publish((0..count).map(|item| self.stage.job(0, item))).await;
        let mut reports = self.stage.reports().await;
        let worker = self.stage.start("w", |_| {}).await;
        let mut outcomes = Vec::new();
        for _ in 0..count {
            outcomes.push(reports.outcome().await);
        }
        worker.leave().await;
        outcomes
    }
}

pub(super) fn endpoint(server: &SimulatedEndpoint) -> EndpointSpec {
    let mut endpoint = EndpointSpec::of_kind(EndpointKind::Openai);
    endpoint.base_url = Some(server.url());
    endpoint.identify_sessions = true;
    endpoint
}

/// A model that reads for nothing.
pub(super) fn model(id: &str) -> ModelSpec {
    ModelSpec {
        max_tokens: Some(1000),
        price: Some(Price::per_mtok(0.0, 1000.0)),
        ..ModelSpec::from(id.parse::<ModelRef>().unwrap())
    }
}

fn lock(items: u32, agent: ExternalAgent, endpoint: EndpointSpec) -> SweepLock {
    let benchmark = benchmark_lock(Digest::of(b"errands"), "external/mine", items);
    let endpoints = BTreeMap::from([("sim".parse().unwrap(), endpoint)]);
    SweepLock {
        agents: BTreeMap::from([("mine".parse().unwrap(), agent)]),
        ..regatta_stage::lock("errands", benchmark, vec![model("sim/oracle")], endpoints)
    }
}

/// Has the agent do sessions of two turns.
pub(super) fn talking(lock: &mut SweepLock) {
    let setting: Setting = TALK.parse().unwrap();
    for benchmark in lock.benchmarks.values_mut() {
        benchmark.settings = vec![setting.clone()];
        benchmark.items = BTreeMap::from([(setting.clone(), 1)]);
    }
}

/// Events of a transcript, one line each.
pub(super) fn story(transcript: &Transcript) -> Vec<String> {
    let line = |event: &Event| match event {
        Event::Started(started) => format!("attempt {} starts {}", started.attempt, started.agent),
        Event::Call(call) => {
            let asked = call.request.messages.last().map(|message| message.content.to_string()).unwrap_or_default();
            let how = if call.from_cache { "knows" } else { "asks" };
            format!("attempt {} {how} {asked}", call.attempt)
        }
        Event::Failed(failed) => format!("fails: {}", failed.tries.last().unwrap().class.as_str()),
        Event::Exchange(exchange) => format!("{} {} {}", exchange.method, exchange.status, exchange.response),
        Event::Ended(ended) => format!("ends: {:?}", ended.how),
        Event::Recorded(_) => panic!("nothing was recorded elsewhere"),
        Event::BenchmarkFailed(failed) => panic!("{failed:?}"),
    };
    transcript.events.iter().map(line).collect()
}

/// Output of the agent in its last start; panics if the transcript does not end with an agent's end.
pub(super) fn output(transcript: &Transcript) -> &str {
    match transcript.events.last() {
        Some(Event::Ended(ended)) => &ended.output,
        other => panic!("{other:?}"),
    }
}

pub(super) fn replies(transcript: &Transcript) -> Vec<&str> {
    transcript.calls().map(|call| call.reply.text.as_deref().unwrap()).collect()
}
