//! People and programs at the API: who they are, what they may do, and how much.

use std::collections::BTreeMap;
use std::fmt;

use futures::future::BoxFuture;
use regatta_backends::Quota;
use regatta_proto::{OwnerName, Scope, Scopes, TokenId};

/// Credential by which somebody is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// The coordinator asks for nothing.
    Open,
    /// A client certificate, where the coordinator asks for nothing else.
    Certificate,
    /// The token of the coordinator's environment.
    Operator,
    /// A token of the ledger.
    Token(TokenId),
    /// A bearer token of an issuer of the coordinator's policy.
    Issuer(String),
}

impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("no token"),
            Self::Certificate => f.write_str("certificate"),
            Self::Operator => f.write_str("operator's token"),
            Self::Token(id) => write!(f, "token {id}"),
            Self::Issuer(issuer) => write!(f, "issuer {issuer}"),
        }
    }
}

/// Identity behind a request: owner, rights and credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Owner of what they submit.
    pub owner: OwnerName,
    /// Their rights.
    pub scopes: Scopes,
    /// Credential that was shown.
    pub credential: Credential,
}

impl Principal {
    /// A principal with all rights, known by `credential`.
    #[must_use]
    pub fn admin(credential: Credential) -> Self {
        Self { owner: OwnerName::operator(), scopes: Scopes::from_iter([Scope::Admin]), credential }
    }

    /// `true` if they may change what belongs to `owner`. What belongs to nobody is an admin's.
    #[must_use]
    pub fn may_change(&self, owner: Option<&OwnerName>) -> bool {
        self.scopes.allow(Scope::Admin) || (self.scopes.allow(Scope::Submit) && owner == Some(&self.owner))
    }
}

/// Reason why a bearer token was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// It is not valid.
    #[error("{0}")]
    Refused(String),
    /// Nobody can tell at the moment.
    #[error("{0}")]
    Unavailable(String),
}

/// Takes bearer tokens of others than the coordinator: those of OpenID Connect.
pub trait BearerVerifier: Send + Sync {
    /// The person that `token` stands for.
    ///
    /// # Errors
    /// When the token is not valid, or the keys of its issuer cannot be had.
    fn verify<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Principal, Unverified>>;
}

/// Quotas of the coordinator's policy file. The ledger has its own; the lower limit counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Quotas of owners by name.
    pub named: BTreeMap<OwnerName, Quota>,
    /// Quota of each owner that is not named.
    pub others: Quota,
}

impl Quotas {
    /// The quota of `owner`; none for nobody, nor for the operator unless it is named.
    #[must_use]
    pub fn of(&self, owner: Option<&OwnerName>) -> Quota {
        let Some(owner) = owner else { return Quota::default() };
        let others = if *owner == OwnerName::operator() { Quota::default() } else { self.others };
        self.named.get(owner).copied().unwrap_or(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn somebody(owner: &str, scopes: &str) -> Principal {
        let (owner, scopes) = (owner.parse().unwrap(), scopes.parse().unwrap());
        Principal { owner, scopes, credential: Credential::Open }
    }

    #[test]
    fn people_change_their_own_and_admins_everything() {
        let (alice, bob) = ("alice".parse().unwrap(), "bob".parse().unwrap());
        for (who, own, others, nobodys) in [
            (somebody("alice", "read,submit"), true, false, false),
            (somebody("alice", "submit"), true, false, false),
            (somebody("alice", "read"), false, false, false),
            (somebody("carol", "admin"), true, true, true),
        ] {
            let may = (who.may_change(Some(&alice)), who.may_change(Some(&bob)), who.may_change(None));
            assert_eq!(may, (own, others, nobodys), "{who:?}");
        }
    }

    #[test]
    fn owners_without_a_quota_of_their_own_have_that_of_the_others() {
        let quota = |sessions| Quota { budget: None, sessions: Some(sessions) };
        let quotas = Quotas { named: BTreeMap::from([("alice".parse().unwrap(), quota(5))]), others: quota(1) };
        assert_eq!(quotas.of(Some(&"alice".parse().unwrap())), quota(5));
        assert_eq!(quotas.of(Some(&"bob".parse().unwrap())), quota(1));
        assert_eq!(quotas.of(None), Quota::default());
        assert_eq!(quotas.of(Some(&OwnerName::operator())), Quota::default());
    }
}
