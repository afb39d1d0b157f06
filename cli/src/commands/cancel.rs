//! `regatta cancel`.

use std::process::ExitCode;

use crate::args::SweepArgs;
use crate::client::Client;
use crate::output;
use crate::run_directory::no_sweep;

pub(crate) async fn run(args: SweepArgs) -> anyhow::Result<ExitCode> {
    let cancelled = Client::new(&args.client)?.cancel(&args.sweep).await;
    cancelled.map_err(|error| no_sweep(&args.sweep, &args.client, error))?;
    output::note(&format!("cancelled; what was measured is kept, continue with: regatta resume {}", args.sweep));
    Ok(ExitCode::SUCCESS)
}
