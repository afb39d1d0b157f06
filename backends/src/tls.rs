//! TLS to the services: whose certificates count, and which one is shown. Chains, dates and names are always checked in full.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

/// Files (PEM) of one connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateFiles {
    /// Authorities that count in place of the system's.
    pub authorities: Option<PathBuf>,
    /// A certificate to show to servers that ask for one, with what links it to its authority.
    pub certificate: Option<PathBuf>,
    /// Key of [`CertificateFiles::certificate`]; neither goes without the other.
    pub key: Option<PathBuf>,
}

/// Reason why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is not PEM.
    #[error("failed to read {}: {source}", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// Cause, from the reader of PEM files.
        #[source]
        source: pem::Error,
    },
    /// No root certificate was found.
    #[error("no root certificates were found {place}")]
    NoAuthorities {
        /// Place that was searched, as a phrase.
        place: String,
    },
    /// One of two files that belong together is missing.
    #[error("{0} belong together; one of them is missing")]
    Half(&'static str),
    /// Certificate, key or settings do not fit.
    #[error("failed to set up TLS: {0}")]
    Setup(#[from] rustls::Error),
}

impl CertificateFiles {
    /// `true` where anything but the system's authorities was asked for.
    #[must_use]
    pub fn is_named(&self) -> bool {
        *self != Self::default()
    }

    /// A client that does as these files say. `names` are those of certificate and key, for messages.
    pub(crate) fn client(&self, names: &'static str) -> Result<ClientConfig, TlsError> {
        let mut roots = RootCertStore::empty();
        let found = match &self.authorities {
            Some(path) => read(path)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        let (added, _) = roots.add_parsable_certificates(found);
        if added == 0 {
            let in_file = |path: &PathBuf| format!("in {}", path.display());
            let place = self.authorities.as_ref().map_or_else(|| "on this system".to_owned(), in_file);
            return Err(TlsError::NoAuthorities { place });
        }
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let secret = PrivateKeyDer::from_pem_file(key).map_err(unread(key))?;
                Ok(config.with_client_auth_cert(read(certificate)?, secret)?)
            }
            (None, None) => Ok(config.with_no_client_auth()),
            (Some(_), None) | (None, Some(_)) => Err(TlsError::Half(names)),
        }
    }
}

/// Splits the query options `names` (authorities, certificate, key) off `url`, whose driver does not know them; returns the URL without
/// them, and them.
pub(crate) fn taken_from(url: &str, names: [&str; 3]) -> (String, CertificateFiles) {
    let mut files = CertificateFiles::default();
    let Some((address, query)) = url.split_once('?') else { return (url.to_owned(), files) };
    let mut rest = Vec::new();
    for parameter in query.split('&') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let place = match names.iter().position(|known| *known == name) {
            Some(0) => &mut files.authorities,
            Some(1) => &mut files.certificate,
            Some(_) => &mut files.key,
            None => {
                rest.push(parameter);
                continue;
            }
        };
        *place = Some(PathBuf::from(value.replace("%2F", "/").replace("%2f", "/")));
    }
    let joint = if rest.is_empty() { "" } else { "?" };
    (format!("{address}{joint}{}", rest.join("&")), files)
}

/// `true` for a name or an address of this machine alone: nobody else is on the way.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(unread(path))
}

fn unread(path: &Path) -> impl Fn(pem::Error) -> TlsError {
    move |source| TlsError::Unread { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_taken_out_of_a_url_and_the_rest_stays() {
        let names = ["cacertfile", "certfile", "keyfile"];
        let (url, files) = taken_from("amqps://h/v?cacertfile=%2Fca.pem&heartbeat=5&keyfile=/k", names);
        assert_eq!(url, "amqps://h/v?heartbeat=5");
        assert_eq!(files.authorities.as_deref(), Some(Path::new("/ca.pem")));
        assert_eq!((files.certificate, files.key.as_deref()), (None, Some(Path::new("/k"))));
        assert_eq!(taken_from("amqps://h/v?certfile=c", names).0, "amqps://h/v");
        assert_eq!(taken_from("amqps://h/v", names), ("amqps://h/v".to_owned(), CertificateFiles::default()));
    }

    #[test]
    fn one_of_certificate_and_key_is_too_little_and_a_file_that_is_none_is_named() {
        let half = CertificateFiles { certificate: Some("/c".into()), ..CertificateFiles::default() };
        let told = half.client("certfile and keyfile").unwrap_err().to_string();
        assert!(
            told == "certfile and keyfile belong together; one of them is missing" || told.contains("root"),
            "{told}"
        );
        let absent = CertificateFiles { authorities: Some("/no/ca.pem".into()), ..CertificateFiles::default() };
        assert!(absent.client("").unwrap_err().to_string().contains("/no/ca.pem"));
    }
}
