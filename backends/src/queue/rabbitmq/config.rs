//! Connection and settings of a broker.

use std::fmt;
use std::time::Duration;

use regatta_memory::ByteBudget;

use super::link::ANSWER_TIMEOUT;
use crate::queue::{DELIVERY_LIMIT, SET_ASIDE_FOR};

/// Default time between two looks at the shares of the consumers of reports. What is let go is delivered once more, so this is no hurry.
const BALANCED_EVERY: Duration = Duration::from_secs(30);

/// Settings of the RabbitMQ queues. All processes of a deployment must agree on `prefix`, `delivery_limit`, `set_aside_for` and
/// `ack_timeout`.
#[derive(Clone)]
pub struct RabbitMqConfig {
    /// `amqps://user:password@host:port/vhost`, with the system's (or `SSL_CERT_FILE`'s) authorities; or `amqp://…` without TLS, which is
    /// refused beyond this machine unless `?sslmode=disable` is set. As in RabbitMQ's own URLs, `cacertfile=FILE` names authorities (PEM)
    /// in place of the system's, `certfile=FILE&keyfile=FILE` a certificate to show, and `auth_mechanism=external` logs in with it.
    /// `heartbeat=N` is from 1 to 20 seconds.
    pub url: String,
    /// Prefix of the names of all queues and exchanges, so that deployments can share a broker.
    pub prefix: String,
    /// Redeliveries after which a message becomes a dead letter.
    pub delivery_limit: u32,
    /// Time after which a report that was set aside returns.
    pub set_aside_for: Duration,
    /// Time after which the broker takes an unsettled delivery back; `None` leaves the broker's own setting (usually 30 minutes). Brokers
    /// before 3.12 have only their own setting.
    pub ack_timeout: Option<Duration>,
    /// Time between two looks whether a consumer of reports has more than its share of the partitions.
    pub balanced_every: Duration,
    /// Time-out of a publish until all is confirmed, including reconnects.
    pub confirm_timeout: Duration,
    /// Time-out of every other request: while a queue has no leader, the broker keeps whoever asks for it waiting.
    pub answer_timeout: Duration,
    /// Time-out of the first connection. Later, reconnecting is tried for ever.
    pub connect_timeout: Duration,
    /// Largest message after compression, in bytes. RabbitMQ 4 refuses more than 16 MiB by default.
    pub message_bytes_max: usize,
    /// `true` where all processes of the deployment read transcripts in the compact form, so that each message of a session is published once.
    /// Otherwise only what is larger than `message_bytes_max` in full is published in that form.
    pub compact_transcripts: bool,
    /// Bytes that this process may hold: a report is decoded when there is room for it, which it takes until it is settled. `None` decodes
    /// all that the broker delivers.
    pub bytes: Option<ByteBudget>,
    /// Seed of the jitter of reconnects; should differ between processes.
    pub seed: u64,
}

impl RabbitMqConfig {
    /// Default settings.
    #[must_use]
    pub fn new(url: impl Into<String>, prefix: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            prefix: prefix.into(),
            delivery_limit: DELIVERY_LIMIT,
            set_aside_for: SET_ASIDE_FOR,
            ack_timeout: None,
            balanced_every: BALANCED_EVERY,
            confirm_timeout: Duration::from_secs(60),
            answer_timeout: ANSWER_TIMEOUT,
            connect_timeout: Duration::from_secs(60),
            message_bytes_max: 16 << 20,
            compact_transcripts: false,
            bytes: None,
            seed: 0,
        }
    }
}

impl fmt::Debug for RabbitMqConfig {
    // The URL holds a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RabbitMqConfig").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
