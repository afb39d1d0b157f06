//! Client certificates at the coordinator's API: their names, and what the policy grants to these.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use regatta_coordinator::{CertificateGrant, CertificateRules, PeerCertificate, Readers};
use regatta_proto::{Digest, OwnerName, Scope, Scopes};
use rustls::pki_types::CertificateDer;
use serde::Deserialize;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::der::asn1::{ObjectIdentifier, PrintableStringRef, Utf8StringRef};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use crate::listener::ClientCertificate;

/// `commonName` of X.520.
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// Section `certificates` of a coordinator's policy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Declared {
    /// By one of the certificate's names.
    #[serde(default)]
    names: BTreeMap<String, DeclaredGrant>,
    /// Rights of all others of the authority.
    #[serde(default)]
    everybody: Vec<Scope>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredGrant {
    scopes: Vec<Scope>,
    owner: Option<OwnerName>,
}

impl Declared {
    /// # Errors
    /// With the field that makes no sense.
    pub(super) fn rules(self) -> anyhow::Result<CertificateRules> {
        let names = self.names.into_iter().map(|(name, DeclaredGrant { scopes, owner })| {
            if let Some(owner) = owner.as_ref().filter(|owner| owner.is_reserved()) {
                bail!("certificates.names.{name}.owner: {owner} is reserved; choose another");
            }
            Ok((name, CertificateGrant { scopes: Scopes::from_iter(scopes), owner }))
        });
        let names = names.collect::<anyhow::Result<_>>()?;
        Ok(CertificateRules { names, everybody: Scopes::from_iter(self.everybody) })
    }
}

/// Puts the certificate of the connection, where there is one that can be read, among the extensions of the request.
pub(super) async fn identify(mut request: Request, next: Next) -> Response {
    if let Some(ClientCertificate(shown)) = request.extensions().get() {
        match peer(shown) {
            Ok(peer) => {
                request.extensions_mut().insert(peer);
            }
            Err(error) => tracing::warn!(error = format!("{error:#}"), "failed to read a client certificate"),
        }
    }
    next.run(request).await
}

/// Lets requests for pages through whose certificate may read.
pub(super) async fn admit_readers(readers: Readers, request: Request, next: Next) -> Response {
    let certificate = request.extensions().get::<PeerCertificate>().cloned();
    // A request cannot be shared between threads while it is looked at.
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    match readers.admit_certificate(certificate.as_ref(), &method, &path).await {
        true => next.run(request).await,
        false => (StatusCode::FORBIDDEN, "this certificate may not read here; have the operator grant it read in the policy file of the coordinator, under certificates")
            .into_response(),
    }
}

/// The names of a certificate.
fn peer(shown: &CertificateDer<'_>) -> anyhow::Result<PeerCertificate> {
    let certificate = Certificate::from_der(shown).context("it is no certificate of X.509")?.tbs_certificate;
    let mut names = Vec::new();
    if let Some((_, alternatives)) = certificate.get::<SubjectAltName>().context("its alternative names")? {
        names.extend(alternatives.0.iter().filter_map(|name| match name {
            GeneralName::Rfc822Name(text)
            | GeneralName::DnsName(text)
            | GeneralName::UniformResourceIdentifier(text) => Some(text.to_string()),
            GeneralName::OtherName(_)
            | GeneralName::DirectoryName(_)
            | GeneralName::EdiPartyName(_)
            | GeneralName::IpAddress(_)
            | GeneralName::RegisteredId(_) => None,
        }));
    }
    let attributes = certificate.subject.0.iter().flat_map(|relative| relative.0.iter());
    names.extend(attributes.filter(|attribute| attribute.oid == COMMON_NAME).filter_map(|attribute| {
        let utf8 = attribute.value.decode_as::<Utf8StringRef<'_>>().map(|text| text.as_str().to_owned());
        utf8.or_else(|_| attribute.value.decode_as::<PrintableStringRef<'_>>().map(|text| text.as_str().to_owned()))
            .ok()
    }));
    Ok(PeerCertificate { names, fingerprint: Digest::of(shown) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};
    use regatta_tests::Authority;
    use rustls::pki_types::pem::PemObject as _;

    use super::*;
    use crate::hostile::nearly;

    #[test]
    fn a_certificate_is_known_by_its_alternative_names_and_then_by_its_common_name() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(folder.path(), "ours").unwrap();
        let alice = authority.issue("alice.example.com").unwrap();
        let shown = CertificateDer::from_pem_file(&alice.certificate).unwrap();
        let peer = peer(&shown).unwrap();
        assert_eq!(peer.names, ["alice.example.com", "alice.example.com"]);
        assert_eq!(peer.fingerprint, Digest::of(&shown));
        // The authority's own has a common name alone.
        let own = CertificateDer::from_pem_file(authority.certificate()).unwrap();
        assert_eq!(super::peer(&own).unwrap().names, ["ours"]);
        assert!(super::peer(&CertificateDer::from(vec![1, 2, 3])).is_err());
    }

    #[test]
    fn a_certificate_that_is_nearly_one_is_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(folder.path(), "ours").unwrap();
        let issued = authority.issue("alice.example.com").unwrap();
        let right = CertificateDer::from_pem_file(&issued.certificate).unwrap();
        let read = TestRunner::new(Config::default()).run(&nearly(&right), |bytes| {
            if let Ok(peer) = super::peer(&CertificateDer::from(&*bytes)) {
                prop_assert_eq!(peer.fingerprint, Digest::of(&bytes));
            }
            Ok(())
        });
        read.unwrap();
    }

    #[test]
    fn a_policy_names_certificates_with_rights_and_owners() {
        let rules = |text: &str| -> anyhow::Result<CertificateRules> {
            serde_yaml_ng::from_str::<Declared>(text).map_err(anyhow::Error::new)?.rules()
        };
        let read = rules("{ names: { ci.example.com: { scopes: [submit], owner: ci } }, everybody: [read] }").unwrap();
        assert_eq!(read.everybody.to_string(), "read");
        assert_eq!(read.names["ci.example.com"].owner.as_ref().unwrap().as_str(), "ci");
        assert!(rules("{}").unwrap().everybody.is_empty(), "a section that grants nothing grants nothing");
        let refused = rules("{ names: { a: { scopes: [admin], owner: operator } } }").unwrap_err().to_string();
        assert!(refused.contains("certificates.names.a.owner: operator is reserved"), "{refused}");
        assert!(rules("{ names: { a: { scope: [admin] } } }").is_err());
    }
}
