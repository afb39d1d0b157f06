//! The command line of `regatta subset`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use regatta_proto::{BenchmarkName, Evaluator, Setting};

use super::ClientArgs;

#[derive(Debug, Args)]
pub(crate) struct SubsetArgs {
    #[command(subcommand)]
    pub(crate) what: SubsetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubsetCommand {
    /// Choose items from runs of five models or more that estimate all items, with their error on models that were held out
    Choose(ChooseSubsetArgs),
    /// Estimate the whole from a run of the items of a subset
    Estimate(EstimateSubsetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ChooseSubsetArgs {
    /// Directories of runs that have ended, or sweeps of a coordinator; their models are the history
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Number of items to choose
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) items: u32,
    /// Metric that is estimated, a mean over items [default: the first one that leaderboards show]
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,
    /// Scoring rule of the metric; needed where several have it
    #[arg(long)]
    pub(crate) evaluator: Option<Evaluator>,
    /// Benchmark; needed where the runs share several
    #[arg(long, value_name = "NAME")]
    pub(crate) benchmark: Option<BenchmarkName>,
    /// Setting; needed where the runs share several
    #[arg(long, value_name = "SETTING")]
    pub(crate) setting: Option<Setting>,
    /// Seed of the choice
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// File to write the subset to (JSON): items, weights, the runs it comes from, errors
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print what is written
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EstimateSubsetArgs {
    /// File that `subset choose` wrote
    pub(crate) subset: PathBuf,
    /// Directory of a run that has ended, or a sweep of a coordinator; every item of the subset must be in it
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
