//! Limits of what this process sends: which origins see which key, and which addresses are reached at all.
//!
//! A spec may come from a stranger, the policy never does: it is a file of whoever runs the process. [`OutboundPolicy::trusting`] is for a
//! person's own machine, where the spec's author and the keys' owner are one; [`OutboundPolicy::closed`] is for deployed workers.

mod egress;
mod keys;

pub use egress::{EgressRules, Network as PrivateNetwork};
pub use keys::{KeyRule, Origin};

pub(crate) use egress::AllowedAddresses;
pub(crate) use keys::{Withheld, is_loopback_host};

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

/// Rules for everything that leaves this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundPolicy {
    /// Origins that may see a key, by the name of its variable.
    pub keys: BTreeMap<String, KeyRule>,
    /// `true`: a key without a rule goes wherever a spec sends it. `false`: it goes to its provider's own origin, and to that of the
    /// provider's address variable, alone.
    pub trusts_specs: bool,
    /// Addresses that may be reached.
    pub egress: Arc<EgressRules>,
}

impl OutboundPolicy {
    /// Where whoever wrote the spec owns the keys: `regatta run`.
    #[must_use]
    pub fn trusting() -> Self {
        Self { keys: BTreeMap::new(), trusts_specs: true, egress: Arc::new(EgressRules::open()) }
    }

    /// Where specs come from others and nothing has been allowed yet.
    #[must_use]
    pub fn closed() -> Self {
        Self { keys: BTreeMap::new(), trusts_specs: false, egress: Arc::new(EgressRules::default()) }
    }

    /// This policy with what `rules` add.
    #[must_use]
    pub fn with(mut self, rules: OutboundRules) -> Self {
        self.keys = rules.keys;
        self.egress = Arc::new(EgressRules { private: rules.egress.private, ..(*self.egress).clone() });
        self
    }
}

/// The part of a policy file that is about what leaves the process.
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
