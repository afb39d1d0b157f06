//! Talks to a coordinator's HTTP API.

mod access;
mod left_behind;
mod schedules;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use regatta_backends::SweepRow;
use regatta_coordinator::{
    CellSoFar, ConcurrencyChange, Diagnosis, GcRequest, GcResult, Resumption, Submission, Submitted, SweepStatus,
};
use regatta_proto::{Digest, SweepId, TlsOptions, causes, handshake_advice, root_cause};
use reqwest::header::{HeaderMap, LINK, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::args::ClientArgs;
use crate::credentials::refuse_credentials;
use crate::exit::BadConfiguration;
use crate::plain_http::is_in_the_clear;
use crate::tls::{self, Identity};

const TLS_OPTIONS: TlsOptions =
    TlsOptions { authorities: "--ca or REGATTA_CA", identity: Some("--client-cert and --client-key") };

/// Query of the first page of a list.
const FIRST_PAGE: &str = "?limit=1000";
/// Most entries of a list that are read. No deployment has so many; and whoever answers with more does not stop.
const LISTED_MAX: usize = 1_000_000;

/// A coordinator somewhere.
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// No coordinator answers at an address.
#[derive(Debug, thiserror::Error)]
#[error("failed to reach the coordinator at {address}: {reason}; {hint}")]
pub(crate) struct Unreachable {
    address: String,
    reason: String,
    hint: String,
    /// Nobody listens there.
    pub(crate) is_nobody: bool,
}

#[derive(Deserialize)]
struct Problem {
    error: String,
}

impl Client {
    pub(crate) fn new(args: &ClientArgs) -> anyhow::Result<Self> {
        crate::embedded::install_tls();
        refuse_credentials(args.address(), "--coordinator or REGATTA_COORDINATOR", "give the token in REGATTA_TOKEN")?;
        if args.token.is_some() && !args.plain_http && is_in_the_clear(args.address()) {
            return Err(BadConfiguration(format!(
                "the token would go to {} unencrypted, and everybody on the way could use it: write https:// (--coordinator, \
                 REGATTA_COORDINATOR), or say that the way is safe with --plain-http (REGATTA_PLAIN_HTTP=true)",
                args.address()
            ))
            .into());
        }
        let identity = args.client_cert.as_deref().zip(args.client_key.as_deref());
        let identity = identity.map(|(certificate, key)| Identity { certificate, key });
        let tls = tls::client(args.ca.as_deref(), identity)?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            // The token goes to the address that somebody gave, and to no other that is named there.
            .redirect(Policy::none())
            .build()
            .context("failed to start the HTTP client")?;
        Ok(Self { http, base: args.address().trim_end_matches('/').to_owned(), token: args.token.clone() })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}/v1/{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        self.accepted(self.answered(request).await?).await
    }

    async fn answered(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        request.send().await.map_err(|error| {
            let hint = handshake_advice(&causes(&error), TLS_OPTIONS);
            let is_nobody = hint.is_none() && error.is_connect();
            let hint = hint.unwrap_or_else(|| "give its address with --coordinator or REGATTA_COORDINATOR".to_owned());
            Unreachable { address: self.base.clone(), reason: root_cause(&error), hint, is_nobody }.into()
        })
    }

    /// The answer, if it is not a refusal.
    async fn accepted(&self, response: Response) -> anyhow::Result<Response> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.map(|to| format!(" to {to}")).unwrap_or_default();
            return Err(BadConfiguration(format!(
                "{} redirects{to}, which is not followed: give the coordinator's own address with --coordinator or REGATTA_COORDINATOR",
                self.base
            ))
            .into());
        }
        Err(refusal(status, response.text().await.unwrap_or_default()))
    }

    async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> anyhow::Result<T> {
        read(self.send(request).await?).await
    }

    /// At most `limit` entries of the list at `path`, whose first page has the query `first`, page by page: `entries` takes a page apart.
    /// Coordinators of before there were pages answer with everything, and no link to more.
    async fn pages<P: DeserializeOwned, T>(
        &self,
        path: &str,
        first: &str,
        limit: usize,
        mut entries: impl FnMut(P) -> Vec<T>,
    ) -> anyhow::Result<Vec<T>> {
        let (mut all, mut query) = (Vec::new(), first.to_owned());
        loop {
            let response = self.send(self.request(Method::GET, &format!("{path}{query}"))).await?;
            let next = next_page(response.headers());
            let page = entries(read(response).await?);
            // Whoever answers decides where the next page is, but not for how long this goes on.
            let is_empty = page.is_empty();
            all.extend(page);
            match next {
                Some(next) if all.len() < limit && !is_empty => query = next,
                Some(_) | None => break,
            }
        }
        all.truncate(limit);
        Ok(all)
    }

    /// The whole list at `path`.
    async fn whole<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Vec<T>> {
        self.pages(path, FIRST_PAGE, LISTED_MAX, |page: Vec<T>| page).await
    }

    pub(crate) async fn upload(&self, digest: &Digest, content: Bytes) -> anyhow::Result<()> {
        let path = format!("content/{digest}");
        let stored = self.request(Method::HEAD, &path).send().await.is_ok_and(|answer| answer.status().is_success());
        if !stored {
            self.send(self.request(Method::PUT, &path).body(content)).await?;
        }
        Ok(())
    }

    pub(crate) async fn submit(&self, submission: &Submission) -> anyhow::Result<Submitted> {
        self.json(self.request(Method::POST, "sweeps").json(submission)).await
    }

    pub(crate) async fn sweeps(&self) -> anyhow::Result<Vec<SweepRow>> {
        self.whole("sweeps").await
    }

    pub(crate) async fn status(&self, sweep: &SweepId) -> anyhow::Result<SweepStatus> {
        self.json(self.request(Method::GET, &format!("sweeps/{sweep}"))).await
    }

    /// Scores and failures so far; none from coordinators of before they were told.
    pub(crate) async fn so_far(&self, sweep: &SweepId) -> anyhow::Result<Vec<CellSoFar>> {
        let response = self.answered(self.request(Method::GET, &format!("sweeps/{sweep}/scores"))).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(Vec::new());
        }
        read(self.accepted(response).await?).await
    }

    pub(crate) async fn diagnosis(&self) -> anyhow::Result<Diagnosis> {
        self.json(self.request(Method::GET, "doctor")).await
    }

    pub(crate) async fn cancel(&self, sweep: &SweepId) -> anyhow::Result<()> {
        self.send(self.request(Method::POST, &format!("sweeps/{sweep}/cancel")).json(&())).await.map(drop)
    }

    pub(crate) async fn pause(&self, sweep: &SweepId) -> anyhow::Result<()> {
        self.send(self.request(Method::POST, &format!("sweeps/{sweep}/pause")).json(&())).await.map(drop)
    }

    pub(crate) async fn limit_concurrency(&self, sweep: &SweepId, change: &ConcurrencyChange) -> anyhow::Result<()> {
        self.send(self.request(Method::POST, &format!("sweeps/{sweep}/concurrency")).json(change)).await.map(drop)
    }

    pub(crate) async fn resume(&self, sweep: &SweepId, resumption: Resumption) -> anyhow::Result<()> {
        self.send(self.request(Method::POST, &format!("sweeps/{sweep}/resume")).json(&resumption)).await.map(drop)
    }

    pub(crate) async fn collect(&self, request: &GcRequest) -> anyhow::Result<GcResult> {
        self.json(self.request(Method::POST, "gc").json(request)).await
    }
}

