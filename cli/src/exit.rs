//! Exit codes: 0 complete · 1 a gate failed or something broke · 2 inconclusive · 3 stopped by budget · 4 incomplete, resumable ·
//! 64 usage · 78 bad configuration, never worth a retry.

use std::process::ExitCode;

use regatta_proto::SweepState;

use crate::output;

/// The configuration is wrong; trying again without changing it is pointless. Printed with exit code 78.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadConfiguration(pub(crate) String);

/// Marks any error as one of configuration, keeping its whole text.
pub(crate) fn bad_configuration(error: impl Into<anyhow::Error>) -> anyhow::Error {
    BadConfiguration(format!("{:#}", error.into())).into()
}

/// The verb needs a feature that this build lacks.
#[cfg(not(feature = "cluster"))]
pub(crate) fn not_built(feature: &str) -> anyhow::Error {
    BadConfiguration(format!(
        "this build has no roles of a deployment; build it with `cargo build --release --features {feature}` (`full` has everything)"
    ))
    .into()
}

pub(crate) fn of_state(state: SweepState) -> ExitCode {
    ExitCode::from(state.exit_code())
}

/// `--help` and `--version` are no errors; everything else the command line got wrong is 64.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // Printing can only fail when nobody reads.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(64) } else { ExitCode::SUCCESS }
}

pub(crate) fn failed(error: &anyhow::Error) -> ExitCode {
    output::error(&format!("{error:#}"));
    if error.downcast_ref::<BadConfiguration>().is_some() { ExitCode::from(78) } else { ExitCode::FAILURE }
}
