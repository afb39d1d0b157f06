//! `regatta certify`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct CertifyArgs {
    /// First seed; a seed makes the same plan again
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of seeds, one after the other
    #[arg(long, default_value_t = 1)]
    pub(crate) seeds: u64,
    /// Faults of each seed
    #[arg(long, default_value_t = 4)]
    pub(crate) faults: usize,
    /// Only these faults, by name and separated by commas; `help` lists them
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Trials of every cell: how long a sweep is
    #[arg(long, default_value_t = 8)]
    pub(crate) trials: u16,
    /// Instead of seeds: kill everything at random moments for so many seconds, of a deployment and then of one process
    #[arg(long, value_name = "SECONDS")]
    pub(crate) storm_s: Option<u64>,
    /// Folder with data of worfbench, flowbench, autoslurp and appbench
    #[arg(long, value_name = "DIR", default_value = "examples/data")]
    pub(crate) data: PathBuf,
    /// Folder for certificate.json, certificate.md, and the logs and exports of every seed
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
