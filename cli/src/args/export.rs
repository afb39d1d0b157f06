//! Arguments of `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use regatta_proto::BenchmarkName;

use super::client::ClientArgs;
use super::name_and_directory;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Directory of a run, or a sweep of a coordinator
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Directory to write into
    #[arg(short = 'o', long)]
    pub(crate) output: PathBuf,
    /// Formats of others, separated by commas; without one, a sweep's files are fetched as they are
    #[arg(short = 'f', long = "format", value_name = "FORMAT", value_delimiter = ',')]
    pub(crate) formats: Vec<ExportFormat>,
    /// Data directory of a benchmark, as `worfbench=path/to/data`, for right answers; runs of this machine have their data with them
    #[arg(short = 'd', long = "data", value_name = "NAME=DIR", value_parser = name_and_directory)]
    pub(crate) data: Vec<(BenchmarkName, PathBuf)>,
    /// Fetch the transcripts too
    #[arg(long, conflicts_with = "formats")]
    pub(crate) transcripts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Logs of Inspect, one for each benchmark, setting and model
    Eval,
    /// Tables of sessions, attempts, calls and verdicts as Parquet
    Parquet,
    /// The same tables as CSV
    Csv,
    /// OpenTelemetry traces of generative AI (OTLP, lines of JSON)
    Otlp,
    /// Pages to be looked at without Regatta
    Site,
}
