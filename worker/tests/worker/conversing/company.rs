//! A benchmark of conversations, and the company of models that hold them, each at an endpoint of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_benchmarks::{Dataset, Item, Persona, SelectError, Sessions, Simulated, Step, Suite};
use regatta_catalog::Sweep;
use regatta_proto::{
    AccountId, BenchmarkLock, ChatMessage, ChatRequest, ChatRole, Control, Digest, EndpointKind, EndpointRoute,
    EndpointSpec, Faults, ItemIndex, ModelRef, ModelSpec, Money, Price, Reply, Role, RoleModels, Sampling, SessionSeed,
    Setting, Simulation, SweepLock, Transcript,
};
use regatta_simulator::{Config, SimulatedEndpoint, SimulatedSuite};
use regatta_stage::benchmark_lock;

use crate::stage::{Stage, route, unscored};

/// A benchmark of conversations: the user begins, the agent calls a tool, and is then asked the same twice.
pub(crate) struct Talk(Vec<Item>);

pub(crate) const PARTS: [Role; 5] = [Role::User, Role::Agent, Role::Environment, Role::Agent, Role::Agent];

impl Dataset for Talk {
    fn items(&self) -> &[Item] {
        &self.0
    }

    fn select(&self, _: &Setting, _: &[String], _: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        Ok(vec![ItemIndex(0)])
    }
}

impl Sessions for Talk {
    fn roles(&self, _: &Setting) -> Vec<Role> {
        vec![Role::Agent, Role::User, Role::Environment]
    }

    fn next(&self, _: ItemIndex, _: &Setting, transcript: &Transcript) -> Step {
        let calls: Vec<_> = transcript.calls().collect();
        if let Some((call, part)) = calls.iter().zip(PARTS).find(|(call, part)| call.role != *part) {
            return Step::Unfit(format!("{} spoke for {part}", call.role));
        }
        let Some(role) = PARTS.get(calls.len()) else { return Step::Done };
        let heard = match calls.last() {
            Some(call) if calls.len() < 3 => call.reply.text.as_deref().unwrap_or_default().to_owned(),
            Some(_) => "again?".to_owned(),
            None => "begin".to_owned(),
        };
        Step::Ask(*role, ChatRequest::new(vec![ChatMessage::new(ChatRole::User, heard)], Sampling::default()))
    }
}

impl Simulated for Talk {
    fn simulate(
        &self,
        _: ItemIndex,
        _: &Setting,
        role: Role,
        _: Persona,
        SessionSeed(seed): SessionSeed,
        request: &ChatRequest,
    ) -> Reply {
        let heard = request.messages.last().map(|message| message.content.to_string()).unwrap_or_default();
        Reply::said(format!("{role} {seed} after ({heard})"))
    }
}

unscored!(Talk);

/// The three endpoints of a conversation, each a server of its own.
pub(crate) struct Company {
    pub(crate) stage: Stage,
    pub(crate) servers: BTreeMap<&'static str, SimulatedEndpoint>,
}

pub(crate) const NAMES: [&str; 3] = ["people", "sim", "tools"];

pub(crate) fn talk() -> Arc<dyn Suite> {
    Arc::new(Talk(vec![Item { id: "tea".parse().unwrap(), task: "talk".into(), group: None }]))
}

pub(crate) async fn serve(simulation: Simulation, address: Option<&str>) -> SimulatedEndpoint {
    let suites = vec![SimulatedSuite { benchmark: "talk".parse().unwrap(), default_setting: None, suite: talk() }];
    let mut config = Config { simulation, ..Config::on_loopback(suites) };
    if let Some(address) = address {
        config.listen = address.parse().unwrap();
    }
    SimulatedEndpoint::start(config).await.unwrap()
}

pub(crate) fn endpoint(server: &SimulatedEndpoint) -> EndpointSpec {
    let mut endpoint = EndpointSpec::of_kind(EndpointKind::Openai);
    endpoint.base_url = Some(server.url());
    endpoint.identify_sessions = true;
    endpoint.retries.base_delay_ms = 3_600_000;
    endpoint.retries.max_delay_ms = 3_600_000;
    endpoint.retries.deadline_ms = 36_000_000;
    endpoint
}

