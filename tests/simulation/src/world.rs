//! One history: a sweep, the processes that work on it, and what happens to them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use regatta_backends::SweepCost;
use regatta_catalog::{Sweep, store_dataset};
use regatta_coordinator::{Coordinator, Resumption, Submission};
use regatta_proto::{FileSet, SessionKey, SweepState, parse_spec};
use regatta_simulator::{Config, InProcess, SimulatedSuite};
use tokio::time::Instant;

use crate::checks::{self, Finding};
use crate::life::{Life, Outages};
use crate::plan::{Blow, Event, Plan, Workload};
use crate::process::{Stores, start};
use crate::referee::{Call, Caller, Identity, Referee};

/// Time after which a history that has not ended counts as endless.
const HORIZON: Duration = Duration::from_secs(6 * 3600);
/// Time for which a history goes on after its end, so that pending events happen.
const AFTERMATH: Duration = Duration::from_secs(150);
/// Limit of calls at once in the specs.
pub(crate) const CONCURRENCY: usize = 6;
/// Time after which an answer is in a checkpoint, with what the blob store takes: workers write one every two seconds.
const KEPT_WITHIN: Duration = Duration::from_millis(2_100);
/// Time after which the broker closes the connection of a process that stands still: two heartbeats of 20 s.
const SILENT_MS: u64 = 40_000;
/// Time that the endpoint takes for a batch.
const BATCH_MS: u64 = 20_000;
/// Share of the lines of a batch that fail, and are asked again in another.
const LINES_FAILED: f64 = 0.2;
/// Pause between two looks at the sweep's state.
const LOOK: Duration = Duration::from_secs(1);

/// Result of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Checks that failed.
    pub findings: Vec<Finding>,
    /// Calls to models that sessions made.
    pub calls: usize,
    /// Time from the start to the end of the sweep.
    pub lasted: Duration,
    /// One number for all that happened: two runs of one plan have the same.
    pub digest: u64,
}

/// Lets the history of `plan` happen.
#[must_use]
pub fn simulate(plan: &Plan) -> History {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads");
    runtime.block_on(World::begin(plan)).expect("the stores are in memory")
}

/// A history in which nothing goes wrong; it depends on the spec alone.
pub(crate) struct Undisturbed {
    pub(crate) results: Vec<u8>,
    /// Number of times that each call is paid.
    pub(crate) paid: BTreeMap<Identity, u64>,
}

/// The undisturbed history of a workload.
pub(crate) fn undisturbed(workload: Workload) -> &'static Undisturbed {
    static CALLS: OnceLock<Undisturbed> = OnceLock::new();
    static ROUNDS: OnceLock<Undisturbed> = OnceLock::new();
    static TALKS: OnceLock<Undisturbed> = OnceLock::new();
    static BATCHES: OnceLock<Undisturbed> = OnceLock::new();
    let history = match workload {
        Workload::Calls => &CALLS,
        Workload::Rounds => &ROUNDS,
        Workload::Talks => &TALKS,
        Workload::Batches => &BATCHES,
    };
    history.get_or_init(|| {
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            runtime.expect("a runtime without threads").block_on(async {
                let world = World::set(&Plan::calm(0, workload)).await.expect("the stores are in memory");
                let mut processes = world.start_all();
                world.until_end(&mut processes).await;
                let results = world.results().await.expect("a sweep that nobody disturbs ends");
                world.referee.settle_batches().await;
                Undisturbed { results, paid: world.referee.paid() }
            })
        })
        .join()
        .expect("the undisturbed run")
    })
}

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) stores: Stores,
    pub(crate) sweep: Arc<Sweep>,
    pub(crate) referee: Arc<Referee>,
    /// Coordinator for requests of the test; no fault strikes its calls.
    operator: Coordinator,
    outages: Arc<Outages>,
    begun: Instant,
    sessions: BTreeMap<([String; 4], String), SessionKey>,
    /// Processes that stood still in a history with cancels, each with the sessions of which it had told.
    untold: Mutex<Vec<(usize, BTreeSet<SessionKey>)>>,
}

/// Later consequence of a blow.
#[derive(Debug, Clone, Copy)]
enum Consequence {
    /// Another process takes the place of one that died.
    Birth,
    /// The broker gives up one that stands still, if it does so yet.
    Silence,
}

/// The present life of each process.
pub(crate) struct Processes(Vec<(Arc<Life>, u64)>);

