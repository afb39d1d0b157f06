//! Handshakes with real servers: who is talked to, who is not, and the words in which that is said.
#![cfg(feature = "cluster")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use regatta_backends::blobs::{S3Blobs, S3Config};
use regatta_backends::queue::RabbitMqConfig;
use regatta_backends::{Blobs, CertificateFiles, Ledger, PostgresConfig, Queue};
use regatta_tests::{Authority, Identity, Postgres, RabbitMq, S3Server, ServerTls, create_database};
use tempfile::TempDir;

/// Two authorities of which one is ours, and what a client can show.
struct World {
    ours: Authority,
    theirs: Authority,
    client: Identity,
    stranger: Identity,
    _folder: TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Servers that run as other users read the files too.
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let ours = Authority::new(folder.path(), "ours").unwrap();
        let theirs = Authority::new(folder.path(), "theirs").unwrap();
        let (client, stranger) = (ours.issue("client").unwrap(), theirs.issue("client").unwrap());
        Self { ours, theirs, client, stranger, _folder: folder }
    }

    /// A server that shows `identity`, and asks for certificates of ours.
    fn server(&self, identity: Identity) -> ServerTls {
        ServerTls { identity, client_authority: Some(self.ours.certificate()) }
    }
}

fn files(authority: &Authority, shown: Option<&Identity>) -> CertificateFiles {
    CertificateFiles {
        authorities: Some(authority.certificate()),
        certificate: shown.map(|shown| shown.certificate.clone()),
        key: shown.map(|shown| shown.key.clone()),
    }
}

/// Files as options of a URL, by their names there.
fn query(files: &CertificateFiles, names: [&str; 3]) -> String {
    let given = [files.authorities.as_ref(), files.certificate.as_ref(), files.key.as_ref()];
    let option = |(name, file): (&str, Option<&PathBuf>)| Some(format!("{name}={}", file?.display()));
    let options = names.into_iter().zip(given).filter_map(option);
    options.collect::<Vec<_>>().join("&")
}

