//! The bridge of a worker: where it is, and by which certificate agents know it. Without one of the operator's, an authority is made that
//! lives as long as the worker.

use std::io::Write as _;
use std::net::{Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;

use anyhow::Context;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use regatta_bridge::BridgePlace;
use regatta_worker::AgentAuthorities;
use tempfile::TempDir;

use crate::args::{BridgeArgs, BridgeTls};
use crate::exit::bad_configuration;
use crate::listener::is_reached_by_others;
use crate::tls::{self, Identity};

/// A bridge as the command line wants it.
#[derive(Debug)]
pub(crate) struct Bridge {
    pub(crate) place: BridgePlace,
    pub(crate) authorities: Option<AgentAuthorities>,
    /// Folder of the authorities, kept as long as agents run.
    _folder: Option<TempDir>,
}

/// # Errors
/// When certificates cannot be used, or agents could not find the bridge.
pub(crate) fn prepare(args: &BridgeArgs) -> anyhow::Result<Bridge> {
    make(args).map_err(bad_configuration)
}

fn make(args: &BridgeArgs) -> anyhow::Result<Bridge> {
    let (listen, advertised) = (args.bridge, args.bridge_advertise.clone());
    anyhow::ensure!(
        advertised.is_some() || !listen.ip().is_unspecified(),
        "the bridge listens at every address ({listen}), of which agents need one: say with --bridge-advertise HOST by which name they reach it"
    );
    let is_encrypted = match args.bridge_tls {
        BridgeTls::On => true,
        BridgeTls::Auto => {
            is_reached_by_others(listen) || args.bridge_tls_cert.is_some() || args.bridge_tls_client_ca.is_some()
        }
        BridgeTls::Off => {
            for (file, option) in
                [(&args.bridge_tls_cert, "--bridge-tls-cert"), (&args.bridge_tls_client_ca, "--bridge-tls-client-ca")]
            {
                anyhow::ensure!(file.is_none(), "--bridge-tls off has no use for {option}; leave one out");
            }
            false
        }
    };
    if !is_encrypted {
        return Ok(Bridge { place: BridgePlace { listen, advertised, tls: None }, authorities: None, _folder: None });
    }
    let folder = tempfile::Builder::new().prefix("regatta-bridge-").tempdir().context("failed to make a folder")?;
    let agents = args.bridge_tls_client_ca.as_deref();
    let (acceptor, own) = match (&args.bridge_tls_cert, &args.bridge_tls_key) {
        (Some(certificate), Some(key)) => {
            let own = args.bridge_tls_ca.as_ref().map(|path| {
                std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))
            });
            (tls::server(Identity { certificate, key }, agents)?, own.transpose()?)
        }
        // The parser sees to it that there are both or none.
        (None, _) | (_, None) => {
            let made = issue(&folder, &names(listen, advertised.as_deref()))?;
            (tls::server(Identity { certificate: &made.certificate, key: &made.key }, agents)?, Some(made.authority))
        }
    };
    let authorities = own.map(|own| hand_out(&folder, own)).transpose()?;
    let place = BridgePlace { listen, advertised, tls: Some(acceptor) };
    Ok(Bridge { place, authorities, _folder: Some(folder) })
}

/// Names by which agents call a bridge: what is advertised, where it listens, and this machine.
fn names(listen: SocketAddr, advertised: Option<&str>) -> Vec<String> {
    let host = |authority: &str| match authority.split_once(']') {
        Some((address, _)) => address.trim_start_matches('[').to_owned(),
        None if authority.parse::<Ipv6Addr>().is_ok() => authority.to_owned(),
        None => authority.split(':').next().unwrap_or(authority).to_owned(),
    };
    let mut names: Vec<String> = advertised.map(host).into_iter().collect();
    let address = (!listen.ip().is_unspecified()).then(|| listen.ip().to_string());
    names.extend(address.into_iter().chain(["localhost".to_owned(), "127.0.0.1".to_owned()]));
    names.sort();
    names.dedup();
    names
}

/// A certificate of a new authority.
struct Made {
    certificate: std::path::PathBuf,
    key: std::path::PathBuf,
    /// The authority's own (PEM). Its key is nowhere.
    authority: String,
}

fn issue(folder: &TempDir, names: &[String]) -> anyhow::Result<Made> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.distinguished_name.push(DnType::CommonName, "Regatta bridge of one worker");
    let key = KeyPair::generate()?;
    let authority = params.self_signed(&key)?.pem();
    let issuer = Issuer::new(params, key);
    let mut params = CertificateParams::new(names.to_vec())
        .with_context(|| format!("failed to make a certificate for {}", names.join(", ")))?;
    params.distinguished_name.push(DnType::CommonName, "Regatta bridge");
    let own = KeyPair::generate()?;
    let (certificate, key) = (folder.path().join("bridge.pem"), folder.path().join("bridge.key"));
    write(&certificate, params.signed_by(&own, &issuer)?.pem().as_bytes(), 0o600)?;
    write(&key, own.serialize_pem().as_bytes(), 0o600)?;
    Ok(Made { certificate, key, authority })
}

/// Writes the system's authorities and `own` where agents of any user can read them.
fn hand_out(folder: &TempDir, own: String) -> anyhow::Result<AgentAuthorities> {
    let mut all = own.clone();
    for certificate in rustls_native_certs::load_native_certs().certs {
        all.push_str(&pem(&certificate));
    }
    let with_systems = folder.path().join("authorities.pem");
    write(&with_systems, all.as_bytes(), 0o644)?;
    let open = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(folder.path(), open).context("failed to open the folder of the bridge's authorities")?;
    Ok(AgentAuthorities { own, with_systems })
}

