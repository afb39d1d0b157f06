//! Limits of what an endpoint of a spec may use here: the origins that may see each key, the addresses that may be reached, and the
//! directories of encoders.
//!
//! A spec may come from a stranger, but the policy is a file of the person who runs the process. [`OutboundPolicy::trusting`] is for a
//! person's own machine, where the author of the spec also owns the keys; [`OutboundPolicy::closed`] is for deployed workers.

mod egress;
mod keys;

pub use egress::{EgressRules, Network as PrivateNetwork};
pub use keys::{KeyRule, Origin};

pub(crate) use egress::AllowedAddresses;
#[cfg(test)]
pub(crate) use egress::Names;
pub(crate) use keys::{Withheld, is_loopback_host};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use regatta_proto::EncoderName;
use serde::Deserialize;

/// Rules for all endpoints that this process opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundPolicy {
    /// Origins that may see a key, by the name of its variable.
    pub keys: BTreeMap<String, KeyRule>,
    /// `true`: a key without a rule may go wherever a spec sends it, and files and directories that a spec names are read. `false`: a key
    /// may go only to its provider's own origin, and to that of the provider's address variable, and nothing that a spec names is read.
    pub trusts_specs: bool,
    /// Directories of encoders, by the name that specs choose them by.
    pub encoders: BTreeMap<EncoderName, PathBuf>,
    /// Addresses that may be reached.
    pub egress: Arc<EgressRules>,
}

impl OutboundPolicy {
    /// The policy for specs whose author owns the keys: `regatta run`.
    #[must_use]
    pub fn trusting() -> Self {
        Self { trusts_specs: true, egress: Arc::new(EgressRules::open()), ..Self::closed() }
    }

    /// The policy for specs of others, before any rules.
    #[must_use]
    pub fn closed() -> Self {
        Self {
            keys: BTreeMap::new(),
            trusts_specs: false,
            encoders: BTreeMap::new(),
            egress: Arc::new(EgressRules::default()),
        }
    }

    /// Adds `rules` to this policy.
    #[must_use]
    pub fn with(mut self, rules: OutboundRules) -> Self {
        self.keys = rules.keys;
        self.encoders = rules.encoders;
        self.egress = Arc::new(EgressRules { private: rules.egress.private, ..(*self.egress).clone() });
        self
    }
}

/// The part of a policy file that is about endpoints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutboundRules {
    /// Origins that may see a key, by the name of its variable.
    pub keys: BTreeMap<String, KeyRule>,
    /// Addresses that may be reached.
    pub egress: EgressSection,
    /// Directories of encoders, by the name that specs choose them by.
    pub encoders: BTreeMap<EncoderName, PathBuf>,
}

/// The section `egress` of a policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EgressSection {
    /// Private networks and addresses that may be reached, as `10.1.0.0/16` or `127.0.0.1`.
    pub private: Vec<PrivateNetwork>,
}
