//! The HTTP server: listening and shutdown.

use futures::future::BoxFuture;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use regatta_appbench::ServedApps;
use regatta_simulator::StartError;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::http::{Shared, router};
use super::sessions::Sessions;
#[cfg(feature = "mcp")]
use super::tools::Tools;

/// Longest time for requests to end after the shutdown begins.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// A running server of simulated apps. Dropping it stops listening; [`Self::shutdown`] also waits for requests to finish.
pub struct SimulatedApps {
    address: SocketAddr,
    stopping: DropGuard,
    task: JoinHandle<()>,
}

impl SimulatedApps {
    /// Starts serving on the current runtime; port 0 picks a free one.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn start(listen: SocketAddr, apps: ServedApps) -> BoxFuture<'static, Result<Self, StartError>> {
        Box::pin(async move {
            let cannot_listen = |source: io::Error| StartError::listening(listen, source);
            let listener = TcpListener::bind(listen).await.map_err(cannot_listen)?;
            let address = listener.local_addr().map_err(cannot_listen)?;
            let stopping = CancellationToken::new();
            let shared = Arc::new(Shared {
                #[cfg(feature = "mcp")]
                tools: Tools::of(apps.phone()),
                sessions: Sessions::new(apps),
                #[cfg(feature = "mcp")]
                stopping: stopping.clone(),
                #[cfg(feature = "mcp")]
                is_local: address.ip().is_loopback(),
            });
            let stopped = stopping.clone().cancelled_owned();
            let task = tokio::spawn(async move {
                if let Err(error) = axum::serve(listener, router(shared)).with_graceful_shutdown(stopped).await {
                    tracing::error!(%error, "the simulated apps ended");
                }
            });
            Ok(Self { address, stopping: stopping.drop_guard(), task })
        })
    }

    /// Base address for clients: `http://127.0.0.1:PORT`. MCP is at `/mcp/ITEM` below it.
    #[must_use]
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        format!("http://{address}")
    }

    /// Address that it listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening and lets requests finish for at most five seconds.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let Self { stopping, mut task, .. } = self;
            stopping.disarm().cancel();
            if tokio::time::timeout(SHUTDOWN_GRACE, &mut task).await.is_err() {
                task.abort();
            }
        })
    }
}

impl fmt::Debug for SimulatedApps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedApps").field("address", &self.address).finish_non_exhaustive()
    }
}
