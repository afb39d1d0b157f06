//! Checkpoints: what a running session has asked and heard so far, in the fleet's blob store. Whoever runs the session again, because its
//! worker died or was cut off from the broker, goes on from there, so that no call is paid for twice but those that were in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use regatta_backends::{BlobError, Blobs};
use regatta_catalog::checkpoint_key;
use regatta_proto::wire::{WireError, decode, encode, encode_compact};
use regatta_proto::{Attempt, AttemptId, Clock, Compact, Digest, SessionJob, SessionKey, Transcript};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::void::Void;

/// Time that the store has for a checkpoint, until its session's newest state is tried in its place; twice as long after each that took
/// longer, for large ones on slow networks.
const PATIENCE_MIN: Duration = Duration::from_secs(1);
const PATIENCE_MAX: Duration = Duration::from_secs(64);
/// The same for the last checkpoint of a session that ends here, after which the store has as long as it takes.
const PATIENCE_LEAVING: Duration = Duration::from_secs(8);

/// State of a session at the end of one of its calls.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Checkpoint {
    /// Digest of the sweep's lock.
    lock: Digest,
    /// Number of the sweep's resumes when it was written.
    generation: u32,
    /// The attempt that made it; `ended_at` is the time of the checkpoint.
    pub(crate) attempt: Attempt,
    /// The events so far, those of earlier attempts among them.
    pub(crate) transcript: Transcript,
}

/// A [`Checkpoint`] of borrowed parts, with a transcript in one form or the other, as it is written.
#[derive(Clone, Copy, Serialize)]
struct Writing<'a, T> {
    lock: Digest,
    generation: u32,
    attempt: &'a Attempt,
    transcript: T,
}

impl<'a> Writing<'a, &'a Transcript> {
    /// Encodes it as every version reads it, unless all workers read the `compact` form, or it is too large otherwise.
    fn encode(self, compact: bool) -> Result<Bytes, WireError> {
        if !compact {
            match encode(&self) {
                Err(WireError::TooLarge { .. }) => {}
                done => return done,
            }
        }
        let Self { lock, generation, attempt, transcript } = self;
        let compacted = transcript.compacted_bytes();
        encode_compact(&Writing { lock, generation, attempt, transcript: Compact(transcript) }, compacted)
    }
}

/// The checkpoint in `bytes`, of a session of the lock and the number of resumes `from`, as one of the same session of another sweep, of the lock and
/// the number of resumes `to`. `None` for one that cannot be read, or that is no checkpoint of `from`.
#[must_use]
pub fn readdressed_checkpoint(bytes: &[u8], from: (Digest, u32), to: (Digest, u32)) -> Option<Bytes> {
    let Checkpoint { lock, generation, attempt, transcript } = decode(bytes).ok()?;
    if lock != from.0 || generation < from.1 {
        return None;
    }
    // Both sweeps are of one process.
    Writing { lock: to.0, generation: to.1, attempt: &attempt, transcript: &transcript }.encode(true).ok()
}

/// A checkpoint that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckpointError {
    #[error(transparent)]
    Blobs(#[from] BlobError),
    #[error(transparent)]
    Wire(#[from] WireError),
}

/// The checkpoints of all sessions.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoints {
    blobs: Blobs,
    /// Shortest time between two checkpoints of a session. One that takes less leaves none.
    every: Duration,
    /// Time after which an acknowledgement that was sent has come, or its connection is known to be lost.
    acknowledged_after: Duration,
    /// Sweeps that were resumed since their sessions were begun.
    void: watch::Receiver<Void>,
    /// `true` if all workers read transcripts in the compact form.
    compact: bool,
}

impl Checkpoints {
    pub(crate) const fn new(
        blobs: Blobs,
        every: Duration,
        acknowledged_after: Duration,
        void: watch::Receiver<Void>,
    ) -> Self {
        Self { blobs, every, acknowledged_after, void, compact: false }
    }

    /// The same for workers that all read transcripts in the compact form, if they do.
    pub(crate) fn with_compact(self, compact: bool) -> Self {
        Self { compact, ..self }
    }

