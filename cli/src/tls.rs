//! TLS of the API, on both sides: certificates from PEM files, and what is refused.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::exit::bad_configuration;

/// A certificate with its key, as files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity<'a> {
    pub(crate) certificate: &'a Path,
    pub(crate) key: &'a Path,
}

/// A server that shows `identity`, and talks only to clients with a certificate of `client_ca` where there is one.
#[cfg_attr(not(any(test, feature = "cluster")), expect(dead_code, reason = "only the roles of a deployment need it"))]
pub(crate) fn server(identity: Identity<'_>, client_ca: Option<&Path>) -> anyhow::Result<TlsAcceptor> {
    let make = || -> anyhow::Result<TlsAcceptor> {
        let (chain, key) = read(identity)?;
        let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
        let builder = match client_ca {
            Some(path) => {
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots(path)?), provider()).build()?;
                builder.with_client_cert_verifier(verifier)
            }
            None => builder.with_no_client_auth(),
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .with_context(|| format!("{} and {} do not fit", identity.certificate.display(), identity.key.display()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    };
    make().map_err(bad_configuration)
}

/// A client that trusts the authorities of `ca` alone, or, without it, those of the system; it shows `identity` to whoever asks for one.
pub(crate) fn client(ca: Option<&Path>, identity: Option<Identity<'_>>) -> anyhow::Result<ClientConfig> {
    let make = || -> anyhow::Result<ClientConfig> {
        let roots = match ca {
            Some(path) => roots(path)?,
            None => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                roots
            }
        };
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        Ok(match identity {
            Some(identity) => {
                let (chain, key) = read(identity)?;
                builder.with_client_auth_cert(chain, key)?
            }
            None => builder.with_no_client_auth(),
        })
    };
    make().map_err(bad_configuration)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn read(identity: Identity<'_>) -> anyhow::Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let key = PrivateKeyDer::from_pem_file(identity.key);
    let key = key.with_context(|| format!("failed to read a private key from {}", identity.key.display()))?;
    Ok((certificates(identity.certificate)?, key))
}

fn roots(path: &Path) -> anyhow::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).with_context(|| format!("{} holds what is no authority", path.display()))?;
    }
    Ok(roots)
}

fn certificates(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let failed = || format!("failed to read certificates from {}", path.display());
    let found: Vec<_> =
        CertificateDer::pem_file_iter(path).with_context(failed)?.collect::<Result<_, _>>().with_context(failed)?;
    anyhow::ensure!(!found.is_empty(), "{} holds no certificate (PEM)", path.display());
    Ok(found)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use regatta_tests::Authority;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::args::ClientArgs;
    use crate::client::Client;

    type Files = regatta_tests::Identity;

    /// A server that shows a certificate for `localhost` of an authority that nobody knows.
    pub(crate) fn strangers(folder: &Path) -> TlsAcceptor {
        let shown = Authority::new(folder, "stranger").unwrap().issue("localhost").unwrap();
        super::server(identity(&shown), None).unwrap()
    }

    fn identity(files: &Files) -> Identity<'_> {
        Identity { certificate: &files.certificate, key: &files.key }
    }

    /// Request of a client that asks a server for its sweeps.
    async fn asked(server: &Files, client_ca: Option<&Path>, ca: &Path, own: Option<&Files>) -> Result<usize, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let coordinator = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let routes = axum::Router::new().route("/v1/sweeps", axum::routing::get(|| async { "[]" }));
        let acceptor = super::server(identity(server), client_ca).unwrap();
        let stop = CancellationToken::new();
        let serving = crate::listener::serve_tls(listener, Some(acceptor), 64, routes, stop.clone());
        let args = ClientArgs {
            ca: Some(ca.to_owned()),
            client_cert: own.map(|own| own.certificate.clone()),
            client_key: own.map(|own| own.key.clone()),
            ..ClientArgs::at(coordinator)
        };
        let answer = Client::new(&args).unwrap().sweeps().await;
        stop.cancel();
        serving.await.unwrap();
        answer.map(|sweeps| sweeps.len()).map_err(|error| format!("{error:#}"))
    }

    #[tokio::test]
    async fn a_handshake_succeeds_with_the_right_certificates_and_fails_with_the_reason_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let ours = Authority::new(folder.path(), "ours").unwrap();
        let theirs = Authority::new(folder.path(), "theirs").unwrap();
        let server = ours.issue("localhost").unwrap();
        let (right, wrong) = (ours.certificate(), theirs.certificate());
        assert_eq!(asked(&server, None, &right, None).await, Ok(0));
        let problems = [
            (
                asked(&server, None, &wrong, None).await,
                "an authority that is not trusted here; name the file of that authority with --ca",
            ),
            (
                asked(&ours.issue("other.example").unwrap(), None, &right, None).await,
                "for another name than the address has; use the name",
            ),
            (asked(&ours.issue_expired("localhost").unwrap(), None, &right, None).await, "has expired; renew it there"),
            (
                asked(&ours.issue_for_later("localhost").unwrap(), None, &right, None).await,
                "is not valid yet; set the clock",
            ),
        ];
        for (answer, reason) in problems {
            let problem = answer.unwrap_err();
            assert!(problem.contains(reason), "{reason}: {problem}");
        }
        // The server's alert, or the end of the connection where that was seen first.
        let ended =
            "as soon as it was made; if it asks for client certificates, name one of an authority that it knows";
        let (stranger, outdated) = (theirs.issue("somebody").unwrap(), ours.issue_expired("somebody").unwrap());
        let not_taken = "did not take the client certificate; name one that has not expired and is of an authority";
        for (shown, alert) in [
            (None, "asks for a client certificate, and none was shown; name one with --client-cert and --client-key"),
            (Some(&stranger), not_taken),
            (Some(&outdated), not_taken),
        ] {
            let problem = asked(&server, Some(&right), &right, shown).await.unwrap_err();
            assert!(problem.contains(alert) || problem.contains(ended), "{problem}");
        }
        assert_eq!(asked(&server, Some(&right), &right, Some(&ours.issue("somebody").unwrap())).await, Ok(0));
    }

    #[tokio::test]
    async fn a_handshake_that_never_begins_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (acceptor, stop) = (strangers(folder.path()), CancellationToken::new());
        let serving = crate::listener::serve_tls(listener, Some(acceptor), 64, axum::Router::new(), stop.clone());
        let mut silent = TcpStream::connect(address).await.unwrap();
        tokio::time::pause();
        let begun = Instant::now();
        assert_eq!(silent.read(&mut [0; 1]).await.unwrap(), 0);
        // A part of the fifteen seconds may have passed before the pause.
        assert!((Duration::from_secs(14)..Duration::from_secs(16)).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        stop.cancel();
        serving.await.unwrap();
    }

    #[test]
    fn files_that_hold_no_certificate_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty.pem");
        std::fs::write(&empty, "").unwrap();
        let error = client(Some(&empty), None).unwrap_err().to_string();
        assert!(error.contains("empty.pem"), "{error}");
        assert!(client(Some(Path::new("/no/such/ca.pem")), None).is_err());
    }
}
