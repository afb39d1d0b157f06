//! The HTTP server: listening and shutdown.

use futures::future::BoxFuture;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper_util::service::TowerToHyperService;
use regatta_appbench::ServedApps;
use regatta_serving::reachable;
use regatta_simulator::{Connections, Ending, StartError, accept};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::http::router;
use super::sessions::Sessions;
use super::shared::Shared;
#[cfg(feature = "mcp")]
use super::tools::Tools;
use crate::CONNECTIONS_MAX;

/// A running server of simulated apps. Dropping it closes every connection at once; [`Self::shutdown`] lets requests finish.
pub struct SimulatedApps {
    address: SocketAddr,
    connections: Connections,
}

impl SimulatedApps {
    /// Starts serving on the current runtime; port 0 picks a free one.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn start(listen: SocketAddr, apps: ServedApps) -> BoxFuture<'static, Result<Self, StartError>> {
        Box::pin(async move {
            let cannot_listen = |source: io::Error| StartError::listening(listen, source);
            let listener = regatta_serving::listen(listen).map_err(cannot_listen)?;
            let address = listener.local_addr().map_err(cannot_listen)?;
            let tasks = TaskTracker::new();
            let stopped = CancellationToken::new();
            let stopping = stopped.child_token();
            let shared = Arc::new(Shared {
                #[cfg(feature = "mcp")]
                tools: Tools::of(apps.phone()),
                sessions: Sessions::new(apps),
                #[cfg(feature = "mcp")]
                stopping: stopping.clone(),
                #[cfg(feature = "mcp")]
                is_local: address.ip().is_loopback(),
            });
            let service = TowerToHyperService::new(router(shared));
            let ending = Ending { stopping, stopped };
            let accepting =
                accept("the simulated apps", listener, CONNECTIONS_MAX, service, tasks.clone(), ending.clone());
            tasks.spawn(accepting);
            Ok(Self { address, connections: Connections::new(tasks, ending) })
        })
    }

    /// Base address for clients: `http://127.0.0.1:PORT`. MCP is at `/mcp/ITEM` below it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", reachable(self.address))
    }

    /// Address that it listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, lets requests finish for at most five seconds, and closes every connection.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        self.connections.shutdown()
    }
}

impl fmt::Debug for SimulatedApps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedApps").field("address", &self.address).finish_non_exhaustive()
    }
}
