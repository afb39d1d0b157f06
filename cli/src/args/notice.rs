//! Arguments about who is told of the end of a run.

use clap::Args;

/// Receiver of the notice of a run's end.
#[derive(Debug, Args)]
pub(crate) struct NoticeArgs {
    /// Tell of the end of a run on this machine: post JSON to this address, or give it to this command on its standard input; no exit
    /// code depends on it
    #[arg(long, value_name = "CMD|URL", env = "REGATTA_NOTIFY", hide_env_values = true)]
    pub(crate) notify: Option<String>,
}
