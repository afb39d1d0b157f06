//! Throw-away authorities, and what servers of tests show of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::HarnessError;

/// An authority, whose certificate lies in a folder of a test.
pub struct Authority {
    folder: PathBuf,
    name: &'static str,
    issuer: Issuer<'static, KeyPair>,
}

/// Files (PEM) of a certificate and of its key.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: PathBuf,
    /// The certificate's key.
    pub key: PathBuf,
}

/// Behaviour of a server of a test.
#[derive(Debug, Clone)]
pub struct ServerTls {
    /// Shown to every client.
    pub identity: Identity,
    /// Certificate of the authority whose certificates clients must have; `None` asks for none.
    pub client_authority: Option<PathBuf>,
}

impl Authority {
    /// Writes its certificate into `folder`.
    ///
    /// # Errors
    /// When that fails.
    pub fn new(folder: &Path, name: &'static str) -> Result<Self, HarnessError> {
        let failed = || HarnessError::refused(format!("make the authority {name}"));
        let mut params = CertificateParams::new(Vec::new()).map_err(failed())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().map_err(failed())?;
        let pem = params.self_signed(&key).map_err(failed())?.pem();
        let made = Self { folder: folder.to_owned(), name, issuer: Issuer::new(params, key) };
        std::fs::write(made.certificate(), pem).map_err(HarnessError::io(format!("write the authority {name}")))?;
        Ok(made)
    }

    /// File of its own certificate.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.folder.join(format!("{}.pem", self.name))
    }

    /// A certificate for `host`, in force.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn issue(&self, host: &str) -> Result<Identity, HarnessError> {
        self.issue_as(host, "current", |_| {})
    }

    /// A certificate for `host` that ended years ago.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn issue_expired(&self, host: &str) -> Result<Identity, HarnessError> {
        self.issue_as(host, "expired", |params| {
            (params.not_before, params.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1));
        })
    }

    /// A certificate for `host` that begins long after this test.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn issue_for_later(&self, host: &str) -> Result<Identity, HarnessError> {
        self.issue_as(host, "later", |params| {
            (params.not_before, params.not_after) = (date_time_ymd(2999, 1, 1), date_time_ymd(3000, 1, 1));
        })
    }

    fn issue_as(
        &self,
        host: &str,
        kind: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Result<Identity, HarnessError> {
        let failed = || HarnessError::refused(format!("issue a certificate for {host}"));
        let mut params = CertificateParams::new(vec![host.to_owned()]).map_err(failed())?;
        params.distinguished_name.push(DnType::CommonName, host);
        change(&mut params);
        let key = KeyPair::generate().map_err(failed())?;
        let place = |what: &str| self.folder.join(format!("{}-{host}-{kind}.{what}", self.name));
        let pem = params.signed_by(&key, &self.issuer).map_err(failed())?.pem();
        let identity = Identity { certificate: place("pem"), key: place("key") };
        let written = std::fs::write(&identity.certificate, pem)
            .and_then(|()| std::fs::write(&identity.key, key.serialize_pem()));
        written.map_err(HarnessError::io(format!("write a certificate for {host}")))?;
        Ok(identity)
    }
}

impl ServerTls {
    /// Takes connections as this says.
    ///
    /// # Errors
    /// When a file is not what it should be.
    pub fn acceptor(&self) -> Result<TlsAcceptor, HarnessError> {
        let failed = || "set up TLS for a server";
        let read = |path: &Path| -> Result<Vec<CertificateDer<'static>>, HarnessError> {
            let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
            found.map_err(HarnessError::refused(format!("read {}", path.display())))
        };
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(HarnessError::refused(failed()))?;
        let builder = match &self.client_authority {
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(read(authority)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.map_err(HarnessError::refused(failed()))?)
            }
            None => builder.with_no_client_auth(),
        };
        let key = PrivateKeyDer::from_pem_file(&self.identity.key).map_err(HarnessError::refused(failed()))?;
        let config = builder.with_single_cert(read(&self.identity.certificate)?, key);
        Ok(TlsAcceptor::from(Arc::new(config.map_err(HarnessError::refused(failed()))?)))
    }
}
