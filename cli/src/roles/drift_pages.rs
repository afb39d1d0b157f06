//! `regatta drift` for the pages of a coordinator: the same causes and drawings, from what the sweeps have left in the bucket.

use std::sync::Arc;

use futures::future::BoxFuture;
use regatta_backends::{Blobs, Ledger};
use regatta_coordinator::Coordinator;
use regatta_proto::{ScheduleName, SweepId};
use regatta_viewer::{DriftError, Drifts};
use tokio::sync::Semaphore;

use crate::commands::drift::{Nights, TICKS_MAX, ended};
use crate::ended_run::EndedRun;

/// Nights of a page, the last ones, as many as the command has where it is told no number.
const NIGHTS: usize = 14;

/// Makes pages of drift, one at a time.
pub(super) struct StoredDrifts {
    coordinator: Arc<Coordinator>,
    ledger: Ledger,
    blobs: Blobs,
    turn: Arc<Semaphore>,
}

impl StoredDrifts {
    pub(super) fn new(coordinator: Arc<Coordinator>, ledger: Ledger, blobs: Blobs) -> Self {
        Self { coordinator, ledger, blobs, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Sweeps of the last nights of `schedule` that have results and are still there, the oldest first.
    async fn nights(&self, schedule: &ScheduleName) -> anyhow::Result<Vec<SweepId>> {
        let mut sweeps = Vec::new();
        for sweep in ended(self.coordinator.history(schedule, TICKS_MAX).await?) {
            // A night's row outlives its sweep, which retention may have removed.
            if self.ledger.sweep(&sweep).await?.is_some() {
                sweeps.push(sweep);
            }
            if sweeps.len() == NIGHTS {
                break;
            }
        }
        sweeps.reverse();
        Ok(sweeps)
    }
}

impl Drifts for StoredDrifts {
    fn page<'a>(&'a self, schedule: &'a ScheduleName) -> BoxFuture<'a, Result<Option<String>, DriftError>> {
        Box::pin(async move {
            // Nobody waits here: a page that waits has one of the few turns of all pages.
            let turn = Arc::clone(&self.turn).try_acquire_owned().map_err(|_| DriftError::Busy)?;
            let failed = |error: anyhow::Error| DriftError::Failed(format!("{error:#}"));
            let sweeps = self.nights(schedule).await.map_err(failed)?;
            if sweeps.is_empty() {
                return Ok(None);
            }
            let (blobs, name) = (self.blobs.clone(), schedule.to_string());
            // Reading and testing take seconds of a processor, which nobody else should wait for. The turn lasts as long, also where the one who
            // asked has gone.
            let runtime = tokio::runtime::Handle::current();
            let compared = tokio::task::spawn_blocking(move || {
                let page = runtime.block_on(page(&blobs, name, &sweeps));
                drop(turn);
                page
            });
            compared.await.map_err(|error| failed(error.into()))?.map(Some).map_err(failed)
        })
    }
}

async fn page(blobs: &Blobs, schedule: String, sweeps: &[SweepId]) -> anyhow::Result<String> {
    let mut nights = Nights::of(schedule);
    for sweep in sweeps {
        nights.add(EndedRun::stored(blobs, sweep).await?)?;
    }
    Ok(nights.page())
}
