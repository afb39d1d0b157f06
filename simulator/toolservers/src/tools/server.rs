//! The HTTP server: listening and shutdown.

use futures::future::BoxFuture;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hyper::service::service_fn;
use regatta_autoslurp::ServedTools;
use regatta_proto::Simulation;
use regatta_serving::reachable;
use regatta_simulator::{Connections, Ending, StartError, accept};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::http::{Door, serve};
use super::sessions::Sessions;
use super::shared::Shared;
use crate::CONNECTIONS_MAX;

/// Configuration of simulated tools.
#[derive(Debug, Clone)]
pub struct ToolsConfig {
    /// Address of the port that serves everything; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Servers with a further port of their own, on the same address.
    pub ports: Vec<ToolPort>,
    /// The tools.
    pub tools: ServedTools,
    /// Latency and faults; other settings must be left out. The fault `slow_loris` keeps the client waiting for ever; faults of streams
    /// have no effect.
    pub simulation: Simulation,
}

/// A port of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPort {
    /// Name of the server, such as `alarm`.
    pub server: String,
    /// Port number; 0 picks a free one.
    pub port: u16,
}

impl ToolsConfig {
    /// Tools without faults on a free port of the loopback interface.
    #[must_use]
    pub fn on_loopback(tools: ServedTools) -> Self {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { listen, ports: Vec::new(), tools, simulation: Simulation::default() }
    }
}

impl ToolPort {
    /// Every server at its official port.
    #[must_use]
    pub fn official() -> Vec<Self> {
        ServedTools::servers().map(|(server, port)| Self { server: server.to_owned(), port }).collect()
    }
}

/// A running server of simulated tools. Dropping it closes every connection at once; [`Self::shutdown`] lets requests finish.
pub struct SimulatedTools {
    address: SocketAddr,
    ports: Vec<(String, SocketAddr)>,
    connections: Connections,
}

impl SimulatedTools {
    /// Starts serving on the current runtime.
    ///
    /// # Errors
    /// When an address cannot be listened on, a setting of the simulation is invalid or has no effect on tools, or a server is unknown.
    pub fn start(config: ToolsConfig) -> BoxFuture<'static, Result<Self, StartError>> {
        Box::pin(async move {
            let ToolsConfig { listen, ports, tools, simulation } = config;
            check(&simulation)?;
            let (listener, address) = bind(listen)?;
            let mut doors = vec![(listener, Door::All)];
            let mut own = Vec::new();
            for ToolPort { server, port } in ports {
                let Some((_, official)) = ServedTools::servers().find(|(name, _)| *name == server) else {
                    return Err(no_server(&server));
                };
                let (listener, address) = bind(SocketAddr::new(listen.ip(), port))?;
                doors.push((listener, Door::Of(official)));
                own.push((server, address));
            }
            let tasks = TaskTracker::new();
            let stopped = CancellationToken::new();
            let stopping = stopped.child_token();
            let shared = Arc::new(Shared {
                tools,
                simulation,
                sessions: Sessions::default(),
                stopping: stopping.clone(),
                #[cfg(feature = "mcp")]
                port: address.port(),
                #[cfg(feature = "mcp")]
                is_local: address.ip().is_loopback(),
            });
            let ending = Ending { stopping, stopped };
            for (listener, door) in doors {
                let shared = Arc::clone(&shared);
                let service = service_fn(move |request| serve(Arc::clone(&shared), door, request));
                let (within, ending) = (tasks.clone(), ending.clone());
                tasks.spawn(accept("the simulated tools", listener, CONNECTIONS_MAX, service, within, ending));
            }
            Ok(Self { address, ports: own, connections: Connections::new(tasks, ending) })
        })
    }

    /// Base address for clients: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        url_of(self.address)
    }

    /// Servers with ports of their own, and the base address of each.
    pub fn ports(&self) -> impl Iterator<Item = (&str, String)> {
        self.ports.iter().map(|(server, address)| (server.as_str(), url_of(*address)))
    }

    /// Stops listening, lets requests finish for at most five seconds, and closes every connection.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        self.connections.shutdown()
    }
}

impl fmt::Debug for SimulatedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedTools").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Only latency and faults have an effect here; other settings are refused.
fn check(simulation: &Simulation) -> Result<(), StartError> {
    simulation.check().map_err(|(field, problem)| StartError::Simulation { field, problem })?;
    let Simulation { seed, latency, faults, .. } = simulation.clone();
    if *simulation != (Simulation { seed, latency, faults, ..Simulation::default() }) {
        let problem = "can have a seed, latency and faults only: tools have no limits, prices and batches".to_owned();
        return Err(StartError::Simulation { field: "simulation".to_owned(), problem });
    }
    Ok(())
}

fn no_server(name: &str) -> StartError {
    let known: Vec<&str> = ServedTools::servers().map(|(name, _)| name).collect();
    let problem = format!("names no server: {name:?}; there are {}", known.join(", "));
    StartError::Simulation { field: "port".to_owned(), problem }
}

fn bind(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let cannot_listen = |source: io::Error| StartError::listening(listen, source);
    let listener = regatta_serving::listen(listen).map_err(cannot_listen)?;
    let address = listener.local_addr().map_err(cannot_listen)?;
    Ok((listener, address))
}

fn url_of(address: SocketAddr) -> String {
    format!("http://{}", reachable(address))
}
