//! Agents elsewhere: the handshake before anything is said.

use std::net::{Ipv4Addr, SocketAddr};

use regatta_bridge::{Bridge, BridgePlace};
use regatta_tests::{Authority, Identity, Logged, ServerTls};
use reqwest::{Certificate, Client};
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant};

use crate::harness::{Session, chat, client, said};

/// A bridge on this machine, and an agent that asks it.
struct Meeting<'a> {
    /// Certificate that the bridge shows.
    bridge: Identity,
    advertised: &'a str,
    /// Authority of agents, where they are asked for certificates.
    agents: Option<&'a Authority>,
    /// The one authority that the agent trusts.
    trusted: &'a Authority,
    /// Certificate that the agent shows to whoever asks.
    agent: Option<Identity>,
}

impl Meeting<'_> {
    /// Text of the answer to a call; the agent's error where there is none.
    async fn asked(self) -> Result<String, String> {
        // Installs the cryptography.
        client();
        let client_authority = self.agents.map(Authority::certificate);
        let acceptor = ServerTls { identity: self.bridge, client_authority }.acceptor().unwrap();
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let advertised = self.advertised;
        let place = BridgePlace { listen, advertised: Some(advertised.to_owned()), tls: Some(acceptor) };
        let bridge = Bridge::start(place, regatta_memory::ByteBudget::default()).await.unwrap();
        let open = bridge.open(Session::open());
        assert!(open.base_url().starts_with(&format!("https://{advertised}:{}/sessions/", bridge.address().port())));
        let trusted = Certificate::from_pem(&std::fs::read(self.trusted.certificate()).unwrap()).unwrap();
        let agent = Client::builder().no_proxy().tls_certs_only([trusted]);
        let agent = match self.agent {
            Some(Identity { certificate, key }) => {
                let pem = [std::fs::read(key).unwrap(), std::fs::read(certificate).unwrap()].concat();
                agent.identity(reqwest::Identity::from_pem(&pem).unwrap())
            }
            None => agent,
        };
        let url = format!("{}/v1/chat/completions", open.base_url());
        let answer = match agent.build().unwrap().post(url).json(&chat("hello")).send().await {
            Ok(response) => Ok(said(&response.json::<Value>().await.unwrap()).to_owned()),
            Err(error) => Err(format!("{error:?}")),
        };
        bridge.shutdown().await;
        answer
    }
}

#[tokio::test]
async fn an_agent_that_trusts_the_bridges_authority_is_answered_and_no_other_asks_anything() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::new(folder.path(), "ours").unwrap();
    let theirs = Authority::new(folder.path(), "theirs").unwrap();
    let usual = || Meeting {
        bridge: ours.issue("localhost").unwrap(),
        advertised: "localhost",
        agents: None,
        trusted: &ours,
        agent: None,
    };
    assert_eq!(usual().asked().await.as_deref(), Ok("hello (1)"));
    let expired = ours.issue_expired("localhost").unwrap();
    let problems = [
        (Meeting { trusted: &theirs, ..usual() }, "UnknownIssuer"),
        (Meeting { advertised: "127.0.0.1", ..usual() }, "NotValidForName"),
        (Meeting { bridge: expired, ..usual() }, "Expired"),
    ];
    for (meeting, reason) in problems {
        let problem = meeting.asked().await.unwrap_err();
        assert!(problem.contains(reason), "{reason}: {problem}");
    }
}

#[tokio::test]
async fn where_agents_are_asked_for_certificates_only_those_of_their_authority_ask_anything_and_the_log_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::new(folder.path(), "ours").unwrap();
    let theirs = Authority::new(folder.path(), "theirs").unwrap();
    let with = |agent: Option<Identity>| Meeting {
        bridge: ours.issue("localhost").unwrap(),
        advertised: "localhost",
        agents: Some(&ours),
        trusted: &ours,
        agent,
    };
    assert_eq!(with(Some(ours.issue("agent").unwrap())).asked().await.as_deref(), Ok("hello (1)"));
    let others = [
        (None, "peer sent no certificates"),
        (Some(theirs.issue("agent").unwrap()), "UnknownIssuer"),
        (Some(ours.issue_expired("agent").unwrap()), "certificate expired"),
    ];
    for (other, reason) in others {
        let (logged, _listening) = Logged::listen();
        with(other).asked().await.unwrap_err();
        let said = logged.lines();
        let told = "refused a connection to the bridge: its TLS handshake failed; does the agent trust its certificate, and show one";
        assert!(said.iter().any(|line| line.contains(told) && line.contains(reason)), "{reason}: {said:?}");
    }
}

#[tokio::test]
async fn a_handshake_that_never_begins_is_not_waited_for() {
    // Installs the cryptography.
    client();
    let folder = tempfile::tempdir().unwrap();
    let identity = Authority::new(folder.path(), "ours").unwrap().issue("localhost").unwrap();
    let acceptor = ServerTls { identity, client_authority: None }.acceptor().unwrap();
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let place = BridgePlace { listen, advertised: None, tls: Some(acceptor) };
    let bridge = Bridge::start(place, regatta_memory::ByteBudget::default()).await.unwrap();
    let mut silent = TcpStream::connect(bridge.address()).await.unwrap();
    tokio::time::pause();
    let begun = Instant::now();
    assert_eq!(silent.read(&mut [0; 1]).await.unwrap(), 0);
    // A part of the fifteen seconds may have passed before the pause.
    assert!((Duration::from_secs(14)..Duration::from_secs(16)).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}
