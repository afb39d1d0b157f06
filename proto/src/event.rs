//! Broadcasts of the coordinator to all workers.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EndpointName, EndpointSpec, Share, SweepId};

/// An endpoint that has work, with the queue of its jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct EndpointRoute {
    /// Name of the endpoint in the spec.
    pub name: EndpointName,
    /// The sweep that the jobs belong to.
    pub sweep: SweepId,
    /// Queue of the sweep's jobs at this endpoint.
    pub queue: String,
    /// Further endpoints that the sweep's sessions need, for models in other roles than the agent's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<EndpointName>,
    /// Name of the pool of permits, [`EndpointSpec::pool`]; shared by all sweeps at the same provider.
    pub pool: String,
    /// The sweep's share of that pool.
    pub share: Share,
    /// Settings of the endpoint. Contains names of secrets, never secrets.
    pub endpoint: EndpointSpec,
}

/// Place of a broadcast among all others of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BroadcastNumber {
    /// Term of the leader that sent it.
    pub term: u64,
    /// Number among the broadcasts of that leader, growing.
    pub sequence: u64,
}

/// Broadcast after every change and repeated every few seconds, so that a worker that starts later receives it too.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Control {
    /// Endpoints with work, whose queues workers consume.
    pub routes: Vec<EndpointRoute>,
    /// Sweeps whose jobs are dropped without being run: those of the generation that `generations` says, and of earlier ones.
    pub cancelled: Vec<SweepId>,
    /// Number of resumes of each sweep that was resumed, also of cancelled ones; jobs of earlier generations are dropped without being run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub generations: BTreeMap<SweepId, u32>,
    /// Place among all broadcasts, so that one that comes late undoes no newer one; absent in those of versions that did not number them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<BroadcastNumber>,
}
