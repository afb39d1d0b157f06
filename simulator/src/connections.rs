//! Connections of a listener: accepted, served, and closed when their clients stall.

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use regatta_serving::WriteTimeout;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// A connection without a whole head of a request for so long is closed, also one that is kept between requests; requests that are being
/// answered may take any time. Longer than clients keep an idle connection (reqwest: 90 s), which would otherwise send into a closed one.
const HEAD_MAX: Duration = Duration::from_secs(120);
/// Pause after a failed accept, which is mostly caused by a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Longest time for requests to end after the shutdown begins.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// The two steps in which connections end.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Fires when no new connections and no new requests are accepted.
    pub stopping: CancellationToken,
    /// Fires when connections close at once.
    pub stopped: CancellationToken,
}

/// Connections of a running server. Dropping it closes all of them at once; [`Self::shutdown`] lets requests finish.
#[derive(Debug)]
pub struct Connections {
    tasks: TaskTracker,
    stopping: CancellationToken,
    stopped: DropGuard,
}

impl Connections {
    /// Connections that are served as tasks of `tasks` and end by `ending`.
    #[must_use]
    pub fn new(tasks: TaskTracker, ending: Ending) -> Self {
        Self { tasks, stopping: ending.stopping, stopped: ending.stopped.drop_guard() }
    }

    /// Accepts no more, lets requests finish for at most five seconds, and closes every connection.
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

/// Serves what connects to `listener` as tasks of `tasks`, at most `connections_max` at once; further ones wait to be accepted. `server`
/// names it in logs, as in "the simulated tools".
pub async fn accept<S, B>(
    server: &'static str,
    listener: TcpListener,
    connections_max: usize,
    service: S,
    tasks: TaskTracker,
    ending: Ending,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error: Into<Box<dyn Error + Send + Sync>>, Future: Send>
        + Clone
        + Send
        + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(connections_max));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((place, listener.accept().await))
        };
        let Some(Some((place, accepted))) = ending.stopping.run_until_cancelled(next).await else {
            return;
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = converse(server, stream, service.clone(), ending.clone());
                tasks.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection to {server}; trying again");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves one connection until either side closes it.
async fn converse<S, B>(server: &str, stream: TcpStream, service: S, ending: Ending)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error: Into<Box<dyn Error + Send + Sync>>, Future: Send>
        + Send,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "failed to turn off Nagle's algorithm");
    }
    // Without a date, equal requests get equal bytes.
    let connection = http1::Builder::new()
        .auto_date_header(false)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream)), service);
    let mut connection = pin!(connection);
    let finished = tokio::select! {
        finished = connection.as_mut() => finished,
        () = ending.stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            ending.stopped.run_until_cancelled(connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = finished {
        tracing::debug!(%error, "a connection to {server} ended early");
    }
}
