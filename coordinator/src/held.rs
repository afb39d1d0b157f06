//! Sessions that are held back after a resume: an attempt of before was told of until the end of the sweep closed it, and its worker may
//! not have heard of the resume yet. Once it tells of the session again, this one is under way; a worker that is gone never does, and then
//! the session is dispatched.
//!
//! Only this process remembers them, because they count as dispatched: should another one lead, they are lost jobs like any other.

use std::collections::{BTreeMap, BTreeSet};

use regatta_backends::{QueueError, UnderWay};
use regatta_proto::{CellIndex, ItemIndex};

use crate::queues::queue_of;
use crate::rounds::Watched;
use crate::{Coordinator, CoordinatorError};

/// Sessions of one sweep that are held back.
#[derive(Debug, Default)]
pub(crate) struct HeldBack(BTreeMap<CellIndex, BTreeSet<ItemIndex>>);

impl HeldBack {
    pub(crate) fn hold(&mut self, cell: CellIndex, items: Vec<ItemIndex>) {
        if !items.is_empty() {
            self.0.entry(cell).or_default().extend(items);
        }
    }

    pub(crate) fn holds(&self, cell: CellIndex, item: ItemIndex) -> bool {
        self.0.get(&cell).is_some_and(|held| held.contains(&item))
    }

    /// Holds `items` of `cell` back no longer: they are planned again.
    pub(crate) fn forget(&mut self, cell: CellIndex, items: &[ItemIndex]) {
        if let Some(held) = self.0.get_mut(&cell) {
            held.retain(|item| !items.contains(item));
        }
    }
}

impl Coordinator {
    /// Dispatches the sessions of `watched` that were held back and that no worker has told of since; `false` if nothing may be dispatched until
    /// everything that was reported is recorded.
    pub(crate) async fn dispatch_held_back(&self, watched: &mut Watched) -> Result<bool, CoordinatorError> {
        let sweep = &watched.sweep.clone();
        let cells: Vec<CellIndex> = watched.held.0.keys().copied().collect();
        for index in cells {
            let Some(queue) = queue_of(sweep, index) else { continue };
            if watched.leaves_alone(&queue) {
                continue;
            }
            let held: Vec<ItemIndex> = watched.held.0.get(&index).into_iter().flatten().copied().collect();
            let (Some(first), Some(last)) = (held.first(), held.last()) else {
                watched.held.0.remove(&index);
                continue;
            };
            // In this order, as where shards are published.
            let under_way = self.ledger.under_way(&sweep.id, index, &held, self.config.running_within).await?;
            let recorded = self.ledger.recorded_items(&sweep.id, index, *first, *last).await?;
            let is_free = |item: &ItemIndex| !under_way.contains_key(item) && !recorded.contains(item);
            let to_run: Vec<ItemIndex> = held.iter().copied().filter(is_free).collect();
            if !to_run.is_empty() && self.config.queue_survives && !watched.was_heard_lately() {
                return Ok(false);
            }
            let jobs = self.jobs(watched, index, &to_run).await?;
            let still_held = held.iter().copied().filter(|item| under_way.get(item) == Some(&UnderWay::Unconfirmed));
            let still_held = still_held.collect();
            if jobs.is_empty() {
                watched.held.0.insert(index, still_held);
            } else {
                // Nothing that is counted changes, and yet the sweep moves: whoever takes these has the time to tell of them.
                self.move_on(watched).await?;
                self.lead_on(watched.term).await?;
                watched.lost_jobs.published(sweep, index, &to_run);
                // Before they are published: jobs that may have been are not published twice.
                watched.held.0.insert(index, still_held);
                self.metrics.dispatched.inc_by(jobs.len() as u64);
                let published = self.send_once(watched, &queue, jobs).await;
                match published {
                    Err(CoordinatorError::NotLeading | CoordinatorError::Queue(QueueError::TooLate { .. })) => {
                        watched.held.hold(index, to_run);
                        published?;
                    }
                    // If they are lost, it is noticed as of any others.
                    Err(CoordinatorError::Unanswered) => {}
                    other => other?,
                }
            }
        }
        watched.held.0.retain(|_, items| !items.is_empty());
        Ok(true)
    }
}
