//! A worker between queues in memory and a simulated endpoint. The tests play the coordinator and the scorers.

mod reports;
mod unscored;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prometheus::Registry;
use regatta_backends::faults::{Connection, Fate, Troubles};
use regatta_backends::{Blobs, Consuming, Permits, Queue};
use regatta_catalog::{Catalog, Sweep, store_dataset};
use regatta_llm::{CallMetrics, PermitStore, Standstill};
use regatta_memory::ByteBudget;
use regatta_proto::{
    AccountId, AskedQuestion, BATCH, BenchmarkLock, Clock, Control, Digest, EndpointKind, EndpointName, EndpointRoute,
    EndpointSpec, ItemIndex, Job, Judge, JudgeJob, ModelRef, ModelSpec, Money, Party, PoolRequest, Price, Question,
    SessionJob, SessionKey, Setting, Share, Signals, Simulation, SweepId, SweepLock, SystemClock, Transcript,
};
use regatta_simulator::{Config, SimulatedEndpoint, SimulatedSuite};
use regatta_stage::{BENCHMARKS, Folder, benchmark_lock, miniature, session_of, take_jobs};
use regatta_worker::{
    CachedResponses, Environment, Lifecycle, Policy, SharedPermits, Worker, WorkerConfig, WorkerError, WorkerMetrics,
};
use tokio::task::JoinHandle;

pub(crate) use self::reports::Reports;
pub(crate) use self::unscored::unscored;
pub(crate) use regatta_stage::within;

/// The queues, the blobs, and a sweep whose first cell has a price and whose second has none.
pub(crate) struct Stage {
    folder: Folder,
    pub(crate) queue: Queue,
    pub(crate) permits: Permits,
    pub(crate) sweep: Arc<Sweep>,
    pub(crate) route: EndpointRoute,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) policy: Policy,
    pub(crate) clock: Arc<dyn Clock>,
    /// Store that workers ask for permits and money; `None` for `permits` as they are.
    pub(crate) store: Option<Arc<dyn PermitStore>>,
    /// Bytes that all workers together may hold.
    pub(crate) bytes: ByteBudget,
    /// Catalog that all workers share; `None` where each worker loads sweeps itself.
    catalog: Option<Catalog>,
}

/// A worker's process.
pub(crate) struct Process {
    pub(crate) lifecycle: Lifecycle,
    pub(crate) metrics: WorkerMetrics,
    pub(crate) consuming: Consuming,
    running: JoinHandle<Result<(), WorkerError>>,
}

/// A worker's process that can be killed.
pub(crate) struct Mortal {
    runtime: tokio::runtime::Runtime,
}

/// The way of a process to the broker, on which nothing is lost until it is cut.
#[derive(Default)]
pub(crate) struct Cable(Mutex<Vec<Arc<dyn Connection>>>);

impl Cable {
    /// Cuts all connections, which are made again at once.
    pub(crate) fn cut(&self) {
        self.0.lock().unwrap().iter().for_each(|connection| connection.reset());
    }

    /// Cuts all connections, which are not made again.
    pub(crate) fn cut_for_good(&self) {
        self.0.lock().unwrap().iter().for_each(|connection| connection.end());
    }
}

impl Fate for Cable {
    fn connected(&self, connection: Arc<dyn Connection>) {
        self.0.lock().unwrap().push(connection);
    }
}

impl Stage {
    /// A stage without an endpoint; one call at a time, and an hour between two tries.
    pub(crate) async fn set() -> Self {
        Self::set_with(|_| {}).await
    }

    /// The same with another lock.
    pub(crate) async fn set_with(adjust: impl FnOnce(&mut SweepLock)) -> Self {
        let folder = Folder::make();
        let mut endpoint = EndpointSpec::of_kind(EndpointKind::Openai);
        endpoint.base_url = Some("http://127.0.0.1:9/v1".to_owned());
        endpoint.identify_sessions = true;
        endpoint.limits.concurrency = 1;
        endpoint.retries.base_delay_ms = 3_600_000;
        endpoint.retries.max_delay_ms = 3_600_000;
        endpoint.retries.deadline_ms = 36_000_000;
        let mut lock = lock(&folder.blobs(), endpoint).await;
        adjust(&mut lock);
        let sweep = folder.catalog().store(&lock).await.unwrap();
        Self::over(folder, sweep, None)
    }

    /// A stage for a sweep over a benchmark that no build lists; its route is that of the first model under test.
    pub(crate) fn of(sweep: Sweep) -> Self {
        let folder = Folder::make();
        let catalog = folder.catalog();
        let sweep = catalog.keep(sweep);
        Self::over(folder, sweep, Some(catalog))
    }

