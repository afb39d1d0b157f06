//! The command line.

#[cfg(feature = "certify")]
mod certify;
mod client;
mod data;
mod discover;
mod export;
mod import;
mod notice;
mod plan;
mod prices;
mod repair;
mod rescore;
mod results;
#[cfg_attr(not(feature = "cluster"), path = "args/no_roles.rs")]
mod roles;
mod schedule;
mod simulate;
mod simulate_tools;
mod subset;
mod token;
mod traces;
mod view;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use regatta_proto::{BenchmarkName, CacheMode, Evaluator, Limit, ModelRef, Setting};

#[cfg(feature = "certify")]
pub(crate) use self::certify::CertifyArgs;
pub(crate) use self::client::{
    ClientArgs, DoctorArgs, ResumeArgs, StatusArgs, SubmitArgs, SweepArgs, ThrottleArgs, WatchArgs,
};
pub(crate) use self::data::{DataArgs, DataAt, DataCommand, DataFetchArgs, DataVerifyArgs};
pub(crate) use self::discover::{CompletionsArgs, InitArgs, ListArgs, Listed, ModelsArgs};
pub(crate) use self::export::{ExportArgs, ExportFormat};
pub(crate) use self::import::{ImportArgs, ImportFrom, InspectArgs, LmEvalArgs, PredictionsArgs};
pub(crate) use self::notice::NoticeArgs;
pub(crate) use self::plan::PlanArgs;
pub(crate) use self::prices::{
    PricesArgs, PricesCommand, PricesImportArgs, PricesShowArgs, PricesUpdateArgs, RepriceArgs,
};
pub(crate) use self::repair::RepairArgs;
pub(crate) use self::rescore::RescoreArgs;
pub(crate) use self::results::{AlignArgs, CompareArgs, GateArgs, ReplayArgs, ShowArgs, ShowFilters};
#[cfg(feature = "cluster")]
pub(crate) use self::roles::{BlobArgs, BridgeArgs, BridgeTls, LedgerArgs, QueueArgs, Schema};
pub(crate) use self::roles::{CoordinatorArgs, MigrateArgs, ScorerArgs, WorkerArgs};
pub(crate) use self::schedule::{CreateScheduleArgs, DriftArgs, GcArgs, ScheduleArgs, ScheduleCommand};
pub(crate) use self::simulate::{SimulateAppsArgs, SimulateArgs, SimulateLlmArgs, Simulated};
pub(crate) use self::simulate_tools::SimulateToolsArgs;
pub(crate) use self::subset::{ChooseSubsetArgs, EstimateSubsetArgs, SubsetArgs, SubsetCommand};
pub(crate) use self::token::{AuditArgs, CreateTokenArgs, QuotaLimits, TokenArgs, TokenCommand};
pub(crate) use self::traces::TraceArgs;
pub(crate) use self::view::ViewArgs;

