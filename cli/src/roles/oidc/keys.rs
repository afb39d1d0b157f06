//! Public keys of an issuer: fetched when they are needed, kept for a while, and fetched again when one is not among them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use regatta_proto::{TlsOptions, with_handshake_advice};
use regatta_serving::is_loopback_host;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::tls;

/// Age at which keys are fetched again.
const FRESH: SignedDuration = SignedDuration::from_mins(10);
/// Age up to which keys are used whose issuer does not answer.
const STALE: SignedDuration = SignedDuration::from_hours(24);
/// Shortest pause between two fetches, whatever strangers write into their tokens.
const PAUSE: SignedDuration = SignedDuration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);
/// Largest document of an issuer, in bytes.
const DOCUMENT_BYTES_MAX: usize = 1 << 20;
/// Most keys of an issuer.
const KEYS_MAX: usize = 100;

/// Keys of one issuer, as they were last fetched.
#[derive(Debug)]
pub(super) struct Keys {
    issuer: String,
    /// Address of the keys; `None` to find it by discovery.
    address: Option<Url>,
    client: Client,
    state: Mutex<State>,
    /// Held while keys are fetched, so that all who need them make one request.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    keys: Vec<Jwk>,
    fetched_at: Option<Timestamp>,
    tried_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<serde_json::Value>,
}

/// An address that nobody on the way can answer for.
pub(super) fn address(text: &str) -> anyhow::Result<Url> {
    let url: Url = text.parse().context("this is no address; write it as https://login.example.com")?;
    ensure!(
        url.username().is_empty() && url.password().is_none(),
        "the address has a user or a password; leave them out"
    );
    let is_here = url.host_str().is_some_and(is_loopback_host);
    if url.scheme() == "https" || (url.scheme() == "http" && is_here) {
        return Ok(url);
    }
    bail!("{} must begin with https://, or others on the network could sign tokens", shown(&url))
}

/// An address as errors and logs have it: its query may hold a key of the issuer's.
fn shown(place: &Url) -> Url {
    let mut shown = place.clone();
    shown.set_query(None);
    shown
}

impl Keys {
    pub(super) fn new(issuer: String, address: Option<Url>) -> anyhow::Result<Self> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls::client(None, None)?)
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .build()
            .context("failed to start the HTTP client")?;
        Ok(Self { issuer, address, client, state: Mutex::default(), fetching: tokio::sync::Mutex::default() })
    }

    /// The key named `id`; or the only key, for tokens that name none. `None` if there is no such key.
    ///
    /// While one request fetches keys anew, others go on with those that are known; only who needs another one waits.
    ///
    /// # Errors
    /// When the issuer does not answer, and has not for long.
    pub(super) async fn find(&self, id: Option<&str>, now: Timestamp) -> anyhow::Result<Option<Jwk>> {
        if let Some(key) = self.known(id, now, FRESH) {
            return Ok(Some(key));
        }
        let turn = match self.fetching.try_lock() {
            Ok(turn) => turn,
            Err(_) => match self.known(id, now, STALE) {
                Some(key) => return Ok(Some(key)),
                None => self.fetching.lock().await,
            },
        };
        // Whoever waited finds what was fetched meanwhile.
        if let Some(key) = self.known(id, now, FRESH) {
            return Ok(Some(key));
        }
        if self.begin_try(now) {
            match self.fetch().await {
                Ok(keys) => self.keep(keys, now),
                Err(error) => {
                    let problem = with_handshake_advice(format!("{error:#}"), TlsOptions::OF_SYSTEM);
                    tracing::warn!(issuer = self.issuer, problem, "failed to fetch the keys of an issuer");
                }
            }
        }
        drop(turn);
        let age = self.state().fetched_at.map(|at| now.duration_since(at));
        ensure!(
            age.is_some_and(|age| age <= STALE),
            "the keys of {} cannot be had; try again in a minute",
            self.issuer
        );
        Ok(self.known(id, now, STALE))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key named `id`, if it was fetched within `age`.
    fn known(&self, id: Option<&str>, now: Timestamp, age: SignedDuration) -> Option<Jwk> {
        let state = self.state();
        state.find(id).filter(|_| state.fetched_at.is_some_and(|at| now.duration_since(at) <= age))
    }

    /// `true` if the last try is long enough ago for another one, which begins now.
    fn begin_try(&self, now: Timestamp) -> bool {
        let mut state = self.state();
        let may_try = state.tried_at.is_none_or(|at| now.duration_since(at).abs() >= PAUSE);
        if may_try {
            state.tried_at = Some(now);
        }
        may_try
    }

    fn keep(&self, keys: Vec<Jwk>, now: Timestamp) {
        let mut state = self.state();
        (state.keys, state.fetched_at) = (keys, Some(now));
    }

    async fn fetch(&self) -> anyhow::Result<Vec<Jwk>> {
        let place = match &self.address {
            Some(address) => address.clone(),
            None => {
                let well_known = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
                let found: Discovery = self.document(address(&well_known)?).await?;
                ensure!(
                    found.issuer == self.issuer,
                    "{well_known} is of the issuer {:?}, not of {:?}",
                    found.issuer,
                    self.issuer
                );
                address(&found.jwks_uri)?
            }
        };
        let set: KeySet = self.document(place).await?;
        ensure!(set.keys.len() <= KEYS_MAX, "{} keys are published, at most {KEYS_MAX} are read", set.keys.len());
        // Keys of kinds that nobody here knows are for others.
        let keys = set.keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
        Ok(keys.filter(|key| matches!(key.common.public_key_use, None | Some(PublicKeyUse::Signature))).collect())
    }

    async fn document<T: DeserializeOwned>(&self, place: Url) -> anyhow::Result<T> {
        let request = self.client.get(place.clone());
        let place = shown(&place);
        let failed = || format!("failed to fetch {place}");
        let mut response = request.send().await.map_err(reqwest::Error::without_url).with_context(failed)?;
        ensure!(response.status().is_success(), "{place} answers {}", response.status());
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(reqwest::Error::without_url).with_context(failed)? {
            bytes.extend_from_slice(&piece);
            ensure!(bytes.len() <= DOCUMENT_BYTES_MAX, "{place} has more than {DOCUMENT_BYTES_MAX} bytes");
        }
        serde_json::from_slice(&bytes).with_context(|| format!("failed to read {place}"))
    }
}

impl State {
    fn find(&self, id: Option<&str>) -> Option<Jwk> {
        match id {
            Some(id) => self.keys.iter().find(|key| key.common.key_id.as_deref() == Some(id)).cloned(),
            None if self.keys.len() == 1 => self.keys.first().cloned(),
            None => None,
        }
    }
}