#[cfg(test)]
impl Processes {
    pub(crate) fn end_all(&self) {
        self.0.iter().for_each(|(life, _)| life.end());
    }
}

impl World {
    async fn begin(plan: &Plan) -> Result<History, Box<dyn std::error::Error>> {
        let world = Self::set(plan).await?;
        let mut processes = world.start_all();
        let ended = world.until_end(&mut processes).await;
        let lasted = world.begun.elapsed();
        if ended.is_some() {
            tokio::time::sleep(AFTERMATH).await;
        }
        let findings = checks::check(&world, ended).await?;
        let calls = world.referee.calls();
        Ok(History { findings, calls: calls.len(), lasted, digest: checks::digest(&calls, lasted) })
    }

    pub(crate) async fn set(plan: &Plan) -> Result<Self, Box<dyn std::error::Error>> {
        let begun = Instant::now();
        let stores = Stores::new();
        let calm = Life::new(&Plan::calm(plan.seed, plan.workload), 0, 0, begun, &Arc::default());
        let operator = stores.coordinator("operator", calm.clone());
        let (benchmark, spec) = spec(plan.workload);
        let files = miniature(benchmark);
        store_dataset(&stores.blobs, &files).await?;
        let data = BTreeMap::from([(benchmark.parse()?, files.snapshot())]);
        let submission = Submission { spec: parse_spec(&spec, &|_| None)?, data, recorded: BTreeMap::new() };
        let sweep = operator.plan(submission).await?;
        operator.enter(&sweep).await?;
        let mut config = Config { clock: calm, ..Config::on_loopback(suites(&sweep)) };
        config.simulation.batch.delay_ms = BATCH_MS;
        config.simulation.batch.failed = LINES_FAILED;
        let endpoint = InProcess::new(config)?;
        let sessions = sessions(&sweep);
        Ok(Self {
            plan: plan.clone(),
            stores,
            sweep,
            referee: Referee::new(endpoint, plan, begun),
            operator,
            outages: Arc::default(),
            begun,
            sessions,
            untold: Mutex::default(),
        })
    }

    pub(crate) fn start_all(&self) -> Processes {
        let mut processes = Processes(Vec::new());
        for process in 0..self.plan.processes() {
            processes.0.push((self.start(process, 0), 0));
        }
        processes
    }

    fn start(&self, process: usize, generation: u64) -> Arc<Life> {
        let life = Life::new(&self.plan, process, generation, self.begun, &self.outages);
        start(self.plan.kind(process), process, generation, &self.stores, &life, &self.referee);
        life
    }

    /// Lets the plan happen until the sweep has ended and nothing more is planned; `None` when that is not before the horizon.
    pub(crate) async fn until_end(&self, processes: &mut Processes) -> Option<SweepState> {
        let mut events = self.plan.events.clone();
        let mut consequences: Vec<(u64, usize, Consequence)> = Vec::new();
        loop {
            let now_ms = self.begun.elapsed().as_millis() as u64;
            while let Some(due) = events.first().copied().filter(|event| event.at_ms <= now_ms) {
                events.remove(0);
                consequences.extend(self.strike(due, processes).await);
            }
            for (_, process, due) in consequences.extract_if(.., |(at_ms, ..)| *at_ms <= now_ms) {
                let (life, generation) = &processes.0[process];
                match due {
                    Consequence::Birth => {
                        let generation = generation + 1;
                        processes.0[process] = (self.start(process, generation), generation);
                    }
                    Consequence::Silence => {
                        if life.stands_still() {
                            self.lose((process, *generation), life);
                            life.cut();
                        }
                    }
                }
            }
            let state = self.stores.ledger.sweep(&self.sweep.id).await.ok().flatten().map(|row| row.state);
            if events.is_empty() && consequences.is_empty() && state.is_some_and(SweepState::is_end) {
                return state;
            }
            if self.begun.elapsed() > HORIZON {
                return None;
            }
            let next = events
                .iter()
                .map(|event| event.at_ms)
                .chain(consequences.iter().map(|consequence| consequence.0))
                .min();
            let until_next = next.map_or(LOOK, |at| Duration::from_millis(at.saturating_sub(now_ms)));
            tokio::time::sleep(until_next.clamp(Duration::from_millis(1), LOOK)).await;
        }
    }

