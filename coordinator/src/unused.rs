//! Removal of stored objects that no sweep, schedule or tick refers to any more, and of charges for objects that only others refer to.
//!
//! An object is read before the references are, and is marked only as it was read; a sweep is written only if none of its inputs is marked. So
//! of a removal and a submission at the same moment one fails, and no sweep runs without its data. References are read from locks and
//! manifests: sweeps of earlier versions have left nothing else. If one of these cannot be read, nothing is removed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use jiff::Timestamp;
use regatta_backends::blobs::content_key;
use regatta_backends::{Credits, EndedUse, ObjectRow, SweepRow, TickState};
use regatta_catalog::{Input, InputKind, read_lock, read_manifest};
use regatta_proto::{Digest, OwnerName};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::retention::{AT_ONCE, TICKS_MAX, delete_all};
use crate::schedules::{Stored, stored};
use crate::{Coordinator, CoordinatorError};

/// Objects that are read at once, and then decided about.
const PAGE: u32 = 20_000;
/// Most objects that one request removes: it must end before clients and proxies lose patience.
const REMOVED_AT_ONCE: u64 = 5_000;
/// Objects that are marked at once.
const CHUNK: usize = 500;
/// Longest time for deleting a chunk; two thirds of what others wait before they take the removal for dead.
pub(crate) const DELETED_WITHIN: Duration = Duration::from_secs(600);
/// Locks, and manifests, in memory at once.
const READ_AT_ONCE: usize = 8;
/// Folders of the blob store whose objects are known by their digests.
const FOLDERS: [&str; 3] = ["content", "datasets", "locks"];
/// Time from the start of a process to its first removal, which leaves a fleet alone that is being replaced.
const FIRST_AFTER: Duration = Duration::from_secs(600);
/// Pause between two removals: references are read from many objects.
const EVERY: Duration = Duration::from_secs(6 * 3600);

/// Owners who refer to an object; `None` is the owner of sweeps that belong to nobody.
type Referrers = BTreeSet<Option<OwnerName>>;

/// Objects that nothing refers to, which were removed or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedObjects {
    /// Number of objects.
    pub objects: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Bytes that owners are charged no more, also for objects that stay because others refer to them.
    pub credited: Credits,
    /// `true` if there may be more, for the next request.
    pub left: bool,
}

impl UnusedObjects {
    fn credit(&mut self, credits: Credits) {
        for (owner, bytes) in credits {
            *self.credited.entry(owner).or_default() += bytes;
        }
    }

    /// Adds the result of a further request.
    pub fn add(&mut self, more: Self) {
        self.objects += more.objects;
        self.bytes += more.bytes;
        self.left = more.left;
        self.credit(more.credited);
    }
}

/// References to the objects of a page, by key.
struct References<'r>(HashMap<&'r str, Referrers>);

impl References<'_> {
    fn note(&mut self, key: &str, referrers: &Referrers) {
        if let Some(known) = self.0.get_mut(key) {
            known.extend(referrers.iter().cloned());
        }
    }
}

/// Decisions about a page of objects.
#[derive(Debug, Default, PartialEq, Eq)]
struct Decided<'r> {
    /// Objects that go.
    going: Vec<&'r ObjectRow>,
    /// Uses that end of objects that stay, with their bytes.
    ended: Vec<(EndedUse, u64)>,
}

