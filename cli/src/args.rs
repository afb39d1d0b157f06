//! The command line.

#[cfg(feature = "certify")]
mod certify;
mod discover;
mod import;
mod plan;
mod rescore;
#[cfg_attr(not(feature = "cluster"), path = "args/no_roles.rs")]
mod roles;
mod schedule;
mod simulate_tools;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use regatta_coordinator::BudgetChange;
use regatta_proto::{BenchmarkName, CacheMode, Evaluator, Flag, Limit, ModelRef, Setting, SweepId};

#[cfg(feature = "certify")]
pub(crate) use self::certify::CertifyArgs;
pub(crate) use self::discover::{CompletionsArgs, InitArgs, ListArgs, Listed, ModelsArgs};
pub(crate) use self::import::{ImportArgs, ImportFrom, LmEvalArgs};
pub(crate) use self::plan::PlanArgs;
pub(crate) use self::rescore::RescoreArgs;
#[cfg(feature = "cluster")]
pub(crate) use self::roles::{BlobArgs, LedgerArgs, QueueArgs, Schema};
pub(crate) use self::roles::{CoordinatorArgs, MigrateArgs, ScorerArgs, WorkerArgs};
pub(crate) use self::schedule::{CreateScheduleArgs, DriftArgs, GcArgs, ScheduleArgs, ScheduleCommand};
pub(crate) use self::simulate_tools::SimulateToolsArgs;

/// Runs agent benchmarks at sweep scale: on a laptop with nothing installed, or over RabbitMQ, Postgres and S3.
#[derive(Debug, Parser)]
#[command(name = "regatta", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to log.
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
    /// Run a sweep in this process; running it again continues where it stopped
    Run(RunArgs),
    /// Check a spec and its data, or a benchmark of your own (its folder), without running anything
    Check(CheckArgs),
    /// Say what it takes to see a difference of a given size: trials, sessions, tokens, dollars
    Plan(PlanArgs),
    /// Score anybody's predictions, or a golden case, without any model
    Score(ScoreArgs),
    /// Make a benchmark of another harness's task
    Import(ImportArgs),
    /// Start a simulated endpoint
    Simulate(SimulateArgs),
    /// Hand a sweep to a coordinator
    Submit(SubmitArgs),
    /// Show how sweeps stand
    Status(StatusArgs),
    /// Say what a deployment or a run waits for, and the next step
    Doctor(DoctorArgs),
    /// Follow a sweep until it ends; the exit code tells how
    Watch(WatchArgs),
    /// Stop a sweep
    Cancel(SweepArgs),
    /// Run again what an ended sweep did not measure
    Resume(ResumeArgs),
    /// Fetch what a sweep has left behind
    Export(ExportArgs),
    /// Show, check or import price tables
    Prices(PricesArgs),
    /// Say what a run would have cost at other prices, without calling anything
    Reprice(RepriceArgs),
    /// Score the stored sessions of a run again, with another evaluator or judge; no agent is asked
    Rescore(RescoreArgs),
    /// List the sessions of a run, or show what was said in one, its scores and pictures
    Show(ShowArgs),
    /// Compare the scores of a run's judge with ratings by people
    Align(AlignArgs),
    /// Compare two runs item by item: scores, money, time, and what else changed
    Compare(CompareArgs),
    /// Judge a run against a baseline by a policy; the exit code tells: 0 GO, 1 NO-GO, 2 INCONCLUSIVE
    Gate(GateArgs),
    /// Have a coordinator run a sweep again and again, by the clock
    Schedule(ScheduleArgs),
    /// Tell apart what changed over the nights of a schedule: model, judge, provider, data, or the harness
    Drift(DriftArgs),
    /// Remove old sweeps, or their transcripts, from a deployment; without --apply, only say what would go
    Gc(GcArgs),
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

