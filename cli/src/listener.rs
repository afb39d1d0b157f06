//! Listening for HTTP: so many connections, none that says nothing or takes nothing for long.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use axum::http::Request;
use axum::response::{IntoResponse, Response};
use axum::{Json, http::StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use regatta_serving::{RareLine, WriteTimeout};
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

/// Limits of a listener.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Connections served at once; more wait to be accepted.
    connections: usize,
    /// Connections of one address served at once; further ones are closed.
    connections_of_one: usize,
    /// A connection without a whole head of a request for so long is closed.
    head: Duration,
}

const LIMITS: Limits = Limits { connections: 512, connections_of_one: 64, head: Duration::from_secs(15) };
/// Longest request, its body and the beginning of its answer included: the largest upload on a slow line.
const REQUEST_MAX: Duration = Duration::from_secs(600);
/// Longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 100;
/// Pause after a failed accept, which is mostly a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Strangers connect as often as they like.
static REFUSED: RareLine = RareLine::new();

/// Opens `address`; a taken port is a configuration error that says what to do.
pub(crate) fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    regatta_serving::listen(address)
        .with_context(|| {
            format!("failed to listen on {address}; is another process using the port? Choose another with --listen")
        })
        .map_err(crate::exit::bad_configuration)
}

/// Serves `routes` until `stop` fires; requests that are being answered are answered.
pub(crate) fn serve(
    listener: TcpListener,
    routes: axum::Router,
    stop: CancellationToken,
) -> tokio::task::JoinHandle<()> {
    serve_within(listener, None, routes, stop, LIMITS)
}

/// The same, over TLS where there is an acceptor, with so many connections of one address.
#[cfg_attr(not(any(test, feature = "cluster")), expect(dead_code, reason = "only the roles of a deployment need it"))]
pub(crate) fn serve_tls(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    connections_of_one: usize,
    routes: axum::Router,
    stop: CancellationToken,
) -> tokio::task::JoinHandle<()> {
    serve_within(listener, tls, routes, stop, Limits { connections_of_one, ..LIMITS })
}

