//! Webhooks, signed as Standard Webhooks says: HMAC-SHA256 over id, time and body.

use std::fmt;

use anyhow::{Context, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use regatta_coordinator::Message;
use reqwest::{Client, Url};
use serde::Deserialize;
use sha2::Sha256;

use super::check_variable;
use crate::notice;

/// Shortest secret, in bytes.
const SECRET_BYTES_MIN: usize = 16;
/// Beginning of a secret that is written in base64.
const ENCODED: &str = "whsec_";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::roles) struct Declared {
    url: String,
    /// Variable of the coordinator that holds the secret.
    secret_env: String,
}

pub(super) struct Webhook {
    url: Url,
    secret: Vec<u8>,
    client: Client,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its path may be a secret: receivers of chats have such.
        f.debug_struct("Webhook").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Webhook {
    pub(super) fn new(declared: Declared, variable: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        // Not quoted: an address may hold a secret anywhere.
        let url: Url =
            declared.url.parse().context("url: this is no address; write it as https://ci.example.com/hook")?;
        ensure!(
            url.username().is_empty() && url.password().is_none(),
            "url: an address with a user or a password would be logged; the signature says who sends"
        );
        ensure!(matches!(url.scheme(), "https" | "http"), "url: it is of {}, not of https or http", url.scheme());
        check_variable(&declared.secret_env).context("secret_env")?;
        let name = &declared.secret_env;
        let Some(written) = variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) else {
            bail!(
                "secret_env: {name} is not set; set it to what the receiver checks signatures with, as to the output of `openssl rand -hex 32`"
            );
        };
        let secret = match written.strip_prefix(ENCODED) {
            Some(encoded) => STANDARD
                .decode(encoded)
                .map_err(|_| anyhow::anyhow!("secret_env: what follows {ENCODED} in {name} is no base64"))?,
            None => written.into_bytes(),
        };
        ensure!(
            secret.len() >= SECRET_BYTES_MIN,
            "secret_env: {name} holds {} bytes, at least {SECRET_BYTES_MIN} are needed",
            secret.len()
        );
        Ok(Self { url, secret, client: notice::client()? })
    }

    pub(super) async fn send(&self, message: &Message) -> anyhow::Result<()> {
        let time = message.at.as_second().to_string();
        let request = self
            .client
            .post(self.url.clone())
            .header("content-type", "application/json")
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", &time)
            .header("webhook-signature", format!("v1,{}", signature(&self.secret, &message.id, &time, &message.body)?))
            .body(message.body.clone());
        notice::taken(request).await
    }
}

fn signature(secret: &[u8], id: &str, time: &str, body: &str) -> anyhow::Result<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).context("failed to sign")?;
    mac.update(format!("{id}.{time}.{body}").as_bytes());
    Ok(STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::routing::post;
    use tokio::sync::mpsc;

    use super::*;

    fn message(body: &str) -> Message {
        Message {
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(),
            channel: "webhook/ci".to_owned(),
            body: body.to_owned(),
            at: "2021-02-25T14:54:39Z".parse().unwrap(),
        }
    }

    fn webhook(url: &str) -> Webhook {
        let declared = Declared { url: url.to_owned(), secret_env: "SECRET".to_owned() };
        Webhook::new(declared, &|_| Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned())).unwrap()
    }

    /// The example that the specification's libraries test with: `1614265330` is its time.
    #[test]
    fn signatures_are_those_of_the_specification() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed =
            signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "{\"test\": 2432232314}").unwrap();
        assert_eq!(signed, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[tokio::test]
    async fn a_receiver_gets_the_body_with_its_id_its_time_and_its_signature() {
        let (sender, mut received) = mpsc::unbounded_channel();
        let take = move |headers: HeaderMap, body: String| async move {
            sender.send((headers, body)).unwrap();
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, axum::Router::new().route("/hook", post(take))).await });
        let webhook = webhook(&format!("http://{address}/hook"));
        let message = message("{\"event\":\"no_go\"}");
        webhook.send(&message).await.unwrap();
        let (headers, body) = received.recv().await.unwrap();
        assert_eq!(body, message.body);
        assert_eq!(headers["webhook-id"], message.id.as_str());
        assert_eq!(headers["webhook-timestamp"], "1614264879");
        let expected = signature(&webhook.secret, &message.id, "1614264879", &body).unwrap();
        assert_eq!(headers["webhook-signature"], format!("v1,{expected}").as_str());
    }

    #[tokio::test]
    async fn what_is_not_taken_is_an_error_that_does_not_tell_the_address() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, axum::Router::new()).await });
        let error = webhook(&format!("http://{address}/token")).send(&message("{}")).await.unwrap_err();
        assert_eq!(format!("{error:#}"), "it answered 404 Not Found");
        let error = webhook("http://127.0.0.1:9/token").send(&message("{}")).await.unwrap_err();
        assert!(
            format!("{error:#}").starts_with("failed to get an answer") && !format!("{error:#}").contains("token"),
            "{error:#}"
        );
    }

    #[test]
    fn a_secret_is_never_shown() {
        let shown = format!("{:?}", webhook("https://x.example/T0/hunter2"));
        assert!(shown.contains("x.example") && !shown.contains("MfKQ") && !shown.contains("hunter2"), "{shown}");
    }
}
