//! Limits of outbound traffic: the origins that may see each key, and the addresses that may be reached.
//!
//! A spec may come from a stranger, but the policy is a file of the person who runs the process. [`OutboundPolicy::trusting`] is for a
//! person's own machine, where the author of the spec also owns the keys; [`OutboundPolicy::closed`] is for deployed workers.

mod egress;
mod keys;

pub use egress::{EgressRules, Network as PrivateNetwork};
pub use keys::{KeyRule, Origin};

pub(crate) use egress::AllowedAddresses;
pub(crate) use keys::{Withheld, is_loopback_host};

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

/// Rules for all outbound traffic of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundPolicy {
    /// Origins that may see a key, by the name of its variable.
    pub keys: BTreeMap<String, KeyRule>,
    /// `true`: a key without a rule may go wherever a spec sends it. `false`: it may go only to its provider's own origin, and to that of
    /// the provider's address variable.
    pub trusts_specs: bool,
    /// Addresses that may be reached.
    pub egress: Arc<EgressRules>,
}

impl OutboundPolicy {
    /// The policy for specs whose author owns the keys: `regatta run`.
    #[must_use]
    pub fn trusting() -> Self {
        Self { keys: BTreeMap::new(), trusts_specs: true, egress: Arc::new(EgressRules::open()) }
    }

    /// The policy for specs of others, before any rules.
    #[must_use]
    pub fn closed() -> Self {
        Self { keys: BTreeMap::new(), trusts_specs: false, egress: Arc::new(EgressRules::default()) }
    }

    /// Adds `rules` to this policy.
    #[must_use]
    pub fn with(mut self, rules: OutboundRules) -> Self {
        self.keys = rules.keys;
        self.egress = Arc::new(EgressRules { private: rules.egress.private, ..(*self.egress).clone() });
        self
    }
}

/// The outbound part of a policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutboundRules {
    /// Origins that may see a key, by the name of its variable.
    pub keys: BTreeMap<String, KeyRule>,
    /// Addresses that may be reached.
    pub egress: EgressSection,
}

/// The section `egress` of a policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EgressSection {
    /// Private networks and addresses that may be reached, as `10.1.0.0/16` or `127.0.0.1`.
    pub private: Vec<PrivateNetwork>,
}
