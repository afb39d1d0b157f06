use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;

use futures::future::join_all;
use regatta_memory::ByteBudget;
use regatta_tests::{Authority, ServerTls};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::policy::Names;
use crate::scripted::{Server, Step};

const BEARER: KeyHeader = KeyHeader { name: "authorization", prefix: "Bearer " };
fn open() -> Arc<EgressRules> {
    Arc::new(EgressRules::open())
}

const TIMEOUTS: Timeouts = Timeouts { connect_ms: 5_000, first_byte_ms: 30_000, total_ms: 60_000 };

async fn post(server: &Server, timeouts: Timeouts) -> Result<Answer, Failure> {
    let (transport, url) = transport(server, timeouts);
    sent(&transport, &url).await
}

/// The answer to a request of a process that holds nothing else.
async fn sent(transport: &Transport, url: &Url) -> Result<Answer, Failure> {
    let held = ByteBudget::new(256 << 20).holder().read();
    let (answer, _held) = transport.post(url, &HeaderMap::new(), Bytes::from_static(b"{}"), held).await?;
    Ok(answer)
}

fn transport(server: &Server, timeouts: Timeouts) -> (Transport, Url) {
    let url = Url::parse(&format!("{}/chat/completions", server.base_url)).unwrap();
    (Transport::new(&url, Secret::default(), BEARER, timeouts, open(), None, Standstill::watch()).unwrap(), url)
}

async fn failure(step: Step, timeouts: Timeouts) -> Failure {
    post(&Server::scripted(vec![step]).await, timeouts).await.unwrap_err()
}

#[tokio::test]
async fn calls_one_after_another_share_a_connection() {
    let server =
        Server::scripted(vec![Step::ok("x".repeat(100_000)), Step::Chunks(vec![b"y".to_vec()]), Step::ok("")]).await;
    let (transport, url) = transport(&server, TIMEOUTS);
    for _ in 0..20 {
        sent(&transport, &url).await.unwrap();
    }
    assert_eq!((server.seen().len(), server.connections()), (20, 1));
}

