//! Sessions in which models talk to each other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use regatta_benchmarks::{DataError, Item, Persona, Score, Scores, Scoring, SelectError, Step, Suite, Table, Verdicts};
use regatta_catalog::Sweep;
use regatta_memory::ByteBudget;
use regatta_proto::{
    AccountId, BenchmarkLock, Call, Cause, CellIndex, ChatMessage, ChatRequest, ChatRole, Control, Digest,
    EndpointKind, EndpointName, EndpointRoute, EndpointSpec, Evaluator, Event, Faults, ItemIndex, Job, Lane, Latency,
    ModelRef, ModelSpec, Money, Outcome, Price, PriceSource, Reply, Report, Role, RoleModels, Sampling, Served,
    SessionJob, SessionSeed, Setting, Simulation, SweepLock, Transcript, Usage,
};
use regatta_simulator::{Config, SimulatedEndpoint, SimulatedSuite, answer_seed};

use crate::stage::{Cable, Reports, Stage};

/// A benchmark of conversations: the user begins, the agent calls a tool, and is then asked the same twice.
struct Talk(Vec<Item>);

const PARTS: [Role; 5] = [Role::User, Role::Agent, Role::Environment, Role::Agent, Role::Agent];

impl Suite for Talk {
    fn items(&self) -> &[Item] {
        &self.0
    }

    fn select(&self, _: &Setting, _: &[String], _: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        Ok(vec![ItemIndex(0)])
    }

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

    fn is_judged(&self, _: Evaluator, _: &str) -> bool {
        false
    }

    fn recognise(&self, _: &ChatRequest) -> Option<ItemIndex> {
        None
    }

    fn score(&self, _: ItemIndex, _: &[Evaluator], _: &Transcript, _: &dyn Verdicts) -> Scoring {
        unreachable!("a worker scores nothing")
    }

    fn score_failure(&self, _: ItemIndex, _: &[Evaluator]) -> Scores {
        unreachable!("a worker scores nothing")
    }

    fn tabulate(&self, _: Evaluator, _: &[Vec<(ItemIndex, &Score)>]) -> Table {
        unreachable!("a worker scores nothing")
    }

    fn read_predictions(&self, _: &str, _: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
        unreachable!("a worker reads no predictions")
    }
}

/// The three endpoints of a conversation, each a server of its own.
struct Company {
    stage: Stage,
    servers: BTreeMap<&'static str, SimulatedEndpoint>,
}

const NAMES: [&str; 3] = ["people", "sim", "tools"];

fn talk() -> Arc<dyn Suite> {
    Arc::new(Talk(vec![Item { id: "tea".parse().unwrap(), task: "talk".into(), group: None }]))
}

async fn serve(simulation: Simulation, address: Option<&str>) -> SimulatedEndpoint {
    let suites = vec![SimulatedSuite { benchmark: "talk".parse().unwrap(), default_setting: None, suite: talk() }];
    let mut config = Config { simulation, ..Config::on_loopback(suites) };
    if let Some(address) = address {
        config.listen = address.parse().unwrap();
    }
    SimulatedEndpoint::start(config).await.unwrap()
}

fn endpoint(server: &SimulatedEndpoint) -> EndpointSpec {
    let mut endpoint = EndpointSpec::of_kind(EndpointKind::Openai);
    endpoint.base_url = Some(server.url());
    endpoint.identify_sessions = true;
    endpoint.retries.base_delay_ms = 3_600_000;
    endpoint.retries.max_delay_ms = 3_600_000;
    endpoint.retries.deadline_ms = 36_000_000;
    endpoint
}

fn model(id: &str, max_tokens: u32, dollars_per_mtok: f64) -> ModelSpec {
    ModelSpec {
        max_tokens: Some(max_tokens),
        price: Some(Price::per_mtok(0.0, dollars_per_mtok)),
        ..ModelSpec::from(id.parse::<ModelRef>().unwrap())
    }
}

