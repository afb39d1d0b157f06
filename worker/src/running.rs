//! Sessions that run in this process. When their job is delivered once more (the connection to the broker was lost, or the job was dispatched
//! again), the session is not run a second time: the new delivery is settled with the first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use regatta_memory::ByteHolder;
use regatta_proto::SessionKey;

use crate::checkpoints::NeedlessCheckpoint;
use crate::publisher::Held;

/// The sessions, each with the deliveries that came while it ran; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<BTreeMap<SessionKey, Vec<Held>>>>);

/// A session that runs, until all that it led to is published.
pub(crate) struct RunningSession {
    running: Running,
    key: SessionKey,
    first: Held,
    /// Of no use once the session's end is confirmed.
    needless: Option<NeedlessCheckpoint>,
    /// Bytes that the session keeps, until all is published.
    pub(crate) holder: Option<ByteHolder>,
}

impl Running {
    /// Begins to run the session that `delivery` asks for. `None` when it runs already, which then settles this delivery too.
    pub(crate) fn begin(&self, key: &SessionKey, delivery: Held) -> Option<RunningSession> {
        let mut sessions = self.locked();
        if let Some(later) = sessions.get_mut(key) {
            later.push(delivery);
            return None;
        }
        sessions.insert(key.clone(), Vec::new());
        let (running, key) = (self.clone(), key.clone());
        Some(RunningSession { running, key, first: delivery, needless: None, holder: None })
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<SessionKey, Vec<Held>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningSession {
    /// Returns when nobody waits for the session here any more: all its deliveries were lost with their connections, and come again to
    /// whomever.
    pub(crate) async fn unwanted(&self) {
        let mut delivery = self.first.voided();
        loop {
            delivery.cancelled().await;
            let sessions = self.running.locked();
            let mut later = sessions.get(&self.key).into_iter().flatten().map(Held::voided);
            match later.rfind(|voided| !voided.is_cancelled()) {
                Some(voided) => delivery = voided,
                None => return,
            }
        }
    }

    /// `true` if nobody waits for the session here any more; see [`Self::unwanted`].
    pub(crate) fn is_unwanted(&self) -> bool {
        let sessions = self.running.locked();
        let later = sessions.get(&self.key).into_iter().flatten();
        std::iter::once(&self.first).chain(later).all(|delivery| delivery.voided().is_cancelled())
    }

    /// The session has ended; `checkpoint` goes once that is confirmed.
    pub(crate) fn ended(&mut self, checkpoint: Option<NeedlessCheckpoint>) {
        self.needless = checkpoint;
    }

    /// The session's end is known to the broker; all its deliveries, to be acknowledged.
    pub(crate) fn confirmed(mut self) -> Vec<Held> {
        let needless = self.needless.take();
        let deliveries = self.end();
        if let Some(checkpoint) = needless {
            tokio::spawn(checkpoint.remove_after(deliveries.iter().map(Held::voided).collect()));
        }
        deliveries
    }

    /// The session runs no more; all its deliveries, to be settled alike.
    pub(crate) fn end(self) -> Vec<Held> {
        let mut deliveries = self.running.locked().remove(&self.key).unwrap_or_default();
        deliveries.push(self.first);
        deliveries
    }
}
