//! References to stored objects, as the ledger, locks, manifests and submissions of schedules tell them.
//!
//! A document that cannot be read may refer to any object of certain kinds: a lock to manifests and files, a manifest and a submission to
//! files. Nobody can tell then whether such an object is needed, while objects of other kinds have their references known.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regatta_backends::{ObjectRow, ScheduleRow, SweepRow, TickState};
use regatta_catalog::{Input, InputKind};
use regatta_proto::{Digest, OwnerName, causes};

use super::documents::Documents;
use crate::problems::Problems;
use crate::retention::TICKS_MAX;
use crate::schedules::stored;
use crate::{Coordinator, CoordinatorError};

/// Locks, and manifests, in memory at once.
const READ_AT_ONCE: usize = 8;
/// Sweeps that a problem names.
const NAMED: usize = 3;

/// Owners who refer to an object; `None` is the owner of sweeps that belong to nobody.
pub(super) type Referrers = BTreeSet<Option<OwnerName>>;

/// Manifests with the owners who refer to them, and with a lock that names them.
type Manifests = BTreeMap<Input, (Referrers, Digest)>;

/// References to the objects of a page, by key.
pub(super) struct References<'r> {
    known: HashMap<&'r str, Referrers>,
    /// Kinds of objects to which documents that cannot be read may refer.
    unknown: BTreeSet<InputKind>,
}

impl<'r> References<'r> {
    /// No references to these objects.
    pub(super) fn to(rows: &'r [ObjectRow]) -> Self {
        Self { known: rows.iter().map(|row| (row.key.as_str(), Referrers::new())).collect(), unknown: BTreeSet::new() }
    }

    pub(super) fn note(&mut self, key: &str, referrers: &Referrers) {
        if let Some(known) = self.known.get_mut(key) {
            known.extend(referrers.iter().cloned());
        }
    }

    /// Notes that something refers to objects of this kind, and nobody knows to which.
    pub(super) fn note_unknown(&mut self, kind: InputKind) {
        self.unknown.insert(kind);
    }

    /// Owners who refer to an object; `None` if nobody can tell.
    pub(super) fn of(&self, key: &str) -> Option<&Referrers> {
        let is_known = |kind| !self.unknown.contains(&kind);
        let can_tell = self.unknown.is_empty() || input_of(key).is_some_and(|input| is_known(input.kind));
        self.known.get(key).filter(|_| can_tell)
    }
}