async fn read<T: DeserializeOwned>(response: Response) -> anyhow::Result<T> {
    decoded(&response.bytes().await.context("failed to read the coordinator's answer")?)
}

fn decoded<T: DeserializeOwned>(body: &[u8]) -> anyhow::Result<T> {
    serde_json::from_slice(body).context("failed to read the coordinator's answer; do both sides run the same version?")
}

/// The error that an answer with this status and text stands for.
fn refusal(status: StatusCode, text: String) -> anyhow::Error {
    let said = serde_json::from_str(&text).map(|Problem { error }| error).unwrap_or(text);
    let is_wordless = said.trim().is_empty();
    let problem =
        if is_wordless { format!("the coordinator answered {status}; does it run another version?") } else { said };
    if matches!(
        status,
        StatusCode::UNPROCESSABLE_ENTITY
            | StatusCode::NOT_FOUND
            | StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_IMPLEMENTED
    ) {
        return BadConfiguration(problem).into();
    }
    anyhow!("the coordinator answered {status}: {problem}")
}

/// Query of the next page, if the answer links to one. Another address, which would get the token, is never followed.
fn next_page(headers: &HeaderMap) -> Option<String> {
    let (target, relation) = headers.get(LINK)?.to_str().ok()?.strip_prefix('<')?.split_once('>')?;
    (target.starts_with('?') && relation == "; rel=\"next\"").then(|| target.to_owned())
}

#[cfg(test)]
mod tests;