    /// The last checkpoint of `job`'s session, if it is further than the job itself. One of another lock, or of an earlier generation, is
    /// none: the session had ended by the time at which the sweep was resumed, and what had been asked before is asked again.
    ///
    /// # Errors
    /// When the blob store does not answer.
    pub(crate) async fn find(&self, job: &SessionJob) -> Result<Option<Checkpoint>, CheckpointError> {
        let Some(bytes) = self.blobs.get(&checkpoint_key(&job.key)).await? else { return Ok(None) };
        let found: Checkpoint = match decode(&bytes) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "a checkpoint cannot be read; the session begins anew");
                return Ok(None);
            }
        };
        let is_of_job = found.lock == job.lock && found.generation >= job.generation;
        let is_further = found.transcript.events.len() > job.transcript.events.len();
        Ok((is_of_job && is_further).then_some(found))
    }

    async fn put<'a>(
        &self,
        session: &SessionKey,
        checkpoint: Writing<'a, &'a Transcript>,
    ) -> Result<(), CheckpointError> {
        Ok(self.blobs.put(&checkpoint_key(session), checkpoint.encode(self.compact)?).await?)
    }

    /// Removes the checkpoint of `session` that `attempt` wrote last. One that another attempt has written since stays, and so does one that
    /// cannot be read: what is left behind goes with the end of the sweep.
    async fn remove(&self, session: &SessionKey, attempt: &AttemptId) {
        let found = self.blobs.get(&checkpoint_key(session)).await;
        let found = found.ok().flatten().and_then(|bytes| decode::<Checkpoint>(&bytes).ok());
        if found.is_none_or(|found| found.attempt.id != *attempt) {
            return;
        }
        if let Err(error) = self.blobs.delete(&checkpoint_key(session)).await {
            tracing::debug!(%error, %session, "a checkpoint was left behind");
        }
    }

    /// Begins to keep checkpoints of `session` in `attempt`, which runs for the sweep's lock `lock` in the generation `generation`.
    pub(crate) fn follow(
        &self,
        session: &SessionKey,
        (lock, generation): (Digest, u32),
        attempt: Attempt,
        clock: Arc<dyn Clock>,
    ) -> CheckpointWriter {
        let (store, session, is_written) = (self.clone(), session.clone(), AtomicBool::new(false));
        let of = Arc::new(Of { store, session, lock, generation, attempt, clock, is_written });
        let (latest, mut news) = watch::channel(None::<Arc<Transcript>>);
        let (writing, ending) = (of.clone(), CancellationToken::new());
        let ends = ending.clone();
        let task = tokio::spawn(async move {
            let mut resumes = writing.store.void.clone();
            let mut told = writing.generation();
            let (mut is_due, mut patience) = (false, PATIENCE_MIN);
            loop {
                let next = async {
                    if !is_due {
                        news.changed().await?;
                    }
                    tokio::time::sleep(writing.store.every).await;
                    Ok::<(), watch::error::RecvError>(())
                };
                let is_resumed = |void: &Void| void.generation(&writing.session.sweep) > told;
                let resumed = async { resumes.wait_for(is_resumed).await.is_ok() };
                tokio::select! {
                    biased;
                    () = ends.cancelled() => return,
                    came = next => if came.is_err() { return },
                    // What it had asked before is of the generation that it goes on in.
                    true = resumed => {}
                }
                told = writing.generation();
                let Some(transcript) = news.borrow_and_update().clone() else { continue };
                let begun = Instant::now();
                let written = tokio::time::timeout(patience, writing.write(&transcript)).await;
                patience = match &written {
                    Ok(_) => begun.elapsed() * 2,
                    Err(_) => patience * 2,
                }
                .clamp(PATIENCE_MIN, PATIENCE_MAX);
                // What a store that is away was asked to take grows old: the session goes on, and its newest state is written instead.
                is_due = !matches!(written, Ok(Ok(())));
                if is_due {
                    let error = written.map_or_else(|late| late.to_string(), |failed| format!("{failed:?}"));
                    tracing::debug!(error, session = %writing.session, "failed to write a checkpoint");
                }
            }
        });
        CheckpointWriter { of, latest, ending, task: Some(task) }
    }
}

/// The session and attempt of a [`CheckpointWriter`].
struct Of {
    store: Checkpoints,
    session: SessionKey,
    lock: Digest,
    generation: u32,
    attempt: Attempt,
    clock: Arc<dyn Clock>,
    is_written: AtomicBool,
}

impl Of {
    /// The sweep's generation: a session that runs while its sweep is resumed goes on in the next one.
    fn generation(&self) -> u32 {
        self.generation.max(self.store.void.borrow().generation(&self.session.sweep))
    }

    async fn write(&self, transcript: &Transcript) -> Result<(), CheckpointError> {
        // Also one that fails may have been stored.
        self.is_written.store(true, Ordering::Relaxed);
        let attempt = Attempt { ended_at: self.clock.now(), ..self.attempt.clone() };
        let checkpoint = Writing { lock: self.lock, generation: self.generation(), attempt: &attempt, transcript };
        self.store.put(&self.session, checkpoint).await
    }
}

