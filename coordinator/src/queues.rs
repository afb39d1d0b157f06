//! The queues of a sweep's jobs: they are declared before anything is published to them, and asked whether jobs wait.

use regatta_backends::{Queue, Term};
use regatta_catalog::Sweep;
use regatta_proto::{CellIndex, SweepId, SweepLock};

use crate::answering::Unanswering;
use crate::rounds::Watched;
use crate::{Coordinator, CoordinatorError};

/// Queues of the endpoints that `sweep` uses, for models or judges.
pub(crate) fn queues_of(sweep: &SweepId, lock: &SweepLock) -> Vec<String> {
    lock.endpoints.iter().map(|(name, endpoint)| endpoint.queue(name, sweep)).collect()
}

/// The queue of a cell's sessions; `None` where the cell is not of `sweep`.
pub(crate) fn queue_of(sweep: &Sweep, cell: CellIndex) -> Option<String> {
    let endpoint = &sweep.cell(cell)?.model.endpoint;
    Some(sweep.lock.endpoints.get(endpoint)?.queue(endpoint, &sweep.id))
}

impl Coordinator {
    /// Declares all queues of `sweep`.
    ///
    /// # Errors
    /// When the broker refuses one, or does not answer.
    pub(crate) async fn declare(&self, sweep: &SweepId, lock: &SweepLock) -> Result<(), CoordinatorError> {
        for queue in queues_of(sweep, lock) {
            self.queue.declare_jobs(&queue).await?;
        }
        Ok(())
    }

    /// Declares each of `queues` that is not left alone, and returns those that may not be there yet.
    pub(crate) async fn declare_each(
        &self,
        queues: Vec<String>,
        unanswering: &mut Unanswering,
        term: Term,
    ) -> Result<Vec<String>, CoordinatorError> {
        let mut undeclared = Vec::new();
        for (queue, declared) in self.ask_each(unanswering, queues, term, Queue::declare_jobs).await? {
            match declared {
                Some(declared) => declared?,
                None => undeclared.push(queue),
            }
        }
        Ok(undeclared)
    }

    /// `true` if a queue of `watched` holds messages, or does not tell.
    pub(crate) async fn may_have_waiting_jobs(&self, watched: &mut Watched) -> Result<bool, CoordinatorError> {
        let queues = queues_of(&watched.sweep.id, &watched.sweep.lock);
        let (term, mut may_wait) = (watched.term, false);
        for (_, depth) in self.ask_each(&mut watched.unanswering, queues, term, Queue::depth).await? {
            may_wait |= depth.transpose()?.is_none_or(|depth| depth > 0);
        }
        Ok(may_wait)
    }

    /// True if a queue that the sweep of `lock` uses, for models or judges, holds messages.
    pub(crate) async fn has_waiting_jobs(&self, sweep: &SweepId, lock: &SweepLock) -> Result<bool, CoordinatorError> {
        for queue in queues_of(sweep, lock) {
            if self.queue.depth(&queue).await? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