/// Runs agent benchmarks at sweep scale: on a laptop with nothing installed, or over RabbitMQ, Postgres and S3.
#[derive(Debug, Parser)]
#[command(name = "regatta", version = crate::version::version(), propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of logging.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Log filter, as `info` or `regatta_worker=debug`
    #[arg(long, env = "REGATTA_LOG", default_value = "warn", global = true)]
    pub(crate) log: String,
    /// Form of the log lines
    #[arg(long, env = "REGATTA_LOG_FORMAT", default_value = "text", global = true)]
    pub(crate) log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a spec to begin with
    Init(InitArgs),
    /// List benchmarks, settings, evaluators or models
    List(ListArgs),
    /// Fetch the official data sets of benchmarks, or compare a copy with them
    Data(DataArgs),
    /// Run a sweep in this process; running it again continues where it stopped
    Run(RunArgs),
    /// Check a spec and its data, or a benchmark of your own (its folder), without running anything
    Check(CheckArgs),
    /// Say what it takes to see a difference of a given size: trials, sessions, tokens, dollars
    Plan(PlanArgs),
    /// Score anybody's predictions, or a golden case, without any model
    Score(ScoreArgs),
    /// Make a benchmark of another harness's task, or predictions of its answers
    Import(ImportArgs),
    /// Start a simulated endpoint
    Simulate(SimulateArgs),
    /// Hand a sweep to a coordinator
    Submit(SubmitArgs),
    /// Show how the sweeps of a coordinator stand
    Status(StatusArgs),
    /// Say what a deployment or a run waits for, and the next step
    Doctor(DoctorArgs),
    /// Follow a coordinator's sweep until it ends; the exit code tells how
    Watch(WatchArgs),
    /// Stop a coordinator's sweep
    Cancel(SweepArgs),
    /// Pause a coordinator's sweep: nothing more of it begins until `resume`
    Pause(SweepArgs),
    /// Run again what an ended run or sweep did not measure, or go on with a paused sweep
    Resume(ResumeArgs),
    /// Lower how many calls a coordinator's sweep makes at once at an endpoint
    Throttle(ThrottleArgs),
    /// Write a run in the formats of others, or fetch what a sweep has left behind
    Export(ExportArgs),
    /// Show, check, import or update price tables
    Prices(PricesArgs),
    /// Mend a run's directory after files of it were lost or damaged; nothing is called
    Repair(RepairArgs),
    /// Say what a run would have cost at other prices, without calling anything
    Reprice(RepriceArgs),
    /// Score the stored sessions of a run again, with another evaluator or judge; no agent is asked
    Rescore(RescoreArgs),
    /// List the sessions of a run, or show what was said in one, its scores and pictures
    Show(ShowArgs),
    /// Look into runs in a browser: items, sessions, flips, money, while they go on and afterwards
    View(ViewArgs),
    /// Compare the scores of a run's judge with ratings by people
    Align(AlignArgs),
    /// Compare two runs item by item: scores, money, time, and what else changed
    Compare(CompareArgs),
    /// Judge a run against a baseline by a policy; the exit code tells: 0 GO, 1 NO-GO, 2 INCONCLUSIVE
    Gate(GateArgs),
    /// Choose fewer items that estimate them all, from runs of other models
    Subset(SubsetArgs),
    /// Have a coordinator run a sweep again and again, by the clock
    Schedule(ScheduleArgs),
    /// Tell apart what changed over the nights of a schedule: model, judge, provider, data, or the harness
    Drift(DriftArgs),
    /// Remove old sweeps, or their transcripts, and files that nothing refers to from a deployment; without --apply, only say what would go
    Gc(GcArgs),
    /// Make, list or revoke tokens of a coordinator, and set what their owners may be granted
    Token(TokenArgs),
    /// Show who asked a coordinator for what, and what came of it
    Audit(AuditArgs),
    /// Send a request again that was given up, and show what comes of it
    Replay(ReplayArgs),
    /// Be the coordinator of a deployment
    #[cfg_attr(
        not(feature = "cluster"),
        command(about = "Be the coordinator of a deployment (not in this build: needs the feature `cluster`)")
    )]
    Coordinator(CoordinatorArgs),
    /// Be a worker of a deployment
    #[cfg_attr(
        not(feature = "cluster"),
        command(about = "Be a worker of a deployment (not in this build: needs the feature `cluster`)")
    )]
    Worker(WorkerArgs),
    /// Be a scorer of a deployment
    #[cfg_attr(
        not(feature = "cluster"),
        command(about = "Be a scorer of a deployment (not in this build: needs the feature `cluster`)")
    )]
    Scorer(ScorerArgs),
    /// Bring the database of a deployment to this version
    #[cfg_attr(
        not(feature = "cluster"),
        command(
            about = "Bring the database of a deployment to this version (not in this build: needs the feature `cluster`)"
        )
    )]
    Migrate(MigrateArgs),
    /// Hurt a deployment on this machine by a seeded plan, and prove that nothing is lost, paid twice or changed
    #[cfg(feature = "certify")]
    Certify(CertifyArgs),
    /// Print the JSON Schema of specs, for editors
    Schema,
    /// Print what a shell completes, for bash, zsh, fish and others
    Completions(CompletionsArgs),
    /// Ask a process on this machine whether it is ready; the exit code tells, for probes of containers without a shell
    Health(HealthArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// Address of the process
    #[arg(long, env = "REGATTA_LISTEN", default_value = "127.0.0.1:8080")]
    pub(crate) address: std::net::SocketAddr,
    /// Only ask whether it is alive
    #[arg(long)]
    pub(crate) alive: bool,
}