impl Coordinator {
    /// Removes objects that nothing refers to, while this process leads, until `stop` fires. Runs beside [`Coordinator::run`], in a task of
    /// its own.
    pub fn keep_removing_unused<'a>(&'a self, stop: CancellationToken) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if self.config.keep_unused.is_none() {
                return stop.cancelled().await;
            }
            let mut looks = interval_at(Instant::now() + FIRST_AFTER, EVERY);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    _ = looks.tick() => {}
                }
                // An interrupted removal goes on with the next one.
                match stop.run_until_cancelled(self.remove_all_unused()).await {
                    None | Some(Ok(()) | Err(CoordinatorError::NotLeading)) => {}
                    Some(Err(error)) => {
                        let error = regatta_proto::causes(&error);
                        tracing::warn!(
                            error,
                            "failed to remove objects that nothing refers to; trying again in {} h",
                            EVERY.as_secs() / 3600
                        );
                    }
                }
            }
        })
    }

    async fn remove_all_unused(&self) -> Result<(), CoordinatorError> {
        loop {
            self.lead_beside_dispatching().await?;
            if !self.remove_unused(true).await?.left {
                return Ok(());
            }
        }
    }

    /// Removes objects that nothing refers to and nobody has used for as long as they are kept, or says which these would be.
    ///
    /// # Errors
    /// When a reference cannot be read or a store fails; what is gone by then stays gone.
    pub(crate) async fn remove_unused(&self, apply: bool) -> Result<UnusedObjects, CoordinatorError> {
        let mut result = UnusedObjects::default();
        let Some(keep) = self.config.keep_unused else { return Ok(result) };
        // Nothing is older where the clock cannot show it.
        let before = self.clock.now().checked_sub(keep).unwrap_or(Timestamp::MIN);
        let mut after: Option<String> = None;
        'pages: loop {
            // Before the references: what comes to be referred to from here on is not as it was read.
            let rows = self.ledger.idle_objects(before, after.as_deref(), PAGE).await?;
            let Some(last) = rows.last() else { break };
            after = Some(last.key.clone());
            let references = self.references(&rows).await?;
            let decided = decide(&rows, &references, before);
            if apply {
                let ended = decided.ended.into_iter().map(|(ended, _)| ended).collect();
                result.credit(self.ledger.release_uses(ended).await?);
            } else {
                for (EndedUse { owner, .. }, bytes) in decided.ended {
                    *result.credited.entry(owner).or_default() += bytes;
                }
            }
            for chunk in decided.going.chunks(CHUNK) {
                if result.objects >= REMOVED_AT_ONCE {
                    result.left = true;
                    break 'pages;
                }
                if apply {
                    self.remove_objects(chunk, &mut result).await?;
                    continue;
                }
                for object in chunk {
                    result.objects += 1;
                    result.bytes += object.bytes;
                    result.credit(object.uses.iter().map(|of| (of.owner.clone(), of.bytes)).collect());
                }
            }
        }
        if apply && result != UnusedObjects::default() {
            let credited: u64 = result.credited.values().sum();
            tracing::info!(
                objects = result.objects,
                bytes = result.bytes,
                credited,
                "objects that nothing refers to are removed"
            );
        }
        Ok(result)
    }

    /// Marks objects, deletes those that are as they were read, and forgets them.
    async fn remove_objects(&self, going: &[&ObjectRow], result: &mut UnusedObjects) -> Result<(), CoordinatorError> {
        // Others count from the mark, which the ledger may take a while to write.
        let (at, until) = (self.clock.now(), Instant::now() + DELETED_WITHIN);
        let seen = going.iter().map(|object| (object.key.clone(), object.used_at)).collect();
        let marked = self.ledger.begin_object_removal(&seen, at).await?;
        for some in marked.chunks(AT_ONCE) {
            // By both clocks: one of them stands still while a machine is suspended.
            if self.clock.now().duration_since(at).unsigned_abs() >= DELETED_WITHIN || Instant::now() >= until {
                return Err(CoordinatorError::SlowRemoval);
            }
            let deleting = delete_all(self.catalog.blobs(), some);
            timeout_at(until, deleting).await.map_err(|_| CoordinatorError::SlowRemoval)??;
        }
        result.credit(self.ledger.finish_object_removal(&marked, at).await?);
        let marked: BTreeSet<&str> = marked.iter().map(String::as_str).collect();
        for object in going.iter().filter(|object| marked.contains(object.key.as_str())) {
            result.objects += 1;
            result.bytes += object.bytes;
        }
        Ok(())
    }

    /// Owners who refer to each of these objects.
    async fn references<'r>(&self, rows: &'r [ObjectRow]) -> Result<References<'r>, CoordinatorError> {
        let mut references = References(rows.iter().map(|row| (row.key.as_str(), Referrers::new())).collect());
        let mut locks: BTreeMap<Digest, Referrers> = BTreeMap::new();
        let mut sweeps = self.ledger.sweeps().await?;
        // One whose removal has begun runs no more, and a coordinator of an earlier version may have deleted its lock.
        let removed = self.ledger.removed(&sweeps.iter().map(|row| row.id.clone()).collect()).await?;
        sweeps.retain(|row| !removed.contains(&row.id));
        for row in &sweeps {
            locks.entry(row.lock).or_default().insert(row.owner.clone());
        }
        for row in self.ledger.schedules().await? {
            let owner = Referrers::from([row.owner.clone()]);
            let Stored { submission, .. } = stored(&row)?;
            references.note(&content_key(&submission), &owner);
            for digest in self.submission(&submission).await?.contents() {
                references.note(&content_key(digest), &owner);
            }
            // A night that is planned, and perhaps not entered.
            let ticks = self.ledger.ticks(&row.name, TICKS_MAX).await?;
            for lock in ticks.into_iter().filter(|tick| tick.state == TickState::Running).filter_map(|tick| tick.lock) {
                locks.entry(lock).or_default().extend(owner.iter().cloned());
            }
        }
        let blobs = self.catalog.blobs();
        let mut manifests: BTreeMap<Digest, Referrers> = BTreeMap::new();
        for some in Vec::from_iter(locks).chunks(READ_AT_ONCE) {
            let read = join_all(some.iter().map(|(digest, _)| read_lock(blobs, digest))).await;
            for ((digest, referrers), lock) in some.iter().zip(read) {
                references.note(&Input { kind: InputKind::Lock, digest: *digest }.key(), referrers);
                let lock = lock.map_err(|source| match source.is_outage() {
                    true => CoordinatorError::from(source),
                    false => CoordinatorError::UnknownReferences { referrers: named(&sweeps, digest), source },
                })?;
                for input in Input::of_lock(&lock) {
                    match input.kind {
                        InputKind::Manifest => {
                            manifests.entry(input.digest).or_default().extend(referrers.iter().cloned());
                        }
                        InputKind::Content | InputKind::Lock => references.note(&input.key(), referrers),
                    }
                }
            }
        }
        for some in Vec::from_iter(manifests).chunks(READ_AT_ONCE) {
            let read = join_all(some.iter().map(|(digest, _)| read_manifest(blobs, digest))).await;
            for ((digest, referrers), manifest) in some.iter().zip(read) {
                references.note(&Input { kind: InputKind::Manifest, digest: *digest }.key(), referrers);
                for input in Input::of_manifest(&manifest?) {
                    references.note(&input.key(), referrers);
                }
            }
        }
        Ok(references)
    }

    /// Adds objects to the ledger that it does not know, as nobody's: those that versions without a record of objects have stored. They count as
    /// used now, so that they are kept for a while even if nothing refers to them. Only where a person asks for it: in a bucket that is shared by
    /// mistake, as with the copy of a deployment, they may be another's.
    pub(crate) async fn record_unknown(&self) -> Result<(), CoordinatorError> {
        if self.config.keep_unused.is_none() {
            return Ok(());
        }
        let blobs = self.catalog.blobs();
        // By their first digit, because a listing is in memory.
        for prefix in FOLDERS.iter().flat_map(|folder| (0..16).map(move |digit| format!("{folder}/{digit:x}"))) {
            let mut keys = blobs.list(&prefix).await?;
            keys.retain(|key| is_of_an_input(key));
            for some in keys.chunks(CHUNK) {
                let known = self.ledger.object_states(some).await?;
                let mut sizes = BTreeMap::new();
                for key in some.iter().filter(|key| !known.contains_key(*key)) {
                    if let Some(bytes) = blobs.size(key).await? {
                        sizes.insert(key.clone(), bytes);
                    }
                }
                self.record_objects(None, sizes).await?;
            }
        }
        Ok(())
    }
}

