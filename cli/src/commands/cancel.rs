//! `regatta cancel`.

use std::process::ExitCode;

use crate::args::SweepArgs;
use crate::client::Client;
use crate::output;

pub(crate) async fn run(args: SweepArgs) -> anyhow::Result<ExitCode> {
    Client::new(&args.client)?.cancel(&args.sweep).await?;
    output::note(&format!("cancelled; what was measured is kept, continue with: regatta resume {}", args.sweep));
    Ok(ExitCode::SUCCESS)
}
