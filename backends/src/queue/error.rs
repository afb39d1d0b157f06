//! What can go wrong with a queue.

#[cfg(feature = "cluster")]
use std::time::Duration;

use regatta_proto::wire::WireError;

/// Why a queue refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// [`Queue::close`](super::Queue::close) was called.
    #[error("failed to use the queue: it has been closed")]
    Closed,
    /// Published to a queue that does not exist. What was published before the failing message may have arrived.
    #[error("failed to publish to queue {queue:?}: it does not exist; declare it first")]
    NoSuchQueue {
        /// Name of the queue, as the broker knows it.
        queue: String,
    },
    /// A name that no queue can have.
    #[error("failed to use {name:?} as a queue name: {reason}")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A message above the limit of the configuration (and, as a rule, of the broker).
    #[error(
        "failed to publish a message of {bytes} bytes to {queue:?}: the limit is {limit}; store large content in Blobs and \
         send its digest"
    )]
    TooLarge {
        /// Name of the queue.
        queue: String,
        /// Its size: compressed, or as it is when that is what is too large.
        bytes: usize,
        /// Largest size allowed.
        limit: usize,
    },
    /// A message could not be written.
    #[error("failed to encode a message for {queue:?}")]
    Encode {
        /// Name of the queue.
        queue: String,
        /// Why.
        #[source]
        source: WireError,
    },
    #[cfg(feature = "cluster")]
    /// The broker did not confirm in time. Some of the messages may have arrived; publishing them again is harmless.
    #[error(
        "failed to get {messages} message(s) to {queue:?} confirmed within {} s: the broker is unreachable, or blocks \
         publishers because it is short of memory or disk",
        timeout.as_secs_f64()
    )]
    Unconfirmed {
        /// Name of the queue.
        queue: String,
        /// How many were published together.
        messages: usize,
        /// How long was waited.
        timeout: Duration,
    },
    #[cfg(feature = "cluster")]
    /// The broker's address cannot be read. The address itself is not repeated: it holds a password.
    #[error("failed to read the broker's URL: {reason}; expected amqp://user:password@host:5672/vhost (or amqps://)")]
    BadUrl {
        /// What is wrong.
        reason: String,
    },
    #[cfg(feature = "cluster")]
    /// Certificates that the URL names are not usable.
    #[error("failed to set up TLS to the broker: {0}")]
    Tls(#[from] crate::tls::TlsError),
    #[cfg(feature = "cluster")]
    /// The broker could not be reached, or refused us.
    #[error("failed to connect to the broker at {address}")]
    Connect {
        /// Host and port.
        address: String,
        /// Why.
        #[source]
        source: Box<lapin::Error>,
    },
    #[cfg(feature = "cluster")]
    /// A queue or exchange exists, but with other settings.
    #[error("failed to declare {name:?}: it exists with other settings; delete it, or choose another prefix")]
    Conflict {
        /// Name of the queue or exchange.
        name: String,
        /// The broker's words.
        #[source]
        source: Box<lapin::Error>,
    },
    #[cfg(feature = "cluster")]
    /// The broker refused something else, or the connection broke.
    #[error("failed to {action}")]
    Broker {
        /// What was tried.
        action: String,
        /// Why it did not work.
        #[source]
        source: Box<lapin::Error>,
    },
}

impl QueueError {
    /// Whether a message cannot be published for what it is, so that trying again is of no use. Nothing was published then of what was to be
    /// published with it.
    #[must_use]
    pub const fn is_of_a_message(&self) -> bool {
        matches!(self, Self::TooLarge { .. } | Self::Encode { .. })
    }

    /// `true` if the broker was not there, so that the same may succeed when it is. What it said in so many words stays so.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Connect { source, .. } | Self::Broker { source, .. } => super::rabbitmq::is_passing(source),
            Self::Unconfirmed { .. } => true,
            Self::Closed
            | Self::NoSuchQueue { .. }
            | Self::BadName { .. }
            | Self::TooLarge { .. }
            | Self::Encode { .. }
            | Self::BadUrl { .. }
            | Self::Tls(_)
            | Self::Conflict { .. } => false,
        }
    }

    #[cfg(feature = "cluster")]
    /// Turns the client's error into ours, for `map_err`.
    pub(super) fn broker(action: impl Into<String>) -> impl FnOnce(lapin::Error) -> Self {
        let action = action.into();
        move |source| Self::Broker { action, source: Box::new(source) }
    }
}
