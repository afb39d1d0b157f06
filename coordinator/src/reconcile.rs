//! Jobs that may have been lost: left in doubt by a coordinator's crash, or by a broker that forgot them.
//!
//! Nothing is dispatched twice on suspicion. Only when every queue of the sweep is empty and no outcome has come in for a while are
//! the sessions without a result dispatched again, with the next attempt number; should an outcome still turn up, the fence makes
//! one of the two waste, and counts it.

use std::time::Duration;

use regatta_backends::{CellProgress, ShardState};
use tokio::time::Instant;

use crate::coordinator::{Coordinator, CoordinatorError, Watched};
use crate::dispatch::outstanding;

/// When the last outcome of a sweep came in, as far as this process has seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quiet {
    recorded: u64,
    since: Instant,
}

impl Quiet {
    pub(crate) fn new() -> Self {
        Self { recorded: u64::MAX, since: Instant::now() }
    }

    /// For how long the number of recorded sessions has not changed.
    fn observe(&mut self, progress: &[CellProgress]) -> Duration {
        let recorded = progress.iter().map(|cell| cell.recorded).sum();
        if recorded != self.recorded {
            *self = Self { recorded, since: Instant::now() };
        }
        self.since.elapsed()
    }

    fn restart(&mut self) {
        self.since = Instant::now();
    }
}

impl Coordinator {
    pub(crate) async fn reconcile(
        &self,
        watched: &mut Watched,
        progress: &[CellProgress],
    ) -> Result<(), CoordinatorError> {
        let quiet = watched.quiet.observe(progress);
        if quiet < self.config.doubtful_after {
            return Ok(());
        }
        let sweep = &watched.sweep;
        let open = outstanding(progress);
        let lost = open.values().sum::<u64>() > 0 && quiet >= self.config.lost_after;
        let doubtful = self.ledger.shards(&sweep.id).await?.iter().any(|shard| shard.state == ShardState::Dispatching);
        if !lost && !doubtful {
            return Ok(());
        }
        for queue in open.keys() {
            if self.queue.depth(queue).await? > 0 {
                return Ok(());
            }
        }
        let sessions = self.ledger.reset_dispatch(&sweep.id).await?;
        tracing::warn!(sweep = %sweep.id, sessions, quiet_s = quiet.as_secs(), "dispatching sessions again that have no result");
        self.metrics.reconciled.inc();
        watched.quiet.restart();
        Ok(())
    }
}