fn pem(certificate: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(certificate);
    let lines = text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned() + "\n");
    format!("\n-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n", lines.collect::<String>())
}

fn write(path: &std::path::Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    let mut file = std::fs::File::create_new(path).with_context(|| format!("failed to make {}", path.display()))?;
    // Set and not asked for: the process's mask keeps others out of what it makes.
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    file.write_all(bytes).with_context(|| format!("failed to write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use regatta_memory::ByteBudget;
    use regatta_tests::Authority;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio_rustls::TlsConnector;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: BridgeArgs,
    }

    fn prepared(words: &[&str]) -> Result<Bridge, String> {
        let line = Line::try_parse_from([&["worker"], words].concat()).map_err(|error| error.to_string())?;
        prepare(&line.args).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn what_agents_ask_is_encrypted_as_soon_as_others_could_read_it() {
        assert!(prepared(&[]).unwrap().place.tls.is_none());
        assert!(prepared(&["--bridge-tls", "on"]).unwrap().place.tls.is_some());
        assert!(prepared(&["--bridge", "10.0.0.1:80"]).unwrap().place.tls.is_some());
        assert!(prepared(&["--bridge", "10.0.0.1:80", "--bridge-tls", "off"]).unwrap().place.tls.is_none());
    }

    #[test]
    fn a_bridge_at_every_address_must_be_told_its_name() {
        let problem = prepared(&["--bridge", "0.0.0.0:80"]).unwrap_err();
        assert!(problem.contains("--bridge-advertise HOST"), "{problem}");
        let bridge = prepared(&["--bridge", "0.0.0.0:80", "--bridge-advertise", "workers.example"]).unwrap();
        assert!(bridge.authorities.is_some());
    }

    #[test]
    fn a_certificate_that_is_made_is_for_every_name_by_which_agents_may_call_it() {
        let listen = "0.0.0.0:80".parse().unwrap();
        assert_eq!(names(listen, Some("workers.example:8443")), ["127.0.0.1", "localhost", "workers.example"]);
        assert_eq!(names("10.0.0.1:80".parse().unwrap(), None), ["10.0.0.1", "127.0.0.1", "localhost"]);
        assert_eq!(names(listen, Some("[::1]:80")), ["127.0.0.1", "::1", "localhost"]);
        assert_eq!(names(listen, Some("fd00::1")), ["127.0.0.1", "fd00::1", "localhost"]);
    }

    #[test]
    fn agents_of_other_users_read_the_authorities_and_nobody_else_the_key() {
        let bridge = prepared(&["--bridge-tls", "on"]).unwrap();
        let authorities = bridge.authorities.unwrap();
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let folder = authorities.with_systems.parent().unwrap();
        assert_eq!((mode(folder), mode(&authorities.with_systems)), (0o711, 0o644));
        assert_eq!(mode(&folder.join("bridge.key")), 0o600);
        let all = std::fs::read_to_string(&authorities.with_systems).unwrap();
        assert!(all.starts_with(&authorities.own) && !all.contains("PRIVATE"));
    }

    #[test]
    fn certificates_without_encryption_are_a_contradiction() {
        for given in
            [["--bridge-tls-cert", "c", "--bridge-tls-key", "k"].as_slice(), ["--bridge-tls-client-ca", "a"].as_slice()]
        {
            let problem = prepared(&[&["--bridge-tls", "off"], given].concat()).unwrap_err();
            assert!(problem.contains(given[0]) && problem.contains("leave one out"), "{problem}");
        }
    }

    /// Status of the answer to an agent that shows `own`; `None` where the connection ended without one.
    async fn asked(bridge: &Bridge, own: Option<&regatta_tests::Identity>) -> Option<String> {
        let served = regatta_bridge::Bridge::start(bridge.place.clone(), ByteBudget::default()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let known = folder.path().join("known.pem");
        std::fs::write(&known, &bridge.authorities.as_ref().unwrap().own).unwrap();
        let shown = own.map(|own| Identity { certificate: &own.certificate, key: &own.key });
        let connector = TlsConnector::from(std::sync::Arc::new(tls::client(Some(&known), shown).unwrap()));
        let stream = TcpStream::connect(served.address()).await.unwrap();
        let mut stream = connector.connect("localhost".try_into().unwrap(), stream).await.ok()?;
        // Who is refused learns of it after its own part of the handshake, by whichever comes first of these.
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.ok()?;
        let mut answer = Vec::new();
        // However the connection ends, what came before counts.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).lines().next().map(str::to_owned)
    }

    #[tokio::test]
    async fn an_agent_shows_a_certificate_where_its_authority_is_named_and_none_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let ours = Authority::new(folder.path(), "ours").unwrap();
        let theirs = Authority::new(folder.path(), "theirs").unwrap();
        // An address that no session has; but it was an answer.
        let is_answered = |status: Option<String>| status.is_some_and(|status| status.starts_with("HTTP/1.1 4"));
        let open = prepared(&["--bridge-tls", "on"]).unwrap();
        assert!(is_answered(asked(&open, None).await));
        let authority = ours.certificate();
        let closed = prepared(&["--bridge-tls-client-ca", authority.to_str().unwrap()]).unwrap();
        assert!(is_answered(asked(&closed, Some(&ours.issue("agent").unwrap())).await));
        for stranger in [None, Some(theirs.issue("agent").unwrap()), Some(ours.issue_expired("agent").unwrap())] {
            assert_eq!(asked(&closed, stranger.as_ref()).await, None);
        }
    }
}