impl Command {
    /// `true` if it writes what models said and what was paid for it. What others write is named by the person, and read by whom it is for.
    pub(crate) const fn writes_runs(&self) -> bool {
        match self {
            Self::Run(_)
            | Self::Check(_)
            | Self::Simulate(_)
            | Self::Submit(_)
            | Self::Resume(_)
            | Self::Export(_)
            | Self::Plan(_)
            | Self::Rescore(_)
            | Self::Replay(_)
            | Self::Coordinator(_)
            | Self::Worker(_)
            | Self::Scorer(_) => true,
            #[cfg(feature = "certify")]
            Self::Certify(_) => false,
            Self::Init(_)
            | Self::List(_)
            | Self::Schema
            | Self::Completions(_)
            | Self::Score(_)
            | Self::Import(_)
            | Self::Status(_)
            | Self::Doctor(_)
            | Self::Watch(_)
            | Self::Cancel(_)
            | Self::Prices(_)
            | Self::Reprice(_)
            | Self::Show(_)
            | Self::Align(_)
            | Self::Compare(_)
            | Self::Gate(_)
            | Self::Schedule(_)
            | Self::Drift(_)
            | Self::Gc(_)
            | Self::Health(_)
            | Self::Migrate(_) => false,
        }
    }
}

/// Permissions of specs that come from outside of them.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// Policy file: commands of agents by name, origins that may see a key, private addresses that may be reached (SECURITY.md)
    #[arg(long = "policy", value_name = "FILE", env = "REGATTA_POLICY")]
    pub(crate) file: Option<PathBuf>,
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
    /// Repetitions of every cell
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<u16>,
    /// Seed that all others derive from
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Most dollars to spend
    #[arg(long, value_name = "USD")]
    pub(crate) budget: Option<f64>,
    /// Price table to use instead of the shipped one; a coordinator that sweeps are submitted to has its own
    #[arg(long, value_name = "FILE", env = "REGATTA_PRICES")]
    pub(crate) prices: Option<PathBuf>,
    /// Keep answers and use them again: off, read_write, read_only, or replay (nothing is ever sent)
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
    /// Directory of kept answers, for specs that say `cache:`; default: regatta/answers in the user's cache directory
    #[arg(long, value_name = "DIR", env = "REGATTA_CACHE")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Seconds to wait for a disk that cannot be written before the run ends (4); nothing is paid for meanwhile
    #[arg(long, value_name = "SECONDS", env = "REGATTA_GIVE_UP_AFTER_S", default_value_t = 60)]
    pub(crate) give_up_after_s: u64,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    /// Serve /metrics at this address while running
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<std::net::SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) spec: SpecArgs,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
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
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    #[command(subcommand)]
    pub(crate) what: Simulated,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Simulated {
    /// An OpenAI-compatible endpoint with the models oracle, noisy-P, scripted and lexical
    Llm(SimulateLlmArgs),
    /// The apps of AppBench's phone, to be called step by step over HTTP or MCP
    Apps(SimulateAppsArgs),
    /// The servers that Auto-SLURP's agents use, over HTTP or MCP
    Tools(SimulateToolsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SimulateLlmArgs {
    /// Data directory of a benchmark whose items it can answer
    #[arg(short = 'd', long = "data", value_name = "NAME=DIR", value_parser = name_and_directory, required = true)]
    pub(crate) data: Vec<(BenchmarkName, PathBuf)>,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8089")]
    pub(crate) listen: std::net::SocketAddr,
    /// Latency, limits and faults, as in the spec's `simulation` (YAML or JSON), inline or as @FILE
    #[arg(long, value_name = "YAML")]
    pub(crate) simulation: Option<String>,
    /// Answers of the model `scripted` (JSON lines)
    #[arg(long)]
    pub(crate) script: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateAppsArgs {
    /// Data directory of AppBench
    #[arg(short = 'd', long = "data", value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: std::net::SocketAddr,
}

/// Where the coordinator is.
#[derive(Debug, Args, Clone)]
pub(crate) struct ClientArgs {
    /// Address of the coordinator
    #[arg(long, env = "REGATTA_COORDINATOR", default_value = "http://127.0.0.1:8080")]
    pub(crate) coordinator: String,
    /// Token, if the coordinator asks for one
    #[arg(long, env = "REGATTA_TOKEN", hide_env_values = true, hide = true)]
    pub(crate) token: Option<String>,
    /// Authorities of the coordinator's certificate (PEM), in place of the system's
    #[arg(long, value_name = "FILE", env = "REGATTA_CA")]
    pub(crate) ca: Option<PathBuf>,
    /// Certificate to show to the coordinator (PEM)
    #[arg(long, value_name = "FILE", env = "REGATTA_CLIENT_CERT", requires = "client_key")]
    pub(crate) client_cert: Option<PathBuf>,
    /// Key of that certificate (PEM)
    #[arg(long, value_name = "FILE", env = "REGATTA_CLIENT_KEY", requires = "client_cert")]
    pub(crate) client_key: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    pub(crate) spec: SpecArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Follow the sweep until it ends
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// A sweep; all of them when left out
    pub(crate) sweep: Option<SweepId>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Directory of a run; a deployment when left out
    #[arg(value_name = "RUN_DIR")]
    pub(crate) run: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) stores: self::roles::StoresArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// The sweep
    pub(crate) sweep: SweepId,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The sweep
    pub(crate) sweep: SweepId,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print the leaderboards and the tables of the papers too
    #[arg(long)]
    pub(crate) tables: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// A sweep of a coordinator, or the directory of an embedded run
    pub(crate) sweep: String,
    /// Raise the budget, to so many dollars or by so many: 80 or +50
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) budget: Option<BudgetChange>,
    /// Directory of kept answers (embedded run)
    #[arg(long, value_name = "DIR", env = "REGATTA_CACHE")]
    pub(crate) cache_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Seconds to wait for a disk that cannot be written before an embedded run ends (4); nothing is paid for meanwhile
    #[arg(long, value_name = "SECONDS", env = "REGATTA_GIVE_UP_AFTER_S", default_value_t = 60)]
    pub(crate) give_up_after_s: u64,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The sweep
    pub(crate) sweep: SweepId,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Directory to write into
    #[arg(short = 'o', long)]
    pub(crate) output: PathBuf,
    /// Fetch the transcripts too
    #[arg(long)]
    pub(crate) transcripts: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PricesArgs {
    #[command(subcommand)]
    pub(crate) what: PricesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PricesCommand {
    /// Show a price table, or what it says of a model
    Show(PricesShowArgs),
    /// Check that a file is a price table
    Check(PricesCheckArgs),
    /// Make a price table out of what LiteLLM or genai-prices publish; with both, say where they disagree
    Import(PricesImportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PricesShowArgs {
    /// A model, as endpoint/model of a spec without endpoints of its own, or as the table names it; all when left out
    pub(crate) model: Option<String>,
    /// Price table to use instead of the shipped one
    #[arg(long, value_name = "FILE", env = "REGATTA_PRICES")]
    pub(crate) prices: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PricesCheckArgs {
    /// The file
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("source").required(true).multiple(true).args(["litellm", "genai_prices"]))]
pub(crate) struct PricesImportArgs {
    /// LiteLLM's model_prices_and_context_window.json
    #[arg(long, value_name = "FILE")]
    pub(crate) litellm: Option<PathBuf>,
    /// The data.json of pydantic's genai-prices; it goes before LiteLLM where both know a model
    #[arg(long, value_name = "FILE")]
    pub(crate) genai_prices: Option<PathBuf>,
    /// Leave out every model, and every variant of it, that only one of both knows or that they disagree on
    #[arg(long, requires_all = ["litellm", "genai_prices"])]
    pub(crate) agreed: bool,
    /// Only models of this name in the table, or whose name begins so: gpt-5, deepseek/*; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Write the table to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the whole report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RepriceArgs {
    /// Directory of the run, with its sweep.lock.yaml and transcripts
    pub(crate) run: PathBuf,
    /// Price table to use instead of the shipped one
    #[arg(long, value_name = "FILE", env = "REGATTA_PRICES")]
    pub(crate) prices: Option<PathBuf>,
    /// Use the table's prices of this day instead of the day of each call
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) on: Option<jiff::civil::Date>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Filters of the sessions that are listed: each must let a session through.
#[derive(Debug, Default, Args)]
pub(crate) struct ShowFilters {
    /// Only sessions that were not measured, or that the model made impossible
    #[arg(long)]
    pub(crate) failed: bool,
    /// Only sessions with this flag; given several times, with all of them
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Flag::ALL.map(Flag::as_str)))]
    flag: Vec<String>,
    /// Only sessions that ended for this cause, as auth or timeout; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cause: Vec<String>,
    /// Only sessions in which somebody says this text, or a failed try does, in capitals or not
    #[arg(long, value_name = "TEXT")]
    pub(crate) grep: Option<String>,
}

impl ShowFilters {
    /// The flags that were named.
    pub(crate) fn flags(&self) -> Vec<Flag> {
        Flag::ALL.into_iter().filter(|flag| self.flag.iter().any(|name| name == flag.as_str())).collect()
    }
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Directory of the run, with its sweep.lock.yaml and transcripts
    pub(crate) run: PathBuf,
    /// A session, by cell and item; or one word: the id of an item, in all cells, or a cell. All sessions are listed when left out
    #[arg(num_args = 0..=2, value_names = ["CELL", "ITEM"])]
    pub(crate) session: Vec<String>,
    #[command(flatten)]
    pub(crate) filters: ShowFilters,
    /// Write the session to this file, as one page of HTML
    #[arg(short = 'o', long, value_name = "FILE", requires = "session")]
    pub(crate) output: Option<PathBuf>,
    /// Data directory of a benchmark, for the pictures of a run that was exported; an embedded run has its data with it
    #[arg(short = 'd', long = "data", value_name = "NAME=DIR", value_parser = name_and_directory)]
    pub(crate) data: Vec<(BenchmarkName, PathBuf)>,
}

#[derive(Debug, Args)]
pub(crate) struct AlignArgs {
    /// Directory of the run, with its results.jsonl
    pub(crate) run: PathBuf,
    /// Ratings by people, one JSON object a line: setting, model, trial, item, and ratings (numbers by the name of who gave them)
    #[arg(long, value_name = "FILE")]
    pub(crate) ratings: PathBuf,
    /// The judge's score that people's ratings are compared with, as results.jsonl names it
    #[arg(long, value_name = "NAME", default_value = "progress")]
    pub(crate) score: String,
    /// Scoring rule; needed where the run has several
    #[arg(long)]
    pub(crate) evaluator: Option<Evaluator>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Two runs, and which of their models are compared.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Directory of a run that has ended, or a sweep of a coordinator
    #[arg(value_name = "RUN_A")]
    pub(crate) a: String,
    /// The run that is compared with it
    #[arg(value_name = "RUN_B")]
    pub(crate) b: String,
    /// Model of RUN_A; otherwise models of the same name are compared, or the only ones
    #[arg(long, value_name = "MODEL")]
    pub(crate) model_a: Option<ModelRef>,
    /// Model of RUN_B
    #[arg(long, value_name = "MODEL")]
    pub(crate) model_b: Option<ModelRef>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// Directory of the run that is judged, or a sweep of a coordinator
    pub(crate) run: String,
    /// The run that it is held against
    #[arg(long, value_name = "RUN")]
    pub(crate) baseline: String,
    /// Policy: margins and limits that must hold (YAML)
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,
    /// Model of the run; otherwise models of the same name are compared, or the only ones
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<ModelRef>,
    /// Model of the baseline
    #[arg(long, value_name = "MODEL")]
    pub(crate) baseline_model: Option<ModelRef>,
    /// Write the checks as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a summary for a pull request, in Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Directory of the run, with its sweep.lock.yaml and transcripts
    pub(crate) run: PathBuf,
    /// Cell and item, as they are listed when left out
    #[arg(num_args = 2, value_names = ["CELL", "ITEM"])]
    pub(crate) session: Vec<u32>,
    /// Only print the request, as JSON
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Send it to this address instead of the endpoint's own
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}

fn name_and_directory(text: &str) -> Result<(BenchmarkName, PathBuf), String> {
    let (name, directory) = text.split_once('=').ok_or("write it as NAME=DIR, for instance worfbench=path/to/data")?;
    Ok((name.parse().map_err(|error| format!("{error}"))?, PathBuf::from(directory)))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
