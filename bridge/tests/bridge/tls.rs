//! Agents elsewhere: the handshake before anything is said.

use std::net::{Ipv4Addr, SocketAddr};

use regatta_bridge::{Bridge, BridgePlace};
use regatta_tests::{Authority, Identity, ServerTls};
use reqwest::{Certificate, Client};
use serde_json::Value;

use crate::harness::{Session, chat, client, said};

/// Text of the answer to a call by a client that trusts `authority` alone, to a bridge that shows `identity`; the client's error otherwise.
async fn asked(identity: Identity, authority: &Authority, advertised: &str) -> Result<String, String> {
    // Installs the cryptography.
    client();
    let acceptor = ServerTls { identity, client_authority: None }.acceptor().unwrap();
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let place = BridgePlace { listen, advertised: Some(advertised.to_owned()), tls: Some(acceptor) };
    let bridge = Bridge::start(place, regatta_memory::ByteBudget::default()).await.unwrap();
    let open = bridge.open(Session::open());
    assert!(open.base_url().starts_with(&format!("https://{advertised}:{}/sessions/", bridge.address().port())));
    let pem = std::fs::read(authority.certificate()).unwrap();
    let client = Client::builder().no_proxy().tls_certs_only([Certificate::from_pem(&pem).unwrap()]).build().unwrap();
    let url = format!("{}/v1/chat/completions", open.base_url());
    let answer = match client.post(url).json(&chat("hello")).send().await {
        Ok(response) => Ok(said(&response.json::<Value>().await.unwrap()).to_owned()),
        Err(error) => Err(format!("{error:?}")),
    };
    bridge.shutdown().await;
    answer
}

#[tokio::test]
async fn an_agent_that_trusts_the_bridges_authority_is_answered_and_no_other_asks_anything() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::new(folder.path(), "ours").unwrap();
    let theirs = Authority::new(folder.path(), "theirs").unwrap();
    let current = || ours.issue("localhost").unwrap();
    assert_eq!(asked(current(), &ours, "localhost").await.as_deref(), Ok("hello (1)"));
    let expired = ours.issue_expired("localhost").unwrap();
    let problems = [
        (asked(current(), &theirs, "localhost").await, "UnknownIssuer"),
        (asked(current(), &ours, "127.0.0.1").await, "NotValidForName"),
        (asked(expired, &ours, "localhost").await, "Expired"),
    ];
    for (answer, reason) in problems {
        let problem = answer.unwrap_err();
        assert!(problem.contains(reason), "{reason}: {problem}");
    }
}
