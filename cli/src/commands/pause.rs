//! `regatta pause`.

use std::process::ExitCode;

use crate::args::SweepArgs;
use crate::client::Client;
use crate::output;
use crate::run_directory::no_sweep;

pub(crate) async fn run(args: SweepArgs) -> anyhow::Result<ExitCode> {
    let paused = Client::new(&args.client)?.pause(&args.sweep).await;
    paused.map_err(|error| no_sweep(&args.sweep, &args.client, error))?;
    output::note(&format!("paused; sessions that have begun are finished, go on with: regatta resume {}", args.sweep));
    Ok(ExitCode::SUCCESS)
}
