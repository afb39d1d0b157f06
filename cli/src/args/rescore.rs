//! The command line of `regatta rescore`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use regatta_proto::{BenchmarkName, Evaluator, Margin, ModelRef};

use super::client::ClientArgs;
use super::{PolicyArgs, TrustArgs, dollars, name_and_directory};

#[derive(Debug, Args)]
pub(crate) struct RescoreArgs {
    /// Directory of an embedded run that has ended, or a sweep of a coordinator
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Scoring rule to use instead of the run's; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) evaluator: Vec<Evaluator>,
    /// Judge to use instead of the run's, as endpoint/model
    #[arg(long, value_name = "ENDPOINT/MODEL")]
    pub(crate) judge: Option<ModelRef>,
    /// Spec whose judges, their prices, evaluators and endpoints are used instead of the run's; its models and data are not looked at
    #[arg(long, value_name = "FILE", conflicts_with_all = ["evaluator", "judge"])]
    pub(crate) spec: Option<PathBuf>,
    /// Data directory of a benchmark with the same items, for other judge prompts
    #[arg(short = 'd', long = "data", value_name = "NAME=DIR", value_parser = name_and_directory)]
    pub(crate) data: Vec<(BenchmarkName, PathBuf)>,
    /// Only this benchmark's evaluators and judge change; needed where the run has several
    #[arg(long, value_name = "NAME")]
    pub(crate) benchmark: Option<BenchmarkName>,
    /// Directory of the new run; default: the old one's with -rescored at its end; of a sweep, in runs/
    #[arg(short = 'o', long)]
    pub(crate) output: Option<PathBuf>,
    /// Ask judges whatever is not answered yet; without this and --budget nothing is asked, and what it would cost is said
    #[arg(long)]
    pub(crate) yes: bool,
    /// Ask judges, for at most so many dollars
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = dollars)]
    pub(crate) budget: Option<f64>,
    /// Audit more and more items until each value that the spec's `audit` corrects is known to so many percentage points, as 2pp, to either side
    #[arg(long, value_name = "POINTS", requires = "spec")]
    pub(crate) until: Option<Margin>,
    /// Price table to use instead of the shipped one
    #[arg(long, value_name = "FILE", env = "REGATTA_PRICES")]
    pub(crate) prices: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    /// Print the difference as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl RescoreArgs {
    /// The rounds that are a part of the run in `directory`: whoever started that has agreed to them.
    ///
    /// # Errors
    /// When the directory has a name that is not text.
    pub(crate) fn of_run(
        directory: &Path,
        prices: Option<PathBuf>,
        policy: Option<PathBuf>,
        trust: bool,
    ) -> anyhow::Result<Self> {
        let run = directory.to_str().context("the directory of the run has a name that is not text")?.to_owned();
        Ok(Self {
            run,
            client: ClientArgs::default(),
            evaluator: Vec::new(),
            judge: None,
            spec: None,
            data: Vec::new(),
            benchmark: None,
            output: None,
            yes: true,
            budget: None,
            until: None,
            prices,
            policy: PolicyArgs { file: policy },
            trust: TrustArgs { trust },
            json: false,
        })
    }
}
