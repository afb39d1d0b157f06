//! The command lines about the official data sets of benchmarks.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use regatta_proto::BenchmarkName;

use super::name_and_directory;

/// Host of the files of public repositories, each at `OWNER/NAME/COMMIT/PATH`.
const USUAL_HOST: &str = "https://raw.githubusercontent.com";

#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    #[command(subcommand)]
    pub(crate) what: DataCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Fetch the official files, each checked by size and digest; what is there already is not fetched again
    Fetch(DataFetchArgs),
    /// Compare a copy with the official files; the exit code is 1 if one is missing or differs
    Verify(DataVerifyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DataFetchArgs {
    /// Benchmarks, as `regatta list benchmarks` names them
    #[arg(value_name = "BENCHMARK", required = true)]
    pub(crate) benchmarks: Vec<BenchmarkName>,
    /// Directory that gets a folder for each of them
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub(crate) to: PathBuf,
    /// Address of a mirror, which has a file at OWNER/NAME/COMMIT/PATH as the usual host does
    #[arg(long, value_name = "URL", env = "REGATTA_DATA_MIRROR", hide_env_values = true, default_value = USUAL_HOST)]
    pub(crate) mirror: String,
    /// Replace files that have other contents
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DataVerifyArgs {
    /// Benchmarks; when left out, all that have a folder there
    #[arg(value_name = "BENCHMARK")]
    pub(crate) benchmarks: Vec<BenchmarkName>,
    /// Directory with a folder for each benchmark (default: data), or as NAME=DIR the folder of one
    #[arg(short = 'd', long = "data", value_name = "DIR", value_parser = data_at)]
    pub(crate) data: Vec<DataAt>,
}

/// Directory of data sets, or of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DataAt {
    /// It has a folder for each benchmark.
    All(PathBuf),
    /// It has the files of this one.
    Of(BenchmarkName, PathBuf),
}

fn data_at(text: &str) -> Result<DataAt, String> {
    if text.contains('=') {
        return name_and_directory(text).map(|(name, directory)| DataAt::Of(name, directory));
    }
    Ok(DataAt::All(PathBuf::from(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_of_all_data_sets_unless_a_benchmark_is_named() {
        assert_eq!(data_at("some/where"), Ok(DataAt::All("some/where".into())));
        assert_eq!(data_at("worfbench=copy"), Ok(DataAt::Of("worfbench".parse().unwrap(), "copy".into())));
        assert!(data_at("no benchmark=copy").is_err());
    }
}
