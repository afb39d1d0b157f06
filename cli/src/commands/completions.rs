//! `regatta completions`: what a shell completes.

use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::output;

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "regatta", &mut script);
    output::line(String::from_utf8(script).context("failed to write the completions as text")?.trim_end());
    Ok(ExitCode::SUCCESS)
}
