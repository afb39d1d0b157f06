//! `regatta migrate`: bring the database of a deployment to this version.

use std::process::ExitCode;

use crate::args::MigrateArgs;
use crate::output;
use crate::roles::{Readiness, services};

pub(crate) async fn run(args: MigrateArgs) -> anyhow::Result<ExitCode> {
    crate::embedded::install_tls();
    services::migrate(&args.database_url, &Readiness::default()).await?;
    output::note("the database is at this version");
    Ok(ExitCode::SUCCESS)
}