fn serve_within(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    routes: axum::Router,
    stop: CancellationToken,
    limits: Limits,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let (places, connections) = (Arc::new(Semaphore::new(limits.connections)), TaskTracker::new());
        let peers = Peers::default();
        loop {
            let next = async {
                let place = Arc::clone(&places).acquire_owned().await.ok()?;
                Some((place, listener.accept().await))
            };
            let Some(Some((place, accepted))) = stop.run_until_cancelled(next).await else { break };
            match accepted {
                Ok((stream, peer)) => {
                    // Before the handshake, which costs more than the connection.
                    let Some(share) = peers.admit(peer.ip(), limits.connections_of_one) else {
                        tracing::debug!(address = %peer.ip(), "closed a connection: its address has as many as one may have");
                        continue;
                    };
                    let (tls, routes, stop) = (tls.clone(), routes.clone(), stop.clone());
                    let stream = WriteTimeout::new(stream);
                    connections.spawn(async move {
                        match tls {
                            Some(tls) => match tokio::time::timeout(limits.head, tls.accept(stream)).await {
                                Ok(Ok(stream)) => {
                                    let shown = stream.get_ref().1.peer_certificates();
                                    let certificate = shown.and_then(<[_]>::first).cloned().map(ClientCertificate);
                                    converse(stream, certificate, routes, stop, limits.head).await;
                                }
                                Ok(Err(error)) => {
                                    if let Some(left_out) = REFUSED.admit(&error.to_string()) {
                                        let address = peer.ip();
                                        tracing::warn!(
                                            %error, %address, left_out,
                                            "refused a connection: its TLS handshake failed"
                                        );
                                    }
                                }
                                Err(_) => {}
                            },
                            None => converse(stream, None, routes, stop, limits.head).await,
                        }
                        drop((place, share));
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection; trying again");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        connections.close();
        connections.wait().await;
    })
}

/// Connections that are served, by the address of their peer.
#[derive(Debug, Clone, Default)]
struct Peers(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One of the connections of an address; counts until it is dropped.
#[derive(Debug)]
struct Share {
    peers: Peers,
    address: IpAddr,
}

impl Peers {
    /// One more connection of `address`, unless it has `most` already.
    fn admit(&self, address: IpAddr, most: usize) -> Option<Share> {
        let address = network(address);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Share { peers: self.clone(), address })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.peers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

/// The address as it is counted: of IPv6 the network of 64 bits, of which one machine has all.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() >> 64 << 64).into(),
        four @ IpAddr::V4(_) => four,
    }
}

/// The certificate that a client has shown and whose authority was verified; an extension of each request of its connection.
#[derive(Debug, Clone)]
pub(crate) struct ClientCertificate(
    #[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "only the roles of a deployment read it"))]
    pub(crate) CertificateDer<'static>,
);

async fn converse<S>(
    stream: S,
    certificate: Option<ClientCertificate>,
    routes: axum::Router,
    stop: CancellationToken,
    head_max: Duration,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (routes, certificate) = (routes.clone(), certificate.clone());
        async move {
            let mut request = request.map(axum::body::Body::new);
            if let Some(certificate) = certificate {
                request.extensions_mut().insert(certificate);
            }
            let answered = tokio::time::timeout(REQUEST_MAX, routes.oneshot(request)).await;
            Ok::<Response, std::convert::Infallible>(match answered {
                Ok(Ok(response)) => response,
                Ok(Err(never)) => match never {},
                Err(_) => too_slow(),
            })
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_max)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}

fn too_slow() -> Response {
    let problem = format!("the request took longer than {} s; send it again", REQUEST_MAX.as_secs());
    (StatusCode::REQUEST_TIMEOUT, Json(serde_json::json!({ "error": problem }))).into_response()
}

/// `true` if others than this machine reach what listens on `address`.
pub(crate) fn is_reached_by_others(address: SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    async fn server(head_max: Duration) -> (SocketAddr, CancellationToken, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let routes = axum::Router::new().route("/", axum::routing::get(|| async { "ok" }));
        let limits = Limits { head: head_max, ..LIMITS };
        (address, stop.clone(), serve_within(listener, None, routes, stop, limits))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_reads_is_dropped_and_its_place_is_free_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        // More than the system keeps for a client that does not read.
        let much = bytes::Bytes::from(vec![b'x'; 32 << 20]);
        let routes = axum::Router::new()
            .route("/much", axum::routing::get(async move || much.clone()))
            .route("/", axum::routing::get(async || "ok"));
        let limits = Limits { connections: 1, ..LIMITS };
        let _serving = serve_within(listener, None, routes, CancellationToken::new(), limits);
        let begun = tokio::time::Instant::now();
        let mut deaf = TcpStream::connect(address).await.unwrap();
        deaf.write_all(b"GET /much HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut next = TcpStream::connect(address).await.unwrap();
        next.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        tokio::time::timeout(Duration::from_secs(300), next.read_to_end(&mut answer))
            .await
            .expect("the place of the client that never reads is not free again")
            .unwrap();
        assert!(answer.ends_with(b"ok"));
        assert_eq!(begun.elapsed().as_secs(), regatta_serving::WRITE_STALL_MAX.as_secs());
    }

    #[tokio::test]
    async fn a_head_that_is_never_finished_is_not_waited_for() {
        let (address, _stop, _serving) = server(Duration::from_millis(50)).await;
        for said in ["", "GET / HT", "GET / HTTP/1.1\r\nhost: x\r\nx-slow: 1"] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(said.as_bytes()).await.unwrap();
            let mut rest = Vec::new();
            // Ends when the server closes.
            let _ = stream.read_to_end(&mut rest).await;
        }
    }

    #[tokio::test]
    async fn a_kept_connection_that_asks_nothing_more_is_closed() {
        let (address, _stop, _serving) = server(Duration::from_millis(50)).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert!(answer.ends_with(b"ok"));
    }

    #[tokio::test]
    async fn pieces_of_a_body_are_no_longer_than_twice_what_is_read_ahead() {
        const LENGTH: usize = 16 << 20;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let longest = async |body: axum::body::Body| {
            let mut pieces = body.into_data_stream();
            let mut longest = 0;
            while let Some(piece) = futures::StreamExt::next(&mut pieces).await {
                longest = longest.max(piece.unwrap().len());
            }
            longest.to_string()
        };
        let routes = axum::Router::new().route("/", axum::routing::put(longest));
        let routes = routes.layer(axum::extract::DefaultBodyLimit::disable());
        let _serving = serve_within(listener, None, routes, CancellationToken::new(), LIMITS);
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("PUT / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {LENGTH}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; LENGTH]).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (_, longest) = answer.split_once("\r\n\r\n").unwrap();
        let longest: usize = longest.parse().unwrap();
        assert!((1..=2 * HEAD_BYTES_MAX).contains(&longest), "{longest}");
    }

    #[tokio::test]
    async fn it_ends_when_it_is_told_to() {
        let (address, stop, serving) = server(LIMITS.head).await;
        let _idle = TcpStream::connect(address).await.unwrap();
        stop.cancel();
        serving.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }

    /// A connection to `server` from another address of this machine.
    async fn connect_from(own: &str, server: SocketAddr) -> TcpStream {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(own.parse().unwrap(), 0)).unwrap();
        socket.connect(server).await.unwrap()
    }

    async fn is_answered(mut stream: TcpStream) -> bool {
        let mut answer = Vec::new();
        // A connection that is closed at once may be reset.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        let _ = stream.read_to_end(&mut answer).await;
        answer.ends_with(b"ok")
    }

    #[tokio::test]
    async fn one_address_takes_its_share_of_the_places_and_no_more() {
        const OF_ONE: usize = 3;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        let routes = axum::Router::new().route("/", axum::routing::get(|| async { "ok" }));
        let limits = Limits { connections: 2 * OF_ONE, connections_of_one: OF_ONE, ..LIMITS };
        let _serving = serve_within(listener, None, routes, CancellationToken::new(), limits);
        let mut held = Vec::new();
        for _ in 0..OF_ONE {
            held.push(connect_from("127.0.0.2", server).await);
        }
        for _ in 0..4 * OF_ONE {
            assert!(!is_answered(connect_from("127.0.0.2", server).await).await, "more than its share");
        }
        assert!(is_answered(connect_from("127.0.0.1", server).await).await, "others are let in");
        drop(held.pop());
        let begun = tokio::time::Instant::now();
        while !is_answered(connect_from("127.0.0.2", server).await).await {
            assert!(begun.elapsed() < LIMITS.head, "a place that is free again is not taken");
        }
    }

    #[test]
    fn addresses_of_one_network_count_as_one() {
        let same = |one: &str, other: &str| network(one.parse().unwrap()) == network(other.parse().unwrap());
        assert!(same("2001:db8::1", "2001:db8::ffff:1"));
        assert!(!same("2001:db8:0:1::1", "2001:db8:0:2::1"));
        assert!(same("::ffff:10.0.0.1", "10.0.0.1") && !same("10.0.0.1", "10.0.0.2"));
        let peers = Peers::default();
        let share = peers.admit("10.0.0.1".parse().unwrap(), 1);
        assert!(share.is_some() && peers.admit("10.0.0.1".parse().unwrap(), 1).is_none());
        drop(share);
        assert!(peers.0.lock().unwrap().is_empty(), "an address without connections is forgotten");
    }

    #[test]
    fn others_reach_everything_but_loopback() {
        for others in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1"] {
            assert!(is_reached_by_others(others.parse().unwrap()), "{others}");
        }
        for own in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(!is_reached_by_others(own.parse().unwrap()), "{own}");
        }
    }
}
