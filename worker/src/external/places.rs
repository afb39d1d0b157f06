//! Limit on the instances of each external agent that run at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use regatta_proto::{AgentName, SweepId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A semaphore for each agent of each sweep. It is dropped when nobody holds it or waits for it.
#[derive(Default)]
pub(super) struct Places(Mutex<HashMap<(SweepId, AgentName), Weak<Semaphore>>>);

impl Places {
    /// Waits for one of the `count` places of `agent`. `None` never comes: no places are ever taken away.
    pub(super) async fn take(&self, sweep: &SweepId, agent: &AgentName, count: u32) -> Option<OwnedSemaphorePermit> {
        self.of(sweep, agent, count).acquire_owned().await.ok()
    }

    fn of(&self, sweep: &SweepId, agent: &AgentName, count: u32) -> Arc<Semaphore> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (sweep.clone(), agent.clone());
        if let Some(known) = places.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        places.retain(|_, places| places.strong_count() > 0);
        let new = Arc::new(Semaphore::new(count as usize));
        places.insert(key, Arc::downgrade(&new));
        new
    }
}
