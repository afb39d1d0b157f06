//! People and programs at the API: who they are, what they may do, and how much.

use std::collections::BTreeMap;
use std::fmt;

use futures::future::BoxFuture;
use regatta_backends::{Quota, StorageQuota};
use regatta_proto::{Digest, OwnerName, Scope, Scopes, TokenId};

/// Credential by which somebody is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// The coordinator asks for nothing.
    Open,
    /// A client certificate, by its first name or its fingerprint, where the coordinator asks for nothing else.
    Certificate(String),
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
            Self::Certificate(name) => write!(f, "certificate {name}"),
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

/// A client certificate that a listener has verified. It is among the extensions of every request of its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    /// Alternative names of its subject (mail, DNS, URI), in its order, and then the common name.
    pub names: Vec<String>,
    /// SHA-256 of the certificate.
    pub fingerprint: Digest,
}

/// Rights of people and programs with client certificates, where the coordinator asks for nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateRules {
    /// By one of the certificate's names; the certificate's first name that is here counts.
    pub names: BTreeMap<String, CertificateGrant>,
    /// Rights of all others.
    pub everybody: Scopes,
}

/// Rights and owner of client certificates of a certain name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateGrant {
    /// Rights.
    pub scopes: Scopes,
    /// Owner of what is submitted; `None` is the certificate's name.
    pub owner: Option<OwnerName>,
}

impl CertificateRules {
    /// `true` if no certificate has a right.
    #[must_use]
    pub fn grant_nothing(&self) -> bool {
        self.everybody.is_empty() && self.names.values().all(|grant| grant.scopes.is_empty())
    }

    /// The person that `certificate` stands for. The owner is the granted one, or else the first name that may be one, or else, where none
    /// may, the beginning of the fingerprint.
    #[must_use]
    pub fn principal(&self, certificate: &PeerCertificate) -> Principal {
        let PeerCertificate { names, fingerprint } = certificate;
        let granted = names.iter().find_map(|name| Some((name, self.names.get(name)?)));
        let usable = |name: &String| OwnerName::new(name).ok().filter(|owner| !owner.is_reserved());
        let (scopes, owner) = match granted {
            Some((name, CertificateGrant { scopes, owner })) => (*scopes, owner.clone().or_else(|| usable(name))),
            None => (self.everybody, None),
        };
        let owner = owner.or_else(|| names.iter().find_map(usable));
        Principal {
            owner: owner.unwrap_or_else(|| OwnerName::of_certificate(fingerprint)),
            scopes,
            credential: Credential::Certificate(names.first().cloned().unwrap_or_else(|| fingerprint.short())),
        }
    }
}

/// Why a bearer token was not taken.
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

/// Quotas of an owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnerQuotas {
    /// Most that may be granted to the owner's sweeps, in all.
    pub granted: Quota,
    /// Most that the owner may have stored at a time.
    pub storage: StorageQuota,
}

/// Quotas of the coordinator's policy file. The ledger has its own; the lower limit counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Quotas of owners by name.
    pub named: BTreeMap<OwnerName, OwnerQuotas>,
    /// Quotas of each owner that is not named.
    pub others: OwnerQuotas,
}

impl Quotas {
    /// The quotas of `owner`; none for nobody, nor for the operator unless it is named.
    #[must_use]
    pub fn of(&self, owner: Option<&OwnerName>) -> OwnerQuotas {
        let Some(owner) = owner else { return OwnerQuotas::default() };
        let others = if *owner == OwnerName::operator() { OwnerQuotas::default() } else { self.others };
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

    fn certificate(names: &[&str]) -> PeerCertificate {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        PeerCertificate { names, fingerprint: Digest::of(b"certificate") }
    }

    #[test]
    fn a_certificate_stands_for_its_first_name_that_may_be_an_owner() {
        for (names, owner, credential) in [
            (&["alice@example.com", "Alice"][..], "alice@example.com", "certificate alice@example.com"),
            (&["spiffe://example/ci", "ci"], "ci", "certificate spiffe://example/ci"),
            (&["operator", "Alice A."], "certificate-03d66dd08835c1ca3f128cceacd1f31a", "certificate operator"),
            (&[], "certificate-03d66dd08835c1ca3f128cceacd1f31a", "certificate 03d66dd0"),
        ] {
            let principal = CertificateRules::default().principal(&certificate(names));
            assert_eq!(principal.owner.as_str(), owner, "{names:?}");
            assert_eq!(principal.credential.to_string(), credential);
            assert!(principal.scopes.is_empty(), "no rules, no rights");
        }
    }

    #[test]
    fn rules_grant_rights_by_name_and_the_rest_to_everybody() {
        let grant = |scopes: &str, owner: Option<&str>| CertificateGrant {
            scopes: scopes.parse().unwrap(),
            owner: owner.map(|owner| owner.parse().unwrap()),
        };
        let rules = CertificateRules {
            names: BTreeMap::from([
                ("alice".to_owned(), grant("read,submit", None)),
                ("spiffe://example/ci".to_owned(), grant("submit", Some("ci"))),
            ]),
            everybody: "read".parse().unwrap(),
        };
        let of = |names: &[&str]| {
            let Principal { owner, scopes, .. } = rules.principal(&certificate(names));
            (owner.to_string(), scopes.to_string())
        };
        assert_eq!(of(&["other.example", "alice"]), ("alice".to_owned(), "read,submit".to_owned()));
        assert_eq!(of(&["spiffe://example/ci"]), ("ci".to_owned(), "submit".to_owned()));
        assert_eq!(of(&["bob"]), ("bob".to_owned(), "read".to_owned()));
        assert!(!rules.grant_nothing() && CertificateRules::default().grant_nothing());
    }

    #[test]
    fn owners_without_a_quota_of_their_own_have_that_of_the_others() {
        let quota = |sessions| OwnerQuotas {
            granted: Quota { budget: None, sessions: Some(sessions) },
            storage: StorageQuota { bytes: Some(1 << sessions) },
        };
        let quotas = Quotas { named: BTreeMap::from([("alice".parse().unwrap(), quota(5))]), others: quota(1) };
        assert_eq!(quotas.of(Some(&"alice".parse().unwrap())), quota(5));
        assert_eq!(quotas.of(Some(&"bob".parse().unwrap())), quota(1));
        assert_eq!(quotas.of(None), OwnerQuotas::default());
        assert_eq!(quotas.of(Some(&OwnerName::operator())), OwnerQuotas::default());
    }
}