impl Company {
    /// Workers hear that the sweep was resumed, once.
    async fn tell_of_resume(&self) {
        let generations = BTreeMap::from([(self.stage.sweep.id.clone(), 1)]);
        let control = Control { routes: self.routes(&NAMES), generations, ..Control::default() };
        self.stage.queue.broadcast(control).await.unwrap();
    }

    async fn gather(tools: Simulation) -> Self {
        let mut servers = BTreeMap::new();
        for name in NAMES {
            let simulation = if name == "tools" { tools.clone() } else { Simulation::default() };
            servers.insert(name, serve(simulation, None).await);
        }
        let setting: Setting = "talk".parse().unwrap();
        let roles = RoleModels {
            user: Some(ModelSpec { temperature: Some(0.5), ..model("people/oracle", 100, 5.0) }),
            environment: Some(model("tools/oracle", 500, 2.0)),
        };
        let benchmark = BenchmarkLock {
            dataset: Digest::of(b"talk"),
            settings: vec![setting.clone()],
            tasks: Vec::new(),
            limit: None,
            sample: None,
            evaluators: vec![Evaluator::Official],
            roles,
            casts: BTreeMap::new(),
            judge: None,
            judge_price: None,
            audit: None,
            items: BTreeMap::from([(setting, 1)]),
        };
        let lock = SweepLock {
            v: SweepLock::VERSION,
            regatta: "test".to_owned(),
            name: "s".parse().unwrap(),
            removed_before: 0,
            seed: 1,
            trials: 1,
            coverage_min: regatta_proto::COVERAGE_MIN,
            level: regatta_proto::Level::default(),
            decide: None,
            budget_usd: Some(100.0),
            share: regatta_proto::Share::default(),
            cache: regatta_proto::CacheMode::Off,
            filtered: regatta_proto::Filtered::Wrong,
            benchmarks: BTreeMap::from([("talk".parse().unwrap(), benchmark)]),
            endpoints: servers.iter().map(|(name, server)| (name.parse().unwrap(), endpoint(server))).collect(),
            agents: BTreeMap::new(),
            models: vec![ModelSpec { budget_usd: Some(50.0), ..model("sim/oracle", 1000, 1000.0) }],
            price_sources: vec![PriceSource::Spec],
        };
        let sweep = Sweep::new(lock, BTreeMap::from([("talk".parse().unwrap(), talk())])).unwrap();
        let stage = Stage::of(sweep);
        for account in [stage_account(&stage, None), stage_account(&stage, Some("sim/oracle"))] {
            stage.permits.open_account(&account, Money(100_000_000_000), Money::ZERO).await.unwrap();
        }
        Self { stage, servers }
    }

    fn routes(&self, names: &[&str]) -> Vec<EndpointRoute> {
        let lock = &self.stage.sweep.lock;
        let route = |name: &EndpointName| {
            let endpoint = &lock.endpoints[name];
            EndpointRoute {
                name: name.clone(),
                sweep: self.stage.sweep.id.clone(),
                queue: endpoint.queue(name, &self.stage.sweep.id),
                needs: lock.needed_beside(name),
                pool: endpoint.pool(),
                share: lock.share,
                endpoint: endpoint.clone(),
            }
        };
        names.iter().map(|name| route(&name.parse().unwrap())).collect()
    }

    /// Tools work from now on, where they were.
    async fn mend_tools(&mut self) {
        let tools = self.servers.remove("tools").unwrap();
        let address = tools.address().to_string();
        tools.shutdown().await;
        self.servers.insert("tools", serve(Simulation::default(), Some(&address)).await);
    }

    fn requests(&self) -> [u64; 3] {
        NAMES.map(|name| self.servers[name].counters().total_answered())
    }

    async fn spent(&self, model: Option<&str>) -> Money {
        self.stage.permits.account(&stage_account(&self.stage, model)).await.unwrap().unwrap().spent
    }
}

fn stage_account(stage: &Stage, model: Option<&str>) -> AccountId {
    AccountId { sweep: stage.sweep.id.clone(), model: model.map(|model| model.parse().unwrap()) }
}

