//! Objects that people store.

use std::collections::BTreeMap;

use jiff::Timestamp;
use regatta_proto::OwnerName;

use super::{LedgerFuture, each};
use crate::ledger::{Credits, EndedUse, Ledger, ObjectRow, ObjectState, ObjectUses};

/// Storage: calls of the API, and of whoever removes what nobody needs.
impl Ledger {
    /// Begins uses of objects: charges the owner for those that are none of its yet, and keeps all from being removed for now. Returns the keys
    /// that the ledger does not know, of which no size is given; nothing is done about these. [`Ledger::end_uses`] follows.
    ///
    /// # Errors
    /// [`LedgerError::StorageExceeded`](super::LedgerError::StorageExceeded) or
    /// [`LedgerError::ObjectRemoved`](super::LedgerError::ObjectRemoved), which change nothing, or when the store fails.
    pub fn begin_uses(&self, uses: ObjectUses) -> LedgerFuture<'_, Vec<String>> {
        each!(self.begin_uses(uses))
    }

    /// Ends uses of `owner` that were begun. If they have succeeded, the objects are stored, and the charge stays; otherwise it is taken back
    /// where no other use by the owner has succeeded or is pending.
    ///
    /// # Errors
    /// When the store fails.
    pub fn end_uses<'a>(&'a self, owner: &'a OwnerName, keys: &'a [String], succeeded: bool) -> LedgerFuture<'a, ()> {
        each!(self.end_uses(owner, keys, succeeded))
    }

    /// States of those of `keys` that the ledger knows.
    ///
    /// # Errors
    /// When the store fails.
    pub fn object_states<'a>(&'a self, keys: &'a [String]) -> LedgerFuture<'a, BTreeMap<String, ObjectState>> {
        each!(self.object_states(keys))
    }

    /// At most `limit` objects with keys after `after` that were last used at `before` or earlier, by all or by one of their owners; by key.
    ///
    /// # Errors
    /// When the store fails.
    pub fn idle_objects<'a>(
        &'a self,
        before: Timestamp,
        after: Option<&'a str>,
        limit: u32,
    ) -> LedgerFuture<'a, Vec<ObjectRow>> {
        each!(self.idle_objects(before, after, limit))
    }

    /// Ends those of `uses` that are as they were read, and credits their owners. The objects stay.
    ///
    /// # Errors
    /// When the store fails.
    pub fn release_uses(&self, uses: Vec<EndedUse>) -> LedgerFuture<'_, Credits> {
        each!(self.release_uses(uses))
    }

    /// Marks those of `objects` that were last used when they were read as being removed from `at` on, and returns their keys. Left out are
    /// objects whose removal has begun within [`REMOVAL_MAX`](crate::ledger::REMOVAL_MAX).
    ///
    /// # Errors
    /// When the store fails.
    pub fn begin_object_removal<'a>(
        &'a self,
        objects: &'a BTreeMap<String, Timestamp>,
        at: Timestamp,
    ) -> LedgerFuture<'a, Vec<String>> {
        each!(self.begin_object_removal(objects, at))
    }

    /// Forgets those of the objects that were marked at `at`, after they were deleted, and credits their owners.
    ///
    /// # Errors
    /// When the store fails.
    pub fn finish_object_removal<'a>(&'a self, keys: &'a [String], at: Timestamp) -> LedgerFuture<'a, Credits> {
        each!(self.finish_object_removal(keys, at))
    }
}
