//! Exit codes: 0 complete, GO · 1 NO-GO (of other commands: something broke) · 2 INCONCLUSIVE · 3 stopped by budget · 4 incomplete,
//! resumable · 64 usage · 70 a gate broke before it had a verdict · 78 bad configuration, never worth a retry.

use std::process::ExitCode;

use regatta_files::FolderError;
use regatta_proto::{SweepState, causes};

use crate::output;

/// The configuration is wrong; trying again without changing it is pointless. Printed with exit code 78.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadConfiguration(pub(crate) String);

/// A gate could not judge, for another reason than its configuration. Printed with exit code 70: 1 would say NO-GO.
#[derive(Debug, thiserror::Error)]
#[error("there is no verdict: {0}")]
pub(crate) struct NoVerdict(pub(crate) String);

/// The run's stores cannot be written. Printed with exit code 4: the same command continues when they can.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CannotRecord(pub(crate) String);

/// `error`, as one of a directory that cannot be written where that is what it is.
pub(crate) fn cannot_write(directory: &std::path::Path, error: anyhow::Error) -> anyhow::Error {
    use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let is_of_writing = |error: &std::io::Error| {
        matches!(error.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
    };
    if !error.chain().filter_map(|cause| cause.downcast_ref()).any(is_of_writing) {
        return error;
    }
    let (directory, causes) = (directory.display(), causes(error.as_ref()));
    CannotRecord(format!(
        "nothing can be written to {directory}, so nothing is paid for: {causes}; make it writable, or free some space, and run the same \
         command again, or choose another directory with --output"
    ))
    .into()
}

/// `error`, as one of configuration where the folder is not this user's own.
pub(crate) fn refused(error: FolderError) -> anyhow::Error {
    match error {
        foreign @ FolderError::Foreign { .. } => bad_configuration(foreign),
        error @ FolderError::Io { .. } => error.into(),
    }
}

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
    output::error(&causes(error.as_ref()));
    ExitCode::from(code(error))
}

/// The code of a process that ends with `error`.
pub(crate) fn code(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<BadConfiguration>().is_some() {
        78
    } else if error.downcast_ref::<CannotRecord>().is_some() {
        SweepState::Incomplete.exit_code()
    } else if error.downcast_ref::<NoVerdict>().is_some() {
        70
    } else {
        1
    }
}
