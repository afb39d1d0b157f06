//! Reports of sweeps that are gone: `gc` removes what has ended, and workers may still tell of sessions that outlived a cancel. Nothing of them
//! can ever be recorded, so they are dropped, and those of all other sweeps are recorded as ever.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use regatta_backends::Delivery;
use regatta_proto::{Report, SweepId};
use tokio::time::Instant;

use crate::Scorer;

/// Pause between two warnings about one sweep: workers tell of what they run four times a second.
const WARNED_EVERY: Duration = Duration::from_secs(60);

/// Sweeps of which a report was dropped lately, and when the log said so.
#[derive(Default)]
pub(crate) struct Gone(Mutex<BTreeMap<SweepId, Instant>>);

impl Gone {
    /// Warns of `sweeps`, unless that was done within the last minute.
    pub(crate) fn warn(&self, sweeps: impl IntoIterator<Item = SweepId>) {
        let mut warned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        warned.retain(|_, at| at.elapsed() < WARNED_EVERY);
        for sweep in sweeps {
            let Entry::Vacant(unwarned) = warned.entry(sweep) else { continue };
            tracing::warn!(
                sweep = %unwarned.key(),
                "dropped what a worker has told of a sweep that the ledger does not have; it was removed while sessions of it ran, or its worker uses \
                 another ledger's queue"
            );
            unwarned.insert(Instant::now());
        }
    }
}

impl Scorer {
    /// Sweeps of the reports in `batch` that were removed, or are being removed.
    pub(crate) async fn removed(&self, batch: &[Delivery<Report>]) -> BTreeSet<SweepId> {
        let told: BTreeSet<SweepId> = batch.iter().filter_map(|one| sweep_of(&one.message)).cloned().collect();
        if told.is_empty() {
            return told;
        }
        match self.ledger.removed(&told).await {
            Ok(removed) => removed,
            // All are tried as ever, and wait for the ledger.
            Err(error) => {
                tracing::debug!(%error, "it is not known which sweeps were removed");
                BTreeSet::new()
            }
        }
    }
}

/// The sweep that all of a report is about.
pub(crate) fn sweep_of(report: &Report) -> Option<&SweepId> {
    match report {
        Report::Session(outcome) => Some(&outcome.key.sweep),
        Report::HandedOver { key, .. } => Some(&key.sweep),
        Report::Judge(outcome) => Some(&outcome.sweep),
        Report::Rejudge { sweep, .. } | Report::Tabulate { sweep, .. } | Report::Echo { sweep, .. } => Some(sweep),
        Report::Progress(_) => None,
    }
}