    fn over(folder: Folder, sweep: Arc<Sweep>, catalog: Option<Catalog>) -> Self {
        let route = route(&sweep, &sweep.cells()[0].model.endpoint);
        Self {
            folder,
            queue: Queue::memory(),
            permits: Permits::memory(),
            sweep,
            route,
            variables: BTreeMap::new(),
            policy: Policy::trusting(),
            clock: Arc::new(SystemClock),
            store: None,
            bytes: ByteBudget::default(),
            catalog,
        }
    }

    /// A stage with an endpoint.
    pub(crate) async fn with(simulation: Simulation) -> (Self, SimulatedEndpoint) {
        let mut stage = Self::set().await;
        let server = stage.serve(simulation, None).await;
        stage.route.endpoint.base_url = Some(server.url());
        (stage, server)
    }

    /// Starts an endpoint, where an earlier one was if need be.
    pub(crate) async fn serve(&self, simulation: Simulation, where_it_was: Option<&str>) -> SimulatedEndpoint {
        let cell = &self.sweep.cells()[0];
        let suites = vec![SimulatedSuite {
            benchmark: cell.benchmark.clone(),
            default_setting: Some("two-shot".parse().unwrap()),
            suite: self.sweep.suite(cell).unwrap().clone(),
        }];
        let mut config = Config { simulation, ..Config::on_loopback(suites) };
        if let Some(address) = where_it_was {
            config.listen = address.parse().unwrap();
        }
        SimulatedEndpoint::start(config).await.unwrap()
    }

    /// Has workers read from a store in memory that goes as `fate` says; returns that store as it is for others.
    pub(crate) async fn read_behind(&mut self, fate: Arc<dyn Fate>) -> Blobs {
        let (folder, memory) = (self.folder.blobs(), Blobs::memory());
        for key in folder.list("").await.unwrap() {
            memory.put(&key, folder.get(&key).await.unwrap().unwrap()).await.unwrap();
        }
        self.catalog = Some(Catalog::new(memory.troubled(Troubles::new(fate)), BENCHMARKS));
        memory
    }

    /// The route of another endpoint of the stage's sweep, whose verdicts are the stored content of `digest`.
    pub(crate) fn recorded(&self, name: &str, digest: Digest) -> EndpointRoute {
        let path = Some("verdicts.jsonl".into());
        let endpoint = EndpointSpec { path, content: Some(digest), ..EndpointSpec::of_kind(EndpointKind::Recorded) };
        let (name, queue) = (name.parse().unwrap(), name.to_owned());
        EndpointRoute { pool: endpoint.pool(), name, queue, endpoint, ..self.route.clone() }
    }

    pub(crate) fn blob_folder(&self) -> std::path::PathBuf {
        self.folder.blob_folder()
    }

    /// A worker that hears of the stage's route at once.
    pub(crate) async fn start(&self, id: &str, adjust: impl FnOnce(&mut WorkerConfig)) -> Process {
        self.tell(vec![self.route.clone()], Vec::new()).await;
        self.start_untold(id, adjust)
    }

    /// A worker that can be killed, and hears of the stage's route at once.
    pub(crate) async fn start_mortal(&self, id: &str) -> Mortal {
        self.tell(vec![self.route.clone()], Vec::new()).await;
        self.start_mortal_untold(id)
    }

    pub(crate) fn start_mortal_untold(&self, id: &str) -> Mortal {
        let (worker, _) = self.worker(id, |_| {});
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.spawn(worker.run(Lifecycle::default()));
        Mortal { runtime }
    }

    pub(crate) fn start_untold(&self, id: &str, adjust: impl FnOnce(&mut WorkerConfig)) -> Process {
        let (worker, metrics) = self.worker(id, adjust);
        let (lifecycle, consuming) = (Lifecycle::default(), worker.consuming());
        let running = tokio::spawn(worker.run(lifecycle.clone()));
        Process { lifecycle, metrics, consuming, running }
    }

    /// A worker whose calls to the broker, and connections to it, go as `fate` says.
    pub(crate) fn start_behind(&self, id: &str, fate: Arc<dyn Fate>) -> Process {
        let queue = self.queue.troubled(Troubles::new(fate));
        let (worker, metrics) = self.worker_at(queue, id, |_| {});
        let (lifecycle, consuming) = (Lifecycle::default(), worker.consuming());
        let running = tokio::spawn(worker.run(lifecycle.clone()));
        Process { lifecycle, metrics, consuming, running }
    }

    fn worker(&self, id: &str, adjust: impl FnOnce(&mut WorkerConfig)) -> (Worker, WorkerMetrics) {
        self.worker_at(self.queue.clone(), id, adjust)
    }