fn cost_of(transcript: &Transcript, roles: &[Role]) -> Money {
    transcript.calls().filter(|call| roles.contains(&call.role)).filter_map(|call| call.cost).sum()
}

#[tokio::test]
async fn every_role_is_asked_at_its_own_endpoint_with_its_own_parameters_and_money() {
    let company = Company::gather(Simulation::default()).await;
    let stage = &company.stage;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = stage.start_untold("w", |_| {});
    let outcome = reports.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    worker.leave().await;

    let transcript = &outcome.transcript;
    let parts: Vec<(Role, String)> = transcript.calls().map(|call| (call.role, call.model.to_string())).collect();
    let models = ["people/oracle", "sim/oracle", "tools/oracle", "sim/oracle", "sim/oracle"].map(str::to_owned);
    assert_eq!(parts, PARTS.into_iter().zip(models).collect::<Vec<_>>());
    assert_eq!(company.requests(), [1, 3, 1]);
    let sampling: Vec<_> =
        transcript.calls().map(|call| (call.request.sampling.temperature, call.request.sampling.max_tokens)).collect();
    assert_eq!(sampling[..3], [(Some(0.5), Some(100)), (None, Some(1000)), (None, Some(500))]);

    let (agent, all) = (cost_of(transcript, &[Role::Agent]), cost_of(transcript, &PARTS));
    assert!(Money::ZERO < agent && agent < all);
    assert_eq!((company.spent(Some("sim/oracle")).await, company.spent(None).await), (agent, all));
}

#[tokio::test]
async fn each_role_and_each_repetition_speaks_with_a_seed_of_its_own() {
    let company = Company::gather(Simulation::default()).await;
    let stage = &company.stage;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = stage.start_untold("w", |_| {});
    let outcome = reports.outcome().await;
    worker.leave().await;
    let cell = &stage.sweep.cells()[0];
    let seed = stage.sweep.seed(cell, stage.sweep.item(cell, ItemIndex(0)).unwrap());
    let seeds =
        [seed.of_part(Role::User, 0), seed, seed.of_part(Role::Environment, 0), seed, seed.of_part(Role::Agent, 1)];
    // The simulated models draw by the seeds that they are told.
    let drawn = |seed| answer_seed(seed, &Simulation::default(), "oracle").0;
    let begins = PARTS.iter().zip(seeds).map(|(role, seed)| format!("{role} {} after", drawn(seed)));
    let said: Vec<_> = outcome.transcript.calls().map(|call| call.reply.text.clone().unwrap()).collect();
    for (said, begin) in said.iter().zip(begins) {
        assert!(said.starts_with(&begin), "{said} does not begin with {begin}");
    }
}