/// Answers one request and closes the connection without having said so; returns once the client has closed its end too.
async fn answer_and_close(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut read = Vec::new();
    while !read.ends_with(b"{}") {
        assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
    stream.shutdown().await.unwrap();
    stream.read_to_end(&mut read).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_was_idle_costs_no_call() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/chat/completions", listener.local_addr().unwrap())).unwrap();
    let transport =
        Transport::new(&url, Secret::default(), BEARER, TIMEOUTS, open(), None, Standstill::watch()).unwrap();
    for _ in 0..3 {
        let (answer, ()) = tokio::join!(sent(&transport, &url), answer_and_close(&listener));
        assert_eq!(answer.unwrap().status, 200);
    }
}

#[tokio::test]
async fn a_request_that_was_sent_on_a_used_connection_may_have_been_billed() {
    let server = Server::scripted(vec![Step::ok("{}"), Step::Close, Step::ok("{}")]).await;
    let (transport, url) = transport(&server, TIMEOUTS);
    sent(&transport, &url).await.unwrap();
    let failure = sent(&transport, &url).await.unwrap_err();
    assert!(failure.maybe_billed, "the endpoint has read it");
    assert_eq!((server.seen().len(), server.connections()), (2, 1), "nothing but Regatta sends it again");
    sent(&transport, &url).await.unwrap();
}

#[tokio::test]
async fn a_body_is_read_up_to_the_limit_and_no_byte_further() {
    for over in [0, 1] {
        let body = vec![b'x'; BODY_MAX + over];
        let chunks = body.chunks(1 << 20).map(<[u8]>::to_vec).collect();
        for step in [Step::ok(body.clone()), Step::Chunks(chunks)] {
            let result = post(&Server::scripted(vec![step]).await, TIMEOUTS).await;
            match (over, result) {
                (0, Ok(answer)) => assert_eq!(answer.body.len(), BODY_MAX),
                (1, Err(failure)) => {
                    assert_eq!(failure.class, ErrorClass::BadResponse);
                    assert_eq!(*failure.detail, *"the body is larger than 67108864 bytes");
                }
                (_, result) => panic!("{over} over: {:?}", result.map(|answer| answer.body.len())),
            }
        }
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let step = Step::Answer { status: 307, headers: "location: http://127.0.0.1:1/elsewhere\r\n", body: vec![] };
    let server = Server::scripted(vec![step]).await;
    assert_eq!(post(&server, TIMEOUTS).await.unwrap().status, 307);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_name_that_leads_to_an_address_which_is_not_allowed_is_not_connected_to() {
    let server = Server::scripted(vec![Step::ok("")]).await;
    let port = Url::parse(&server.base_url).unwrap().port().unwrap();
    // What is asked is known by its name alone when it is opened; where that leads may change from one moment to the next.
    let named = Url::parse("http://endpoint.example/v1").unwrap();
    let asked = Url::parse(&format!("http://localhost:{port}/v1/chat/completions")).unwrap();
    let rules = |rules: EgressRules| {
        let opened =
            Transport::new(&named, Secret::default(), BEARER, TIMEOUTS, Arc::new(rules), None, Standstill::watch());
        opened.unwrap()
    };
    let failure = sent(&rules(EgressRules::default()), &asked).await.unwrap_err();
    assert_eq!((failure.class, server.connections()), (ErrorClass::Connection, 0));
    assert!(
        failure.detail.contains("localhost resolves to ") && failure.detail.contains("private"),
        "{}",
        failure.detail
    );
    assert_eq!(sent(&rules(EgressRules::open()), &asked).await.unwrap().status, 200);
}

/// A name with another address at each look-up, the last of the list first.
#[derive(Debug)]
struct Rebound(Mutex<Vec<SocketAddr>>);

impl Names for Rebound {
    fn look_up<'n>(&'n self, host: &'n str) -> BoxFuture<'n, io::Result<Vec<SocketAddr>>> {
        let next = self.0.lock().unwrap().pop();
        let found = next.map(|address| vec![address]).ok_or_else(|| io::Error::other(format!("{host} has no more")));
        Box::pin(std::future::ready(found))
    }
}

#[tokio::test]
async fn a_name_whose_address_changes_is_connected_to_where_it_was_checked_and_refused_once_it_leads_inside() {
    // Both are of this machine; the rules allow one of them alone.
    let (public, inside) =
        (TcpListener::bind("127.0.0.2:0").await.unwrap(), Server::scripted(vec![Step::ok("")]).await);
    let inside_at = Url::parse(&inside.base_url).unwrap().socket_addrs(|| None).unwrap()[0];
    let names = Arc::new(Rebound(Mutex::new(vec![inside_at, public.local_addr().unwrap()])));
    let rules = EgressRules { private: vec!["127.0.0.2".parse().unwrap()], ..EgressRules::default() };
    let addresses = AllowedAddresses::by(Arc::new(rules), Arc::clone(&names) as Arc<dyn Names>);
    // Without a port in the address, the ports are those of the look-ups.
    let url = Url::parse("http://rebound.example/v1/chat/completions").unwrap();
    let direct = Url::parse("http://127.0.0.2/").unwrap();
    let transport = Transport {
        client: pool(&direct, Duration::from_secs(5), addresses, tls(false).unwrap()).unwrap(),
        network: None,
        standstill: Standstill::watch(),
        headers: HeaderMap::new(),
        timeouts: TIMEOUTS,
        secret: Secret::default(),
    };
    let (answer, ()) = tokio::join!(sent(&transport, &url), answer_and_close(&public));
    assert_eq!(answer.unwrap().status, 200);
    assert_eq!(*names.0.lock().unwrap(), [inside_at], "a connection was made by more than one look-up");
    let failure = sent(&transport, &url).await.unwrap_err();
    assert!(failure.reach.is_unreached(), "{failure:?}");
    assert!(failure.detail.contains("rebound.example resolves to 127.0.0.1, a private address"), "{failure:?}");
    assert_eq!((inside.connections(), names.0.lock().unwrap().len()), (0, 0));
}

#[tokio::test]
async fn a_refused_connection_is_a_connection_failure_that_reached_nobody() {
    let server = Server::scripted(vec![Step::ok("")]).await;
    let (transport, _) = transport(&server, TIMEOUTS);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = Url::parse(&format!("http://{closed}/v1/chat/completions")).unwrap();
    let failure = sent(&transport, &url).await.unwrap_err();
    assert_eq!((failure.class, failure.reach.is_unreached(), failure.status), (ErrorClass::Connection, true, None));
    assert!(failure.detail.contains("refused"), "{}", failure.detail);
}

/// Between the permission to send a request and its first byte a connection is made, in which time a process may be stopped.
#[tokio::test]
async fn a_process_that_stood_still_after_the_permission_sends_no_byte() {
    let server = Server::scripted(vec![Step::ok("")]).await;
    let url = Url::parse(&format!("{}/chat/completions", server.base_url)).unwrap();
    let standstill = Standstill::watch();
    let transport =
        Transport::new(&url, Secret::default(), BEARER, TIMEOUTS, open(), None, standstill.clone()).unwrap();
    sent(&transport, &url).await.unwrap();
    standstill.stands_still(Instant::now());
    let failure = sent(&transport, &url).await.unwrap_err();
    assert!(failure.reach == Reach::StoodStill && !failure.maybe_billed, "{failure:?}");
    assert!(failure.detail.contains("stood still"), "{}", failure.detail);
    assert_eq!(server.seen().len(), 1);
}

/// Detail of a call to `host`, whose server shows what `server` says, by a client that trusts `authority`.
async fn handshake(host: &str, server: &ServerTls, authority: Option<&Path>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://{host}:{}/v1", listener.local_addr().unwrap().port())).unwrap();
    let acceptor = server.acceptor().unwrap();
    let serving = tokio::spawn(async move {
        // Kept until the client has had enough: what the server has against it comes after the handshake.
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            kept.push(acceptor.accept(stream).await);
        }
    });
    let client = match authority {
        Some(file) => pool(&url, Duration::from_secs(5), AllowedAddresses::new(open()), trusting(file)),
        None => http_client(&url, Duration::from_secs(5), open()),
    };
    let transport = Transport {
        client: client.unwrap(),
        network: None,
        standstill: Standstill::watch(),
        headers: HeaderMap::new(),
        timeouts: TIMEOUTS,
        secret: Secret::default(),
    };
    let failure = sent(&transport, &url).await.unwrap_err();
    serving.abort();
    assert_eq!((failure.class, failure.status), (ErrorClass::Connection, None), "{failure:?}");
    failure.detail.to_string()
}

fn trusting(authority: &Path) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

#[tokio::test]
async fn a_failed_handshake_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, theirs] = ["ours", "theirs"].map(|name| Authority::new(folder.path(), name).unwrap());
    let shows = |identity| ServerTls { identity, client_authority: None };
    let right = || shows(ours.issue("localhost").unwrap());
    let asks = ServerTls { client_authority: Some(ours.certificate()), ..right() };
    let (trusted, untrusted) = (ours.certificate(), theirs.certificate());
    let unknown = "of an authority that is not trusted here; name the file of that authority with SSL_CERT_FILE";
    for (detail, advice) in [
        (handshake("localhost", &right(), None).await, unknown),
        (handshake("localhost", &right(), Some(&untrusted)).await, unknown),
        (
            handshake("127.0.0.1", &right(), Some(&trusted)).await,
            "for another name than the address has; use the name that it is for",
        ),
        (
            handshake("localhost", &shows(ours.issue_expired("localhost").unwrap()), Some(&trusted)).await,
            "has expired; renew it there",
        ),
    ] {
        assert!(detail.contains(advice), "{advice}: {detail}");
    }
    // The server's alert, or the end of the connection where that was seen first.
    let detail = handshake("localhost", &asks, Some(&trusted)).await;
    let alert = "asks for a client certificate, and none is shown from here; have it take connections without one";
    let ended = "as soon as it was made; if it asks for client certificates, reach it by a proxy";
    assert!(detail.contains(alert) || detail.contains(ended), "{detail}");
}