    fn worker_at(&self, queue: Queue, id: &str, adjust: impl FnOnce(&mut WorkerConfig)) -> (Worker, WorkerMetrics) {
        let mut config = WorkerConfig::new(id.parse().unwrap(), 7);
        config.progress_every = Duration::from_millis(5);
        config.acknowledged_after = Duration::from_millis(50);
        adjust(&mut config);
        let registry = Registry::new();
        let metrics = WorkerMetrics::register(&registry).unwrap();
        let worker = Worker::new(
            config,
            queue,
            self.catalog.clone().unwrap_or_else(|| self.folder.catalog()),
            Environment {
                clock: self.clock.clone(),
                variables: Arc::new(self.variables.clone()),
                permits: self.store.clone().unwrap_or_else(|| Arc::new(SharedPermits(self.permits.clone()))),
                bytes: self.bytes.clone(),
                answers: Arc::new(CachedResponses(Blobs::directory(self.folder.path().join("answers")).unwrap())),
                policy: Arc::new(self.policy.clone()),
                network: None,
                standstill: Standstill::watch(),
            },
            metrics.clone(),
            Arc::new(CallMetrics::register(&registry).unwrap()),
        );
        (worker, metrics)
    }

    pub(crate) async fn tell(&self, routes: Vec<EndpointRoute>, cancelled: Vec<SweepId>) {
        self.open_account().await;
        self.queue.broadcast(Control { routes, cancelled, ..Control::default() }).await.unwrap();
    }

    /// A coordinator opens the account of a sweep before it tells of its routes.
    async fn open_account(&self) {
        let account = AccountId { sweep: self.sweep.id.clone(), model: None };
        if self.permits.account(&account).await.unwrap().is_none() {
            self.permits.open_uncapped_account(&account, Money::ZERO).await.unwrap();
        }
    }

    /// Names the stage's route, and how often sweeps were resumed.
    pub(crate) async fn tell_of_generations(&self, generations: BTreeMap<SweepId, u32>) {
        self.open_account().await;
        let routes = vec![self.route.clone()];
        self.queue.broadcast(Control { routes, generations, ..Control::default() }).await.unwrap();
    }

    /// The first attempt at the session of the cell's `item`-th selected item.
    pub(crate) fn job(&self, cell: usize, item: usize) -> SessionJob {
        let cell = &self.sweep.cells()[cell];
        SessionJob {
            key: SessionKey {
                sweep: self.sweep.id.clone(),
                cell: cell.index,
                item: self.sweep.selected(cell).get(item).copied().unwrap_or(ItemIndex(u32::MAX)),
            },
            lock: self.sweep.digest,
            attempt: 1,
            generation: 0,
            transcript: Transcript::default(),
        }
    }

    pub(crate) fn judge_job(&self, texts: &[(&str, &str)]) -> JudgeJob {
        let questions = texts.iter().map(|(left, right)| {
            let question = Question::Similarity { left: vec![(*left).to_owned()], right: vec![(*right).to_owned()] };
            AskedQuestion { digest: question.digest(), question }
        });
        JudgeJob {
            sweep: self.sweep.id.clone(),
            lock: self.sweep.digest,
            judge: "sim/lexical".parse().unwrap(),
            questions: questions.collect(),
            generation: Some(0),
        }
    }

    pub(crate) async fn publish(&self, jobs: impl IntoIterator<Item = SessionJob>) {
        self.publish_any(jobs.into_iter().map(|job| Job::Session(Box::new(job))).collect()).await;
    }

    pub(crate) async fn publish_any(&self, jobs: Vec<Job>) {
        self.queue.declare_jobs(&self.route.queue).await.unwrap();
        self.queue.publish_jobs(&self.route.queue, jobs).await.unwrap();
    }

