//! What a worker must be told.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use regatta_bridge::BridgePlace;
use regatta_llm::{Network, PermitStore, ResponseStore};
use regatta_proto::{Clock, EndpointName, WorkerId};

use crate::Policy;

/// How this process works.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// Unique per process start; attempt ids derive from it.
    pub id: WorkerId,
    /// Endpoints whose queues this process consumes, by their names in specs; `None` is all whose keys it has.
    pub endpoints: Option<BTreeSet<EndpointName>>,
    /// How long sessions may go on after the first signal, before they are handed over.
    pub drain: Duration,
    /// A session older than this is handed over as a continuation job. Must stay below the broker's acknowledgement time-out
    /// (RabbitMQ: 30 minutes by default) less the longest single call, or the broker gives the session to a second worker.
    pub hand_over_after: Duration,
    /// How often the money of running attempts is reported.
    pub progress_every: Duration,
    /// Seed of retry jitter.
    pub seed: u64,
    /// Where external agents reach the bridge, once there are any. Whoever reaches it and knows the address of a session can ask models
    /// there, so it belongs to the loopback interface, or is encrypted.
    pub bridge: BridgePlace,
    /// Handed to agents where the authorities of their system do not know the bridge's certificate.
    pub bridge_authorities: Option<AgentAuthorities>,
    /// Program that begins with `regatta_processes::be_relay`, for containers; this process's own when absent.
    pub container_relay: Option<PathBuf>,
}

/// Authorities by which agents know the bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAuthorities {
    /// Those of the bridge alone (PEM), for agents on other machines.
    pub own: String,
    /// A file that every agent of this machine can read, with those of the system beside them (PEM): most programs take it in place of the
    /// system's.
    pub with_systems: PathBuf,
}

impl WorkerConfig {
    /// The documented defaults for a worker called `id`.
    #[must_use]
    pub fn new(id: WorkerId, seed: u64) -> Self {
        Self {
            id,
            endpoints: None,
            drain: Duration::from_secs(25),
            hand_over_after: Duration::from_secs(20 * 60),
            progress_every: Duration::from_millis(250),
            seed,
            bridge: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).into(),
            bridge_authorities: None,
            container_relay: None,
        }
    }
}

/// What a worker takes from the machine it runs on.
#[derive(Clone)]
pub struct Environment {
    /// Timestamps.
    pub clock: Arc<dyn Clock>,
    /// Variables that hold keys, and those that commands of external agents get, by name. A map and not the process environment, so that
    /// tests and the embedded run need not set it.
    pub variables: Arc<BTreeMap<String, String>>,
    /// Permits and money, shared by the fleet.
    pub permits: Arc<dyn PermitStore>,
    /// Kept answers, shared by the fleet.
    pub answers: Arc<dyn ResponseStore>,
    /// Permissions of specs that others wrote.
    pub policy: Arc<Policy>,
    /// Takes the calls to endpoints over HTTP; `None` is the machine's network.
    pub network: Option<Arc<dyn Network>>,
}