    /// Lets the event happen; returns what it leads to, when, and for which process.
    async fn strike(
        &self,
        Event { at_ms, process, blow }: Event,
        processes: &Processes,
    ) -> Option<(u64, usize, Consequence)> {
        let (life, generation) = &processes.0[process];
        match blow {
            Blow::Outage { store, ms } => self.outages.begin(store, Duration::from_millis(ms)),
            // Of all blows to one process.
            _ if life.is_dead() => {}
            Blow::OutageOfOne { store, ms } => life.cut_off(store, Duration::from_millis(ms)),
            Blow::Clock { hours } => life.put_clock(hours),
            Blow::Kill { down_ms } => {
                self.lose((process, *generation), life);
                life.end();
                self.referee.has_died((process, *generation));
                return Some((at_ms + down_ms, process, Consequence::Birth));
            }
            Blow::Cut => {
                let caller = (process, *generation);
                let lost = self.lose(caller, life);
                life.cut();
                // What is ready at this moment runs before anybody can have noticed, and may begin another call.
                tokio::time::sleep(Duration::from_millis(1)).await;
                let cut_ms = self.begun.elapsed().as_millis() - 1;
                self.referee.lose(caller, |call| call.at_ms >= cut_ms && !lost.contains(&call.identity));
            }
            Blow::Pause { ms } => {
                if self.plan.has_cancels() {
                    self.untold.lock().unwrap_or_else(PoisonError::into_inner).push((process, life.told()));
                }
                let standstill = life.pause(Duration::from_millis(ms));
                self.referee.stands_still((process, *generation), standstill);
                return Some((at_ms + SILENT_MS, process, Consequence::Silence));
            }
            Blow::CancelAndResume => {
                // Either may come too early or too late, which the operator is told.
                let _ = self.operator.cancel(&self.sweep.id).await;
                while self.state().await == Some(SweepState::Cancelled) {
                    if self.operator.resume(&self.sweep.id, Resumption::default()).await.is_ok() {
                        break;
                    }
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
        None
    }

    async fn state(&self) -> Option<SweepState> {
        self.stores.ledger.sweep(&self.sweep.id).await.ok().flatten().map(|row| row.state)
    }

    /// Calls of sessions whose end the process has not reported may be made once more, but for those that a checkpoint has.
    fn lose(&self, caller: Caller, life: &Life) -> BTreeSet<Identity> {
        let kept_before = match self.plan.keeps_checkpoints() {
            true => life.kept_before(KEPT_WITHIN + Duration::from_millis(2 * self.plan.latency_ms)) - self.begun,
            false => Duration::ZERO,
        };
        let is_kept = |call: &Call| call.answered_ms.is_some_and(|at_ms| at_ms < kept_before.as_millis());
        let is_open = |call: &Call| self.session(&call.identity).is_none_or(|key| !life.has_reported(key));
        self.referee.lose(caller, |call| is_open(call) && !is_kept(call))
    }

    /// True if a process stood still while the sweep was cancelled and resumed that had not told of this session: nobody could know then
    /// that it ran.
    pub(crate) fn was_untold(&self, identity: &Identity) -> bool {
        let untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = self.referee.calls();
        untold.iter().any(|(process, told)| {
            let is_told = self.session(identity).is_some_and(|key| told.contains(key));
            !is_told && calls.iter().any(|call| call.identity == *identity && call.caller.0 == *process)
        })
    }

    /// Known and possible cost of the sweep.
    pub(crate) async fn cost(&self) -> Result<SweepCost, Box<dyn std::error::Error>> {
        Ok(self.operator.status(&self.sweep.id).await?.cost)
    }

    /// The session that a call was made for.
    pub(crate) fn session(&self, identity: &Identity) -> Option<&SessionKey> {
        self.sessions.get(&(identity.session.clone(), identity.model.clone()))
    }

    /// The sessions' results, if they were written.
    pub(crate) async fn results(&self) -> Option<Vec<u8>> {
        let key = format!("sweeps/{}/results.jsonl", self.sweep.id);
        self.stores.blobs.get(&key).await.ok().flatten().map(Vec::from)
    }
}

const SPEC: &str = "
name: history
seed: 5
trials: 2
budget_usd: 1000
benchmarks:
  worfbench: { settings: [zero-shot], limit: 'first:5', tasks: [lumos, wikihow], judge: sim/lexical, judge_price: { input_per_mtok: 0, output_per_mtok: 0 } }
endpoints:
  sim:
    kind: openai
    base_url: 'http://127.0.0.1:9/v1'
    api_key_env: none
    identify_sessions: true
    stream: false
    limits: { concurrency: 6 }
models:
  - { id: sim/oracle, max_tokens: 1000, price: { input_per_mtok: 1, output_per_mtok: 10 } }
  - { id: sim/noisy-0.3, max_tokens: 1000, price: { input_per_mtok: 1, output_per_mtok: 10 } }
";

const TALKS: &str = "
name: history
seed: 5
trials: 1
budget_usd: 1000
benchmarks:
  flowbench:
    settings: [session/single/text]
    limit: 'first:3'
    roles: { user: ORACLE, environment: ORACLE }
    judge: ORACLE
endpoints:
  sim:
    kind: openai
    base_url: 'http://127.0.0.1:9/v1'
    api_key_env: none
    identify_sessions: true
    stream: false
    limits: { concurrency: 6 }
models:
  - ORACLE
";

/// Benchmark and spec of `workload`. The question takes several rounds and is answered before everything is bought.
fn spec(workload: Workload) -> (&'static str, String) {
    let spec = match workload {
        Workload::Calls => SPEC.to_owned(),
        Workload::Talks => TALKS.replace(
            "ORACLE",
            "{ id: sim/oracle, max_tokens: 1000, price: { input_per_mtok: 1, output_per_mtok: 10 } }",
        ),
        Workload::Rounds => SPEC
            .replace(
                "trials: 2\n",
                "trials: 1\ndecide: { question: ranking, margin: 1pp, confidence: 0.5, rounds: 12 }\n",
            )
            .replace("limit: 'first:5', tasks: [lumos, wikihow], ", "")
            .replace("noisy-0.3", "noisy-0.7"),
        // Judges are asked at once.
        Workload::Batches => SPEC
            .replace("sim/lexical", "judge/lexical")
            .replace("limits: { concurrency: 6 }", "lane: batch\n    batch: { requests_max: 7, gather_ms: 2000, poll_ms: 2000 }\n    retries: { attempts: 14, quarantine_after: 100 }\nJUDGE")
            .replace("JUDGE", "  judge: { kind: openai, base_url: 'http://127.0.0.1:9/v1', api_key_env: none, stream: false, limits: { concurrency: 6 } }")
            .replace("output_per_mtok: 10 }", "output_per_mtok: 10, variants: { batch: { input_per_mtok: 0.5, output_per_mtok: 5 } } }"),
    };
    (if workload == Workload::Talks { "flowbench" } else { "worfbench" }, spec)
}

fn suites(sweep: &Sweep) -> Vec<SimulatedSuite> {
    let cell = &sweep.cells()[0];
    let suite = sweep.suite(cell).expect("a sweep has the suites of its cells").clone();
    vec![SimulatedSuite { benchmark: cell.benchmark.clone(), default_setting: None, suite }]
}

/// The sessions of `sweep`, by what the headers and bodies of their calls say.
fn sessions(sweep: &Sweep) -> BTreeMap<([String; 4], String), SessionKey> {
    let mut sessions = BTreeMap::new();
    for cell in sweep.cells() {
        for &item in sweep.selected(cell) {
            let Some(known) = sweep.item(cell, item) else { continue };
            let headers =
                [cell.benchmark.to_string(), cell.setting.to_string(), known.id.to_string(), cell.trial.0.to_string()];
            let key = SessionKey { sweep: sweep.id.clone(), cell: cell.index, item };
            sessions.insert((headers, cell.model.model.to_string()), key);
        }
    }
    sessions
}

/// Names and contents of the files of a data set.
type NamedFiles = Vec<(String, Vec<u8>)>;

fn miniature(benchmark: &str) -> FileSet {
    static FILES: Mutex<BTreeMap<String, NamedFiles>> = Mutex::new(BTreeMap::new());
    let read = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data").join(benchmark);
        let (mut files, mut folders) = (Vec::new(), vec![root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("the miniature is in the repository") {
                let path = entry.expect("a readable folder").path();
                let name = path.strip_prefix(&root).expect("below its root").to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                } else if name.ends_with(".json") || name.ends_with(".jsonl") {
                    files.push((name, std::fs::read(&path).expect("a readable file")));
                }
            }
        }
        files.sort();
        files
    };
    let mut set = FileSet::from_origin("the miniature");
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, content) in files.entry(benchmark.to_owned()).or_insert_with(read).iter() {
        set.insert(name.clone(), content.clone());
    }
    set
}
