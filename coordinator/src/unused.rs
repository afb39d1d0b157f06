//! Removal of stored objects that no sweep, schedule or tick refers to any more, and of charges for objects that only others refer to.
//!
//! An object is read before the references are, and is marked only as it was read; a sweep is written only if none of its inputs is marked. So
//! of a removal and a submission at the same moment one fails, and no sweep runs without its data. References are read from locks and
//! manifests: sweeps of earlier versions have left nothing else. Nothing is removed that one of these which cannot be read may refer to.

mod documents;
mod neighbours;
mod references;
mod unknown;

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use regatta_backends::{BlobError, Credits, EndedUse, ObjectRow};
use regatta_proto::causes;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout_at};

use self::documents::Documents;
use self::references::References;
use crate::problems::Problems;
use crate::retention::{AT_ONCE, Undeleted, delete_at_once};
use crate::{Coordinator, CoordinatorError};

/// Objects that are read at once, and then decided about.
const PAGE: u32 = 20_000;
/// Most objects that one request removes: it must end before clients and proxies lose patience.
const REMOVED_AT_ONCE: u64 = 5_000;
/// Objects that are marked at once.
const CHUNK: usize = 500;
/// Longest time for deleting a chunk; two thirds of what others wait before they take the removal for dead.
pub(crate) const DELETED_WITHIN: Duration = Duration::from_secs(600);
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

/// A removal, as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    pub(crate) unused: UnusedObjects,
    /// Reasons why objects stay of which nobody can tell that they are used.
    pub(crate) problems: Problems,
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
    /// Removes objects that nothing refers to and nobody has used for as long as they are kept, or says which these would be. One that breaks off
    /// tells why among its problems: what is gone by then stays gone.
    pub(crate) async fn remove_unused(&self, apply: bool) -> Removal {
        let mut removal = Removal::default();
        if let Err(error) = self.go_on_removing(apply, &mut removal).await {
            removal.problems.note(format!("failed to remove objects that nothing refers to: {}", causes(&error)));
        }
        let UnusedObjects { objects, bytes, credited, left: _ } = &removal.unused;
        if apply && (*objects > 0 || !credited.is_empty()) {
            let credited: u64 = credited.values().sum();
            tracing::info!(objects, bytes, credited, "objects that nothing refers to are removed");
        }
        removal
    }

    async fn go_on_removing(&self, apply: bool, removal: &mut Removal) -> Result<(), CoordinatorError> {
        let Some(keep) = self.config.keep_unused else { return Ok(()) };
        if apply {
            // Somebody may have deleted it, and another database would remove what this one refers to.
            self.put_name().await?;
        }
        if let Some(name) = self.neighbour().await? {
            removal.problems.note(format!(
                "another database uses this bucket and prefix ({name}), and may refer to anything, so nothing is removed that this one does not \
                 refer to; give each a prefix of its own, or delete this object if the other database is gone"
            ));
            return Ok(());
        }
        // Nothing is older where the clock cannot show it.
        let before = self.clock.now().checked_sub(keep).unwrap_or(Timestamp::MIN);
        let (mut after, mut documents): (Option<String>, _) = (None, Documents::default());
        loop {
            // Before the references: what comes to be referred to from here on is not as it was read.
            let rows = self.ledger.idle_objects(before, after.as_deref(), PAGE).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = Some(last.key.clone());
            let references = self.references(&rows, &mut documents, &mut removal.problems).await?;
            let decided = decide(&rows, &references, before);
            let result = &mut removal.unused;
            if apply {
                let ended = decided.ended.into_iter().map(|(ended, _)| ended).collect();
                result.credit(self.ledger.release_uses(ended).await?);
            } else {
                for (EndedUse { owner, .. }, bytes) in decided.ended {
                    *result.credited.entry(owner).or_default() += bytes;
                }
            }
            for chunk in decided.going.chunks(CHUNK) {
                if removal.unused.objects >= REMOVED_AT_ONCE {
                    removal.unused.left = true;
                    return Ok(());
                }
                if apply {
                    self.remove_objects(chunk, removal).await?;
                    continue;
                }
                for object in chunk {
                    removal.unused.objects += 1;
                    removal.unused.bytes += object.bytes;
                    removal.unused.credit(object.uses.iter().map(|of| (of.owner.clone(), of.bytes)).collect());
                }
            }
        }
    }

    /// Marks objects, deletes those that are as they were read, and forgets them. One that cannot be deleted stays marked, for the next removal.
    async fn remove_objects(&self, going: &[&ObjectRow], removal: &mut Removal) -> Result<(), CoordinatorError> {
        // Others count from the mark, which the ledger may take a while to write.
        let (at, until) = (self.clock.now(), Instant::now() + DELETED_WITHIN);
        let seen = going.iter().map(|object| (object.key.clone(), object.used_at)).collect();
        let marked = self.ledger.begin_object_removal(&seen, at).await?;
        let (mut deleted, mut failed, mut is_slow) = (Vec::new(), Vec::new(), false);
        for some in marked.chunks(AT_ONCE) {
            // By both clocks: one of them stands still while a machine is suspended.
            is_slow = self.clock.now().duration_since(at).unsigned_abs() >= DELETED_WITHIN || Instant::now() >= until;
            if is_slow || failed.len() >= AT_ONCE {
                break;
            }
            let Ok(results) = timeout_at(until, delete_at_once(self.catalog.blobs(), some)).await else {
                is_slow = true;
                break;
            };
            for (key, result) in some.iter().zip(results) {
                match result {
                    Ok(()) => deleted.push(key.clone()),
                    Err(error) => failed.push(error),
                }
            }
        }
        removal.unused.credit(self.ledger.finish_object_removal(&deleted, at).await?);
        let deleted: BTreeSet<&str> = deleted.iter().map(String::as_str).collect();
        for object in going.iter().filter(|object| deleted.contains(object.key.as_str())) {
            removal.unused.objects += 1;
            removal.unused.bytes += object.bytes;
        }
        if is_slow {
            return Err(CoordinatorError::SlowRemoval);
        }
        if failed.len() < AT_ONCE {
            failed.iter().for_each(|error: &BlobError| removal.problems.note(causes(error)));
            return Ok(());
        }
        // The store does not answer, or lets nothing be deleted.
        Undeleted::check(failed).map_err(CoordinatorError::from)
    }
}

/// Objects and uses that end: nobody, or not their owner, refers to them, and they were last used at `before` or earlier.
fn decide<'r>(rows: &'r [ObjectRow], references: &References<'_>, before: Timestamp) -> Decided<'r> {
    let mut decided = Decided::default();
    for row in rows {
        let referrers = references.of(&row.key);
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
    use regatta_proto::OwnerName;

    use super::references::Referrers;
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
        let mut found = References::to(rows);
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
