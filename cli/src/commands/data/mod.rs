//! `regatta data`: official data sets and prompts, fetched from where they are published, and copies of them compared.

mod download;
mod fetch;
mod sources;
mod verify;

use std::process::ExitCode;

use crate::args::{DataArgs, DataCommand};

pub(crate) async fn run(args: DataArgs) -> anyhow::Result<ExitCode> {
    match args.what {
        DataCommand::Fetch(args) => fetch::run(args).await,
        DataCommand::Verify(args) => verify::run(args),
    }
}
