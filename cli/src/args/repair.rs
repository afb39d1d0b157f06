//! `regatta repair`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// Directory of the run
    #[arg(value_name = "RUN_DIR")]
    pub(crate) run: PathBuf,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run the sessions again whose transcripts are gone, and pay for them again; otherwise they keep their scores
    #[arg(long)]
    pub(crate) run_again: bool,
}
