//! `regatta subset`: fewer items that estimate all of them, chosen from runs of other models. No other command uses a subset by itself.

mod choosing;
mod document;
mod estimating;
mod history;
mod rendering;

use std::process::ExitCode;

use crate::args::{SubsetArgs, SubsetCommand};

pub(crate) async fn run(args: SubsetArgs) -> anyhow::Result<ExitCode> {
    match args.what {
        SubsetCommand::Choose(args) => choosing::run(args).await?,
        SubsetCommand::Estimate(args) => estimating::run(args).await?,
    }
    Ok(ExitCode::SUCCESS)
}