/// Writes checkpoints of one session beside it, the latest state at a time. Ends when dropped.
pub(crate) struct CheckpointWriter {
    of: Arc<Of>,
    latest: watch::Sender<Option<Arc<Transcript>>>,
    ending: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl CheckpointWriter {
    /// The session has come to this, and goes on.
    pub(crate) fn keep(&self, transcript: &Transcript) {
        self.latest.send_replace(Some(Arc::new(transcript.clone())));
    }

    /// Writes `transcript` now; nothing is written after it.
    ///
    /// # Errors
    /// When the blob store does not take it.
    pub(crate) async fn leave(mut self, transcript: &Transcript) -> Result<(), CheckpointError> {
        self.ending.cancel();
        wait(self.task.take()).await;
        // Whoever goes on with the session may ask for it soon, and a connection may be dead without saying so.
        let mut patience = PATIENCE_MIN;
        while patience < PATIENCE_LEAVING {
            if let Ok(written) = tokio::time::timeout(patience, self.of.write(transcript)).await {
                return written;
            }
            patience *= 2;
        }
        self.of.write(transcript).await
    }

    /// Nothing more is written; a write that has begun is waited for. The last checkpoint stays.
    pub(crate) async fn stop(mut self) {
        self.ending.cancel();
        wait(self.task.take()).await;
    }

    /// Nothing more is written. Returns the checkpoint that has become needless once the session's end is recorded, if there may be one.
    pub(crate) fn end(mut self) -> Option<NeedlessCheckpoint> {
        self.ending.cancel();
        let (store, session, attempt) = (self.of.store.clone(), self.of.session.clone(), self.of.attempt.id.clone());
        let is_written = self.of.is_written.load(Ordering::Relaxed);
        is_written.then(|| NeedlessCheckpoint { store, session, attempt, writing: self.task.take() })
    }
}

/// A write that has begun is waited for: it would come after what is done next.
async fn wait(writing: Option<JoinHandle<()>>) {
    if let Some(writing) = writing
        && let Err(error) = writing.await
    {
        tracing::error!(%error, "the writer of a checkpoint failed");
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        self.ending.cancel();
    }
}

/// A checkpoint of a session that has ended.
#[derive(Debug)]
pub(crate) struct NeedlessCheckpoint {
    store: Checkpoints,
    session: SessionKey,
    /// The attempt that ended it. A sweep that is resumed may have the session run again meanwhile.
    attempt: AttemptId,
    writing: Option<JoinHandle<()>>,
}

impl NeedlessCheckpoint {
    /// Removes it once the acknowledgements of `deliveries`, which have just been sent, are sure to have come. One that is lost with its
    /// connection brings the job to somebody else, who ends it from the checkpoint; otherwise all its calls would be made again.
    pub(crate) async fn remove_after(self, deliveries: Vec<CancellationToken>) {
        wait(self.writing).await;
        tokio::time::sleep(self.store.acknowledged_after).await;
        if !deliveries.iter().all(CancellationToken::is_cancelled) {
            self.store.remove(&self.session, &self.attempt).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures::future::BoxFuture;
    use jiff::Timestamp;
    use regatta_backends::faults::{Fate, Trouble, Troubles};
    use regatta_proto::{CellIndex, Event, ItemIndex, ManualClock, Reply};

    use super::*;

    const LATE: Duration = Duration::from_secs(60);

    /// A store that never answers what it is asked while it hangs.
    #[derive(Default)]
    struct Hanging(AtomicBool);

    impl Fate for Hanging {
        fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
            match self.0.load(Ordering::Relaxed) {
                true => Box::pin(pending()),
                false => Box::pin(async { Ok(()) }),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_answered_is_kept_until_the_acknowledgement_of_its_job_has_come() {
        for is_lost in [false, true] {
            let store = Blobs::memory();
            let (_told, void) = watch::channel(Void::default());
            let checkpoints = Checkpoints::new(store.clone(), Duration::from_millis(250), LATE, void);
            let session = SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) };
            let needless = written(&checkpoints, &session, "a").await;
            let connection = CancellationToken::new();
            let removing = tokio::spawn(needless.remove_after(vec![connection.clone()]));
            tokio::time::sleep(LATE - Duration::from_millis(1)).await;
            assert!(store.get(&checkpoint_key(&session)).await.unwrap().is_some());
            if is_lost {
                connection.cancel();
            }
            removing.await.unwrap();
            assert_eq!(store.get(&checkpoint_key(&session)).await.unwrap().is_some(), is_lost);
        }
    }

    /// Attempt `id` at `session` has written a checkpoint, and ended the session.
    async fn written(checkpoints: &Checkpoints, session: &SessionKey, id: &str) -> NeedlessCheckpoint {
        let at = Timestamp::UNIX_EPOCH;
        let id = AttemptId::new(id).unwrap();
        let attempt = Attempt { id, number: 1, worker: "w".parse().unwrap(), started_at: at, ended_at: at };
        let clock = Arc::new(ManualClock::at(at));
        let writer = checkpoints.follow(session, (Digest::of(b"lock"), 0), attempt, clock);
        writer.keep(&Transcript { events: vec![Event::Recorded(Reply::said("yes"))] });
        tokio::time::sleep(Duration::from_secs(1)).await;
        writer.end().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_checkpoint_is_readdressed_to_another_sweep_if_its_own_has_not_been_resumed_since() {
        let store = Blobs::memory();
        let (_told, void) = watch::channel(Void::default());
        let checkpoints = Checkpoints::new(store.clone(), Duration::from_millis(250), LATE, void);
        let session = SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) };
        let _needless = written(&checkpoints, &session, "a").await;
        let bytes = store.get(&checkpoint_key(&session)).await.unwrap().unwrap();
        let (own, other) = (Digest::of(b"lock"), Digest::of(b"other"));
        assert_eq!(readdressed_checkpoint(&bytes, (own, 1), (other, 0)), None, "it was resumed");
        assert_eq!(readdressed_checkpoint(&bytes, (other, 0), (other, 0)), None, "it is of another lock");
        let moved: Checkpoint = decode(&readdressed_checkpoint(&bytes, (own, 0), (other, 3)).unwrap()).unwrap();
        let before: Checkpoint = decode(&bytes).unwrap();
        assert_eq!(moved, Checkpoint { lock: other, generation: 3, ..before });
    }

    #[tokio::test(start_paused = true)]
    async fn a_checkpoint_has_each_message_once_where_all_workers_can_read_that() {
        let call = |said: &[&str]| -> Event {
            let said: Vec<_> = said.iter().map(|text| serde_json::json!({ "role": "user", "content": text })).collect();
            serde_json::from_value(serde_json::json!({ "call": {
                "role": "agent", "attempt": 1, "model": "sim/m", "request": { "messages": said },
                "reply": { "text": null, "finish": "stop" }, "usage": { "input": 1, "output": 1 }, "cost": null, "latency_us": 1
            }}))
            .unwrap()
        };
        let transcript = Transcript { events: vec![call(&["only once?"]), call(&["only once?", "yes"])] };
        for (compact, times) in [(false, 2), (true, 1)] {
            let store = Blobs::memory();
            let (_told, void) = watch::channel(Void::default());
            let checkpoints =
                Checkpoints::new(store.clone(), Duration::from_millis(250), LATE, void).with_compact(compact);
            let session = SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) };
            let at = Timestamp::UNIX_EPOCH;
            let id = AttemptId::new("a").unwrap();
            let attempt = Attempt { id, number: 1, worker: "w".parse().unwrap(), started_at: at, ended_at: at };
            let clock = Arc::new(ManualClock::at(at));
            let writer = checkpoints.follow(&session, (Digest::of(b"lock"), 0), attempt, clock);
            writer.leave(&transcript).await.unwrap();
            let bytes = store.get(&checkpoint_key(&session)).await.unwrap().unwrap();
            let json = std::io::read_to_string(regatta_proto::wire::json(&bytes).unwrap()).unwrap();
            assert_eq!(json.matches("only once?").count(), times, "{json}");
            assert_eq!(decode::<Checkpoint>(&bytes).unwrap().transcript, transcript);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_checkpoint_that_a_later_attempt_has_written_since_stays() {
        let store = Blobs::memory();
        let (_told, void) = watch::channel(Void::default());
        let checkpoints = Checkpoints::new(store.clone(), Duration::from_millis(250), LATE, void);
        let session = SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) };
        let needless = written(&checkpoints, &session, "a").await;
        let removing = tokio::spawn(needless.remove_after(vec![CancellationToken::new()]));
        let _later = written(&checkpoints, &session, "b").await;
        removing.await.unwrap();
        assert!(store.get(&checkpoint_key(&session)).await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_newest_state_is_written_though_an_older_one_hangs() {
        let (store, fate) = (Blobs::memory(), Arc::new(Hanging::default()));
        let (_told, void) = watch::channel(Void::default());
        let checkpoints =
            Checkpoints::new(store.troubled(Troubles::new(fate.clone())), Duration::from_millis(250), LATE, void);
        let session = SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) };
        let at = Timestamp::UNIX_EPOCH;
        let id = AttemptId::new("a").unwrap();
        let attempt = Attempt { id, number: 1, worker: "w".parse().unwrap(), started_at: at, ended_at: at };
        let clock = Arc::new(ManualClock::at(at));
        let writer = checkpoints.follow(&session, (Digest::of(b"lock"), 0), attempt, clock);
        let after = |events| Transcript { events: vec![Event::Recorded(Reply::said("yes")); events] };

        fate.0.store(true, Ordering::Relaxed);
        writer.keep(&after(1));
        tokio::time::sleep(Duration::from_secs(10)).await;
        writer.keep(&after(2));
        fate.0.store(false, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(10)).await;

        let written = store.get(&checkpoint_key(&session)).await.unwrap().expect("a checkpoint was written");
        assert_eq!(decode::<Checkpoint>(&written).unwrap().transcript.events.len(), 2);
    }
}
