//! Listening, connections, stopping.

use futures::future::BoxFuture;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use regatta_memory::ByteBudget;
use regatta_proto::{Clock as _, SystemClock};
use regatta_serving::{RareLine, WriteTimeout};
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::connection::{Connection, Peer, Stream};
use crate::open::{OpenSession, Sessions};
use crate::place::BridgePlace;
use crate::routes::Server;
use crate::session::BridgedSession;

/// Connections served at once, where the process may have twice as many files open; more wait to be accepted.
const CONNECTIONS_MAX: usize = 8192;
/// Longest head of a request, and most that is read ahead.
const HEAD_BYTES_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 100;
/// A connection that says nothing for so long is closed.
const IDLE_MAX: Duration = Duration::from_secs(15);
/// Pause after a failed accept, which is mostly a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Strangers connect as often as they like.
static REFUSED: RareLine = RareLine::new();

/// The HTTP server of a process that all its sessions share. Dropping it closes every connection.
pub struct Bridge {
    address: SocketAddr,
    /// Begins the URLs of sessions.
    origin: String,
    sessions: Arc<Sessions>,
    server: Arc<Server>,
    tasks: TaskTracker,
    stopped: CancellationToken,
    /// Stops everything when it is dropped.
    _guard: DropGuard,
}

/// A socket of this machine at which a bridge is reached too. Dropping it closes it, and every connection that came by it.
#[derive(Debug)]
pub struct BridgeSocket {
    _stopped: DropGuard,
}

impl Bridge {
    /// Starts serving on the current runtime, and reads requests within `bytes`. Whoever reaches it and knows a session's URL can make
    /// calls, so that beyond the loopback interface it is to be encrypted.
    ///
    /// # Errors
    /// When the address cannot be listened on, or the system has no randomness to give.
    pub fn start(place: impl Into<BridgePlace>, bytes: ByteBudget) -> BoxFuture<'static, io::Result<Self>> {
        let place = place.into();
        Box::pin(async move {
            let sessions = Arc::new(Sessions::new()?);
            let listener = regatta_serving::listen(place.listen)?;
            let address = listener.local_addr()?;
            let origin = place.origin(address);
            let created = SystemClock.now().as_second();
            let server = Arc::new(Server { sessions: Arc::clone(&sessions), bytes, created });
            let (tasks, stopped) = (TaskTracker::new(), CancellationToken::new());
            let listener = Listener::Tcp(listener, place.tls);
            tasks.spawn(accept(listener, Arc::clone(&server), tasks.clone(), stopped.clone()));
            let guard = stopped.clone().drop_guard();
            Ok(Self { address, origin, sessions, server, tasks, stopped, _guard: guard })
        })
    }

    /// Address that the bridge listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes `session` reachable until what is returned is dropped.
    #[must_use]
    pub fn open(&self, session: Arc<dyn BridgedSession>) -> OpenSession {
        self.sessions.open(&self.origin, session, self.server.bytes.holder())
    }

    /// Serves at the socket `path` too, without encryption: nothing leaves the machine. Whoever reaches the path can connect, so that its
    /// folder must be closed to others.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn serve_socket(&self, path: &Path) -> io::Result<BridgeSocket> {
        let listener = UnixListener::bind(path)?;
        // Users of containers are not this process's.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
        let stopped = self.stopped.child_token();
        self.tasks.spawn(accept(
            Listener::Unix(listener),
            Arc::clone(&self.server),
            self.tasks.clone(),
            stopped.clone(),
        ));
        Ok(BridgeSocket { _stopped: stopped.drop_guard() })
    }

    /// Stops listening and closes every connection. Calls that were begun are run to their end.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.stopped.cancel();
            self.tasks.close();
            self.tasks.wait().await;
        })
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("address", &self.address).finish_non_exhaustive()
    }
}

enum Listener {
    Tcp(TcpListener, Option<TlsAcceptor>),
    Unix(UnixListener),
}

impl Listener {
    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener, _) => listener.accept().await.map(|(stream, _)| Stream::Tcp(stream)),
            Self::Unix(listener) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        }
    }

    fn tls(&self) -> Option<TlsAcceptor> {
        match self {
            Self::Tcp(_, tls) => tls.clone(),
            Self::Unix(_) => None,
        }
    }
}

async fn accept(listener: Listener, server: Arc<Server>, tasks: TaskTracker, stopped: CancellationToken) {
    let places = Arc::new(Semaphore::new(connections_max(getrlimit(Resource::Nofile).current)));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((place, listener.accept().await))
        };
        let Some(Some((place, accepted))) = stopped.run_until_cancelled(next).await else {
            return;
        };
        match accepted {
            Ok(stream) => {
                let (server, tls, stopped) = (Arc::clone(&server), listener.tls(), stopped.clone());
                tasks.spawn(async move {
                    stopped.run_until_cancelled(greet(stream, tls, server)).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection to the bridge; trying again");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Connections of a process that may have so many files open; half of them are for others.
fn connections_max(files: Option<u64>) -> usize {
    let half = files.and_then(|files| usize::try_from(files / 2).ok());
    half.unwrap_or(CONNECTIONS_MAX).clamp(1, CONNECTIONS_MAX)
}

/// Serves one connection, behind its handshake where there is one.
async fn greet(stream: Stream, tls: Option<TlsAcceptor>, server: Arc<Server>) {
    if let Stream::Tcp(stream) = &stream
        && let Err(error) = stream.set_nodelay(true)
    {
        tracing::debug!(%error, "failed to turn off Nagle's algorithm");
    }
    let connection = Connection::new(stream);
    let peer = connection.peer();
    let connection = WriteTimeout::new(connection);
    let Some(tls) = tls else { return converse(connection, peer, server).await };
    match timeout(IDLE_MAX, tls.accept(connection)).await {
        Ok(Ok(connection)) => converse(connection, peer, server).await,
        Ok(Err(error)) => {
            if let Some(left_out) = REFUSED.admit(&error.to_string()) {
                tracing::warn!(
                    %error,
                    left_out,
                    "refused a connection to the bridge: its TLS handshake failed; does the agent trust its certificate, and show one where \
                     the bridge asks for it?"
                );
            }
        }
        Err(_) => tracing::debug!("a connection to the bridge did not end its TLS handshake in time"),
    }
}

/// Serves requests until either side has had enough.
async fn converse<S>(connection: S, peer: Peer, server: Arc<Server>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let service = service_fn(move |request| {
        let (server, peer) = (Arc::clone(&server), peer.clone());
        async move { server.serve(request, &peer).await }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(connection), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection to the bridge ended early");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_half_of_the_files_to_others() {
        assert_eq!(connections_max(Some(1024)), 512);
        assert_eq!(connections_max(Some(1 << 20)), CONNECTIONS_MAX);
        assert_eq!(connections_max(None), CONNECTIONS_MAX);
        assert_eq!(connections_max(Some(1)), 1);
    }
}
