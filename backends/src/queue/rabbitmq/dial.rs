//! A connection to the broker's address: plain, or with TLS as its URL says.

use std::io;
use std::sync::Arc;

use lapin::runtime::default_runtime;
use lapin::tcp::{AsyncTcpStream, RustlsConnector};
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{Connection, ConnectionProperties, ErrorKind};
use regatta_proto::{TlsOptions, handshake_advice};
use rustls::ClientConfig;

use crate::queue::QueueError;
use crate::tls::{is_this_machine, taken_from};

/// Options of a URL that name authorities, a certificate to show, and its key, as RabbitMQ's own clients call them.
const CERTIFICATES: [&str; 3] = ["cacertfile", "certfile", "keyfile"];

/// Option of a URL by which the way to another machine may be unencrypted, as in PostgreSQL's.
const UNENCRYPTED: &str = "sslmode=disable";

const TLS_OPTIONS: TlsOptions =
    TlsOptions { authorities: "cacertfile of its URL", identity: Some("certfile and keyfile of its URL") };

/// A dead peer is noticed after two of these, in seconds. A URL may name a shorter one, and no longer one: whoever waits until a worker that was cut
/// off is known to be gone waits for a minute.
const HEARTBEAT_S: u16 = 20;

/// Address of a broker, and how it is called.
#[derive(Clone)]
pub(super) struct Dial {
    uri: AMQPUri,
    /// With `amqps`.
    tls: Option<Arc<ClientConfig>>,
}

impl Dial {
    /// # Errors
    /// When the URL is none, or names certificates that cannot be used.
    pub(super) fn new(url: &str) -> Result<Self, QueueError> {
        let (url, files) = taken_from(url, CERTIFICATES);
        let (url, may_be_plain) = without_word(&url);
        let mut uri: AMQPUri = url.parse().map_err(|reason: String| QueueError::BadUrl {
            reason: format!(
                "{reason}; write amqps://user:password@host:5671/vhost, or amqp:// for one on this machine"
            ),
        })?;
        uri.query.heartbeat = Some(uri.query.heartbeat.map_or(HEARTBEAT_S, heartbeat));
        let tls = match uri.scheme {
            AMQPScheme::AMQPS => Some(Arc::new(files.client("certfile and keyfile")?)),
            // Whoever names certificates believes that they are used.
            AMQPScheme::AMQP if files.is_named() => {
                let reason = "it names certificates, which amqp:// has no use for; write amqps://".to_owned();
                return Err(QueueError::BadUrl { reason });
            }
            AMQPScheme::AMQP if !may_be_plain && !is_this_machine(&uri.authority.host) => {
                let reason = format!(
                    "amqp:// to {} is not encrypted, password included; write amqps://, or allow it on a trusted network with \
                     ?sslmode=disable (or REGATTA_AMQP_PLAIN=true)",
                    uri.authority.host
                );
                return Err(QueueError::BadUrl { reason });
            }
            AMQPScheme::AMQP => None,
        };
        Ok(Self { uri, tls })
    }

    /// Host and port, without credentials.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.uri.authority.host, self.uri.authority.port)
    }

    /// Connects once. `name` is what the broker's administrator sees.
    pub(super) async fn connect(&self, name: &str) -> lapin::Result<Connection> {
        let properties = ConnectionProperties::default().with_connection_name(name.into());
        let Some(tls) = self.tls.clone() else {
            return Connection::connect_uri(self.uri.clone(), properties).await;
        };
        let connector = RustlsConnector::from(tls);
        let connected = Connection::connector(
            self.uri.clone(),
            default_runtime()?,
            async move |uri: AMQPUri, runtime| {
                let (host, port) = (uri.authority.host, uri.authority.port);
                let plain = AsyncTcpStream::connect(&runtime, runtime.to_socket_addrs((host.clone(), port))).await?;
                Ok(plain.into_rustls(&connector, &host).await?)
            },
            properties,
        )
        .await;
        connected.map_err(with_reason)
    }
}

/// The heartbeat of a URL that asks for one of `asked` seconds; 0 asks for none.
fn heartbeat(asked: u16) -> u16 {
    if (1..=HEARTBEAT_S).contains(&asked) {
        return asked;
    }
    tracing::warn!(
        asked,
        "the URL of the broker asks for a heartbeat that is not from 1 to {HEARTBEAT_S} seconds; it is {HEARTBEAT_S}, because a worker that \
         is cut off has to be noticed within a minute"
    );
    HEARTBEAT_S
}

/// `url` without [`UNENCRYPTED`], which the driver does not know; `true` if it was there.
fn without_word(url: &str) -> (String, bool) {
    let Some((address, query)) = url.split_once('?') else { return (url.to_owned(), false) };
    let rest: Vec<&str> = query.split('&').filter(|option| *option != UNENCRYPTED).collect();
    let joint = if rest.is_empty() { "" } else { "?" };
    (format!("{address}{joint}{}", rest.join("&")), rest.len() < query.split('&').count())
}

/// A client learns that its certificate was refused only after its own part of the handshake, and not even that where the connection is
/// reset before it has read the alert.
fn with_reason(error: lapin::Error) -> lapin::Error {
    let ErrorKind::IOError(cause) = error.kind() else { return error };
    let told = regatta_proto::causes(&error);
    if let Some(advice) = handshake_advice(&told, TLS_OPTIONS) {
        return io::Error::new(cause.kind(), format!("{told}; {advice}")).into();
    }
    if !matches!(
        cause.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof
    ) {
        return error;
    }
    let reason = format!(
        "the broker ended the connection during the TLS handshake: {cause}; if it asks for certificates, name one of an authority that \
         it knows with certfile and keyfile"
    );
    io::Error::new(cause.kind(), reason).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_refused_where_nothing_is_encrypted() {
        let error = Dial::new("amqp://u:secret@h/v?cacertfile=/ca.pem").err().unwrap().to_string();
        assert!(error.contains("amqps://") && !error.contains("secret"), "{error}");
        assert_eq!(Dial::new("amqp://u:p@localhost:1/v").ok().unwrap().address(), "localhost:1");
    }

    #[test]
    fn beyond_this_machine_all_is_encrypted_unless_the_url_says_otherwise() {
        for url in
            ["amqp://u:secret@h/v", "amqp://u:secret@10.0.0.5:5672/v?heartbeat=5", "amqp://u:sslmode=disable@h/v"]
        {
            let error = Dial::new(url).err().unwrap().to_string();
            assert!(error.contains("write amqps://") && error.contains("?sslmode=disable"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        for url in
            ["amqp://u:p@h/v?sslmode=disable", "amqp://u:p@h/v?heartbeat=5&sslmode=disable", "amqp://u:p@[::1]:5672/v"]
        {
            assert!(Dial::new(url).ok().unwrap().tls.is_none(), "{url}");
        }
        let dial = Dial::new("amqp://u:p@h/v?sslmode=disable&heartbeat=5").ok().unwrap();
        assert_eq!(dial.uri.query.heartbeat, Some(5));
    }

    #[test]
    fn a_dead_peer_is_noticed_within_two_heartbeats_of_twenty_seconds_whatever_the_url_says() {
        let queries = ["", "?heartbeat=1", "?heartbeat=20", "?heartbeat=21", "?heartbeat=3600", "?heartbeat=0"];
        let heartbeats = queries.map(|query| {
            let dial = Dial::new(&format!("amqp://u:p@localhost/v{query}")).ok().unwrap();
            dial.uri.query.heartbeat.unwrap()
        });
        assert_eq!(heartbeats, [20, 1, 20, 20, 20, 20]);
    }
}
