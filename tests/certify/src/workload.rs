//! The sweeps that run under faults, and what they give undisturbed.

mod agent;

use std::path::{Path, PathBuf};
use std::time::Duration;

use regatta_tests::regatta::Process;

use crate::CertifyError;
use crate::endpoint::{BATCH_PRICE, CallKind, Endpoint, PRICE};
use crate::evidence::Reference;
use crate::fleet::plain;
use crate::pace::Pace;
pub(crate) use agent::Agent;

/// Calls at once that the specs allow.
pub(crate) const CONCURRENCY: u32 = 16;
/// Least budget of a sweep, in dollars: more than it costs, with the worst cases of all that is lost.
const BUDGET_DOLLARS_MIN: u64 = 40;
/// Budget for each trial beyond that: the longer a sweep takes, the more of its processes are killed.
const BUDGET_DOLLARS_A_TRIAL: u64 = 10;
/// Most sessions of a batch.
const BATCH_MAX: u64 = 10;
/// Longest time of a request to the API of batches: for so long a claim of a worker that was killed stands.
const TOTAL_MS: u64 = 20_000;
/// Time that the endpoint takes for a batch, in milliseconds: some batches are under way at each fault.
const BATCH_MS: u32 = 4_000;
/// Data that the sweeps are of.
const BENCHMARKS: [&str; 4] = ["worfbench", "flowbench", "autoslurp", "appbench"];

/// A sweep of the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Single calls with similarities to judge, conversations of three models with judgements, and external agents.
    Live,
    /// Single calls by the batch lane.
    Batched,
}

impl Part {
    pub(crate) const ALL: [Self; 2] = [Self::Live, Self::Batched];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Batched => "batched",
        }
    }

    /// The sweep that pays for calls of `kind`.
    pub(crate) const fn of(kind: CallKind) -> Self {
        match kind {
            CallKind::Live | CallKind::Judges => Self::Live,
            CallKind::Batched => Self::Batched,
        }
    }
}

/// Whoever runs a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunBy {
    /// A deployment. Its workers run commands of their policy alone.
    Deployment,
    /// One process of a person's own, which hands in no batches: it asks the same at once.
    OneProcess,
}

/// All sweeps, and the endpoint that they ask.
pub(crate) struct Workload {
    pub(crate) endpoint: Endpoint,
    /// The live sweep.
    pub(crate) live: Reference,
    /// Both sweeps.
    pub(crate) both: Reference,
    /// The external agent; `None` where it cannot run.
    pub(crate) agent: Option<Agent>,
    /// Pace of the live sweep; `None` until it has run undisturbed, which tells its calls.
    pace: Option<Pace>,
    data: PathBuf,
    trials: u16,
    _simulator: Process,
}

impl Workload {
    /// Starts the endpoint and runs each sweep once in one process, without faults. From then on the live sweep takes `length`, or as long as it
    /// needs.
    pub(crate) async fn start(
        binary: &Path,
        data: &Path,
        trials: u16,
        length: Duration,
        folder: &Path,
    ) -> Result<Self, CertifyError> {
        let mut simulate = plain(binary);
        simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0"]);
        for benchmark in BENCHMARKS {
            simulate.args(["--data", &format!("{benchmark}={}", data.join(benchmark).display())]);
        }
        let simulation = format!("{{ latency: {{ median_ms: 200, spread: 1.5 }}, batch: {{ delay_ms: {BATCH_MS} }} }}");
        simulate.args(["--simulation", &simulation]);
        let simulator = Process::start_and_read(simulate).await?;
        let unusable =
            || CertifyError::Broken(format!("the simulator's address is no address: {}", simulator.first_line));
        let upstream =
            simulator.first_line.trim_start_matches("http://").split('/').next().and_then(|host| host.parse().ok());
        let mut workload = Self {
            endpoint: Endpoint::before(upstream.ok_or_else(unusable)?).await?,
            live: Reference::default(),
            both: Reference::default(),
            agent: Agent::find(),
            pace: None,
            data: data.to_owned(),
            trials,
            _simulator: simulator,
        };
        workload.live = workload.undisturbed(binary, Part::Live, folder).await?;
        workload.both = workload.live.and(&workload.undisturbed(binary, Part::Batched, folder).await?.by_batches());
        let pace = Pace::over(workload.live.calls() + workload.live.judges_calls, length);
        workload.endpoint.delay(pace.delay);
        workload.pace = Some(pace);
        Ok(workload)
    }

