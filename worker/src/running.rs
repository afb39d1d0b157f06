//! Sessions that run in this process. When their job is delivered once more (the connection to the broker was lost, or the job was dispatched
//! again), the session is not run a second time: the new delivery is settled with the first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use regatta_memory::ByteHolder;
use regatta_proto::SessionKey;
use tokio_util::sync::CancellationToken;

use crate::attempts::AttemptHere;
use crate::checkpoints::NeedlessCheckpoint;
use crate::publisher::Held;

/// The sessions; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<BTreeMap<SessionKey, Run>>>);

/// One session's run in this process.
#[derive(Default)]
struct Run {
    /// Deliveries that came while it ran.
    later: Vec<Held>,
    /// Number of the attempt that goes on with it, once that is being published: the broker may deliver it here before it has confirmed it.
    goes_on_as: Option<u32>,
    /// Fires when the run has ended.
    ended: CancellationToken,
}

/// A session that runs, until all that it led to is published.
pub(crate) struct RunningSession {
    running: Running,
    key: SessionKey,
    first: Held,
    /// Checkpoint to be removed once the session's end is confirmed.
    needless: Option<NeedlessCheckpoint>,
    /// Told of until the session's end is confirmed.
    attempt: Option<AttemptHere>,
    /// Bytes that the session keeps, until all is published.
    pub(crate) holder: Option<ByteHolder>,
}

impl Running {
    /// Begins to run the session of `key` in attempt `number`, that `delivery` asks for. `None` when it runs already, which then settles this
    /// delivery too. The attempt that goes on with a run that ends here begins when that has ended.
    pub(crate) async fn begin(&self, key: &SessionKey, number: u32, delivery: Held) -> Option<RunningSession> {
        loop {
            let ended = {
                let mut sessions = self.locked();
                match sessions.get_mut(key) {
                    None => {
                        sessions.insert(key.clone(), Run::default());
                        let (running, key) = (self.clone(), key.clone());
                        let first = delivery;
                        return Some(RunningSession {
                            running,
                            key,
                            first,
                            needless: None,
                            attempt: None,
                            holder: None,
                        });
                    }
                    Some(run) if run.goes_on_as.is_some_and(|next| number >= next) => run.ended.clone(),
                    Some(run) => {
                        run.later.push(delivery);
                        return None;
                    }
                }
            };
            ended.cancelled().await;
        }
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<SessionKey, Run>> {
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
            let mut later = sessions.get(&self.key).into_iter().flat_map(|run| &run.later).map(Held::voided);
            match later.rfind(|voided| !voided.is_cancelled()) {
                Some(voided) => delivery = voided,
                None => return,
            }
        }
    }

    /// `true` if nobody waits for the session here any more; see [`Self::unwanted`].
    pub(crate) fn is_unwanted(&self) -> bool {
        let sessions = self.running.locked();
        let later = sessions.get(&self.key).into_iter().flat_map(|run| &run.later);
        std::iter::once(&self.first).chain(later).all(|delivery| delivery.voided().is_cancelled())
    }

    /// The session goes on in attempt `number`, whose job is about to be published.
    pub(crate) fn goes_on_as(&self, number: u32) {
        if let Some(run) = self.running.locked().get_mut(&self.key) {
            run.goes_on_as = Some(number);
        }
    }

    /// The session has ended with `attempt`, which is told of until that is confirmed; then `checkpoint` goes.
    pub(crate) fn ended(&mut self, attempt: AttemptHere, checkpoint: Option<NeedlessCheckpoint>) {
        (self.attempt, self.needless) = (Some(attempt), checkpoint);
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
        let mut deliveries = vec![self.first];
        if let Some(run) = self.running.locked().remove(&self.key) {
            deliveries.extend(run.later);
            run.ended.cancel();
        }
        deliveries
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;
    use regatta_backends::Queue;
    use regatta_proto::{CellIndex, Digest, ItemIndex, Job, SessionJob, Transcript};
    use tokio_util::task::TaskTracker;

    use super::*;

    fn key() -> SessionKey {
        SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) }
    }

    /// Deliveries of three jobs.
    async fn deliveries() -> [Held; 3] {
        let queue = Queue::memory();
        queue.declare_jobs("q").await.unwrap();
        let (lock, transcript) = (Digest::of(b"lock"), Transcript::default());
        let job = SessionJob { key: key(), lock, attempt: 1, generation: 0, transcript };
        queue.publish_jobs("q", vec![Job::Session(Box::new(job)); 3]).await.unwrap();
        let (mut consumer, tracker) = (queue.consume_jobs("q", 3).await.unwrap(), TaskTracker::new());
        let mut next = async || Held::new(consumer.next().await.unwrap().receipt, &tracker);
        [next().await, next().await, next().await]
    }

    #[tokio::test]
    async fn a_session_that_goes_on_in_a_later_attempt_is_run_by_it_and_not_settled_with_the_attempt_before() {
        let (running, key) = (Running::default(), key());
        let [first, again, continuation] = deliveries().await;
        let run = running.begin(&key, 1, first).await.unwrap();
        run.goes_on_as(2);
        assert!(running.begin(&key, 1, again).await.is_none(), "the same job");
        let mut next = Box::pin(running.begin(&key, 2, continuation));
        assert!(poll!(&mut next).is_pending());
        assert_eq!(run.confirmed().len(), 2);
        assert!(next.await.is_some());
    }
}
