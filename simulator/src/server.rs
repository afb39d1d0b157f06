//! The HTTP server of a simulated endpoint: start and shutdown.

use futures::future::BoxFuture;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hyper::service::service_fn;
use regatta_proto::{Clock, Simulation, SystemClock};
use regatta_serving::reachable;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::batches::store::Batches;
use crate::connections::{Connections, Ending, accept};
use crate::counters::Counters;
use crate::endpoint::Endpoint;
use crate::script::Script;
use crate::session::{ServedSuite, SimulatedSuite};

/// Most connections at once; further ones wait to be accepted. A client opens one per call in flight, and an endpoint that takes fewer than its
/// clients have hides what these are capable of.
const MAX_CONNECTIONS: usize = 65_536;

/// Configuration of a simulated endpoint.
#[derive(Clone)]
pub struct Config {
    /// Address to listen on; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Latency, limits, faults, prices and batches.
    pub simulation: Simulation,
    /// Benchmarks whose items `oracle` and `noisy-P` answer, in the order in which requests without a session are offered to them.
    pub suites: Vec<SimulatedSuite>,
    /// Rules of the model `scripted`, which exists only with a script.
    pub script: Option<Script>,
    /// Read at the start, for the `created` of every answer, and later for times of day.
    pub clock: Arc<dyn Clock>,
}

impl Config {
    /// An endpoint without faults on a free port of the loopback interface.
    #[must_use]
    pub fn on_loopback(suites: Vec<SimulatedSuite>) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            simulation: Simulation::default(),
            suites,
            script: None,
            clock: Arc::new(SystemClock),
        }
    }
}

/// A simulated endpoint that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process listens on the address.
    #[error(
        "failed to listen on {address}: the address is in use; stop whoever uses it, or choose another port (0 picks a free one)"
    )]
    AddressInUse {
        /// The configured address.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("failed to listen on {address}: {source}")]
    Listen {
        /// The configured address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A setting of the simulation is invalid.
    #[error("failed to simulate: {field} {problem}")]
    Simulation {
        /// Path of the setting.
        field: String,
        /// The problem, as a clause that follows the setting.
        problem: String,
    },
}

impl StartError {
    /// The error for a failure to listen.
    pub fn listening(address: SocketAddr, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AddrInUse => Self::AddressInUse { address },
            _ => Self::Listen { address, source },
        }
    }
}

/// A running server. Dropping it closes every connection at once; [`Self::shutdown`] lets requests finish.
pub struct SimulatedEndpoint {
    address: SocketAddr,
    endpoint: Arc<Endpoint>,
    connections: Connections,
}

impl SimulatedEndpoint {
    /// Starts serving on the current runtime.
    ///
    /// # Errors
    /// When the address cannot be listened on, or a setting of the simulation is invalid.
    pub fn start(config: Config) -> BoxFuture<'static, Result<Self, StartError>> {
        Box::pin(async move {
            let Config { listen, simulation, suites, script, clock } = config;
            simulation.check().map_err(|(field, problem)| StartError::Simulation { field, problem })?;
            let suites = suites.into_iter().map(ServedSuite::new).collect();
            let cannot_listen = |source: io::Error| StartError::listening(listen, source);
            let listener = regatta_serving::listen(listen).map_err(cannot_listen)?;
            let address = listener.local_addr().map_err(cannot_listen)?;
            let tasks = TaskTracker::new();
            let stopped = CancellationToken::new();
            let stopping = stopped.child_token();
            let batches = Batches::new(tasks.clone(), stopping.clone());
            let endpoint = Arc::new(Endpoint::new(simulation, suites, script, clock, batches));
            let served = Arc::clone(&endpoint);
            let service = service_fn(move |request| {
                let endpoint = Arc::clone(&served);
                async move { endpoint.serve(request).await }
            });
            let ending = Ending { stopping, stopped };
            let accepting =
                accept("the simulated endpoint", listener, MAX_CONNECTIONS, service, tasks.clone(), ending.clone());
            tasks.spawn(accepting);
            Ok(Self { address, endpoint, connections: Connections::new(tasks, ending) })
        })
    }

    /// Base address for clients, up to and including the version: `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/v1", reachable(self.address))
    }

    /// Address that it listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Counts since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.endpoint.counters()
    }

    /// Stops listening, lets requests finish for at most five seconds, and closes every connection. Batches are aborted.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        self.connections.shutdown()
    }
}

impl fmt::Debug for SimulatedEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedEndpoint").field("address", &self.address).finish_non_exhaustive()
    }
}
