//! Gathers sessions into batches, and publishes each as an intent before it lets go of their deliveries.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use regatta_backends::{Queue, QueueError};
use regatta_proto::{BatchJob, Digest, HeldBatch, IdError, Job, ModelRef, Money, SessionJob, SweepId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::collecting::{begun, parted};
use super::deriving::id_of;
use super::named;
use crate::cast::accounts;
use crate::holdings::HeldHere;
use crate::publisher::{ConfirmingPublisher, Held, Origin, Publication};
use crate::worker::Shared;

/// Bytes that the prompts of a batch may have: with what JSON adds, within what both providers take, and in a worker's memory.
pub(super) const PROMPT_BYTES_MAX: u64 = 64 << 20;
/// Longest that an intent waits for a channel to the broker: with the broker the sessions are gone, too.
const SENT_WITHIN: Duration = Duration::from_secs(10);
/// Pause between looks at what becomes of its sessions meanwhile: they come by another connection.
const VOID_LOOKED_AT_EVERY: Duration = Duration::from_secs(1);
/// Pause before an intent that the broker may have is published again. By then this process has noticed which of its connections are lost.
const DOUBT_PAUSE: Duration = Duration::from_secs(1);

/// A session that waits for its batch.
pub(super) struct Gathered {
    pub(super) model: ModelRef,
    /// Bytes of its prompt.
    pub(super) bytes: u64,
    /// With the number of this attempt.
    pub(super) job: SessionJob,
    pub(super) receipt: Held,
    /// Told, or dropped, once it is part of a batch that is told of.
    pub(super) has_place: oneshot::Sender<()>,
}

/// Gathers for one queue.
pub(super) struct Gatherer {
    pub(super) queue: Queue,
    pub(super) name: String,
    pub(super) requests_max: usize,
    /// Full batches are of different sizes, where a batch that may have been handed in is looked for by its size: the fewer look alike, the
    /// sooner it is clear.
    pub(super) sizes_differ: bool,
    /// A batch is closed when no further session has come for this long.
    pub(super) pause: Duration,
    pub(super) shared: Arc<Shared>,
    pub(super) publisher: ConfirmingPublisher,
    /// Fires when nothing is waited for any more.
    pub(super) stop: CancellationToken,
}

/// Sessions that may be in one batch have a lock, a model and a generation in common. Providers want one model a batch, and prices are a
/// model's; a batch is void as a whole once its sweep was resumed.
type Common = (Digest, ModelRef, u32);

/// Sessions that become a batch.
struct Group {
    batch: Gathering,
    /// Sessions with which it is full.
    room: usize,
    bytes: u64,
    first: Instant,
    last: Instant,
}

/// A batch before it is an intent. Its sessions count as attempts that have begun: nobody else knows who has their jobs.
struct Gathering {
    sweep: SweepId,
    generation: u32,
    id: String,
    held_here: HeldHere,
    jobs: Vec<SessionJob>,
    receipts: Vec<Held>,
}

impl Gathering {
    /// True if sessions of it are delivered to others, who would pay for them as well.
    fn is_void_in_part(&self) -> bool {
        self.receipts.iter().any(|receipt| receipt.voided().is_cancelled())
    }
}

impl Gatherer {
    /// Gathers until all senders are gone.
    pub(super) async fn run(self, mut incoming: mpsc::Receiver<Gathered>) {
        let mut groups: BTreeMap<Common, Group> = BTreeMap::new();
        loop {
            let due = groups.values().map(|group| self.due(group)).min();
            tokio::select! {
                biased;
                gathered = incoming.recv() => match gathered {
                    Some(gathered) => self.add(&mut groups, gathered).await,
                    None => break,
                },
                () = self.stop.cancelled(), if due.is_some() => self.publish_those(&mut groups, |_| true).await,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    let now = Instant::now();
                    self.publish_those(&mut groups, |group| self.due(group) <= now).await;
                }
            }
        }
        self.publish_those(&mut groups, |_| true).await;
    }

    /// When the batch is closed at the latest: deliveries must not be held for as long as the broker allows only because sessions
    /// keep dribbling in.
    fn due(&self, group: &Group) -> Instant {
        (group.last + self.pause).min(group.first + self.shared.hand_over_after / 4)
    }

    async fn add(&self, groups: &mut BTreeMap<Common, Group>, gathered: Gathered) {
        let Gathered { model, bytes, job, receipt, has_place } = gathered;
        let key = (job.lock, model, job.generation);
        if groups.get(&key).is_some_and(|group| group.bytes + bytes > PROMPT_BYTES_MAX) {
            self.publish_group(groups, &key).await;
        }
        let now = Instant::now();
        let group = match groups.entry(key.clone()) {
            Entry::Occupied(group) => group.into_mut(),
            Entry::Vacant(place) => match self.begin(&job.key.sweep, job.generation) {
                Ok(batch) => {
                    let room =
                        if self.sizes_differ { size_of(&batch.id, self.requests_max) } else { self.requests_max };
                    place.insert(Group { batch, room, bytes: 0, first: now, last: now })
                }
                Err(error) => {
                    tracing::error!(%error, "failed to name a batch");
                    return receipt.hand_back().await;
                }
            },
        };
        self.place(&mut group.batch, job, receipt);
        // The session waits no longer, unless its worker has left meanwhile.
        let _ = has_place.send(());
        group.bytes += bytes;
        group.last = now;
        if group.batch.jobs.len() >= group.room {
            self.publish_group(groups, &key).await;
        }
    }

    fn begin(&self, sweep: &SweepId, generation: u32) -> Result<Gathering, IdError> {
        let id = new_id(&self.shared)?;
        let held_here = self.shared.holdings.hold(HeldBatch { sweep: sweep.clone(), id: id.clone(), generation });
        Ok(Gathering { sweep: sweep.clone(), generation, id, held_here, jobs: Vec::new(), receipts: Vec::new() })
    }

    fn place(&self, batch: &mut Gathering, job: SessionJob, receipt: Held) {
        if let Some(attempt) = begun(&batch.id, batch.jobs.len(), &job, self.shared.clock.now(), Some(Money::ZERO)) {
            batch.held_here.begin(attempt);
        }
        batch.jobs.push(job);
        batch.receipts.push(receipt);
    }

    async fn publish_those(&self, groups: &mut BTreeMap<Common, Group>, which: impl Fn(&Group) -> bool) {
        let keys: Vec<_> = groups.iter().filter(|(_, group)| which(group)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.publish_group(groups, &key).await;
        }
    }

    async fn publish_group(&self, groups: &mut BTreeMap<Common, Group>, key: &Common) {
        let Some(Group { batch, first, .. }) = groups.remove(key) else { return };
        // Its queue may have no consumer any more.
        if batch.jobs.first().is_some_and(|job| self.shared.is_session_void(job)) {
            self.shared.metrics.sessions.with_label_values(&["dropped"]).inc_by(batch.jobs.len() as u64);
            return Held::ack_all(batch.receipts).await;
        }
        let tried_until = first + self.shared.hand_over_after;
        let mut waiting = vec![batch];
        while let Some(batch) = waiting.pop() {
            let batch = match self.without_void(batch).await {
                Ok(Some(batch)) => batch,
                Ok(None) => continue,
                Err(error) => {
                    tracing::error!(%error, "failed to name a batch; the sessions of one will be delivered again");
                    continue;
                }
            };
            match self.publish(&batch, key, tried_until).await {
                Ok(()) => {
                    self.shared.metrics.batches.with_label_values(&["gathered"]).inc();
                    Held::ack_all(batch.receipts).await;
                }
                // Continued sessions carry their transcripts, and a broker takes only so much in one message.
                Err(QueueError::TooLarge { .. }) if batch.jobs.len() > 1 => match self.halve(batch).await {
                    Ok(halves) => waiting.extend(halves),
                    Err(error) => {
                        tracing::error!(%error, "failed to name a batch; the sessions of two will be delivered again")
                    }
                },
                Err(error) => {
                    tracing::error!(%error, sessions = batch.jobs.len(), "failed to publish a batch; its sessions will be delivered again");
                    // The broker may have it all the same, so its attempts stay as they were told.
                    for receipt in batch.receipts {
                        receipt.hand_back().await;
                    }
                }
            }
        }
    }

    /// `batch` without the sessions whose deliveries are void, as those are after a worker stood still or was cut off; `None` if none is left.
    /// After an error all are delivered again, because their receipts are dropped.
    async fn without_void(&self, batch: Gathering) -> Result<Option<Gathering>, IdError> {
        if !batch.is_void_in_part() {
            return Ok(Some(batch));
        }
        let mut rest = self.begin(&batch.sweep, batch.generation)?;
        let gathered = batch.jobs.len();
        for (job, receipt) in self.dissolve(batch).await {
            if !receipt.voided().is_cancelled() {
                self.place(&mut rest, job, receipt);
            }
        }
        tracing::info!(
            sessions = gathered - rest.jobs.len(),
            "sessions that waited for their batch are delivered again"
        );
        Ok((!rest.jobs.is_empty()).then_some(rest))
    }

    /// The sessions of `batch` as two, the second half first. After an error all are delivered again, because their receipts are dropped.
    async fn halve(&self, batch: Gathering) -> Result<[Gathering; 2], IdError> {
        let begin = || self.begin(&batch.sweep, batch.generation);
        let (mut first, mut second) = (begin()?, begin()?);
        let half = batch.jobs.len() / 2;
        for (position, (job, receipt)) in self.dissolve(batch).await.enumerate() {
            self.place(if position < half { &mut first } else { &mut second }, job, receipt);
        }
        Ok([second, first])
    }

    /// The sessions of `batch`, which nobody publishes. Attempts of it that were told of end.
    async fn dissolve(&self, batch: Gathering) -> impl Iterator<Item = (SessionJob, Held)> {
        let Gathering { id, held_here, jobs, receipts, .. } = batch;
        if held_here.end() {
            let reports = parted(&self.shared, (&id, self.shared.clock.now()), &jobs);
            self.publisher.leave(Publication { reports, jobs: Vec::new(), origin: Origin::Nobody }).await;
        }
        jobs.into_iter().zip(receipts)
    }

    /// Publishes `batch` as an intent. One that the broker may have is published again as it is, until `tried_until`, since copies are handed
    /// in once where an account counts their money; sessions that were handed back instead would be paid for in a batch of their own as well.
    /// Not so once its sessions are void: others have them by then.
    async fn publish(
        &self,
        batch: &Gathering,
        (lock, model, _): &Common,
        tried_until: Instant,
    ) -> Result<(), QueueError> {
        let job = BatchJob {
            sweep: batch.sweep.clone(),
            lock: *lock,
            model: model.clone(),
            id: batch.id.clone(),
            provider_id: None,
            intended_at: self.shared.clock.now(),
            since: None,
            sessions: batch.jobs.clone(),
        };
        loop {
            let Err(error) = self.send(batch, &job).await else { return Ok(()) };
            if !error.is_in_doubt() || Instant::now() >= tried_until || !self.has_account(lock, model).await {
                return Err(error);
            }
            tracing::warn!(%error, batch = named(&job), "the broker may have the job of a batch, publishing it again");
            if self.stop.run_until_cancelled(sleep(DOUBT_PAUSE)).await.is_none() || batch.is_void_in_part() {
                return Err(error);
            }
        }
    }

    /// Sends the intent `job` of `batch` once there is a channel to the broker, unless the sessions of `batch` are void by then.
    async fn send(&self, batch: &Gathering, job: &BatchJob) -> Result<(), QueueError> {
        let until = Instant::now() + SENT_WITHIN;
        loop {
            let intent = vec![Job::Batch(Box::new(job.clone()))];
            let sent_by = until.min(Instant::now() + VOID_LOOKED_AT_EVERY);
            match self.queue.publish_jobs_once(&self.name, intent, sent_by).await {
                Err(QueueError::TooLate { .. }) if Instant::now() < until && !batch.is_void_in_part() => {}
                published => return published,
            }
        }
    }

    /// True if an account counts the money of calls to `model`, and so knows who hands a batch of them in.
    async fn has_account(&self, lock: &Digest, model: &ModelRef) -> bool {
        let Ok(sweep) = self.shared.sweep(lock).await else { return false };
        let price = sweep.lock.model(model).and_then(|model| model.price.as_ref());
        !accounts(&sweep, Some(model), price).is_empty()
    }
}

/// An id that no other batch has.
fn new_id(shared: &Shared) -> Result<String, IdError> {
    Ok(id_of(shared.attempts.next_id()?.as_str()))
}

/// The size of a full batch of this id: at most `requests_max`, and less by up to a sixteenth, or by 63.
fn size_of(id: &str, requests_max: usize) -> usize {
    let sizes = (requests_max / 16).clamp(1, 64);
    let drawn = Digest::of(id.as_bytes()).bytes()[0];
    requests_max - usize::from(drawn) % sizes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn batches_of_different_ids_are_mostly_of_different_sizes_and_never_too_large() {
        let sizes = |max: usize| (0..1_000).map(|id| size_of(&id.to_string(), max)).collect::<BTreeSet<_>>();
        let large = sizes(5_000);
        assert_eq!((large.len(), large.first(), large.last()), (64, Some(&4_937), Some(&5_000)));
        assert_eq!(sizes(20), BTreeSet::from([20]));
        assert_eq!(sizes(1), BTreeSet::from([1]));
    }
}
