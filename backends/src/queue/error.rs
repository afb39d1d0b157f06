//! Errors of queues.

#[cfg(feature = "cluster")]
use std::time::Duration;

use regatta_proto::wire::WireError;

/// A failure of a queue.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// [`Queue::close`](super::Queue::close) was called.
    #[error("failed to use the queue: it has been closed")]
    Closed,
    /// The queue does not exist. Messages published before the failing one may have arrived.
    #[error("failed to publish to queue {queue:?}: it does not exist; declare it first")]
    NoSuchQueue {
        /// The broker's name of the queue.
        queue: String,
    },
    /// The name is not allowed for a queue.
    #[error("failed to use {name:?} as a queue name: {reason}")]
    BadName {
        /// The name.
        name: String,
        /// The rule that the name violates, as a clause.
        reason: &'static str,
    },
    /// The message exceeds the limit of the configuration (and usually of the broker).
    #[error(
        "failed to publish a message of {bytes} bytes to {queue:?}: the limit is {limit}; store large content in Blobs and \
         send its digest"
    )]
    TooLarge {
        /// Name of the queue.
        queue: String,
        /// Size of the message: compressed, or uncompressed if that is too large.
        bytes: usize,
        /// Largest size allowed.
        limit: usize,
    },
    /// The message could not be encoded.
    #[error("failed to encode a message for {queue:?}")]
    Encode {
        /// Name of the queue.
        queue: String,
        /// The error of the encoder.
        #[source]
        source: WireError,
    },
    /// None of the messages was sent in time, that after which somebody else may publish them or that in which they should be confirmed, and none is
    /// sent any more.
    #[error(
        "failed to publish {messages} message(s) to {queue:?} in time: none was sent, because no channel to the broker was open"
    )]
    TooLate {
        /// Name of the queue.
        queue: String,
        /// Number of messages that were to be published together.
        messages: usize,
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
        /// Number of messages that were published together.
        messages: usize,
        /// The time-out.
        timeout: Duration,
    },
    #[cfg(feature = "cluster")]
    /// The connection was lost before the broker confirmed messages that are published once. It may have some of them.
    #[error(
        "failed to get {messages} message(s) to {queue:?} confirmed before the connection to the broker was lost; it may have some, so none is published again"
    )]
    InDoubt {
        /// Name of the queue.
        queue: String,
        /// Number of messages that were published together.
        messages: usize,
    },
    #[cfg(feature = "cluster")]
    /// The broker's URL is invalid. It is not repeated, because it has a password.
    #[error("failed to use the broker's URL: {reason}")]
    BadUrl {
        /// The reason, as a clause.
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
        /// The client's error.
        #[source]
        source: Box<lapin::Error>,
    },
    #[cfg(feature = "cluster")]
    /// A queue or exchange exists with other settings.
    #[error("failed to declare {name:?}: it exists with other settings; delete it, or choose another prefix")]
    Conflict {
        /// Name of the queue or exchange.
        name: String,
        /// The broker's error.
        #[source]
        source: Box<lapin::Error>,
    },
    #[cfg(feature = "cluster")]
    /// The broker refused another request, or the connection broke.
    #[error("failed to {action}")]
    Broker {
        /// The action, to complete "failed to".
        action: String,
        /// The client's error.
        #[source]
        source: Box<lapin::Error>,
    },
}

impl QueueError {
    /// `true` if the message itself cannot be published, so that repeating the call cannot succeed. Then none of the messages of the call
    /// was published.
    #[must_use]
    pub const fn is_of_a_message(&self) -> bool {
        matches!(self, Self::TooLarge { .. } | Self::Encode { .. })
    }

    /// `true` if the messages may be in the queue although the call failed.
    #[must_use]
    pub const fn is_in_doubt(&self) -> bool {
        match self {
            #[cfg(feature = "cluster")]
            Self::Unconfirmed { .. } | Self::InDoubt { .. } => true,
            #[cfg(feature = "cluster")]
            Self::BadUrl { .. } | Self::Tls(_) | Self::Connect { .. } | Self::Conflict { .. } | Self::Broker { .. } => {
                false
            }
            Self::Closed
            | Self::NoSuchQueue { .. }
            | Self::BadName { .. }
            | Self::TooLarge { .. }
            | Self::Encode { .. }
            | Self::TooLate { .. } => false,
        }
    }

    /// `true` if the broker was not available, so that the call may succeed later. `false` if the broker explicitly refused.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Connect { source, .. } | Self::Broker { source, .. } => super::rabbitmq::is_passing(source),
            Self::Unconfirmed { .. } | Self::InDoubt { .. } | Self::TooLate { .. } => true,
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