    /// Returns once a session has left `count` events in a checkpoint of that generation.
    pub(crate) async fn checkpoint(&self, count: usize, generation: u32) {
        #[derive(serde::Deserialize)]
        struct Checkpoint {
            generation: u32,
            transcript: Transcript,
        }
        let blobs = self.folder.blobs();
        within(async {
            loop {
                for key in self.checkpoints().await {
                    let bytes = blobs.get(&key).await.unwrap();
                    let found: Option<Checkpoint> = bytes.map(|bytes| regatta_proto::wire::decode(&bytes).unwrap());
                    let is_it =
                        |found: Checkpoint| (found.transcript.events.len(), found.generation) == (count, generation);
                    if found.is_some_and(is_it) {
                        return;
                    }
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Returns once no checkpoint is left: they go some seconds after the end of their session is confirmed.
    pub(crate) async fn no_checkpoint(&self) {
        within(async {
            while !self.checkpoints().await.is_empty() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await;
    }

    /// Keys of all checkpoints.
    pub(crate) async fn checkpoints(&self) -> Vec<String> {
        self.folder.blobs().list("checkpoints/").await.unwrap()
    }

    /// Jobs that nobody holds. The right question only when no worker consumes.
    pub(crate) async fn waiting(&self) -> u64 {
        self.queue.depth(&self.route.queue).await.unwrap()
    }

    /// Takes all jobs that wait, each with the number of its deliveries before.
    pub(crate) async fn take_any(&self) -> Vec<(Job, u32)> {
        let waiting = self.waiting().await;
        take_jobs(&self.queue, &self.route.queue, waiting as usize).await
    }

    /// Takes all jobs that wait, which are sessions.
    pub(crate) async fn take_all(&self) -> Vec<(SessionJob, u32)> {
        self.take_any().await.into_iter().map(|(job, redeliveries)| (session_of(job), redeliveries)).collect()
    }

    /// Somebody else takes all `slots` of the stage's endpoint, or gives them back with none.
    pub(crate) async fn others_call(&self, slots: u32) {
        let party = Party {
            sweep: "others".parse().unwrap(),
            model: String::new(),
            share: Share { weight: 1, priority: 0 },
            in_flight: 0,
            waiting: slots,
            waiting_tokens: u64::from(slots),
            unsent_requests: 0,
            unsent_tokens: 0,
            token_correction: 0,
        };
        let request = PoolRequest {
            pool: self.route.pool.clone(),
            holder: "another".parse().unwrap(),
            limits: self.route.endpoint.limits,
            model_limits: BTreeMap::new(),
            parties: (slots > 0).then_some(party).into_iter().collect(),
            signals: Signals::default(),
        };
        let reply = self.permits.lease(&request).await.unwrap();
        assert_eq!(reply.grants.iter().map(|grant| grant.slots).sum::<u32>(), slots);
    }

    pub(crate) async fn reports(&self) -> Reports {
        Reports(self.queue.consume_reports(10_000).await.unwrap())
    }
}

impl Mortal {
    /// Ends all of it, wherever it is. What it holds goes back to its queues a moment later.
    pub(crate) fn kill(self) {
        self.runtime.shutdown_background();
    }
}

impl Process {
    /// Tells the worker to leave and waits until it has.
    pub(crate) async fn leave(self) {
        self.lifecycle.drain.cancel();
        within(self.running).await.unwrap().unwrap();
    }

    pub(crate) fn ended(&self, outcome: &str) -> u64 {
        self.metrics.sessions.with_label_values(&[outcome]).get()
    }
}

async fn lock(blobs: &Blobs, endpoint: EndpointSpec) -> SweepLock {
    let dataset = store_dataset(blobs, &miniature()).await.unwrap();
    let suite = Catalog::new(blobs.clone(), BENCHMARKS).suite(&"worfbench".parse().unwrap(), &dataset).await.unwrap();
    let setting: Setting = "zero-shot".parse().unwrap();
    let items = suite.select(&setting, &[], None).unwrap().len() as u32;
    let benchmark = BenchmarkLock {
        judge: Some(Judge::Plain("sim/lexical".parse().unwrap())),
        ..benchmark_lock(dataset, setting.as_str(), items)
    };
    // Every call costs at most a dollar, and half of that in a batch.
    let priced = ModelSpec {
        max_tokens: Some(1000),
        price: Some(Price {
            variants: BTreeMap::from([(BATCH.to_owned(), Price::per_mtok(0.0, 500.0))]),
            ..Price::per_mtok(0.0, 1000.0)
        }),
        ..ModelSpec::from("sim/oracle".parse::<ModelRef>().unwrap())
    };
    let models = vec![priced, ModelSpec::from("sim/noisy-0.1".parse::<ModelRef>().unwrap())];
    regatta_stage::lock("worfbench", benchmark, models, BTreeMap::from([("sim".parse().unwrap(), endpoint)]))
}

/// Where workers find jobs of `sweep` for one of its endpoints.
pub(crate) fn route(sweep: &Sweep, name: &EndpointName) -> EndpointRoute {
    let endpoint = sweep.lock.endpoints[name].clone();
    EndpointRoute {
        queue: endpoint.queue(name, &sweep.id),
        sweep: sweep.id.clone(),
        pool: endpoint.pool(),
        share: sweep.lock.share,
        needs: sweep.lock.needed_beside(name),
        name: name.clone(),
        endpoint,
    }
}
