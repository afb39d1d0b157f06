//! `regatta pause`.

use std::process::ExitCode;

use crate::args::SweepArgs;
use crate::client::Client;
use crate::output;

pub(crate) async fn run(args: SweepArgs) -> anyhow::Result<ExitCode> {
    Client::new(&args.client)?.pause(&args.sweep).await?;
    output::note(&format!("paused; sessions that have begun are finished, go on with: regatta resume {}", args.sweep));
    Ok(ExitCode::SUCCESS)
}
