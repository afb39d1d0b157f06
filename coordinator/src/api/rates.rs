//! Bounds of what the audit log grows by: changes and uploads of one owner, and refusals of everybody, a minute.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use regatta_proto::OwnerName;

/// Changes that one owner may ask for in a minute.
pub(super) const CHANGES_MAX: u32 = 300;
/// Uploads of one owner that are written to the audit log in a minute; more are counted.
const UPLOADS_MAX: u32 = 300;
/// Refusals of people who are known that are written to the audit log in a minute, of each; more are counted.
const REFUSALS_MAX: u32 = 60;
/// Refusals of strangers that are, of all together: whoever is not let in does not decide how the log grows, nor what it leaves out.
const STRANGERS_REFUSALS_MAX: u32 = 5;
/// Owners whose changes are counted at once; those of a minute that is over are forgotten first.
const OWNERS_MAX: usize = 10_000;

/// The number of a minute since 1970.
fn minute(at: Timestamp) -> i64 {
    at.as_second().div_euclid(60)
}

/// Counts within the present minute.
#[derive(Debug, Default)]
pub(super) struct Rates {
    changes: Mutex<Changes>,
    uploads: Mutex<BTreeMap<OwnerName, Counted>>,
    refusals: Mutex<BTreeMap<Option<OwnerName>, Counted>>,
}

#[derive(Debug, Default)]
struct Changes {
    minute: i64,
    counts: BTreeMap<OwnerName, u32>,
}

/// Entries written within the present minute, and the number left out since the last that was written.
#[derive(Debug, Default)]
struct Counted {
    minute: i64,
    written: u32,
    left_out: u64,
}

impl Counted {
    /// One more, of which `most` are written down in a minute: the number that was left out before it, or `None` if it is left out itself.
    fn admit(&mut self, most: u32, now: Timestamp) -> Option<u64> {
        if self.minute != minute(now) {
            self.minute = minute(now);
            self.written = 0;
        }
        if self.written >= most {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

impl Rates {
    /// `true` if `owner` may ask for one more change.
    pub(super) fn admit_change(&self, owner: &OwnerName, now: Timestamp) -> bool {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if changes.minute != minute(now) {
            *changes = Changes { minute: minute(now), counts: BTreeMap::new() };
        }
        if changes.counts.len() >= OWNERS_MAX && !changes.counts.contains_key(owner) {
            return false;
        }
        let count = changes.counts.entry(owner.clone()).or_default();
        *count += 1;
        *count <= CHANGES_MAX
    }

    /// The number of uploads of `owner` that were left out since the last one that was written, if one more is to be written; `None` if it is
    /// left out itself.
    pub(super) fn admit_upload(&self, owner: &OwnerName, now: Timestamp) -> Option<u64> {
        let mut all = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= OWNERS_MAX && !all.contains_key(owner) {
            all.retain(|_, uploads| uploads.minute == minute(now));
        }
        all.entry(owner.clone()).or_default().admit(UPLOADS_MAX, now)
    }

    /// The number of refusals of `owner`, or of strangers, that were left out since the last one that was written, if one more is to be
    /// written; `None` if it is left out itself.
    pub(super) fn admit_refusal(&self, owner: Option<&OwnerName>, now: Timestamp) -> Option<u64> {
        let mut all = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= OWNERS_MAX && !all.contains_key(&owner.cloned()) {
            all.retain(|owner, refusals| owner.is_none() || refusals.minute == minute(now));
        }
        let most = if owner.is_some() { REFUSALS_MAX } else { STRANGERS_REFUSALS_MAX };
        all.entry(owner.cloned()).or_default().admit(most, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn refusals_beyond_a_minutes_share_are_counted_and_told_of_later() {
        let rates = Rates::default();
        let written = (0..1000).filter(|_| rates.admit_refusal(None, at(30)) == Some(0)).count();
        assert_eq!(written, 5);
        assert_eq!(rates.admit_refusal(None, at(60)), Some(995));
        assert_eq!(rates.admit_refusal(None, at(61)), Some(0));
    }

    #[test]
    fn strangers_leave_no_refusal_of_others_out() {
        let rates = Rates::default();
        let (alice, bob) = ("alice".parse().unwrap(), "bob".parse().unwrap());
        assert_eq!((0..1000).filter(|_| rates.admit_refusal(None, at(30)).is_some()).count(), 5);
        assert_eq!((0..100).filter(|_| rates.admit_refusal(Some(&alice), at(30)).is_some()).count(), 60);
        assert_eq!(rates.admit_refusal(Some(&bob), at(30)), Some(0));
    }

    #[test]
    fn uploads_beyond_a_minutes_share_are_counted_for_each_owner() {
        let rates = Rates::default();
        let (alice, bob) = ("alice".parse().unwrap(), "bob".parse().unwrap());
        assert_eq!((0..1000).filter(|_| rates.admit_upload(&alice, at(1)) == Some(0)).count(), 300);
        assert_eq!(rates.admit_upload(&bob, at(1)), Some(0));
        assert_eq!(rates.admit_upload(&alice, at(60)), Some(700));
    }

    #[test]
    fn one_owners_changes_leave_room_for_anothers() {
        let rates = Rates::default();
        let (alice, bob) = ("alice".parse().unwrap(), "bob".parse().unwrap());
        assert_eq!((0..400).filter(|_| rates.admit_change(&alice, at(1))).count(), 300);
        assert!(rates.admit_change(&bob, at(1)));
        assert!(rates.admit_change(&alice, at(60)));
    }
}