pub(crate) fn model(id: &str, max_tokens: u32, dollars_per_mtok: f64) -> ModelSpec {
    ModelSpec {
        max_tokens: Some(max_tokens),
        price: Some(Price::per_mtok(0.0, dollars_per_mtok)),
        ..ModelSpec::from(id.parse::<ModelRef>().unwrap())
    }
}

impl Company {
    /// Workers hear that the sweep was resumed, once.
    pub(crate) async fn tell_of_resume(&self) {
        let generations = BTreeMap::from([(self.stage.sweep.id.clone(), 1)]);
        let control = Control { routes: self.routes(&NAMES), generations, ..Control::default() };
        self.stage.queue.broadcast(control).await.unwrap();
    }

    pub(crate) async fn gather(tools: Simulation) -> Self {
        let mut servers = BTreeMap::new();
        for name in NAMES {
            let simulation = if name == "tools" { tools.clone() } else { Simulation::default() };
            servers.insert(name, serve(simulation, None).await);
        }
        let roles = RoleModels {
            user: Some(ModelSpec { temperature: Some(0.5), ..model("people/oracle", 100, 5.0) }),
            environment: Some(model("tools/oracle", 500, 2.0)),
        };
        let benchmark = BenchmarkLock { roles, ..benchmark_lock(Digest::of(b"talk"), "talk", 1) };
        let models = vec![ModelSpec { budget_usd: Some(50.0), ..model("sim/oracle", 1000, 1000.0) }];
        let endpoints = servers.iter().map(|(name, server)| (name.parse().unwrap(), endpoint(server))).collect();
        let lock = SweepLock { budget_usd: Some(100.0), ..regatta_stage::lock("talk", benchmark, models, endpoints) };
        let sweep = Sweep::new(lock, BTreeMap::from([("talk".parse().unwrap(), talk())])).unwrap();
        let stage = Stage::of(sweep);
        for account in [stage_account(&stage, None), stage_account(&stage, Some("sim/oracle"))] {
            stage.permits.open_account(&account, Money(100_000_000_000), Money::ZERO).await.unwrap();
        }
        Self { stage, servers }
    }

    pub(crate) fn routes(&self, names: &[&str]) -> Vec<EndpointRoute> {
        names.iter().map(|name| route(&self.stage.sweep, &name.parse().unwrap())).collect()
    }

    /// Tools work from now on, where they were.
    pub(crate) async fn mend_tools(&mut self) {
        let tools = self.servers.remove("tools").unwrap();
        let address = tools.address().to_string();
        tools.shutdown().await;
        self.servers.insert("tools", serve(Simulation::default(), Some(&address)).await);
    }

    pub(crate) fn requests(&self) -> [u64; 3] {
        NAMES.map(|name| self.servers[name].counters().total_answered())
    }

    pub(crate) async fn spent(&self, model: Option<&str>) -> Money {
        self.stage.permits.account(&stage_account(&self.stage, model)).await.unwrap().unwrap().spent
    }
}

pub(crate) fn stage_account(stage: &Stage, model: Option<&str>) -> AccountId {
    AccountId { sweep: stage.sweep.id.clone(), model: model.map(|model| model.parse().unwrap()) }
}

pub(crate) fn cost_of(transcript: &Transcript, roles: &[Role]) -> Money {
    transcript.calls().filter(|call| roles.contains(&call.role)).filter_map(|call| call.cost).sum()
}

/// Texts of all answers of a conversation that nothing disturbs.
pub(crate) async fn undisturbed() -> Vec<Option<Arc<str>>> {
    let company = Company::gather(Simulation::default()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = company.stage.start_untold("w", |_| {});
    let outcome = reports.outcome().await;
    worker.leave().await;
    texts(&outcome.transcript)
}

pub(crate) fn texts(transcript: &Transcript) -> Vec<Option<Arc<str>>> {
    transcript.calls().map(|call| call.reply.text.clone()).collect()
}

/// Every call fails and is tried again an hour later.
pub(crate) fn broken() -> Simulation {
    Simulation { faults: Faults { server_error: 1.0, ..Faults::default() }, ..Simulation::default() }
}
