//! A connection that is opened when it is needed, and again after it broke.

use std::io;
use std::time::Duration;

use lapin::{Channel, Connection, ErrorKind};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::dial::Dial;
use crate::queue::QueueError;

/// Time-out of connecting.
const DIAL_TIMEOUT: Duration = Duration::from_secs(15);

/// Time-out of a request to the broker, which may have to wait for an election.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// AMQP reply codes of a broker that is shutting down, short of resources or in trouble: worth another try.
const PASSING: [u16; 3] = [320, 506, 541];

/// One connection, shared by its channels.
///
/// The client's own recovery is not used: it would keep a channel over several connections, and a delivery tag of the old one could then
/// settle a delivery of the new one.
pub(super) struct Link {
    dial: Dial,
    name: String,
    connection: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<Connection>,
    /// The last failure to connect. Who has waited for it does not try the same again.
    failed: Option<(Instant, lapin::Error)>,
}

impl Link {
    /// A link that connects when its first channel is asked for. `name` is what the broker's administrator sees.
    pub(super) fn new(dial: Dial, name: String) -> Self {
        Self { dial, name, connection: Mutex::default() }
    }

    /// Host and port, without credentials.
    pub(super) fn address(&self) -> String {
        self.dial.address()
    }

    /// Opens a channel, and connects before if necessary, with a single try.
    pub(super) async fn channel(&self) -> lapin::Result<Channel> {
        match tokio::time::timeout(DIAL_TIMEOUT, self.try_channel()).await {
            Ok(result) => result,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer from the broker").into()),
        }
    }

    async fn try_channel(&self) -> lapin::Result<Channel> {
        let asked_at = Instant::now();
        let mut state = self.connection.lock().await;
        if let Some(connection) = state.open.as_ref().filter(|connection| connection.status().connected()) {
            match connection.create_channel().await {
                Err(error) if connection.status().connected() => return Err(error),
                Err(_) => {}
                channel => return channel,
            }
        }
        if let Some((_, error)) = state.failed.as_ref().filter(|(at, _)| *at > asked_at) {
            return Err(error.clone());
        }
        state.open = None;
        let opened = async {
            let connection = self.dial.connect(&self.name).await?;
            let channel = connection.create_channel().await;
            Ok::<_, lapin::Error>((connection, channel))
        };
        match opened.await {
            Ok((connection, channel)) => {
                state.open = Some(connection);
                channel
            }
            Err(error) => {
                state.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// Closes the connection, if there is one.
    pub(super) async fn close(&self) {
        if let Some(connection) = self.connection.lock().await.open.take() {
            // Closing a broken connection fails, which does not matter.
            let _ = connection.close(200, "OK".into()).await;
        }
    }
}

/// Adds a time-out to a request, because a broker keeps clients waiting while a queue has no leader.
pub(super) async fn in_time<T>(
    timeout: Duration,
    action: &str,
    work: impl Future<Output = Result<T, QueueError>>,
) -> Result<T, QueueError> {
    match tokio::time::timeout(timeout, work).await {
        Ok(result) => result,
        Err(_) => {
            let silent = io::Error::new(io::ErrorKind::TimedOut, "no answer from the broker");
            Err(QueueError::broker(action)(silent.into()))
        }
    }
}

/// `true` if another try may succeed. Explicit refusals of the broker are final: wrong password, no such vhost.
pub(in crate::queue) fn is_passing(error: &lapin::Error) -> bool {
    match error.kind() {
        ErrorKind::ProtocolError(error) => PASSING.contains(&error.get_id()),
        ErrorKind::InvalidProtocolVersion(_) | ErrorKind::AuthProviderError(_) | ErrorKind::NoDefaultRuntime => false,
        _ => true,
    }
}

/// `true` if the broker said that a queue or exchange does not exist.
pub(super) fn is_missing(error: &lapin::Error) -> bool {
    matches!(error.kind(), ErrorKind::ProtocolError(error) if error.get_id() == 404)
}

/// `true` if the broker said that a queue or exchange exists with other settings.
pub(super) fn is_conflict(error: &lapin::Error) -> bool {
    matches!(error.kind(), ErrorKind::ProtocolError(error) if error.get_id() == 406)
}
