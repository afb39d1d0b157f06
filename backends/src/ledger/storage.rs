//! Objects that people store, and how many bytes of them each owner may have at a time.
//!
//! An object is a key of the blob store. Each owner who has stored it or refers to it is charged for it, once: were the first alone charged,
//! who shares a data set would pay for all, and could not get rid of it while others use it. A charge is made before the bytes are stored,
//! under a lock of the owner's row, and taken back if they are not; so nothing that runs concurrently exceeds the quota.
//!
//! Blob store and ledger share no transaction. So an object is removed in steps: it is marked, and nobody may refer to it any more; it is
//! deleted; its row goes, and its owners are credited. Every use changes the object's row, and only a row that is as it was read is marked:
//! whoever reads the rows before the references marks nothing that came to be referred to in between. All calls lock objects by key before
//! owners by name.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use regatta_proto::{OwnerName, binary_size};
use serde::{Deserialize, Serialize};

use super::LedgerError;

/// Bytes that an object is charged at least: however small it is, it takes a row here and an object in the blob store.
pub const OBJECT_BYTES_MIN: u64 = 4096;

/// Time after which a removal that was begun and not finished has died. Whoever removes gives up deleting before.
pub const REMOVAL_MAX: SignedDuration = SignedDuration::from_mins(15);

/// Largest quota that can be written as a number of GiB: nobody has more, and it fits its column.
const GIB_MAX: f64 = (1_u64 << 30) as f64;

/// Most bytes that an owner may have stored at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StorageQuota {
    /// Bytes; `None` is without limit.
    pub bytes: Option<u64>,
}

impl StorageQuota {
    /// A limit of `gib` GiB; `None` if that is negative, no number, or more than can be stored.
    #[must_use]
    pub fn from_gib(gib: f64) -> Option<Self> {
        let bytes = (0.0..=GIB_MAX).contains(&gib).then_some((gib * (1_u64 << 30) as f64) as u64)?;
        Some(Self { bytes: Some(bytes) })
    }

    /// The lower of both limits.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        Self { bytes: self.bytes.into_iter().chain(other.bytes).min() }
    }

    /// Fails if `more` bytes, with which `owner` has `stored` in all, exceed the quota. One that was lowered below what is stored already
    /// refuses nothing that needs no more.
    pub(super) fn check(self, owner: &OwnerName, more: u64, stored: u64) -> Result<(), LedgerError> {
        match self.bytes {
            Some(limit) if more > 0 && stored > limit => Err(LedgerError::StorageExceeded {
                owner: owner.clone(),
                limit: binary_size(limit),
                stored: binary_size(stored.saturating_sub(more)),
                more: binary_size(more),
            }),
            Some(_) | None => Ok(()),
        }
    }
}

/// Bytes that an owner is charged for an object of `bytes`.
pub(super) fn charged_for(bytes: u64) -> u64 {
    bytes.max(OBJECT_BYTES_MIN)
}

/// `true` if a removal that was begun at `since` is over at `at`, whatever has become of it; both in nanoseconds since 1970.
pub(super) fn has_died(since: i64, at: i64) -> bool {
    i128::from(at) - i128::from(since) >= REMOVAL_MAX.as_nanos()
}

/// Objects that somebody begins to store, or to refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectUses {
    /// The owner who is charged; `None` charges nobody.
    pub owner: Option<OwnerName>,
    /// Sizes by key; `None` where only an object that the ledger knows is meant.
    pub objects: BTreeMap<String, Option<u64>>,
    /// `true` if they are about to be stored. An object whose removal has died may be stored again, but not referred to.
    pub is_upload: bool,
    /// Most bytes of the owner; the ledger may have a lower quota.
    pub quota: StorageQuota,
    /// Time of the use.
    pub at: Timestamp,
}

/// State of an object that the ledger knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectState {
    /// It is stored, or about to be.
    Stored,
    /// It is being removed.
    Removing,
}

/// An object that the ledger knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRow {
    /// Key in the blob store.
    pub key: String,
    /// Size.
    pub bytes: u64,
    /// Time of its last use.
    pub used_at: Timestamp,
    /// Owners who are charged for it, by name.
    pub uses: Vec<ObjectUse>,
}

/// An owner's use of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectUse {
    /// The owner.
    pub owner: OwnerName,
    /// Bytes that the owner is charged.
    pub bytes: u64,
    /// Time at which the owner last used it.
    pub used_at: Timestamp,
}

/// An owner's use of an object as it was read, which is to end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndedUse {
    /// Key of the object.
    pub key: String,
    /// The owner.
    pub owner: OwnerName,
    /// Time at which the owner had last used it.
    pub used_at: Timestamp,
}

/// Bytes by owner that are charged no more.
pub type Credits = BTreeMap<OwnerName, u64>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_in_gib_is_a_number_of_bytes() {
        let bytes = |gib| StorageQuota::from_gib(gib).map(|quota| quota.bytes.unwrap());
        assert_eq!([bytes(0.0), bytes(0.5), bytes(2.0)], [Some(0), Some(1 << 29), Some(2 << 30)]);
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e10] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_leads_beyond_a_storage_quota_is_refused_with_the_numbers_and_what_to_do() {
        let owner = "alice".parse().unwrap();
        let check = |limit, more, stored| StorageQuota { bytes: Some(limit) }.check(&owner, more, stored);
        assert!(check(10, 4, 10).is_ok());
        assert!(check(10, 0, 14).is_ok(), "nothing more is needed");
        insta::assert_snapshot!(check(3 << 30, 300 << 20, (3 << 30) + (44 << 20)).unwrap_err());
    }
}
