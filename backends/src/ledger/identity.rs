//! Tokens, and quotas of owners.
//!
//! A quota counts the budgets and sessions granted to an owner's sweeps, used or not, so an owner can never exceed it, whatever runs
//! concurrently. It is checked in the transaction that writes the sweep, under a lock of the owner's row.

use jiff::Timestamp;
use regatta_proto::{Digest, Money, OwnerName, Scopes, TokenId};
use serde::{Deserialize, Serialize};

use super::{LedgerError, StorageQuota};

/// Most tokens of a ledger, revoked ones included.
pub(super) const TOKENS_MAX: i64 = 10_000;
/// Most tokens of an owner that are neither revoked nor expired. Whoever has so many leaves some lying about; and one owner's must leave room
/// for others'.
pub(super) const OWNER_TOKENS_MAX: i64 = 100;

/// Most that may be granted to an owner's sweeps in total; `None` is without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Quota {
    /// Sum of the sweeps' budgets.
    pub budget: Option<Money>,
    /// Sum of the sweeps' sessions.
    pub sessions: Option<u64>,
}

impl Quota {
    /// The lower of each limit.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        let lower = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Self {
            budget: lower(self.budget.map(|money| money.0), other.budget.map(|money| money.0)).map(Money),
            sessions: lower(self.sessions, other.sessions),
        }
    }

    /// Fails if a grant of `wanted` to a sweep of `owner` exceeds the quota; with it, `granted` money and sessions are granted in all. A quota
    /// that was lowered below what is granted already refuses no grant that wants nothing of it.
    pub(super) fn check(
        self,
        owner: &OwnerName,
        wanted: (Option<Money>, u64),
        granted: (Money, u64),
    ) -> Result<(), LedgerError> {
        let refuse = |problem: String| Err(LedgerError::QuotaExceeded { owner: owner.clone(), problem });
        if let Some(quota) = self.budget
            && wanted.0 != Some(Money::ZERO)
        {
            let Some(wanted) = wanted.0 else {
                return refuse(format!(
                    "it may be granted {quota} in all, and this sweep has no limit; give it a budget_usd"
                ));
            };
            if granted.0 > quota {
                let before = Money(granted.0.0.saturating_sub(wanted.0));
                let left = Money(quota.0.saturating_sub(before.0));
                return refuse(format!(
                    "of {quota} in all, {before} are granted to its sweeps, and this one wants {wanted} more; lower its budget to {left}"
                ));
            }
        }
        if let Some(quota) = self.sessions
            && wanted.1 > 0
            && granted.1 > quota
        {
            let before = granted.1.saturating_sub(wanted.1);
            return refuse(format!(
                "of {quota} sessions in all, {before} are granted to its sweeps, and this one wants {} more; lower its limit or trials",
                wanted.1
            ));
        }
        Ok(())
    }
}

/// A token to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// Public part of the token.
    pub id: TokenId,
    /// Digest of the whole token.
    pub digest: Digest,
    /// The person or program that uses it.
    pub owner: OwnerName,
    /// Rights of the token.
    pub scopes: Scopes,
    /// Time of creation.
    pub created_at: Timestamp,
    /// The owner that asked for it.
    pub created_by: OwnerName,
    /// Time from which it is refused; `None` is never.
    pub expires_at: Option<Timestamp>,
    /// The owner's quota from now on; `None` leaves it unchanged.
    pub quota: Option<Quota>,
    /// The owner's quota of stored bytes from now on; `None` leaves it unchanged.
    pub storage: Option<StorageQuota>,
}

/// A token, without the secret part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRow {
    /// Public part of the token.
    pub id: TokenId,
    /// The person or program that uses it.
    pub owner: OwnerName,
    /// Rights of the token.
    pub scopes: Scopes,
    /// Time of creation.
    pub created_at: Timestamp,
    /// The owner that asked for it.
    pub created_by: OwnerName,
    /// Time from which it is refused; `None` is never.
    pub expires_at: Option<Timestamp>,
    /// Time at which it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// An owner with a quota, with sweeps, or with stored objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRow {
    /// Name.
    pub owner: OwnerName,
    /// Quota in the ledger; the coordinator's policy file may have a lower one.
    pub quota: Quota,
    /// Money granted to the owner's sweeps so far.
    pub granted: Money,
    /// Sessions granted to the owner's sweeps so far.
    pub granted_sessions: u64,
    /// Bytes of the objects that the owner has stored or refers to at present, each at least [`OBJECT_BYTES_MIN`](super::OBJECT_BYTES_MIN).
    #[serde(default)]
    pub stored_bytes: u64,
    /// Quota of stored bytes in the ledger; the coordinator's policy file may have a lower one.
    #[serde(default)]
    pub storage: StorageQuota,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_quotas_the_lower_limits_count() {
        let quota = |budget: Option<u64>, sessions| Quota { budget: budget.map(Money), sessions };
        let both = quota(Some(5), None).stricter(quota(Some(3), Some(7)));
        assert_eq!(both, quota(Some(3), Some(7)));
        assert_eq!(Quota::default().stricter(Quota::default()), Quota::default());
    }

    #[test]
    fn what_leads_beyond_a_quota_is_refused_with_what_is_left() {
        let owner = "alice".parse().unwrap();
        let quota = Quota { budget: Money::from_dollars(10.0), sessions: Some(100) };
        let check = |budget: Option<f64>, sessions, granted: f64, granted_sessions| {
            let wanted = (budget.and_then(Money::from_dollars), sessions);
            let checked = quota.check(&owner, wanted, (Money::from_dollars(granted).unwrap(), granted_sessions));
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(check(Some(4.0), 50, 10.0, 100), Ok(()));
        insta::assert_snapshot!(check(Some(4.0), 50, 12.0, 60).unwrap_err());
        insta::assert_snapshot!(check(Some(4.0), 50, 9.0, 120).unwrap_err());
        insta::assert_snapshot!(check(None, 1, 0.0, 1).unwrap_err());
    }
}