#[tokio::test]
async fn a_conversation_that_is_handed_over_goes_on_where_it_was_and_no_call_is_made_twice() {
    let mut company = Company::gather(broken()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let first = company.stage.start_untold("first", |config| config.drain = Duration::from_millis(300));
    reports.progress(|_| company.servers["tools"].counters().total_requests() > 0).await;
    first.leave().await;
    let Report::HandedOver { attempt, .. } = reports.result().await else { panic!("not handed over") };
    assert_eq!(attempt.number, 1);

    company.mend_tools().await;
    let second = company.stage.start_untold("second", |_| {});
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let outcome = reports.outcome().await;
    second.leave().await;
    assert_eq!((outcome.outcome, outcome.attempt.number), (Outcome::Measured, 2));
    let attempts: Vec<(Role, u32)> = outcome.transcript.calls().map(|call| (call.role, call.attempt)).collect();
    let expected = PARTS.into_iter().zip([1, 1, 2, 2, 2]).collect::<Vec<_>>();
    assert_eq!(attempts, expected);
    assert_eq!(company.requests(), [1, 3, 1]);
    assert_eq!(company.spent(None).await, cost_of(&outcome.transcript, &PARTS));
}

/// Texts of all answers of a conversation that nothing disturbs.
async fn undisturbed() -> Vec<Option<Arc<str>>> {
    let company = Company::gather(Simulation::default()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = company.stage.start_untold("w", |_| {});
    let outcome = reports.outcome().await;
    worker.leave().await;
    texts(&outcome.transcript)
}

fn texts(transcript: &Transcript) -> Vec<Option<Arc<str>>> {
    transcript.calls().map(|call| call.reply.text.clone()).collect()
}

#[tokio::test]
async fn a_conversation_whose_bytes_others_need_is_handed_over_and_its_answers_are_the_same() {
    const BUDGET: u64 = 1 << 20;
    let mut company = Company::gather(broken()).await;
    company.stage.bytes = ByteBudget::new(BUDGET);
    let bytes = company.stage.bytes.clone();
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = company.stage.start_untold("w", |_| {});
    reports.progress(|_| company.servers["tools"].counters().total_requests() > 0).await;

    // Two answers are kept, and the tools are to be tried again in an hour.
    let others = bytes.holder();
    others.keep(BUDGET / 8 * 5);
    let mut next = bytes.holder().read();
    next.grow(1).await.unwrap();
    let Report::HandedOver { attempt, totals, .. } = reports.result().await else { panic!("not handed over") };
    assert_eq!((attempt.number, totals.calls), (1, 2));

    company.mend_tools().await;
    drop((others, next));
    let outcome = reports.outcome().await;
    worker.leave().await;
    assert_eq!((outcome.outcome, outcome.attempt.number), (Outcome::Measured, 2));
    assert_eq!(texts(&outcome.transcript), undisturbed().await);
    assert_eq!(company.requests(), [1, 3, 1]);
    assert_eq!((bytes.held(), bytes.waiting()), (0, 0));
}

#[tokio::test]
async fn a_conversation_whose_worker_dies_goes_on_from_its_checkpoint_and_no_answered_call_is_made_twice() {
    let (mut company, mut reports) = left_after_two_calls().await;

    company.mend_tools().await;
    let second = company.stage.start_untold("second", |_| {});
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let mut taken_over = Vec::new();
    let outcome = loop {
        match reports.result().await {
            Report::HandedOver { attempt, totals, taken_over: true, .. } => taken_over.push((attempt, totals)),
            // The dying process may have come to say so.
            Report::HandedOver { .. } => {}
            Report::Session(outcome) => break outcome,
            other => panic!("{other:?}"),
        }
    };
    company.stage.no_checkpoint().await;
    second.leave().await;
    let [(attempt, totals)] = &taken_over[..] else { panic!("{taken_over:?}") };
    assert_eq!((attempt.number, attempt.worker.as_str(), totals.calls), (1, "first", 2));
    assert_eq!(totals.cost.known, cost_of_attempt(&outcome.transcript, 1));
    assert_eq!(outcome.outcome, Outcome::Measured);
    let (attempts, last) = (outcome.transcript.calls().map(|call| call.attempt), outcome.attempt.number);
    assert_eq!(attempts.collect::<Vec<_>>(), [1, 1, last, last, last]);
    assert_eq!(company.requests(), [1, 3, 1]);
}

#[tokio::test]
async fn a_conversation_that_is_cut_off_from_the_broker_ends_with_its_call_and_goes_on_elsewhere() {
    let slow = Latency { median_ms: 200.0, ..Latency::default() };
    let company = Company::gather(Simulation { latency: slow, ..Simulation::default() }).await;
    let stage = &company.stage;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    let cable = Arc::new(Cable::default());
    let worker = stage.start_behind("w", cable.clone());
    // Its third call is on its way to the slow endpoint.
    reports.progress(|open| open.totals.calls == 2 && open.in_flight_at_most > Some(Money::ZERO)).await;
    cable.cut();
    let Report::HandedOver { attempt, totals, taken_over: false, .. } = reports.result().await else {
        panic!("it does not tell what it has spent")
    };
    assert_eq!((attempt.number, totals.calls), (1, 3));
    let outcome = loop {
        match reports.result().await {
            Report::HandedOver { attempt, taken_over, .. } => assert!(taken_over && attempt.number == 1),
            Report::Session(outcome) => break outcome,
            other => panic!("{other:?}"),
        }
    };
    stage.no_checkpoint().await;
    worker.leave().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert_eq!(outcome.transcript.calls().filter(|call| call.attempt == 1).count(), 3);
    assert_eq!(company.requests(), [1, 3, 1]);
    assert_eq!(company.spent(None).await, cost_of(&outcome.transcript, &PARTS));
}

#[tokio::test]
async fn a_checkpoint_of_an_earlier_generation_is_none() {
    let (mut company, mut reports) = left_after_two_calls().await;
    until_back(&company.stage).await;
    company.stage.take_all().await;

    company.mend_tools().await;
    let resumed = SessionJob { attempt: 2, generation: 1, ..company.stage.job(0, 0) };
    company.stage.publish([resumed]).await;
    let second = company.stage.start_untold("second", |_| {});
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let outcome = reports.outcome().await;
    second.leave().await;
    assert!(outcome.transcript.calls().all(|call| call.attempt == 2));
    assert_eq!(company.requests(), [2, 4, 1]);
}

#[tokio::test]
async fn a_conversation_that_runs_through_a_resume_goes_on_in_the_next_generation_after_its_worker_died() {
    let mut company = Company::gather(broken()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let first = company.stage.start_mortal_untold("first");
    company.stage.checkpoint(2, 0).await;
    company.tell_of_resume().await;
    company.stage.checkpoint(2, 1).await;
    first.kill();
    until_back(&company.stage).await;
    company.stage.take_all().await;

    company.mend_tools().await;
    let next = SessionJob { attempt: 2, generation: 1, ..company.stage.job(0, 0) };
    company.stage.publish([next]).await;
    let second = company.stage.start_untold("second", |_| {});
    company.tell_of_resume().await;
    let Report::HandedOver { attempt, totals, taken_over: true, .. } = reports.result().await else {
        panic!("it does not tell of the attempt that it goes on with")
    };
    assert_eq!((attempt.number, totals.calls), (1, 2));
    let outcome = reports.outcome().await;
    second.leave().await;
    assert_eq!(outcome.transcript.calls().map(|call| call.attempt).collect::<Vec<_>>(), [1, 1, 2, 2, 2]);
    assert_eq!(company.requests(), [1, 3, 1]);
}

#[tokio::test]
async fn a_conversation_that_runs_through_a_resume_is_handed_over_in_the_next_generation() {
    let mut company = Company::gather(broken()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let first = company.stage.start_untold("first", |config| config.drain = Duration::from_millis(300));
    company.stage.checkpoint(2, 0).await;
    company.tell_of_resume().await;
    company.stage.checkpoint(2, 1).await;
    first.leave().await;
    let Report::HandedOver { .. } = reports.result().await else { panic!("not handed over") };

    company.mend_tools().await;
    let second = company.stage.start_untold("second", |_| {});
    company.tell_of_resume().await;
    let outcome = reports.outcome().await;
    second.leave().await;
    assert_eq!(outcome.transcript.calls().map(|call| call.attempt).collect::<Vec<_>>(), [1, 1, 2, 2, 2]);
    assert_eq!(company.requests(), [1, 3, 1]);
}

#[tokio::test]
async fn a_conversation_that_is_handed_over_leaves_a_checkpoint_of_all_its_calls() {
    let company = Company::gather(broken()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = company.stage.start_untold("w", |config| {
        config.drain = Duration::from_millis(300);
        config.progress_every = Duration::from_secs(3600);
    });
    while company.servers["tools"].counters().total_requests() == 0 {
        tokio::task::yield_now().await;
    }
    worker.leave().await;
    let Report::HandedOver { totals, .. } = reports.result().await else { panic!("not handed over") };
    assert_eq!(totals.calls, 2);
    company.stage.take_all().await;
    // The failed call to the tools is an event too.
    company.stage.checkpoint(3, 0).await;
}

/// A conversation whose worker, the first, died after two calls; its tools are broken.
async fn left_after_two_calls() -> (Company, Reports) {
    let company = Company::gather(broken()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let first = company.stage.start_mortal_untold("first");
    company.stage.checkpoint(2, 0).await;
    first.kill();
    (company, reports)
}

/// Every call fails and is tried again an hour later.
fn broken() -> Simulation {
    Simulation { faults: Faults { server_error: 1.0, ..Faults::default() }, ..Simulation::default() }
}

/// Returns once the job of a worker that died waits again.
async fn until_back(stage: &Stage) {
    while stage.waiting().await == 0 {
        tokio::task::yield_now().await;
    }
}

fn cost_of_attempt(transcript: &Transcript, attempt: u32) -> Money {
    transcript.calls().filter(|call| call.attempt == attempt).filter_map(|call| call.cost).sum()
}

#[tokio::test]
async fn a_conversation_that_another_version_began_is_not_measured_and_nobody_is_asked() {
    let company = Company::gather(Simulation::default()).await;
    let stage = &company.stage;
    let stranger = Call {
        role: Role::Environment,
        attempt: 1,
        model: "tools/oracle".parse().unwrap(),
        request: ChatRequest::default(),
        reply: Reply::said("I begin"),
        tries: Vec::new(),
        usage: Usage::default(),
        raw_usage: None,
        cost: None,
        reported_cost: None,
        served: Served::default(),
        latency_us: 1,
        first_token_us: None,
        at: None,
        lane: Lane::Live,
        from_cache: false,
    };
    let mut job = stage.job(0, 0);
    job.attempt = 2;
    job.transcript.events.push(Event::Call(Box::new(stranger)));
    let begun = job.transcript.clone();
    stage.publish([job]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = stage.start_untold("w", |_| {});
    let outcome = reports.outcome().await;
    worker.leave().await;
    assert_eq!(outcome.outcome, Outcome::NotMeasured { cause: Cause::TranscriptUnfit });
    assert_eq!((outcome.transcript, company.requests()), (begun, [0, 0, 0]));
}

#[tokio::test]
async fn a_worker_of_one_endpoint_consumes_no_other_and_asks_those_that_its_sessions_need() {
    let company = Company::gather(Simulation::default()).await;
    let stage = &company.stage;
    let [people] = &company.routes(&["people"])[..] else { panic!() };
    stage.queue.declare_jobs(&people.queue).await.unwrap();
    stage.queue.publish_jobs(&people.queue, vec![Job::Session(Box::new(stage.job(0, 0)))]).await.unwrap();
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = stage.start_untold("w", |config| config.endpoints = Some(["sim".parse().unwrap()].into()));
    assert_eq!(reports.outcome().await.outcome, Outcome::Measured);
    worker.leave().await;
    assert!(company.requests().iter().all(|requests| *requests > 0), "{:?}", company.requests());
    assert_eq!((stage.waiting().await, stage.queue.depth(&people.queue).await.unwrap()), (0, 1));
}

#[tokio::test]
async fn a_worker_takes_no_conversation_until_every_endpoint_of_it_is_open() {
    let company = Company::gather(Simulation::default()).await;
    let stage = &company.stage;
    let mut stray = stage.job(0, 0);
    stray.key.cell = CellIndex(99);
    let [people] = &company.routes(&["people"])[..] else { panic!() };
    stage.queue.declare_jobs(&people.queue).await.unwrap();
    stage.queue.publish_jobs(&people.queue, vec![Job::Session(Box::new(stray))]).await.unwrap();
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&["people", "sim"]), Vec::new()).await;
    let worker = stage.start_untold("w", |_| {});
    // The stray job is there to show that the worker has heard and works.
    assert_eq!(reports.outcome().await.key.cell, CellIndex(99));
    assert_eq!(stage.waiting().await, 1);
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    assert_eq!(reports.outcome().await.outcome, Outcome::Measured);
    worker.leave().await;
}
