//! `regatta list`, `init`, `schema` and `completions`: what there is, and how to begin.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;
use regatta_proto::{BenchmarkName, EndpointName, Limit, ModelRef, Setting};

use super::{dollars, name_and_directory};

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(subcommand)]
    pub(crate) what: Listed,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Listed {
    /// Benchmarks, with their default settings and evaluators
    Benchmarks,
    /// Settings, the default first
    Settings(OfBenchmark),
    /// Evaluators, those that are used when a spec names none marked
    Evaluators(OfBenchmark),
    /// Models with a known price, and the providers that need no `endpoints` entry
    Models(ModelsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct OfBenchmark {
    /// A benchmark; all of them when left out
    pub(crate) benchmark: Option<BenchmarkName>,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Only models whose name contains this text
    pub(crate) text: Option<String>,
    /// Price table to use instead of the shipped one
    #[arg(long, value_name = "FILE", env = "REGATTA_PRICES")]
    pub(crate) prices: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// File to write; one that is there is left alone
    #[arg(default_value = "regatta.yaml")]
    pub(crate) file: PathBuf,
    /// Name of the sweep, which its folder in runs/ has too; that of the file when left out
    #[arg(long)]
    pub(crate) name: Option<regatta_proto::SweepId>,
    /// A benchmark, or one setting of it, as flowbench:turn/single/flowchart; may be given several times. One of your own has its folder in --data
    #[arg(short = 'b', long = "benchmark", value_name = "NAME[:SETTING]", value_parser = benchmark_and_setting, default_value = "worfbench")]
    pub(crate) benchmarks: Vec<(BenchmarkName, Option<Setting>)>,
    /// A model to measure, as openai/gpt-4o-mini; may be given several times
    #[arg(short = 'm', long = "model", value_name = "ENDPOINT/MODEL", default_value = "sim/oracle")]
    pub(crate) models: Vec<ModelRef>,
    /// Address of an endpoint of your own that speaks as OpenAI does, as `here=http://127.0.0.1:8000/v1`; may be given several times
    #[arg(long = "endpoint", value_name = "NAME=URL", value_parser = name_and_address)]
    pub(crate) endpoints: Vec<(EndpointName, String)>,
    /// Judge, where a benchmark needs one; without it simulated models are judged by a simulated one, others of worfbench by a sentence encoder and of the rest by the first model
    #[arg(long, value_name = "ENDPOINT/MODEL")]
    pub(crate) judge: Option<ModelRef>,
    /// Data directory of a benchmark, as `worfbench=path/to/data`; otherwise data/NAME beside the spec. Under a new name and in an empty folder, or one that is not there, a benchmark of your own is begun
    #[arg(short = 'd', long = "data", value_name = "NAME=DIR", value_parser = name_and_directory)]
    pub(crate) data: Vec<(BenchmarkName, PathBuf)>,
    /// N items in all of each benchmark; first:N takes the first N of each task
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<Limit>,
    /// Repetitions of every cell
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) trials: u16,
    /// Most dollars to spend
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = dollars)]
    pub(crate) budget: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

fn benchmark_and_setting(text: &str) -> Result<(BenchmarkName, Option<Setting>), String> {
    let (name, setting) = text.split_once(':').map_or((text, None), |(name, setting)| (name, Some(setting)));
    let setting = setting.map(str::parse).transpose().map_err(|error| format!("{error}"))?;
    Ok((name.parse().map_err(|error| format!("{error}"))?, setting))
}

fn name_and_address(text: &str) -> Result<(EndpointName, String), String> {
    let (name, url) = text.split_once('=').ok_or("write it as NAME=URL, for instance here=http://127.0.0.1:8000/v1")?;
    let is_address = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    // Keys are in none of them.
    if !is_address || url.contains(['?', '#', '@']) {
        return Err("an address begins with http:// or https://, and has neither a query nor a user".to_owned());
    }
    Ok((name.parse().map_err(|error| format!("{error}"))?, url.to_owned()))
}
