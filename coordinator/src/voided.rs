//! Sweeps that are over while jobs of theirs may be left, which only workers can drop: of a cancelled sweep all that it had in its queues, and of
//! one that answers by batches copies of what was published twice, which workers that leave hand back. A copy may be a batch at its provider,
//! so that it must be cancelled there as well.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use regatta_backends::SweepRow;
use regatta_catalog::{CatalogError, Sweep};
use regatta_proto::{Lane, SweepId, SweepState};
use tokio::time::Instant;

use crate::{Coordinator, CoordinatorError};

/// Time for which workers are told of a cancelled sweep. No deployment stays without workers for longer, and the list must not grow for
/// ever.
const CANCELLED_JOBS_LIVE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The same of any other sweep that is over: its sessions have results, and nothing but copies can be left.
const COPIES_LIVE: SignedDuration = SignedDuration::from_hours(1);

/// A sweep that is over.
pub(crate) enum Voided {
    /// Of a cancelled sweep that is not read yet. Workers are told of it already.
    Unread,
    /// Its queues are open, so that workers take what is left in them and drop it. A job was last seen in one at the given time.
    Open(Arc<Sweep>, Instant),
    /// Nothing of it is in its queues any more, or it cannot be read. Workers are told of it on: one that was cut off may come back.
    Told,
    /// It left nothing that somebody would have to drop.
    Clean,
}

impl Voided {
    /// The sweep, if workers are to consume its queues.
    pub(crate) fn routed(&self) -> Option<&Sweep> {
        match self {
            Self::Open(sweep, _) => Some(sweep),
            Self::Unread | Self::Told | Self::Clean => None,
        }
    }

    /// True if workers are told that its jobs are void.
    pub(crate) const fn is_told(&self) -> bool {
        !matches!(self, Self::Clean)
    }
}

/// True if jobs of the sweep of `row` may be left at `now` that are to be dropped.
pub(crate) fn may_leave_jobs(row: &SweepRow, now: Timestamp) -> bool {
    let live = match row.state {
        SweepState::Running | SweepState::Tabulating => return false,
        SweepState::Cancelled => CANCELLED_JOBS_LIVE,
        SweepState::Complete | SweepState::Incomplete | SweepState::StoppedByBudget => COPIES_LIVE,
    };
    row.ended_at.is_none_or(|ended| ended >= now - live)
}

impl Coordinator {
    /// Keeps the queues of the sweep of `row`, which is over, open until its jobs are out of them.
    pub(crate) async fn void(
        &self,
        void: &mut BTreeMap<SweepId, Voided>,
        row: &SweepRow,
    ) -> Result<(), CoordinatorError> {
        let (sweep, seen_at) = match void.get(&row.id) {
            Some(Voided::Open(sweep, seen_at)) => (sweep.clone(), *seen_at),
            Some(Voided::Told | Voided::Clean) => return Ok(()),
            Some(Voided::Unread) | None => {
                let is_cancelled = row.state == SweepState::Cancelled;
                if is_cancelled {
                    void.insert(row.id.clone(), Voided::Unread);
                }
                let sweep = match self.catalog.sweep(&row.lock).await {
                    Err(CatalogError::Blobs(error)) if error.is_outage() => {
                        return Err(CatalogError::Blobs(error).into());
                    }
                    Err(error) => {
                        void.insert(row.id.clone(), if is_cancelled { Voided::Told } else { Voided::Clean });
                        return Err(error.into());
                    }
                    Ok(sweep) => sweep,
                };
                if !is_cancelled && !answers_by_batches(&sweep) {
                    void.insert(row.id.clone(), Voided::Clean);
                    return Ok(());
                }
                self.declare(&sweep).await?;
                (sweep, Instant::now())
            }
        };
        let jobs_wait = self.has_waiting_jobs(&sweep).await?;
        let seen_at = if jobs_wait { Instant::now() } else { seen_at };
        // What a worker held that is cut off comes back when the broker has noticed.
        let is_empty = !jobs_wait && seen_at.elapsed() >= self.config.running_within;
        void.insert(row.id.clone(), if is_empty { Voided::Told } else { Voided::Open(sweep, seen_at) });
        Ok(())
    }
}

fn answers_by_batches(sweep: &Sweep) -> bool {
    sweep.lock.endpoints.values().any(|endpoint| endpoint.lane == Lane::Batch)
}
