//! What somebody hands in, and what comes back.

use std::collections::BTreeMap;

use regatta_proto::{BenchmarkName, Digest, EndpointName, Snapshot, SweepId, SweepSpec};
use serde::{Deserialize, Serialize};

/// A spec with the manifests of its data. The files themselves are uploaded before, by content.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The spec, with every `${VAR}` substituted.
    pub spec: SweepSpec,
    /// Files of each benchmark.
    pub data: BTreeMap<BenchmarkName, Snapshot>,
    /// Verdict file of each endpoint of kind `recorded`.
    #[serde(default)]
    pub recorded: BTreeMap<EndpointName, Digest>,
}

/// The sweep that a submission became. Submitting the same spec over the same data again gives the same sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// Its id.
    pub id: SweepId,
    /// Whether it is new.
    pub created: bool,
    /// Sessions it has.
    pub sessions: u64,
}