/// An error with all that caused it.
fn told(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn assert_told(what: &str, result: Result<(), String>, reason: &str) {
    let problem = result.err().unwrap_or_else(|| "it went well".to_owned());
    assert!(problem.to_lowercase().contains(&reason.to_lowercase()), "{what}: expected {reason:?} in: {problem}");
}

/// A client certificate, or its absence, is not taken: by the server's alert, or by our sentence where the connection was seen to end
/// before that was read.
fn assert_refused(result: Result<(), String>) {
    let problem = result.err().unwrap_or_else(|| "it went well".to_owned());
    let reasons = [NOT_SHOWN, NOT_TAKEN, "name one of an authority that it knows"];
    assert!(reasons.iter().any(|reason| problem.contains(reason)), "{problem}");
}

const UNKNOWN: &str = "of an authority that is not trusted here; name the file of that authority with";
const NAME: &str = "for another name than the address has; use the name that it is for";
const EXPIRED: &str = "has expired; renew it there";
const NOT_SHOWN: &str = "asks for a client certificate, and none was shown; name one with";
const NOT_TAKEN: &str =
    "did not take the client certificate; name one that has not expired and is of an authority that";

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_is_talked_to_with_the_right_certificates_alone() {
    let world = World::new();
    let server = Postgres::start_with_tls(&world.server(world.ours.issue("localhost").unwrap())).await.unwrap();
    let database = create_database(&server.url()).await.unwrap();
    let name = database.rsplit('/').next().unwrap().to_owned();
    let open = async |host: &str, files: CertificateFiles| {
        let options = query(&files, ["sslrootcert", "sslcert", "sslkey"]);
        let url = format!("postgres://regatta:regatta@{host}:{}/{name}?sslmode=require&{options}", server.port());
        let opened = Ledger::postgres(PostgresConfig { url, pool_size: 1 }).await;
        opened.map(drop).map_err(|error| told(&error))
    };
    let right = || files(&world.ours, Some(&world.client));
    open("localhost", right()).await.unwrap();
    assert_told("wrong authority", open("localhost", files(&world.theirs, Some(&world.client))).await, UNKNOWN);
    assert_told("wrong name", open("127.0.0.1", right()).await, NAME);
    assert_told("no certificate", open("localhost", files(&world.ours, None)).await, NOT_SHOWN);
    assert_told("a stranger's", open("localhost", files(&world.ours, Some(&world.stranger))).await, NOT_TAKEN);
    let outdated = world.ours.issue_expired("client").unwrap();
    assert_told("an expired one", open("localhost", files(&world.ours, Some(&outdated))).await, NOT_TAKEN);
    server.show(&world.server(world.ours.issue_expired("localhost").unwrap())).await.unwrap();
    assert_told("expired", open("localhost", right()).await, EXPIRED);
    server.show(&world.server(world.ours.issue("localhost").unwrap())).await.unwrap();
    open("localhost", right()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn rabbitmq_is_talked_to_with_the_right_certificates_alone() {
    let world = World::new();
    let broker = RabbitMq::start_with_tls(&world.server(world.ours.issue("localhost").unwrap())).await.unwrap();
    let connect = async |host: &str, files: CertificateFiles| {
        let options = query(&files, ["cacertfile", "certfile", "keyfile"]);
        let plain = broker.amqp_url();
        let (login, _) = plain.trim_start_matches("amqp://").split_once('@').unwrap();
        let url = format!("amqps://{login}@{host}:{}/%2f?{options}", broker.tls_port());
        // One try is enough to be told.
        let config = RabbitMqConfig { connect_timeout: Duration::ZERO, ..RabbitMqConfig::new(url, "tls") };
        let connected = Queue::connect(config).await;
        connected.map(|queue| queue.close()).map_err(|error| told(&error))
    };
    let right = || files(&world.ours, Some(&world.client));
    connect("localhost", right()).await.unwrap();
    let wrong = files(&world.theirs, Some(&world.client));
    assert_told("wrong authority", connect("localhost", wrong).await, UNKNOWN);
    assert_told("wrong name", connect("127.0.0.1", right()).await, NAME);
    assert_refused(connect("localhost", files(&world.ours, None)).await);
    assert_refused(connect("localhost", files(&world.ours, Some(&world.stranger))).await);
    let outdated = world.ours.issue_expired("client").unwrap();
    assert_refused(connect("localhost", files(&world.ours, Some(&outdated))).await);
    broker.show(&world.server(world.ours.issue_expired("localhost").unwrap())).await.unwrap();
    assert_told("expired", connect("localhost", right()).await, EXPIRED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_is_talked_to_with_the_right_certificates_alone() {
    let world = World::new();
    let server = S3Server::start().await.unwrap();
    let listen = |identity: Identity| server.listen_with_tls(&world.server(identity)).unwrap();
    let current = listen(world.ours.issue("localhost").unwrap());
    let expired = listen(world.ours.issue_expired("localhost").unwrap());
    let look = async |host: &str, port: u16, files: CertificateFiles| {
        let blobs = in_bucket(&server, format!("https://{host}:{port}"), files).await;
        let written = blobs.put("a", Bytes::from_static(b"text")).await;
        written.map_err(|error| told(&error))?;
        assert_eq!(blobs.get("a").await.unwrap().unwrap(), "text");
        assert_eq!(blobs.list("").await.unwrap(), ["a"]);
        Ok(())
    };
    let right = || files(&world.ours, Some(&world.client));
    look("localhost", current, right()).await.unwrap();
    let wrong = files(&world.theirs, Some(&world.client));
    assert_told("wrong authority", look("localhost", current, wrong).await, UNKNOWN);
    assert_told("wrong name", look("127.0.0.1", current, right()).await, NAME);
    assert_told("expired", look("localhost", expired, right()).await, EXPIRED);
    assert_refused(look("localhost", current, files(&world.ours, None)).await);
    assert_refused(look("localhost", current, files(&world.ours, Some(&world.stranger))).await);
    let outdated = world.ours.issue_expired("client").unwrap();
    assert_refused(look("localhost", current, files(&world.ours, Some(&outdated))).await);
    // The system's authorities do not know ours.
    assert_told("no authority", look("localhost", current, CertificateFiles::default()).await, UNKNOWN);
}

#[tokio::test]
async fn certificates_that_cannot_be_read_are_named_before_anything_is_asked() {
    let absent = CertificateFiles { authorities: Some(PathBuf::from("/no/ca.pem")), ..CertificateFiles::default() };
    let config = RabbitMqConfig::new("amqps://localhost:1/%2f?cacertfile=/no/ca.pem", "tls");
    let ledger = PostgresConfig { url: "postgres://h/d?sslrootcert=/no/ca.pem".to_owned(), pool_size: 1 };
    let bucket = S3Config {
        bucket: "b".to_owned(),
        prefix: String::new(),
        endpoint_url: Some("https://localhost:1".to_owned()),
        region: Some("us-east-1".to_owned()),
        path_style: true,
        certificates: absent,
    };
    let problems = [
        told(&Queue::connect(config).await.err().unwrap()),
        told(&Ledger::postgres(ledger).await.err().unwrap()),
        told(&Blobs::s3(bucket).await.err().unwrap()),
    ];
    for problem in problems {
        assert!(problem.contains("failed to read /no/ca.pem"), "{problem}");
    }
    assert!(!Path::new("/no/ca.pem").exists());
}

async fn in_bucket(server: &S3Server, endpoint_url: String, certificates: CertificateFiles) -> Blobs {
    let known = server.config();
    let credentials = aws_sdk_s3::config::Credentials::new(&known.access_key, &known.secret_key, None, None, "test");
    let loader = aws_config::defaults(aws_config::BehaviorVersion::latest()).credentials_provider(credentials);
    let config = S3Config {
        bucket: known.bucket.clone(),
        prefix: String::new(),
        endpoint_url: Some(endpoint_url),
        region: Some(known.region.clone()),
        path_style: true,
        certificates,
    };
    Blobs::S3(S3Blobs::with_loader(config, loader).await.unwrap())
}