/// True if an input is stored under `key`. Others may have files of their own in folders of these names.
fn is_of_an_input(key: &str) -> bool {
    let Some((folder, name)) = key.split_once('/') else { return false };
    let kind = match folder {
        "content" => InputKind::Content,
        "datasets" => InputKind::Manifest,
        "locks" => InputKind::Lock,
        _ => return false,
    };
    let digest = name.strip_suffix(".json").unwrap_or(name).parse();
    digest.is_ok_and(|digest| Input { kind, digest }.key() == key)
}

/// The sweeps with this lock, for people.
fn named(sweeps: &[SweepRow], lock: &Digest) -> String {
    let of_lock = sweeps.iter().filter(|row| row.lock == *lock).map(|row| row.id.to_string());
    let ids = Vec::from_iter(of_lock).join(", ");
    // Planned, and not entered.
    if ids.is_empty() { "a night that is about to begin".to_owned() } else { ids }
}

/// Objects and uses that end: nobody, or not their owner, refers to them, and they were last used at `before` or earlier.
fn decide<'r>(rows: &'r [ObjectRow], references: &References<'_>, before: Timestamp) -> Decided<'r> {
    let mut decided = Decided::default();
    for row in rows {
        let referrers = references.0.get(row.key.as_str());
        let is_needed = referrers.is_none_or(|referrers| !referrers.is_empty());
        let is_idle = row.used_at <= before && row.uses.iter().all(|of| of.used_at <= before);
        if is_idle && !is_needed {
            decided.going.push(row);
            continue;
        }
        let ended = row.uses.iter().filter(|of| {
            let is_owners = referrers.is_none_or(|referrers| referrers.contains(&Some(of.owner.clone())));
            of.used_at <= before && !is_owners
        });
        decided.ended.extend(ended.map(|of| {
            let ended = EndedUse { key: row.key.clone(), owner: of.owner.clone(), used_at: of.used_at };
            (ended, of.bytes)
        }));
    }
    decided
}

