//! Issuers, as the policy file of a coordinator declares them.

use std::collections::BTreeMap;

use anyhow::ensure;
use jsonwebtoken::Algorithm;
use regatta_proto::Scope;
use serde::Deserialize;

/// Largest difference of clocks that may be allowed for, in seconds.
const SKEW_MAX_S: u64 = 300;

/// One issuer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeclaredIssuer {
    /// The `iss` of its tokens, to the letter.
    pub(super) issuer: String,
    /// The `aud` that its tokens must have: the name of this coordinator there.
    pub(super) audience: String,
    /// Address of its keys; found by discovery when left out.
    #[serde(default)]
    pub(super) jwks_uri: Option<String>,
    /// Algorithms of its signatures.
    #[serde(default = "usual_algorithms")]
    pub(super) algorithms: Vec<SignatureAlgorithm>,
    /// Claim that names the owner.
    #[serde(default = "subject")]
    pub(super) owner_claim: String,
    /// Written before it, so that the owners of two issuers are apart.
    #[serde(default)]
    pub(super) owner_prefix: String,
    /// Claim whose values give rights: a text of words, or a list.
    #[serde(default = "groups")]
    pub(super) scopes_claim: String,
    /// Rights that each value gives.
    #[serde(default)]
    pub(super) grants: BTreeMap<String, Vec<Scope>>,
    /// Rights of everybody who has a token of this issuer.
    #[serde(default)]
    pub(super) everybody: Vec<Scope>,
    /// Difference of clocks that is allowed for, in seconds.
    #[serde(default = "usual_skew")]
    pub(super) clock_skew_s: u64,
}

impl DeclaredIssuer {
    /// Fails with the field that makes no sense.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        ensure!(!self.audience.is_empty(), "audience: is empty; it is what keeps tokens for other services out");
        ensure!(!self.algorithms.is_empty(), "algorithms: is empty; leave it out, or name one of RS256, ES256, EdDSA");
        ensure!(self.clock_skew_s <= SKEW_MAX_S, "clock_skew_s: {} is over {SKEW_MAX_S}", self.clock_skew_s);
        ensure!(
            !self.grants.is_empty() || !self.everybody.is_empty(),
            "grants: no token would have a right; give `grants`, or `everybody: [read]`"
        );
        Ok(())
    }
}

/// An algorithm with a public key. None of a shared secret can be written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum SignatureAlgorithm {
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    EdDSA,
}

impl From<SignatureAlgorithm> for Algorithm {
    fn from(algorithm: SignatureAlgorithm) -> Self {
        match algorithm {
            SignatureAlgorithm::RS256 => Self::RS256,
            SignatureAlgorithm::RS384 => Self::RS384,
            SignatureAlgorithm::RS512 => Self::RS512,
            SignatureAlgorithm::PS256 => Self::PS256,
            SignatureAlgorithm::PS384 => Self::PS384,
            SignatureAlgorithm::PS512 => Self::PS512,
            SignatureAlgorithm::ES256 => Self::ES256,
            SignatureAlgorithm::ES384 => Self::ES384,
            SignatureAlgorithm::EdDSA => Self::EdDSA,
        }
    }
}

fn usual_algorithms() -> Vec<SignatureAlgorithm> {
    vec![SignatureAlgorithm::RS256, SignatureAlgorithm::ES256]
}

fn subject() -> String {
    "sub".to_owned()
}

fn groups() -> String {
    "groups".to_owned()
}

const fn usual_skew() -> u64 {
    60
}
