//! The command lines that ask a coordinator, and those of runs that may be a coordinator's.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;
use regatta_coordinator::BudgetChange;
use regatta_proto::{EndpointName, Limit, SweepId};

use super::{NoticeArgs, PolicyArgs, ResultArgs, SpecArgs, TraceArgs, TrustArgs};

/// Address of the coordinator where none is named.
const ON_THIS_MACHINE: &str = "http://127.0.0.1:8080";

/// Where the coordinator is.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct ClientArgs {
    /// Address of the coordinator; http://127.0.0.1:8080 when left out
    // Not a default of the parser: whoever names no coordinator and misspells a run's directory did not mean one.
    #[arg(long, env = "REGATTA_COORDINATOR", hide_env_values = true)]
    pub(crate) coordinator: Option<String>,
    /// Token, if the coordinator asks for one; better in the variable, because others on this machine see arguments
    #[arg(long, env = "REGATTA_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Send the token over plain HTTP to another machine: only where nobody else is on the way, or it is encrypted otherwise
    #[arg(long, env = "REGATTA_PLAIN_HTTP", value_parser = BoolishValueParser::new())]
    pub(crate) plain_http: bool,
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

impl ClientArgs {
    /// Address of the coordinator, named or not.
    pub(crate) fn address(&self) -> &str {
        self.coordinator.as_deref().unwrap_or(ON_THIS_MACHINE)
    }
}

#[cfg(test)]
impl ClientArgs {
    /// A coordinator at this address that asks for nothing.
    pub(crate) const fn at(coordinator: String) -> Self {
        Self {
            coordinator: Some(coordinator),
            token: None,
            plain_http: false,
            ca: None,
            client_cert: None,
            client_key: None,
        }
    }
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
    pub(crate) stores: super::roles::StoresArgs,
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
pub(crate) struct ThrottleArgs {
    /// The sweep, which runs
    pub(crate) sweep: SweepId,
    /// Name of the endpoint in its spec
    pub(crate) endpoint: EndpointName,
    /// Calls at once, at most those of the spec; these again when left out
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) calls: Option<u32>,
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
    /// Raise the budget, to so many dollars or by so many: 80 or +50; of a sweep that runs, to so many
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true)]
    pub(crate) budget: Option<BudgetChange>,
    /// Go on with this spec, which may have changed where sessions with a result were asked the same (embedded run)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["budget", "trust"])]
    pub(crate) spec: Option<PathBuf>,
    /// N items of each benchmark of the spec, as of `regatta run`: more than there are go on with those that are there
    #[arg(short = 'n', long, value_name = "N", requires = "spec")]
    pub(crate) limit: Option<Limit>,
    /// Go on with a spec that lacks sessions of the run that have a result: they count nowhere, and are paid for again when a later spec has
    /// them
    #[arg(long, requires = "spec")]
    pub(crate) leave_out: bool,
    /// Go on without looking first for encoders that do not load, programs that are not there, and keys that are refused (embedded run)
    #[arg(long)]
    pub(crate) no_preflight: bool,
    /// Directory of the response cache (embedded run)
    #[arg(long, value_name = "DIR", env = "REGATTA_CACHE")]
    pub(crate) cache_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Seconds to wait for a disk that cannot be written before an embedded run ends (4); nothing is paid for meanwhile
    #[arg(long, value_name = "SECONDS", env = "REGATTA_GIVE_UP_AFTER_S", default_value_t = 60)]
    pub(crate) give_up_after_s: u64,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) notice: NoticeArgs,
    #[command(flatten)]
    pub(crate) traces: TraceArgs,
}