#[cfg(test)]
mod tests {
    use regatta_backends::ObjectUse;

    use super::*;

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(hour * 3600).unwrap()
    }

    fn owner(name: &str) -> OwnerName {
        name.parse().unwrap()
    }

    /// An object that its owners used at these hours.
    fn object(key: &str, uses: &[(&str, i64)]) -> ObjectRow {
        let last = uses.iter().map(|(_, hour)| *hour).max().unwrap_or(0);
        let of = |(name, hour): &(&str, i64)| ObjectUse { owner: owner(name), bytes: 5, used_at: at(*hour) };
        ObjectRow { key: key.to_owned(), bytes: 5, used_at: at(last), uses: uses.iter().map(of).collect() }
    }

    /// Objects that go, and uses that end, of what was last used at the tenth hour or earlier.
    fn decided(rows: &[ObjectRow], references: &[(&str, Option<&str>)]) -> (Vec<String>, Vec<String>) {
        let mut found = References(rows.iter().map(|row| (row.key.as_str(), Referrers::new())).collect());
        for (key, name) in references {
            found.note(key, &Referrers::from([name.map(owner)]));
        }
        let Decided { going, ended } = decide(rows, &found, at(10));
        let going = going.into_iter().map(|row| row.key.clone()).collect();
        (going, ended.into_iter().map(|(ended, _)| format!("{} {}", ended.owner, ended.key)).collect())
    }

    #[test]
    fn an_object_goes_once_nobody_refers_to_it_and_all_have_left_it_alone_for_a_while() {
        let rows = [object("a", &[("alice", 3)]), object("b", &[("alice", 11)]), object("c", &[]), object("d", &[])];
        let (going, ended) = decided(&rows, &[("d", None), ("of another page", Some("alice"))]);
        assert_eq!((going, ended), (vec!["a".to_owned(), "c".to_owned()], vec![]));
    }

    #[test]
    fn an_owner_who_refers_to_an_object_no_more_is_not_charged_for_others() {
        let rows = [object("a", &[("alice", 3), ("bob", 4)]), object("b", &[("alice", 3), ("bob", 11)])];
        let (going, ended) = decided(&rows, &[("a", Some("bob"))]);
        assert!(going.is_empty(), "{going:?}");
        // Of the second nobody knows yet whether bob will submit what he has just uploaded.
        assert_eq!(ended, ["alice a", "alice b"]);
        assert_eq!(decided(&rows, &[("a", None)]).1, ["alice a", "bob a", "alice b"]);
    }
}
