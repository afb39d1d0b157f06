//! The sweep that is run under faults, and what it gives undisturbed.

use std::path::{Path, PathBuf};

use regatta_tests::regatta::Process;

use crate::CertifyError;
use crate::endpoint::{Endpoint, PRICE};
use crate::evidence::Reference;
use crate::fleet::plain;

/// Calls at once that the spec allows.
pub(crate) const CONCURRENCY: u32 = 16;
/// Requests a minute that the spec allows.
pub(crate) const REQUESTS_PER_MINUTE: u32 = 3_000;
/// Budget of the sweep, in dollars: more than it costs, with the worst cases of all that is lost.
pub(crate) const BUDGET_DOLLARS: u64 = 40;

/// Single calls with similarities to judge, and conversations of three models with judgements.
pub(crate) struct Workload {
    pub(crate) endpoint: Endpoint,
    pub(crate) reference: Reference,
    data: PathBuf,
    trials: u16,
    _simulator: Process,
}

impl Workload {
    /// Starts the endpoint and runs the sweep once in one process, without faults.
    pub(crate) async fn start(binary: &Path, data: &Path, trials: u16, folder: &Path) -> Result<Self, CertifyError> {
        let mut simulate = plain(binary);
        simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0"]);
        for benchmark in ["worfbench", "flowbench"] {
            simulate.args(["--data", &format!("{benchmark}={}", data.join(benchmark).display())]);
        }
        simulate.args(["--simulation", "latency: { median_ms: 200, spread: 1.5 }"]);
        let simulator = Process::start_and_read(simulate).await?;
        let unusable =
            || CertifyError::Broken(format!("the simulator's address is no address: {}", simulator.first_line));
        let upstream =
            simulator.first_line.trim_start_matches("http://").split('/').next().and_then(|host| host.parse().ok());
        let endpoint = Endpoint::before(upstream.ok_or_else(unusable)?).await?;
        let mut workload =
            Self { endpoint, reference: Reference::default(), data: data.to_owned(), trials, _simulator: simulator };

        let spec = workload.write_spec(folder, "reference")?;
        let output = folder.join("reference");
        let mut command = plain(binary);
        command.arg("run").arg(&spec).arg("--output").arg(&output);
        let ran = command.output().await.map_err(CertifyError::system("run regatta"))?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            return Err(CertifyError::Broken(format!("the undisturbed run failed: {}", said.trim())));
        }
        let results = output.join("results.jsonl");
        let results = std::fs::read_to_string(&results).map_err(CertifyError::file(&results))?;
        workload.reference = Reference::of(results, &workload.endpoint.close_books());
        Ok(workload)
    }

    /// Writes the spec under a name of its own; everything that results depend on is the same.
    pub(crate) fn write_spec(&self, folder: &Path, name: &str) -> Result<PathBuf, CertifyError> {
        let dollars = |nanodollars: u64| nanodollars as f64 / 1_000.0;
        let price = format!("{{ input_per_mtok: {}, output_per_mtok: {} }}", dollars(PRICE.0), dollars(PRICE.1));
        let played = |model: &str| format!("{{ id: sim/{model}, price: {price} }}");
        let text = format!(
            "name: {name}\nseed: 11\ntrials: {trials}\nbudget_usd: {BUDGET_DOLLARS}\nbenchmarks:\n  worfbench:\n    data: {worfbench}\n    \
             settings: [two-shot, zero-shot]\n    judge: {lexical}\n  flowbench:\n    data: {flowbench}\n    \
             settings: [session/single/text]\n    roles: {{ user: {oracle}, environment: {oracle} }}\n    judge: {oracle}\n\
             endpoints:\n  sim:\n    kind: openai\n    base_url: http://{address}/v1\n    api_key_env: none\n    \
             identify_sessions: true\n    limits: {{ concurrency: {CONCURRENCY}, requests_per_minute: {REQUESTS_PER_MINUTE} }}\n\
             models:\n  - {oracle}\n",
            trials = self.trials,
            worfbench = self.data.join("worfbench").display(),
            flowbench = self.data.join("flowbench").display(),
            lexical = played("lexical"),
            oracle = played("oracle"),
            address = self.endpoint.address,
        );
        let path = folder.join(format!("{name}.yaml"));
        std::fs::write(&path, text).map_err(CertifyError::file(&path))?;
        Ok(path)
    }
}