#[tokio::test]
async fn a_server_without_tls_at_an_address_with_it_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://{}/v1", listener.local_addr().unwrap())).unwrap();
    let serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        }
    });
    let transport =
        Transport::new(&url, Secret::default(), BEARER, TIMEOUTS, open(), None, Standstill::watch()).unwrap();
    let failure = sent(&transport, &url).await.unwrap_err();
    serving.abort();
    assert!(failure.detail.contains("speaks no TLS at this address"), "{}", failure.detail);
}

#[tokio::test]
async fn a_connection_that_ends_without_an_answer_is_a_connection_failure() {
    for step in [Step::Close, Step::Reset] {
        let failure = failure(step.clone(), TIMEOUTS).await;
        assert_eq!(failure.class, ErrorClass::Connection, "{step:?}: {failure:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_http_is_a_bad_response() {
    let failure = failure(Step::Raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n".to_vec()), TIMEOUTS).await;
    assert_eq!((failure.class, failure.reach.is_unreached()), (ErrorClass::BadResponse, false), "{failure:?}");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_bad_response() {
    for head in ["content-length: 100\r\n\r\n{\"id\"", "transfer-encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n"] {
        let failure = failure(Step::Raw(format!("HTTP/1.1 200 OK\r\n{head}").into_bytes()), TIMEOUTS).await;
        assert_eq!((failure.class, failure.status), (ErrorClass::BadResponse, Some(200)));
        assert!(failure.detail.starts_with("the body broke off after 5 bytes"), "{}", failure.detail);
    }
}

#[tokio::test]
async fn the_status_of_an_error_counts_even_if_its_body_breaks_off() {
    let step = Step::Raw(b"HTTP/1.1 429 X\r\ncontent-length: 100\r\n\r\n{".to_vec());
    assert_eq!(post(&Server::scripted(vec![step]).await, TIMEOUTS).await.unwrap().status, 429);
}

#[tokio::test]
async fn an_answer_must_begin_and_end_in_time() {
    let first_byte = Timeouts { first_byte_ms: 30, ..TIMEOUTS };
    let silent = failure(Step::Hang(vec![]), first_byte).await;
    assert_eq!(
        (silent.class, silent.status, &*silent.detail),
        (ErrorClass::Timeout, None, "no answer began within 30 ms")
    );
    assert!(!silent.reach.is_unreached());

    let total = Timeouts { total_ms: 100, ..TIMEOUTS };
    let begun = Step::Hang(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec());
    let slow = failure(begun, total).await;
    assert_eq!((slow.class, slow.status), (ErrorClass::Timeout, Some(200)));
    assert_eq!(*slow.detail, *"the answer was not complete within 100 ms");
}

#[tokio::test]
async fn a_key_that_no_header_can_hold_is_refused_without_being_shown() {
    let url = Url::parse("http://localhost/v1").unwrap();
    let error = Transport::new(&url, Secret::new("sk\n1".into()), BEARER, TIMEOUTS, open(), None, Standstill::watch())
        .err()
        .unwrap();
    assert!(!format!("{error} {error:?}").contains("sk"));
}

#[tokio::test]
async fn tls_finds_the_machines_certificates() {
    let url = Url::parse("https://example.org/v1").unwrap();
    assert!(Transport::new(&url, Secret::default(), BEARER, TIMEOUTS, open(), None, Standstill::watch()).is_ok());
}

#[test]
fn only_this_machine_is_loopback() {
    for (url, expected) in [
        ("http://localhost:1/", true),
        ("http://127.0.0.1/", true),
        ("http://[::1]:8080/", true),
        ("http://10.0.0.1/", false),
        ("https://api.openai.com/v1", false),
    ] {
        assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
    }
}

/// The rules are asked by the resolver of the transport itself; what they say of names is tested beside them.
#[tokio::test]
async fn a_name_that_resolves_to_a_forbidden_address_is_not_reached() {
    let server = Server::scripted(vec![Step::ok("")]).await;
    let local = Url::parse(&server.base_url).unwrap();
    let closed = || Arc::new(EgressRules::default());
    let refused = Transport::new(&local, Secret::default(), BEARER, TIMEOUTS, closed(), None, Standstill::watch());
    assert!(matches!(refused, Err(TransportError::Egress(_))));
    // Not an address literal, so only resolving it reveals the address.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let found =
        tokio::net::lookup_host((host.as_str(), 0)).await.map(|found| found.map(|at| at.ip()).collect::<Vec<_>>());
    if !found.is_ok_and(|found| found.iter().any(|address| closed().refusal(*address).is_some())) {
        eprintln!("skipped: this machine's own name does not resolve to a private address");
        return;
    }
    let url = Url::parse(&format!("http://{host}:{}/", local.port().unwrap())).unwrap();
    let transport =
        Transport::new(&url, Secret::default(), BEARER, TIMEOUTS, closed(), None, Standstill::watch()).unwrap();
    let failure = sent(&transport, &url).await.unwrap_err();
    assert!(failure.reach.is_unreached() && failure.detail.contains("that the policy does not name"), "{failure:?}");
}

/// Bytes that a test's process may hold, and length of a long answer, which one holder may just have.
const BUDGET: u64 = 4 << 20;
const LONG: usize = 1 << 20;

#[tokio::test]
async fn seven_long_answers_at_once_are_all_read_and_never_hold_more_than_the_budget() {
    let server = Server::scripted(vec![Step::Chunks(vec![vec![b'x'; LONG / 8]; 8])]).await;
    let (transport, url) = transport(&server, TIMEOUTS);
    let budget = ByteBudget::new(BUDGET);
    let read = |_| async {
        let held = budget.holder().read();
        let (answer, held) = transport.post(&url, &HeaderMap::new(), Bytes::new(), held).await.unwrap();
        (answer.body.len(), held.bytes())
    };
    for (length, held) in join_all((0..7).map(read)).await {
        assert_eq!((length, held), (LONG, LONG as u64));
    }
    assert!(budget.held_max() <= BUDGET, "{}", budget.held_max());
    assert_eq!((budget.held(), budget.waiting()), (0, 0));
}

#[tokio::test]
async fn while_there_is_no_room_nothing_is_read_until_the_calls_time_is_over_and_short_answers_go_on() {
    let server = Server::scripted(vec![Step::Chunks(vec![vec![b'x'; LONG]]), Step::ok("short")]).await;
    let (transport, url) = transport(&server, Timeouts { total_ms: 300, ..TIMEOUTS });
    let budget = ByteBudget::new(BUDGET);
    // One beyond the share of long reads, which three eighths are.
    let mut others: Vec<HeldBytes> = (0..2).map(|_| budget.holder().read()).collect();
    for held in &mut others {
        held.grow(LONG as u64 - 1).await.unwrap();
    }
    let failure =
        transport.post(&url, &HeaderMap::new(), Bytes::new(), budget.holder().read()).await.map(drop).unwrap_err();
    assert_eq!(failure.class, ErrorClass::Timeout, "{failure:?}");
    let short = transport.post(&url, &HeaderMap::new(), Bytes::new(), budget.holder().read()).await;
    assert_eq!(short.unwrap().0.body, "short");
    drop(others);
    assert_eq!((budget.held(), budget.waiting()), (0, 0));
}

#[tokio::test]
async fn an_answer_that_one_session_cannot_hold_is_a_bad_response() {
    let server = Server::scripted(vec![Step::Chunks(vec![vec![b'x'; LONG / 2]; 3])]).await;
    let (transport, url) = transport(&server, TIMEOUTS);
    let budget = ByteBudget::new(BUDGET);
    let failure =
        transport.post(&url, &HeaderMap::new(), Bytes::new(), budget.holder().read()).await.map(drop).unwrap_err();
    assert_eq!((failure.class, failure.status), (ErrorClass::BadResponse, Some(200)));
    assert!(failure.detail.contains("may hold 1048576 bytes"), "{}", failure.detail);
    assert_eq!(budget.held(), 0);
}