    async fn undisturbed(&self, binary: &Path, part: Part, folder: &Path) -> Result<Reference, CertifyError> {
        let name = format!("reference-{}", part.name());
        let spec = self.write_spec(folder, &name, part, RunBy::OneProcess)?;
        let output = folder.join(name);
        let mut command = plain(binary);
        command.arg("run").arg(&spec).arg("--output").arg(&output);
        let ran = command.output().await.map_err(CertifyError::system("run regatta"))?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            return Err(CertifyError::Broken(format!("the undisturbed run failed: {}", said.trim())));
        }
        let results = output.join("results.jsonl");
        let results = std::fs::read_to_string(&results).map_err(CertifyError::file(&results))?;
        Ok(Reference::of(results, &self.endpoint.close_books().await?))
    }

    /// Requests in a minute that the live sweep may make; none are limited while it runs undisturbed.
    pub(crate) fn requests_per_minute(&self) -> Option<u64> {
        self.pace.map(|pace| pace.requests_per_minute)
    }

    /// Budget of each sweep, in dollars.
    pub(crate) fn budget_dollars(&self) -> u64 {
        BUDGET_DOLLARS_MIN.max(BUDGET_DOLLARS_A_TRIAL * u64::from(self.trials))
    }

    /// Writes the spec of `part` under a name of its own; everything that results depend on is the same.
    pub(crate) fn write_spec(&self, folder: &Path, name: &str, part: Part, by: RunBy) -> Result<PathBuf, CertifyError> {
        let text = format!(
            "name: {name}\nseed: 11\ntrials: {}\nbudget_usd: {}\n{}",
            self.trials,
            self.budget_dollars(),
            match part {
                Part::Live => self.live_spec(by),
                Part::Batched => self.batched_spec(by),
            }
        );
        let path = folder.join(format!("{name}.yaml"));
        std::fs::write(&path, text).map_err(CertifyError::file(&path))?;
        Ok(path)
    }

    fn live_spec(&self, by: RunBy) -> String {
        let played = |model: &str| format!("{{ id: sim/{model}, price: {} }}", price(PRICE));
        let (lexical, oracle) = (played("lexical"), played("oracle"));
        let (agents, asking) = self.agent.as_ref().map_or_else(Default::default, |agent| {
            let data = self.data.join("autoslurp");
            let benchmark = format!(
                "  autoslurp:\n    data: {}\n    settings: [{}]\n    limit: 10\n    judge: {oracle}\n",
                data.display(),
                Agent::SETTING
            );
            (agent.declaration(by), benchmark)
        });
        let limit = self.requests_per_minute().map(|limit| format!(", requests_per_minute: {limit}"));
        format!(
            "{agents}benchmarks:\n  worfbench:\n    data: {worfbench}\n    settings: [two-shot, zero-shot]\n    judge: {lexical}\n  \
             flowbench:\n    data: {flowbench}\n    settings: [session/single/text]\n    roles: {{ user: {oracle}, environment: {oracle} }}\n    \
             judge: {oracle}\n{asking}\
             endpoints:\n  sim:\n    kind: openai\n    base_url: http://{address}/v1\n    api_key_env: none\n    \
             identify_sessions: true\n    limits: {{ concurrency: {CONCURRENCY}{limit} }}\n\
             models:\n  - {oracle}\n",
            worfbench = self.data.join("worfbench").display(),
            flowbench = self.data.join("flowbench").display(),
            address = self.endpoint.address,
            limit = limit.unwrap_or_default(),
        )
    }

    fn batched_spec(&self, by: RunBy) -> String {
        let lane = match by {
            RunBy::Deployment => {
                format!(
                    "lane: batch\n    batch: {{ requests_max: {BATCH_MAX}, gather_ms: 300, poll_ms: 500 }}\n    timeouts: {{ total_ms: {TOTAL_MS} }}"
                )
            }
            RunBy::OneProcess => "lane: live".to_owned(),
        };
        let batched = format!("variants: {{ batch: {} }}", price(BATCH_PRICE));
        let price = price(PRICE).replace(" }", &format!(", {batched} }}"));
        format!(
            "benchmarks:\n  appbench:\n    data: {appbench}\n    settings: [flat, flat/3-shot]\n\
             endpoints:\n  night:\n    kind: openai\n    base_url: http://{address}/v1\n    api_key_env: none\n    \
             identify_sessions: true\n    {lane}\n\
             models:\n  - {{ id: night/oracle, max_tokens: 1024, price: {price} }}\n",
            appbench = self.data.join("appbench").display(),
            address = self.endpoint.address,
        )
    }
}

/// A price in a spec, of nano-dollars of an input and of an output token.
fn price((input, output): (u64, u64)) -> String {
    let dollars = |nanodollars: u64| nanodollars as f64 / 1_000.0;
    format!("{{ input_per_mtok: {}, output_per_mtok: {} }}", dollars(input), dollars(output))
}
