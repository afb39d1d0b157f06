//! The HTTP server: listening and shutdown.

use futures::future::BoxFuture;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use regatta_autoslurp::ServedTools;
use regatta_proto::Simulation;
use regatta_simulator::StartError;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::http::{Door, Shared, serve};
use super::sessions::Sessions;

/// Most connections at once on each port; further ones wait to be accepted.
const CONNECTIONS_MAX: usize = 1024;
/// Longest time for requests to end after the shutdown begins.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);
/// Pause after a failed accept, which is mostly caused by a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

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
    tasks: TaskTracker,
    /// Fires when no new connections and no new requests are accepted.
    stopping: CancellationToken,
    /// Closes all connections when dropped.
    stopped: DropGuard,
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
            let (listener, address) = bind(listen).await?;
            let mut doors = vec![(listener, Door::All)];
            let mut own = Vec::new();
            for ToolPort { server, port } in ports {
                let Some((_, official)) = ServedTools::servers().find(|(name, _)| *name == server) else {
                    return Err(no_server(&server));
                };
                let (listener, address) = bind(SocketAddr::new(listen.ip(), port)).await?;
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
            for (listener, door) in doors {
                tasks.spawn(accept(listener, door, Arc::clone(&shared), tasks.clone(), stopped.clone()));
            }
            Ok(Self { address, ports: own, tasks, stopping, stopped: stopped.drop_guard() })
        })
    }

    /// Base address for clients: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        reachable(self.address)
    }

    /// Servers with ports of their own, and the base address of each.
    pub fn ports(&self) -> impl Iterator<Item = (&str, String)> {
        self.ports.iter().map(|(server, address)| (server.as_str(), reachable(*address)))
    }

    /// Stops listening, lets requests finish for at most five seconds, and closes every connection.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.stopping.cancel();
            self.tasks.close();
            if tokio::time::timeout(SHUTDOWN_GRACE, self.tasks.wait()).await.is_err() {
                self.stopped.disarm().cancel();
                self.tasks.wait().await;
            }
        })
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

async fn bind(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let cannot_listen = |source: io::Error| StartError::listening(listen, source);
    let listener = TcpListener::bind(listen).await.map_err(cannot_listen)?;
    let address = listener.local_addr().map_err(cannot_listen)?;
    Ok((listener, address))
}

fn reachable(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    format!("http://{address}")
}

async fn accept(
    listener: TcpListener,
    door: Door,
    shared: Arc<Shared>,
    tasks: TaskTracker,
    stopped: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((place, listener.accept().await))
        };
        let Some(Some((place, accepted))) = shared.stopping.run_until_cancelled(next).await else {
            return;
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = converse(stream, door, Arc::clone(&shared), stopped.clone());
                tasks.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection to the simulated tools; trying again");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves one connection until either side closes it.
async fn converse(stream: TcpStream, door: Door, shared: Arc<Shared>, stopped: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "failed to turn off Nagle's algorithm");
    }
    let stopping = shared.stopping.clone();
    let service = service_fn(move |request| serve(Arc::clone(&shared), door, request));
    let connection = http1::Builder::new()
        .auto_date_header(false)
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let finished = tokio::select! {
        finished = connection.as_mut() => finished,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            stopped.run_until_cancelled(connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = finished {
        tracing::debug!(%error, "a connection to the simulated tools ended early");
    }
}
