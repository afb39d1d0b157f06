//! A diagnosis of a run's directory. Nothing in it is changed, and a run that is at work there goes on.

use std::path::Path;

use anyhow::Context;
use regatta_backends::{Blobs, Ledger, Permits, Queue};
use regatta_catalog::Catalog;
use regatta_coordinator::{Diagnosis, Finding, Patient};
use regatta_proto::SweepState;

use super::lock::DirectoryLock;
use crate::benchmarks::READ_BENCHMARKS;
use crate::exit::{BadConfiguration, bad_configuration};
use crate::run_directory;

/// Diagnosis of the run in `directory`, and `true` if a process is at work on it.
///
/// # Errors
/// [`BadConfiguration`] when it holds no run; or when its ledger cannot be read.
pub(crate) async fn diagnose(directory: &Path) -> anyhow::Result<(bool, Diagnosis)> {
    let store = directory.join("store");
    let file = store.join("ledger.sqlite");
    if !file.is_file() {
        return Err(BadConfiguration(run_directory::holds_no_run(directory)).into());
    }
    let is_at_work = DirectoryLock::is_taken(&store)?;
    let ledger = Ledger::sqlite(file).await.with_context(|| {
        format!("failed to open the run's ledger; if it is damaged, see `regatta repair {}`", directory.display())
    })?;
    let blobs = Blobs::directory(store.join("blobs")).context("failed to open the run's blob store")?;
    let permits = Permits::kept(&store).map_err(bad_configuration)?;
    let (queue, catalog) = (Queue::memory(), Catalog::new(blobs, READ_BENCHMARKS));
    let patient = Patient { ledger: &ledger, queue: &queue, permits: &permits, catalog: &catalog, of_run: true };
    let mut diagnosis = patient.diagnose().await?;
    let is_left = |state| matches!(state, SweepState::Running | SweepState::Tabulating);
    for sweep in diagnosis.sweeps.iter().filter(|sweep| !is_at_work && is_left(sweep.state)) {
        diagnosis.findings.push(Finding {
            about: sweep.id.to_string(),
            problem: format!("its run has left with {} of {} sessions settled", sweep.settled, sweep.sessions),
            next_step: "run the same command again: it continues, and nothing that was recorded is paid for again"
                .to_owned(),
        });
    }
    Ok((is_at_work, diagnosis))
}
