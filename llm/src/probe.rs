//! Asks an endpoint for its list of models, which no provider bills: an endpoint that refuses a key refuses it there too, and a model whose
//! name is misspelt is not in the list.
//!
//! A 403 says less than a 401: a key can lack the right to list models and no other.

mod list;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use regatta_proto::{EndpointName, EndpointSpec, ErrorClass};
use reqwest::header::HeaderMap;
use reqwest::{Method, Request, Response, StatusCode, Url};
use serde_json::Value;
use tokio::time::timeout;

use crate::errors::{ErrorInfo, event_of_status};
use crate::open::Access;
use crate::open_error::OpenError;
use crate::policy::OutboundPolicy;
use crate::secret::Secret;
use crate::standstill::Standstill;
use crate::transport::Transport;
use list::Form;

pub use list::ModelList;

/// Longest wait for an answer: somebody sits before a run that is about to begin.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Longest list that is read, in bytes.
const LIST_BYTES_MAX: usize = 4 << 20;

/// The request for the list of models of one endpoint.
pub struct Probe {
    transport: Transport,
    url: Url,
    headers: HeaderMap,
    form: Form,
    secret: Secret,
}

/// Outcome of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probed {
    /// The endpoint takes the key, or needs none for its list.
    Listed(ModelList),
    /// The endpoint refuses the key; with its status and words.
    KeyRefused(String),
    /// The endpoint answers with something else than a list, which says nothing about key and models; as a clause.
    NoList(String),
    /// The endpoint was not reached, or did not answer in time; as a clause.
    NoAnswer(String),
}

impl Probe {
    /// Prepares the request to the endpoint of `spec`. Sends nothing. `None` for kinds that have no list of models over HTTP. Must be called
    /// within a Tokio runtime.
    ///
    /// # Errors
    /// When the key's variable is not set, or the address is invalid or not allowed; names the endpoint.
    pub fn open(
        name: &EndpointName,
        spec: &EndpointSpec,
        env: &dyn Fn(&str) -> Option<String>,
        policy: &OutboundPolicy,
    ) -> Result<Option<Self>, OpenError> {
        let Some(form) = Form::of(spec.kind) else { return Ok(None) };
        let Access { base, url, secret, key_header, headers: of_spec, egress, .. } =
            Access::resolve(name, spec, env, policy)?;
        let (timeouts, standstill) = (spec.timeouts, Standstill::watch());
        let transport = Transport::new(&url, secret.clone(), key_header, timeouts, egress, None, standstill)
            .map_err(|source| OpenError::Transport { endpoint: name.clone(), source })?;
        let address = format!("{base}{}", form.path(&base, spec));
        let url = Url::parse(&address).map_err(|error| OpenError::BadAddress {
            endpoint: name.clone(),
            url: address.clone(),
            problem: error.to_string(),
        })?;
        let mut headers = form.headers();
        headers.extend(of_spec);
        Ok(Some(Self { transport, url, headers, form, secret }))
    }

    /// Asks once, and waits for ten seconds at most.
    pub async fn ask(&self) -> Probed {
        match timeout(ANSWER_MAX, self.answer()).await {
            Ok(Ok((status, body))) => self.understood(status, &body),
            Ok(Err(probed)) => probed,
            Err(_) => Probed::NoAnswer(format!("it did not answer within {} s", ANSWER_MAX.as_secs())),
        }
    }

    /// Status and body of the answer; or the outcome, where there is none that can be read.
    async fn answer(&self) -> Result<(StatusCode, Bytes), Probed> {
        let mut request = Request::new(Method::GET, self.url.clone());
        let headers = request.headers_mut();
        headers.clone_from(self.transport.headers());
        headers.extend(self.headers.clone());
        let response = self.transport.execute(request).await;
        let response = response.map_err(|failure| Probed::NoAnswer(failure.detail.into_string()))?;
        let status = response.status();
        Ok((status, self.body(response).await?))
    }

    async fn body(&self, mut response: Response) -> Result<Bytes, Probed> {
        let mut body = BytesMut::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > LIST_BYTES_MAX => {
                    return Err(Probed::NoList(format!("its list of models is larger than {LIST_BYTES_MAX} bytes")));
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok(body.freeze()),
                Err(error) => {
                    let problem = self.transport.explain(&error);
                    return Err(Probed::NoAnswer(format!("its answer broke off: {problem}")));
                }
            }
        }
    }

    fn understood(&self, status: StatusCode, body: &[u8]) -> Probed {
        if status.is_success() {
            return match self.form.read(body) {
                Some(list) => Probed::Listed(list),
                None => Probed::NoList("its answer is no list of models".to_owned()),
            };
        }
        let parsed = serde_json::from_slice::<Value>(body).ok();
        let info = parsed.as_ref().and_then(|body| ErrorInfo::find(body, true));
        let class = event_of_status(status.as_u16(), info.as_ref()).class();
        // A page is for browsers: a server's own words about a path that it does not have, or a gateway's way to log in, which says nothing of
        // whether calls are answered.
        let is_page = body.trim_ascii_start().starts_with(b"<");
        let words = match info {
            Some(info) => info.message,
            None if is_page => "a page for browsers".to_owned(),
            None => String::from_utf8_lossy(body).into_owned(),
        };
        let told = self.secret.detail(&words);
        let separator = if told.is_empty() { "" } else { ": " };
        let told = format!("HTTP {}{separator}{told}", status.as_u16());
        let is_refusal = class == ErrorClass::Auth && status != StatusCode::FORBIDDEN;
        let is_key = is_refusal && !is_page && !is_about_rights(&words);
        if is_key { Probed::KeyRefused(told) } else { Probed::NoList(told) }
    }
}

/// `true` of a refusal of a key that is valid, and may not list models.
fn is_about_rights(words: &str) -> bool {
    let words = words.to_lowercase();
    ["permission", "scope"].iter().any(|word| words.contains(word))
}

#[cfg(test)]
mod tests;
