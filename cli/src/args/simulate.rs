//! The command lines of `regatta simulate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use regatta_proto::BenchmarkName;

use super::{SimulateToolsArgs, name_and_directory};

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
    /// Serve others too, where the address is one that they reach: simulators know no tokens and no TLS
    #[arg(long)]
    pub(crate) no_token: bool,
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
    /// Serve others too, where the address is one that they reach: simulators know no tokens and no TLS
    #[arg(long)]
    pub(crate) no_token: bool,
}
