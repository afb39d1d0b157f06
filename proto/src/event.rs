//! What the coordinator tells all workers.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EndpointName, EndpointSpec, Share, SweepId};

/// An endpoint that has work, and the queue its jobs come on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct EndpointRoute {
    /// Name of the endpoint in the spec.
    pub name: EndpointName,
    /// The sweep whose jobs they are.
    pub sweep: SweepId,
    /// Queue of its jobs at this endpoint.
    pub queue: String,
    /// Endpoints of the same sweep that its sessions need besides, where models play other roles than the agent's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<EndpointName>,
    /// Pool of permits, [`EndpointSpec::pool`]; shared by all sweeps at the same provider.
    pub pool: String,
    /// The sweep's part of that pool.
    pub share: Share,
    /// How to reach the endpoint. Names of secrets, never secrets.
    pub endpoint: EndpointSpec,
}

/// Broadcast at every change and repeated every few seconds, so that a worker that starts late hears it too.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Control {
    /// Endpoints with work: consume these queues.
    pub routes: Vec<EndpointRoute>,
    /// Sweeps whose jobs are to be dropped unrun.
    pub cancelled: Vec<SweepId>,
    /// How often sweeps were resumed, of those that were: jobs of earlier generations are to be dropped unrun.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub generations: BTreeMap<SweepId, u32>,
}