impl Coordinator {
    /// Owners who refer to each of these objects. Documents that cannot be read are noted among `problems`; those that can are read once for all
    /// pages.
    ///
    /// # Errors
    /// When a store cannot be reached.
    pub(super) async fn references<'r>(
        &self,
        rows: &'r [ObjectRow],
        documents: &mut Documents,
        problems: &mut Problems,
    ) -> Result<References<'r>, CoordinatorError> {
        let mut references = References::to(rows);
        let mut locks: BTreeMap<Input, Referrers> = BTreeMap::new();
        let mut sweeps = self.ledger.sweeps().await?;
        // One whose removal has begun runs no more, and a coordinator of an earlier version may have deleted its lock.
        let removed = self.ledger.removed(&sweeps.iter().map(|row| row.id.clone()).collect()).await?;
        sweeps.retain(|row| !removed.contains(&row.id));
        for row in &sweeps {
            locks.entry(input_of_lock(row.lock)).or_default().insert(row.owner.clone());
        }
        for row in self.ledger.schedules().await? {
            self.note_submission(&row, documents, &mut references, problems).await?;
            // A night that is planned, and perhaps not entered.
            let ticks = self.ledger.ticks(&row.name, TICKS_MAX).await?;
            for lock in ticks.into_iter().filter(|tick| tick.state == TickState::Running).filter_map(|tick| tick.lock) {
                locks.entry(input_of_lock(lock)).or_default().insert(row.owner.clone());
            }
        }
        let manifests = self.note_locks(locks, &sweeps, documents, &mut references, problems).await?;
        self.note_manifests(manifests, &sweeps, documents, &mut references, problems).await?;
        Ok(references)
    }

    /// Notes what the submission of a schedule refers to.
    async fn note_submission(
        &self,
        row: &ScheduleRow,
        documents: &mut Documents,
        references: &mut References<'_>,
        problems: &mut Problems,
    ) -> Result<(), CoordinatorError> {
        let owner = Referrers::from([row.owner.clone()]);
        let named = match stored(row) {
            Ok(stored) => {
                let submission = Input { kind: InputKind::Content, digest: stored.submission };
                references.note(&submission.key(), &owner);
                self.named_by(submission, documents).await?
            }
            Err(error) => Err(causes(&error)),
        };
        match named {
            Ok(files) => files.iter().for_each(|file| references.note(&file.key(), &owner)),
            Err(reason) => {
                references.note_unknown(InputKind::Content);
                problems.note(format!(
                    "the submission of schedule {} cannot be read, so no file is removed that it may name: {reason}; write the schedule \
                     again (`regatta schedule create --replace`), or delete it",
                    row.name
                ));
            }
        }
        Ok(())
    }

    /// Notes locks and what they refer to. Returns the manifests among that, each with one of the locks that name it.
    async fn note_locks(
        &self,
        locks: BTreeMap<Input, Referrers>,
        sweeps: &[SweepRow],
        documents: &mut Documents,
        references: &mut References<'_>,
        problems: &mut Problems,
    ) -> Result<Manifests, CoordinatorError> {
        let mut manifests = Manifests::new();
        for some in Vec::from_iter(locks).chunks(READ_AT_ONCE) {
            let read = self.all_named_by(some.iter().map(|(lock, _)| *lock).collect(), documents).await?;
            for ((lock, referrers), named) in some.iter().zip(read) {
                references.note(&lock.key(), referrers);
                let named = match named {
                    Ok(named) => named,
                    Err(reason) => {
                        references.note_unknown(InputKind::Manifest);
                        references.note_unknown(InputKind::Content);
                        problems.note(format!(
                            "the lock of {} cannot be read, so no data set is removed that it may name: {reason}; restore it from a backup, \
                             or cancel the sweep if it runs, and remove it with `regatta gc`",
                            of_lock(sweeps, &lock.digest)
                        ));
                        continue;
                    }
                };
                for input in named.iter() {
                    match input.kind {
                        InputKind::Manifest => {
                            let (all, _) = manifests.entry(*input).or_insert((Referrers::new(), lock.digest));
                            all.extend(referrers.iter().cloned());
                        }
                        InputKind::Content | InputKind::Lock => references.note(&input.key(), referrers),
                    }
                }
            }
        }
        Ok(manifests)
    }

    /// Notes manifests and the files that they list.
    async fn note_manifests(
        &self,
        manifests: Manifests,
        sweeps: &[SweepRow],
        documents: &mut Documents,
        references: &mut References<'_>,
        problems: &mut Problems,
    ) -> Result<(), CoordinatorError> {
        for some in Vec::from_iter(manifests).chunks(READ_AT_ONCE) {
            let read = self.all_named_by(some.iter().map(|(manifest, _)| *manifest).collect(), documents).await?;
            for ((manifest, (referrers, lock)), named) in some.iter().zip(read) {
                references.note(&manifest.key(), referrers);
                match named {
                    Ok(files) => files.iter().for_each(|file| references.note(&file.key(), referrers)),
                    Err(reason) => {
                        references.note_unknown(InputKind::Content);
                        problems.note(format!(
                            "{}, which lists files of {}, cannot be read, so no file is removed that it may name: {reason}; restore it from a \
                             backup, or submit the same data again",
                            manifest.key(),
                            of_lock(sweeps, lock)
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

fn input_of_lock(digest: Digest) -> Input {
    Input { kind: InputKind::Lock, digest }
}

/// The input that is stored under `key`, if one is. Others may have files of their own in folders of these names.
pub(super) fn input_of(key: &str) -> Option<Input> {
    let (folder, name) = key.split_once('/')?;
    let kind = match folder {
        "content" => InputKind::Content,
        "datasets" => InputKind::Manifest,
        "locks" => InputKind::Lock,
        _ => return None,
    };
    let digest = name.strip_suffix(".json").unwrap_or(name).parse().ok()?;
    Some(Input { kind, digest }).filter(|input| input.key() == key)
}

/// The sweeps with this lock, for people.
fn of_lock(sweeps: &[SweepRow], lock: &Digest) -> String {
    let ids: Vec<&str> = sweeps.iter().filter(|row| row.lock == *lock).map(|row| row.id.as_str()).collect();
    let some = ids.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match ids.len() {
        // Planned, and not entered.
        0 => "a night that is about to begin".to_owned(),
        count if count > NAMED => format!("{some} and {} more sweeps", count - NAMED),
        _ => some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: InputKind) -> String {
        Input { kind, digest: Digest::of(b"") }.key()
    }

    #[test]
    fn where_a_document_cannot_be_read_the_objects_that_it_may_name_are_not_known_to_be_unused() {
        let kinds = [InputKind::Lock, InputKind::Manifest, InputKind::Content];
        let rows = kinds.map(|kind| ObjectRow {
            key: key(kind),
            bytes: 1,
            used_at: jiff::Timestamp::UNIX_EPOCH,
            uses: Vec::new(),
        });
        let mut references = References::to(&rows);
        let known = |references: &References<'_>| kinds.map(|kind| references.of(&key(kind)).is_some());
        assert_eq!(known(&references), [true, true, true]);
        references.note_unknown(InputKind::Content);
        assert_eq!(known(&references), [true, true, false]);
        references.note_unknown(InputKind::Manifest);
        assert_eq!(known(&references), [true, false, false]);
        assert_eq!(references.of("of another page"), None);
    }
}