/// Permissions of specs that come from outside of them.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// Policy file: commands of agents by name, origins that may see a key, private addresses that may be reached (SECURITY.md)
    #[arg(long = "policy", value_name = "FILE", env = "REGATTA_POLICY")]
    pub(crate) file: Option<PathBuf>,
}

/// Trust in a run that somebody else may have begun.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Treat the run as one of your own from now on, though it was not begun by this user on this machine: its programs are started, and
    /// its endpoints get the keys that it names (SECURITY.md)
    #[arg(long)]
    pub(crate) trust: bool,
}

/// A spec and what the command line changes in it.
#[derive(Debug, Args)]
pub(crate) struct SpecArgs {
    /// The sweep's spec (YAML)
    pub(crate) spec: PathBuf,
    /// Data directory of a benchmark, as `worfbench=path/to/data`; goes before the spec's own
    #[arg(short = 'd', long = "data", value_name = "NAME=DIR", value_parser = name_and_directory)]
    pub(crate) data: Vec<(BenchmarkName, PathBuf)>,
    /// N items in all of each benchmark, drawn by the seed with the weights of the tasks; first:N takes the first N of each task
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<Limit>,
    /// At most N sessions over all cells, drawn as by --limit: each benchmark has items in proportion to its size, and one in each cell at least
    #[arg(long, value_name = "N", conflicts_with = "limit", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) sessions: Option<u64>,
    /// Repetitions of every cell
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<u16>,
    /// Seed that all others derive from
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Most dollars to spend
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = dollars)]
    pub(crate) budget: Option<f64>,
    /// Price table to use instead of the shipped one; a coordinator that sweeps are submitted to has its own
    #[arg(long, value_name = "FILE", env = "REGATTA_PRICES")]
    pub(crate) prices: Option<PathBuf>,
    /// Keep answers and use them again: off, read_write, read_only, refresh (keep them, and ask each time), or replay (nothing is ever sent)
    #[arg(long, value_name = "MODE")]
    pub(crate) cache: Option<CacheMode>,
}

