//! The command lines about prices.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::client::ClientArgs;

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
    /// Bring your price table up to date with what LiteLLM, genai-prices or models.dev publish: say what is new, what changed and what is gone
    Update(PricesUpdateArgs),
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
pub(crate) struct PricesUpdateArgs {
    /// Table to read: a file or an address of https, in the form of LiteLLM's model_prices_and_context_window.json, the data.json of
    /// genai-prices or the api.json of models.dev
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) from: String,
    /// Your price table; where it does not exist yet, it begins as a copy of the shipped one
    #[arg(long, value_name = "FILE", env = "REGATTA_PRICES")]
    pub(crate) prices: PathBuf,
    /// Only models of this name in the table, or whose name begins so: gpt-5, deepseek/*; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Replace prices that you wrote yourself too
    #[arg(long)]
    pub(crate) replace_own: bool,
    /// Say what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RepriceArgs {
    /// Directory of the run, with its sweep.lock.yaml and transcripts, or a sweep of a coordinator
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
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
