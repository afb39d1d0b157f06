//! Tokens of a test issuer, and of those who would like to be one.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use jiff::{SignedDuration, Timestamp};
use proptest::prop_assert;
use proptest::test_runner::{Config, TestRunner};
use regatta_proto::ManualClock;
use regatta_tests::Logged;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::hostile::{nearly, nearly_text};
use crate::tls::tests::strangers;

const NOW: i64 = 1_800_000_000;

/// A key of the issuer.
struct Key {
    name: &'static str,
    pair: EcdsaKeyPair,
}

impl Key {
    fn new(name: &'static str) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        Self { name, pair }
    }

    fn public(&self) -> Value {
        let point = &self.pair.public_key().as_ref()[1..];
        json!({ "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": self.name,
                "x": encoded(&point[..32]), "y": encoded(&point[32..]) })
    }

    fn sign(&self, claims: &Value) -> String {
        self.sign_as(&json!({ "alg": "ES256", "kid": self.name }), claims)
    }

    fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", encoded(signature))
    }
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Documents that the issuer's server answers with.
#[derive(Default)]
struct Published {
    issuer: Mutex<String>,
    keys: Mutex<Vec<Value>>,
    fetches: AtomicU32,
}

struct Desk {
    published: Arc<Published>,
    url: String,
    clock: Arc<ManualClock>,
    issuers: Issuers,
    stop: CancellationToken,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn discovery(State(published): State<Arc<Published>>) -> Json<Value> {
    let issuer = locked(&published.issuer).clone();
    Json(json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys") }))
}

async fn keys(State(published): State<Arc<Published>>) -> Json<Value> {
    published.fetches.fetch_add(1, Ordering::Relaxed);
    Json(json!({ "keys": *locked(&published.keys) }))
}

impl Desk {
    async fn open(published_keys: &[&Key], more: Value) -> Self {
        Self::open_over(None, published_keys, more).await
    }

    async fn open_over(tls: Option<TlsAcceptor>, published_keys: &[&Key], more: Value) -> Self {
        crate::embedded::install_tls();
        let published = Arc::new(Published::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = match tls {
            Some(_) => format!("https://localhost:{}", address.port()),
            None => format!("http://{address}"),
        };
        *locked(&published.issuer) = url.clone();
        *locked(&published.keys) = published_keys.iter().map(|key| key.public()).collect();
        let routes = axum::Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .with_state(published.clone());
        let stop = CancellationToken::new();
        crate::listener::serve_tls(listener, tls, 64, routes, stop.clone());
        let mut declared = json!({
            "issuer": url, "audience": "regatta", "owner_claim": "email",
            "grants": { "admins": ["admin"], "people": ["read", "submit"] },
        });
        declared.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let clock = Arc::new(ManualClock::at(Timestamp::from_second(NOW).unwrap()));
        let issuers = Issuers::new(vec![serde_json::from_value(declared).unwrap()], clock.clone()).unwrap();
        Self { published, url, clock, issuers, stop }
    }

    fn claims(&self) -> Value {
        json!({ "iss": self.url, "aud": "regatta", "exp": NOW + 600, "iat": NOW, "email": "alice@example.com",
                "email_verified": true, "groups": ["people", "others"] })
    }

    fn claims_with(&self, name: &str, value: Value) -> Value {
        let mut claims = self.claims();
        claims[name] = value;
        claims
    }

    async fn verify(&self, token: &str) -> Result<Principal, Unverified> {
        self.issuers.verify(token).await
    }

    async fn why_not(&self, token: &str) -> String {
        match self.verify(token).await {
            Err(Unverified::Refused(why)) => why.replace(&self.url, "ISSUER"),
            other => panic!("{other:?}"),
        }
    }

    fn fetches(&self) -> u32 {
        self.published.fetches.load(Ordering::Relaxed)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[tokio::test]
async fn claims_name_the_owner_and_give_rights_by_the_policy() {
    let key = Key::new("one");
    let desk = Desk::open(&[&key], json!({})).await;
    let alice = desk.verify(&key.sign(&desk.claims())).await.unwrap();
    assert_eq!((alice.owner.as_str(), alice.scopes.to_string().as_str()), ("alice@example.com", "read,submit"));
    assert_eq!(alice.credential, Credential::Issuer(desk.url.clone()));
    for (groups, scopes) in
        [(json!("openid admins"), "admin"), (json!(["nobody"]), ""), (json!({ "admins": true }), ""), (Value::Null, "")]
    {
        let token = key.sign(&desk.claims_with("groups", groups.clone()));
        assert_eq!(desk.verify(&token).await.unwrap().scopes.to_string(), scopes, "{groups}");
    }
    let audiences = key.sign(&desk.claims_with("aud", json!(["other", "regatta"])));
    assert!(desk.verify(&audiences).await.is_ok());
}

#[tokio::test]
async fn a_token_that_is_not_for_here_and_now_is_refused_with_the_reason() {
    let key = Key::new("one");
    let desk = Desk::open(&[&key], json!({})).await;
    let mut reasons = Vec::new();
    for (name, value) in [
        ("exp", json!(NOW - 61)),
        ("exp", Value::Null),
        ("exp", json!("never")),
        ("nbf", json!(NOW + 61)),
        ("iat", json!(NOW + 61)),
        ("aud", json!("another")),
        ("aud", Value::Null),
        ("iss", json!("https://evil.example")),
        ("iss", json!(format!("{}/", desk.url))),
        ("email", Value::Null),
        ("email", json!("operator")),
        ("email", json!("a\u{1b}b@example.com")),
        ("email_verified", json!(false)),
        ("email_verified", json!("true")),
        ("email_verified", Value::Null),
    ] {
        let token = key.sign(&desk.claims_with(name, value.clone()));
        reasons.push(format!(
            "{name} {}: {}",
            value.to_string().replace(&desk.url, "ISSUER"),
            desk.why_not(&token).await
        ));
    }
    insta::assert_snapshot!(reasons.join("\n"));
    // Clocks may differ by a minute.
    for (name, value) in [("exp", NOW - 59), ("nbf", NOW + 59), ("iat", NOW + 59)] {
        assert!(desk.verify(&key.sign(&desk.claims_with(name, json!(value)))).await.is_ok(), "{name}");
    }
}

#[tokio::test]
async fn a_signature_that_is_not_the_issuers_is_refused() {
    let (key, stranger) = (Key::new("one"), Key::new("one"));
    let desk = Desk::open(&[&key], json!({})).await;
    let claims = desk.claims();
    let good = key.sign(&claims);
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (head, _) = message.split_once('.').unwrap();
    // Nobody's signature: `none`, in any case of letters.
    let unsigned = |algorithm: &str| {
        format!("{}.{}.", encoded(json!({ "alg": algorithm, "kid": "one" }).to_string()), encoded(claims.to_string()))
    };
    // A shared secret that everybody knows: the public key itself, as bytes and as the document.
    let confused = |secret: &[u8]| {
        let header = encoded(json!({ "alg": "HS256", "kid": "one" }).to_string());
        let message = format!("{header}.{}", encoded(claims.to_string()));
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret).unwrap();
        mac.update(message.as_bytes());
        format!("{message}.{}", encoded(mac.finalize().into_bytes()))
    };
    let point = key.pair.public_key().as_ref().to_vec();
    let cases = [
        ("none", unsigned("none")),
        ("None", unsigned("None")),
        ("empty", unsigned("")),
        ("HS256 by the point", confused(&point)),
        ("HS256 by the document", confused(key.public().to_string().as_bytes())),
        ("ES384 by a P-256 key", key.sign_as(&json!({ "alg": "ES384", "kid": "one" }), &claims)),
        ("RS256 by a P-256 key", key.sign_as(&json!({ "alg": "RS256", "kid": "one" }), &claims)),
        ("a stranger's key of this name", stranger.sign(&claims)),
        (
            "a key of its own",
            stranger.sign_as(&json!({ "alg": "ES256", "kid": "one", "jwk": stranger.public() }), &claims),
        ),
        ("no signature", format!("{message}.")),
        (
            "other claims",
            format!("{head}.{}.{signature}", encoded(desk.claims_with("groups", json!("admins")).to_string())),
        ),
        ("an extension", key.sign_as(&json!({ "alg": "ES256", "kid": "one", "crit": ["exp"] }), &claims)),
        ("no token", "x.y".to_owned()),
        ("nothing", String::new()),
    ];
    let mut reasons = Vec::new();
    for (name, token) in cases {
        reasons.push(format!("{name}: {}", desk.why_not(&token).await));
    }
    insta::assert_snapshot!(reasons.join("\n"));
    assert!(desk.verify(&good).await.is_ok());
}

/// Runs `law` on texts that are nearly `right`.
fn for_nearly(right: &str, cases: u32, law: impl Fn(&str)) {
    let config = Config { cases, ..Config::default() };
    let held = TestRunner::new(config).run(&nearly_text(right), |text| {
        law(&text);
        Ok(())
    });
    held.unwrap();
}

#[test]
fn of_all_texts_that_are_nearly_a_token_none_but_the_token_is_admitted() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let key = Key::new("one");
    let desk = runtime.block_on(Desk::open(&[&key], json!({})));
    let claims = desk.claims();
    let good = key.sign(&claims);
    let verified = |token: &str| runtime.block_on(desk.verify(token));
    assert!(verified(&good).is_ok());
    for_nearly(&good, 2_000, |token| assert!(token == good || verified(token).is_err(), "{token}"));
    // Parts that can be read, under a signature that is of other parts.
    let [header, body] = [json!({ "alg": "ES256", "kid": "one" }).to_string(), claims.to_string()];
    let (message, signature) = good.rsplit_once('.').unwrap();
    let under = |header: &str, body: &str| format!("{}.{}.{signature}", encoded(header), encoded(body));
    assert_eq!(under(&header, &body), format!("{message}.{signature}"));
    for_nearly(&header, 1_000, |near| assert!(near == header || verified(&under(near, &body)).is_err(), "{near}"));
    for_nearly(&body, 1_000, |near| assert!(near == body || verified(&under(&header, near)).is_err(), "{near}"));
}

#[test]
fn signed_claims_of_any_shape_are_those_of_an_owner_or_refused() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let key = Key::new("one");
    let desk = runtime.block_on(Desk::open(&[&key], json!({})));
    for_nearly(&desk.claims().to_string(), 1_000, |claims| {
        let message = format!("{}.{}", encoded(json!({ "alg": "ES256", "kid": "one" }).to_string()), encoded(claims));
        let signature = key.pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        if let Ok(principal) = runtime.block_on(desk.verify(&format!("{message}.{}", encoded(signature)))) {
            assert!(!principal.owner.is_reserved(), "{claims}");
            assert!(principal.owner.as_str().chars().all(|c| !c.is_control()), "{claims}");
        }
    });
}

#[test]
fn of_key_sets_that_are_nearly_right_those_with_the_key_alone_admit_its_tokens() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let key = Key::new("one");
    let public = key.public();
    let right = json!([public]).to_string();
    let config = Config { cases: 128, ..Config::default() };
    let desk = runtime.block_on(Desk::open(&[&key], json!({})));
    let token = key.sign(&desk.claims_with("exp", json!(NOW + 1_000_000_000)));
    let held = TestRunner::new(config).run(&nearly(right.as_bytes()), |bytes| {
        let Ok(keys) = serde_json::from_slice::<Vec<Value>>(&bytes) else { return Ok(()) };
        let has_key = keys.iter().any(|known| known["x"] == public["x"] && known["y"] == public["y"]);
        *locked(&desk.published.keys) = keys;
        // The keys of the case before are too old to be used.
        desk.clock.advance(SignedDuration::from_hours(25));
        let is_admitted = runtime.block_on(desk.verify(&token)).is_ok();
        prop_assert!(has_key || !is_admitted, "admitted by {:?}", String::from_utf8_lossy(&bytes));
        prop_assert!(is_admitted || bytes != right.as_bytes(), "refused by the right keys");
        Ok(())
    });
    held.unwrap();
}

#[tokio::test]
async fn a_rotated_key_is_fetched_and_strangers_cannot_have_it_fetched_again_and_again() {
    let (old, new) = (Key::new("old"), Key::new("new"));
    let desk = Desk::open(&[&old], json!({})).await;
    let claims = desk.claims_with("exp", json!(NOW + 100_000));
    for _ in 0..5 {
        desk.verify(&old.sign(&claims)).await.unwrap();
    }
    assert_eq!(desk.fetches(), 1, "keys are kept");
    *locked(&desk.published.keys) = vec![new.public()];
    assert!(desk.why_not(&new.sign(&claims)).await.contains("kid"), "the last fetch is too recent");
    desk.clock.advance(SignedDuration::from_secs(31));
    assert!(desk.verify(&new.sign(&claims)).await.is_ok());
    assert!(desk.why_not(&old.sign(&claims)).await.contains("kid"), "a key that is withdrawn is not taken any more");
    for number in 0..100 {
        let unknown = new.sign_as(&json!({ "alg": "ES256", "kid": number.to_string() }), &claims);
        desk.why_not(&unknown).await;
    }
    assert_eq!(desk.fetches(), 2);
}

#[tokio::test]
async fn keys_outlive_an_issuer_that_is_away_for_a_while_and_not_for_ever() {
    let key = Key::new("one");
    let desk = Desk::open(&[&key], json!({})).await;
    let claims = desk.claims_with("exp", json!(NOW + 1_000_000));
    desk.verify(&key.sign(&claims)).await.unwrap();
    // It says that it is another now, which is as good as being away.
    *locked(&desk.published.issuer) = "http://127.0.0.1:1".to_owned();
    desk.clock.advance(SignedDuration::from_hours(23));
    assert!(desk.verify(&key.sign(&claims)).await.is_ok());
    desk.clock.advance(SignedDuration::from_hours(2));
    let answer = desk.verify(&key.sign(&claims)).await;
    assert!(matches!(&answer, Err(Unverified::Unavailable(why)) if why.contains("cannot be had")), "{answer:?}");
}

#[tokio::test]
async fn an_issuer_whose_certificate_is_a_strangers_is_asked_for_no_keys_and_the_log_says_what_to_do() {
    let (logged, _listening) = Logged::listen();
    let folder = tempfile::tempdir().unwrap();
    let key = Key::new("one");
    let desk = Desk::open_over(Some(strangers(folder.path())), &[&key], json!({})).await;
    let answer = desk.verify(&key.sign(&desk.claims())).await;
    assert!(matches!(&answer, Err(Unverified::Unavailable(why)) if why.contains("cannot be had")), "{answer:?}");
    assert_eq!(desk.fetches(), 0);
    let lines = logged.lines();
    let is_told = |line: &String| line.contains("name the file of that authority with SSL_CERT_FILE");
    assert!(lines.iter().any(is_told), "{lines:?}");
}

#[test]
fn a_key_in_the_address_of_an_issuers_keys_is_not_told() {
    let refused = keys::address("http://login.example/keys?key=hidden").unwrap_err().to_string();
    assert!(
        refused.contains("http://login.example/keys must begin with https://") && !refused.contains("hidden"),
        "{refused}"
    );
}

#[test]
fn what_is_wrong_with_an_issuer_is_said_with_its_place() {
    let refused = |field: &str, value: Value| {
        let mut declared = json!({ "issuer": "https://login.example", "audience": "regatta", "everybody": ["read"] });
        declared[field] = value;
        match serde_json::from_value(declared) {
            Ok(declared) => {
                format!("{:#}", Issuers::new(vec![declared], Arc::new(regatta_proto::SystemClock)).err().unwrap())
            }
            Err(error) => error.to_string(),
        }
    };
    let errors = [
        refused("issuer", json!("http://login.example")),
        refused("jwks_uri", json!("http://login.example/keys")),
        refused("issuer", json!("https://me:word@login.example")),
        refused("audience", json!("")),
        refused("algorithms", json!(["HS256"])),
        refused("algorithms", json!(["none"])),
        refused("algorithms", json!([])),
        refused("everybody", json!([])),
        refused("everybody", json!(["root"])),
        refused("clock_skew_s", json!(3600)),
        refused("audiences", json!("regatta")),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}