/// Choice of the output at the end of a run.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ResultArgs {
    /// Print the leaderboards and the tables of the papers too
    #[arg(long, conflicts_with = "json")]
    pub(crate) tables: bool,
    /// Print the summary as JSON (of a dry run: the estimate)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) spec: SpecArgs,
    /// Directory of the run; default: runs/NAME
    #[arg(short = 'o', long, env = "REGATTA_OUTPUT")]
    pub(crate) output: Option<PathBuf>,
    /// Only say what would be run, and what calls, tokens and money it would take
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Ended run with whose values a dry run simulates the rounds of a sweep with a question
    #[arg(long, value_name = "RUN", requires = "dry_run")]
    pub(crate) pilot: Option<PathBuf>,
    /// Go on in a directory although the spec lacks sessions of it that have a result: they count nowhere, and are paid for again when a
    /// later spec has them
    #[arg(long)]
    pub(crate) leave_out: bool,
    /// Begin without looking first for encoders that do not load, programs that are not there, and keys that are refused
    #[arg(long)]
    pub(crate) no_preflight: bool,
    /// Directory of the response cache, for specs that say `cache:`; default: regatta/answers in the user's cache directory
    #[arg(long, value_name = "DIR", env = "REGATTA_CACHE")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Seconds to wait for a disk that cannot be written before the run ends (4); nothing is paid for meanwhile
    #[arg(long, value_name = "SECONDS", env = "REGATTA_GIVE_UP_AFTER_S", default_value_t = 60)]
    pub(crate) give_up_after_s: u64,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) notice: NoticeArgs,
    /// Serve /metrics at this address while running
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<std::net::SocketAddr>,
    #[command(flatten)]
    pub(crate) traces: TraceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) spec: SpecArgs,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Ask every endpoint for its list of models too: a key that is refused is an error; nothing is paid for
    #[arg(long)]
    pub(crate) try_endpoints: bool,
    /// Print the resolved spec
    #[arg(long)]
    pub(crate) print: bool,
    /// Print what it would take as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    /// Benchmark of the predictions
    #[arg(required_unless_present = "case", conflicts_with = "case")]
    pub(crate) benchmark: Option<BenchmarkName>,
    /// Directory of the benchmark's data
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// File of predictions
    #[arg(long, required_unless_present = "case")]
    pub(crate) predictions: Option<PathBuf>,
    /// File of recorded verdicts
    #[arg(long)]
    pub(crate) verdicts: Option<PathBuf>,
    /// Judge that is asked what has no recorded verdict, as endpoint/model; its answers are kept, and not asked for twice
    #[arg(long, value_name = "ENDPOINT/MODEL", conflicts_with_all = ["case", "questions"])]
    pub(crate) judge: Option<ModelRef>,
    /// Spec that has the judge's endpoint, where it is not one of a provider; nothing else of it is looked at
    #[arg(long, value_name = "SPEC", requires = "judge")]
    pub(crate) endpoints: Option<PathBuf>,
    /// File to write the questions without a recorded verdict to, for others to answer; while there are any, nothing is scored (exit code 4)
    #[arg(long, value_name = "FILE", conflicts_with = "case")]
    pub(crate) questions: Option<PathBuf>,
    /// Setting that they were made in, where the scoring depends on it, as autogen/today=2025-06-01
    #[arg(long, conflicts_with = "case")]
    pub(crate) setting: Option<Setting>,
    /// Scoring rule; default: official, or the one of a benchmark that is declared in a file
    #[arg(long)]
    pub(crate) evaluator: Option<Evaluator>,
    /// A golden case instead of predictions
    #[arg(long)]
    pub(crate) case: Option<PathBuf>,
    /// File (for a case: directory) to write
    #[arg(short = 'o', long)]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
}

fn name_and_directory(text: &str) -> Result<(BenchmarkName, PathBuf), String> {
    let (name, directory) = text.split_once('=').ok_or("write it as NAME=DIR, for instance worfbench=path/to/data")?;
    Ok((name.parse().map_err(|error| format!("{error}"))?, PathBuf::from(directory)))
}

/// Parses the dollars of a budget.
fn dollars(text: &str) -> Result<f64, String> {
    let dollars: Option<f64> = text.parse().ok();
    dollars
        .filter(|dollars| dollars.is_finite() && *dollars > 0.0)
        .ok_or_else(|| "not a positive number of dollars".to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use clap::{CommandFactory, Parser};

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_is_in_the_page_of_commands() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/commands.md");
        let page = std::fs::read_to_string(page).unwrap();
        let words: Vec<&str> = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
        let shown: BTreeSet<&str> = words.windows(2).filter(|pair| pair[0] == "regatta").map(|pair| pair[1]).collect();
        for verb in super::Cli::command().get_subcommands() {
            let name = verb.get_name();
            assert!(shown.contains(name), "docs/commands.md has no line with regatta {name}: CONTRIBUTING.md, A verb");
        }
    }

    #[test]
    fn a_budget_that_is_no_amount_is_refused_as_one() {
        for line in ["run s.yaml --budget -3", "init --budget 0", "rescore r --budget much", "resume r --budget -3"] {
            let error =
                super::Cli::try_parse_from(["regatta"].into_iter().chain(line.split(' '))).unwrap_err().to_string();
            assert!(error.contains("for '--budget <") && error.contains("number of dollars"), "{line}: {error}");
        }
    }
}
