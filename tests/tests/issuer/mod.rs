//! A coordinator that takes tokens of an issuer: who has a good one is let in under the name in it, and who has not is told why.

use std::path::Path;
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use regatta_tests::http::{self, Request};
use regatta_tests::regatta::{Process, finish, workspace};
use regatta_tests::{Deployment, unique_name};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// In 2001, in seconds since 1970.
const LONG_AGO: i64 = 1_000_000_000;
/// In 2096.
const IN_MANY_YEARS: i64 = 4_000_000_000;
/// Exit code of a command that was refused.
const REFUSED: Option<i32> = Some(78);

/// A key that signs tokens. All have one name, so that a stranger's signature is checked by the issuer's key.
struct Key(EcdsaKeyPair);

impl Key {
    fn new() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap())
    }

    /// The public part, as issuers publish it.
    fn published(&self) -> Value {
        // The first byte says that both coordinates follow.
        let (x, y) = self.0.public_key().as_ref()[1..].split_at(32);
        json!({ "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "one",
                "x": encoded(x), "y": encoded(y) })
    }

    fn sign(&self, claims: &Value) -> String {
        let header = json!({ "alg": "ES256", "kid": "one" });
        let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let signature = self.0.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", encoded(signature))
    }
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An issuer that publishes one key until the test ends.
struct Issuer {
    url: String,
    key: Key,
}

impl Issuer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (url, key) = (format!("http://{}", listener.local_addr().unwrap()), Key::new());
        let discovery = json!({ "issuer": url, "jwks_uri": format!("{url}/keys") }).to_string();
        let keys = json!({ "keys": [key.published()] }).to_string();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(publish(stream, discovery.clone(), keys.clone()));
            }
        });
        Self { url, key }
    }

    /// Claims of alice, who may submit, with `value` in place of one of them.
    fn claims_with(&self, name: &str, value: Value) -> Value {
        let mut claims =
            json!({ "iss": self.url, "aud": "regatta", "exp": IN_MANY_YEARS, "sub": "alice", "groups": ["people"] });
        claims[name] = value;
        claims
    }
}

async fn publish(stream: TcpStream, discovery: String, keys: String) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(Request { head, .. }) = Request::read(&mut stream).await? {
        let document = if head.starts_with("GET /keys ") { &keys } else { &discovery };
        stream.write_all(&http::answer("200 OK", "application/json", document)).await?;
    }
    Ok(())
}

/// A coordinator that takes tokens of `issuer` beside the operator's.
async fn coordinator(deployment: &Deployment, issuer: &Issuer) -> Process {
    let policy = deployment.folder.path().join("coordinator.yaml");
    let text = format!(
        "oidc: [{{ issuer: '{}', audience: regatta, grants: {{ people: [read, submit], guests: [read] }} }}]\n",
        issuer.url
    );
    std::fs::write(&policy, text).unwrap();
    let mut command = deployment.role_at("coordinator", deployment.api()).unwrap();
    command.arg("--policy").arg(&policy);
    Process::start_until_ready_and_listen(command, deployment.api()).await.unwrap()
}

/// A spec of one session, which nobody runs.
fn spec(folder: &Path) -> String {
    let (file, data) = (folder.join("spec.yaml"), workspace().join("examples/data/worfbench"));
    let text = format!(
        "name: {}\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], limit: 1, judge: sim/lexical }}\n\
         endpoints:\n  sim: {{ kind: openai, base_url: 'http://127.0.0.1:9/v1', api_key_env: none }}\n\
         models: [sim/oracle]\n",
        unique_name("issued"),
        data.display()
    );
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

async fn ask(deployment: &Deployment, token: &str, arguments: &[&str]) -> Output {
    let (verb, rest) = arguments.split_first().unwrap();
    let mut command = deployment.command(verb).unwrap();
    command.args(rest).env("REGATTA_TOKEN", token);
    finish(command).await.unwrap()
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn shown(output: &Output) -> Value {
    assert!(output.status.success(), "{}", complaint(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_an_issuer_submits_under_the_name_in_it_and_one_that_is_not_good_is_refused_with_the_reason() {
    let (deployment, issuer) = (Deployment::new().await.unwrap(), Issuer::start().await);
    let _coordinator = coordinator(&deployment, &issuer).await;
    let spec = spec(deployment.folder.path());

    let alice = issuer.key.sign(&issuer.claims_with("groups", json!(["people", "others"])));
    let submitted = ask(&deployment, &alice, &["submit", &spec]).await;
    assert!(submitted.status.success(), "{}", complaint(&submitted));
    let sweep = String::from_utf8_lossy(&submitted.stdout).trim().to_owned();

    // Whose groups give no more may read, and changes nothing under any name.
    let guest = issuer.key.sign(&issuer.claims_with("groups", json!(["guests"])));
    assert_eq!(shown(&ask(&deployment, &guest, &["status", &sweep, "--json"]).await)["owner"], "alice");
    let refused = ask(&deployment, &guest, &["cancel", &sweep]).await;
    assert_eq!(refused.status.code(), REFUSED, "{}", complaint(&refused));
    let reason = "this needs the scope submit, and alice has read; ask an admin to grant it under `oidc`";
    assert!(complaint(&refused).contains(reason), "{}", complaint(&refused));

    let strangers = [
        (
            issuer.key.sign(&issuer.claims_with("aud", json!("another"))),
            "it is not for this coordinator: its audience (aud) is not \"regatta\"",
        ),
        (issuer.key.sign(&issuer.claims_with("exp", json!(LONG_AGO))), "it has expired (exp); sign in again"),
        (Key::new().sign(&issuer.claims_with("sub", json!("alice"))), "its signature is not its issuer's"),
        (
            issuer.key.sign(&issuer.claims_with("iss", json!("https://another.example"))),
            "its issuer (iss) is not among those of the coordinator's policy (oidc)",
        ),
    ];
    for (token, reason) in &strangers {
        let refused = ask(&deployment, token, &["cancel", &sweep]).await;
        assert_eq!(refused.status.code(), REFUSED, "{reason}: {}", complaint(&refused));
        assert!(complaint(&refused).contains(&format!("the token is refused: {reason}")), "{}", complaint(&refused));
    }
    assert_eq!(shown(&ask(&deployment, &alice, &["status", &sweep, "--json"]).await)["state"], "running");

    let audit = shown(&ask(&deployment, Deployment::TOKEN, &["audit", "--json"]).await);
    let of_action = |action: &str| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let entries = audit.as_array().unwrap().iter().filter(|entry| entry["action"] == action);
        entries.map(|entry| (text(&entry["actor"]), text(&entry["credential"]))).collect()
    };
    assert_eq!(of_action("submit"), [("alice".to_owned(), format!("issuer {}", issuer.url))]);
    assert!(of_action("cancel").is_empty(), "what is refused is not begun");
}
