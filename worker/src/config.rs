//! Settings of a worker, and the services that it takes from its process.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use regatta_bridge::BridgePlace;
use regatta_llm::{Network, PermitStore, ResponseStore, Standstill};
use regatta_memory::ByteBudget;
use regatta_proto::{Clock, EndpointName, WorkerId};

use crate::Policy;

/// Settings of one worker process.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// Unique per process start; attempt ids derive from it.
    pub id: WorkerId,
    /// Endpoints whose queues this process consumes, by their names in specs; `None` is all whose keys it has.
    pub endpoints: Option<BTreeSet<EndpointName>>,
    /// Longest time that sessions go on after the first signal; then they are handed over.
    pub drain: Duration,
    /// A session older than this is handed over as a continuation job. Must stay below the broker's acknowledgement time-out
    /// (RabbitMQ: 30 minutes by default) less the longest single call, or the broker gives the session to a second worker.
    pub hand_over_after: Duration,
    /// Time after which a connection to the broker that is dead is known to be, so that an acknowledgement which was sent before has come: two
    /// heartbeats, and some.
    pub acknowledged_after: Duration,
    /// Checkpoints are in the compact form; `false` where a worker of the version before may go on from them.
    pub compact_transcripts: bool,
    /// Interval between two reports of the money of running attempts.
    pub progress_every: Duration,
    /// Seed of retry jitter.
    pub seed: u64,
    /// Address at which external agents reach the bridge, which starts with the first agent. Anyone who reaches it and knows the address of
    /// a session can ask models there, so it must be on the loopback interface, or encrypted.
    pub bridge: BridgePlace,
    /// Handed to agents where the authorities of their system do not know the bridge's certificate.
    pub bridge_authorities: Option<AgentAuthorities>,
    /// Program that begins with `regatta_processes::be_relay`, for containers; this process's own when absent.
    pub container_relay: Option<PathBuf>,
    /// Folder with token, authority (`ca.crt`) and namespace of the worker's service account, by which agents in pods are made.
    pub service_account: PathBuf,
}

/// Authorities by which agents know the bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAuthorities {
    /// Authorities of the bridge alone, as PEM, for agents on other machines.
    pub own: String,
    /// File that every agent of this machine can read, with the bridge's authorities and the system's (PEM): most programs take it in place
    /// of the system's.
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
            acknowledged_after: Duration::from_secs(60),
            compact_transcripts: true,
            progress_every: Duration::from_millis(250),
            seed,
            bridge: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).into(),
            bridge_authorities: None,
            container_relay: None,
            service_account: "/var/run/secrets/kubernetes.io/serviceaccount".into(),
        }
    }
}

/// Services and variables that a worker takes from its process; shared by reference.
#[derive(Clone)]
pub struct Environment {
    /// Timestamps.
    pub clock: Arc<dyn Clock>,
    /// Variables that hold keys, and those that commands of external agents get, by name. A map and not the process environment, so that
    /// tests and the embedded run need not set it.
    pub variables: Arc<BTreeMap<String, String>>,
    /// Permits and money, shared by the fleet.
    pub permits: Arc<dyn PermitStore>,
    /// Bytes that this process may hold on behalf of sessions.
    pub bytes: ByteBudget,
    /// The response cache, shared by the fleet.
    pub answers: Arc<dyn ResponseStore>,
    /// Permissions of specs that others wrote.
    pub policy: Arc<Policy>,
    /// Takes the calls to endpoints over HTTP; `None` is the machine's network.
    pub network: Option<Arc<dyn Network>>,
    /// Standstills of this process, after which no call is sent for a moment.
    pub standstill: Standstill,
}
