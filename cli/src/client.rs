//! Talks to a coordinator's HTTP API.

use anyhow::{Context, anyhow};
use bytes::Bytes;
use jiff::Timestamp;
use regatta_backends::{AuditRow, OwnerRow, SweepRow, TokenRow};
use regatta_catalog::Input;
use regatta_coordinator::{
    CellSoFar, Diagnosis, GcRequest, GcResult, QuotaRequest, Resumption, SchedulePut, ScheduleRequest, ScheduleStatus,
    Submission, Submitted, SweepStatus, TickStatus, TokenList, TokenRequest, VerdictsPage, VerdictsRequest,
};
use regatta_proto::{
    Digest, ModelRef, ScheduleName, SweepId, TlsOptions, TokenId, causes, handshake_advice, root_cause,
};
use reqwest::header::{HeaderMap, LINK, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::args::ClientArgs;
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

/// A tick that was asked for.
#[derive(Deserialize)]
struct Asked {
    at: Timestamp,
}

impl Client {
    pub(crate) fn new(args: &ClientArgs) -> anyhow::Result<Self> {
        crate::embedded::install_tls();
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

    pub(crate) async fn resume(&self, sweep: &SweepId, resumption: Resumption) -> anyhow::Result<()> {
        self.send(self.request(Method::POST, &format!("sweeps/{sweep}/resume")).json(&resumption)).await.map(drop)
    }

    pub(crate) async fn put_schedule(&self, request: &ScheduleRequest) -> anyhow::Result<SchedulePut> {
        self.json(self.request(Method::POST, "schedules").json(request)).await
    }

    pub(crate) async fn schedules(&self) -> anyhow::Result<Vec<ScheduleStatus>> {
        self.whole("schedules").await
    }

    pub(crate) async fn schedule(&self, name: &ScheduleName) -> anyhow::Result<ScheduleStatus> {
        self.json(self.request(Method::GET, &format!("schedules/{name}"))).await
    }

    /// At most `limit` ticks, newest first.
    pub(crate) async fn history(&self, name: &ScheduleName, limit: u32) -> anyhow::Result<Vec<TickStatus>> {
        self.json(self.request(Method::GET, &format!("schedules/{name}/history?limit={limit}"))).await
    }

    /// Pauses or resumes a schedule.
    pub(crate) async fn change_schedule(&self, name: &ScheduleName, change: &str) -> anyhow::Result<()> {
        self.send(self.request(Method::POST, &format!("schedules/{name}/{change}")).json(&())).await.map(drop)
    }

    /// Asks for a sweep of a schedule; returns its tick.
    pub(crate) async fn run_schedule(&self, name: &ScheduleName) -> anyhow::Result<Timestamp> {
        let asked: Asked = self.json(self.request(Method::POST, &format!("schedules/{name}/run")).json(&())).await?;
        Ok(asked.at)
    }

    pub(crate) async fn collect(&self, request: &GcRequest) -> anyhow::Result<GcResult> {
        self.json(self.request(Method::POST, "gc").json(request)).await
    }

    pub(crate) async fn create_token(&self, request: &TokenRequest) -> anyhow::Result<TokenRow> {
        self.json(self.request(Method::POST, "tokens").json(request)).await
    }

    /// All tokens and owners.
    pub(crate) async fn tokens(&self) -> anyhow::Result<TokenList> {
        // Coordinators of before there were pages name all owners beside their tokens.
        let mut owners = Vec::new();
        let of_page = |page: TokenList| {
            owners.extend(page.owners);
            page.tokens
        };
        let tokens = self.pages("tokens", FIRST_PAGE, LISTED_MAX, of_page).await?;
        if owners.is_empty() {
            owners = self.owners().await?;
        }
        Ok(TokenList { tokens, owners })
    }

    /// All owners with a quota or with sweeps.
    async fn owners(&self) -> anyhow::Result<Vec<OwnerRow>> {
        let first = self.answered(self.request(Method::GET, "owners?limit=1")).await?;
        if first.status() == StatusCode::NOT_FOUND {
            // Of a coordinator of before there were pages, while another may have answered with a page of tokens: only the whole list has all
            // owners then, and one that is left out would seem to have no quota.
            let whole: TokenList = self.json(self.request(Method::GET, "tokens")).await?;
            return Ok(whole.owners);
        }
        self.accepted(first).await?;
        self.whole("owners").await
    }

    pub(crate) async fn revoke_token(&self, id: &TokenId) -> anyhow::Result<()> {
        self.send(self.request(Method::POST, &format!("tokens/{id}/revoke")).json(&())).await.map(drop)
    }

    pub(crate) async fn set_quota(&self, request: &QuotaRequest) -> anyhow::Result<()> {
        self.send(self.request(Method::POST, "quotas").json(request)).await.map(drop)
    }

    /// At most `limit` entries of the audit log with numbers below `before`, newest first.
    pub(crate) async fn audit(&self, before: Option<u64>, limit: u32) -> anyhow::Result<Vec<AuditRow>> {
        let before = before.map_or_else(String::new, |number| format!("&before={number}"));
        self.pages("audit", &format!("?limit={limit}{before}"), limit as usize, |page: Vec<AuditRow>| page).await
    }

    pub(crate) async fn delete_schedule(&self, name: &ScheduleName) -> anyhow::Result<()> {
        self.send(self.request(Method::DELETE, &format!("schedules/{name}"))).await.map(drop)
    }

    /// Inputs of the sweep, by digest.
    pub(crate) async fn inputs(&self, sweep: &SweepId) -> anyhow::Result<Vec<Input>> {
        self.json(self.request(Method::GET, &format!("sweeps/{sweep}/inputs"))).await
    }

    /// One of these.
    pub(crate) async fn input(&self, sweep: &SweepId, digest: &Digest) -> anyhow::Result<Bytes> {
        let response = self.send(self.request(Method::GET, &format!("sweeps/{sweep}/inputs/{digest}"))).await?;
        response.bytes().await.with_context(|| format!("failed to read what {sweep} is made of"))
    }

    /// Verdicts on the first of `questions` that `judge` of the sweep has given.
    pub(crate) async fn verdicts(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        questions: &[Digest],
    ) -> anyhow::Result<VerdictsPage> {
        let request = VerdictsRequest { judge: judge.clone(), questions: questions.to_vec() };
        self.json(self.request(Method::POST, &format!("sweeps/{sweep}/verdicts")).json(&request)).await
    }

    /// URL at which a browser finds a file that the sweep has left behind; `None` when the coordinator asks for a token.
    pub(crate) fn address_of(&self, sweep: &SweepId, path: &str) -> Option<String> {
        self.token.is_none().then(|| format!("{}/v1/sweeps/{sweep}/files/{path}", self.base))
    }

    /// Names of all files that the sweep has left behind.
    pub(crate) async fn files(&self, sweep: &SweepId) -> anyhow::Result<Vec<String>> {
        self.json(self.request(Method::GET, &format!("sweeps/{sweep}/files"))).await
    }

    /// A file that the sweep has left behind; `None` when there is none yet.
    pub(crate) async fn file(&self, sweep: &SweepId, path: &str) -> anyhow::Result<Option<Bytes>> {
        let response = self.answered(self.request(Method::GET, &format!("sweeps/{sweep}/files/{path}"))).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let file = self.accepted(response).await?;
        Ok(Some(file.bytes().await.context("failed to read a file of the sweep")?))
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
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use axum::Json;
    use axum::extract::Query;
    use axum::response::{AppendHeaders, Redirect};
    use axum::routing::get;
    use proptest::prelude::*;
    use reqwest::header::HeaderValue;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::hostile::{nearly, nearly_text};

    fn with_token(coordinator: &str) -> ClientArgs {
        ClientArgs { token: Some("a token of sixteen".to_owned()), ..ClientArgs::at(coordinator.to_owned()) }
    }

    #[test]
    fn a_token_leaves_this_machine_encrypted_or_by_an_explicit_word() {
        let refused = Client::new(&with_token("http://regatta.example:8080")).err().unwrap();
        let said = refused.to_string();
        assert!(refused.downcast_ref::<BadConfiguration>().is_some());
        assert!(said.contains("https://") && said.contains("--plain-http") && !said.contains("sixteen"), "{said}");
        for good in ["https://regatta.example", "http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"] {
            Client::new(&with_token(good)).unwrap();
        }
        Client::new(&ClientArgs { plain_http: true, ..with_token("http://regatta.example") }).unwrap();
        Client::new(&ClientArgs::at("http://regatta.example".to_owned())).unwrap();
    }

    /// A server with one route, and its address.
    fn serving(routes: axum::Router) -> String {
        let listener = crate::listener::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        crate::listener::serve(listener, routes, CancellationToken::new());
        address
    }

    /// A coordinator that lists the numbers 1 to `most`, two a page, and a client that asks it.
    fn listing(most: u64) -> Client {
        let page = move |Query(asked): Query<HashMap<String, String>>| async move {
            let after: u64 = asked.get("after").map_or(0, |after| after.parse().unwrap());
            let page: Vec<u64> = (after + 1..=most).take(2).collect();
            let last = page.last().filter(|last| **last < most);
            let link = last.map(|last| (LINK, format!("<?after={last}&limit=2>; rel=\"next\"")));
            (AppendHeaders(link), Json(page))
        };
        Client::new(&with_token(&serving(axum::Router::new().route("/v1/numbers", get(page))))).unwrap()
    }

    #[tokio::test]
    async fn a_list_is_read_page_by_page() {
        let client = listing(5);
        assert_eq!(client.whole::<u64>("numbers").await.unwrap(), [1, 2, 3, 4, 5]);
        let some = client.pages("numbers", "?limit=3", 3, |page: Vec<u64>| page).await.unwrap();
        assert_eq!(some, [1, 2, 3]);
    }

    /// A page of tokens comes from a coordinator whose owners have a list of their own, and the next answer from one of before.
    #[tokio::test]
    async fn no_owner_seems_to_be_without_a_quota_while_coordinators_are_replaced() {
        let row =
            serde_json::json!({ "owner": "alice", "quota": { "sessions": 7 }, "granted": 0, "granted_sessions": 0 });
        let owner: OwnerRow = serde_json::from_value(row).unwrap();
        let tokens = move |Query(asked): Query<HashMap<String, String>>| async move {
            let owners = if asked.contains_key("limit") { Vec::new() } else { vec![owner.clone()] };
            Json(TokenList { tokens: Vec::new(), owners })
        };
        let client = Client::new(&with_token(&serving(axum::Router::new().route("/v1/tokens", get(tokens))))).unwrap();
        let owners = client.tokens().await.unwrap().owners;
        assert_eq!(owners.iter().map(|row| row.quota.sessions).collect::<Vec<_>>(), [Some(7)]);
    }

    #[tokio::test]
    async fn a_list_without_an_end_is_read_as_far_as_it_was_wanted() {
        let some = listing(u64::MAX).pages("numbers", "?limit=9", 9, |page: Vec<u64>| page).await.unwrap();
        assert_eq!(some, (1..10).collect::<Vec<_>>());
        // Pages without entries lead nowhere.
        let nothing = async || ([(LINK, "<?after=1&limit=2>; rel=\"next\"")], "[]");
        let client = Client::new(&with_token(&serving(axum::Router::new().route("/v1/numbers", get(nothing)))));
        assert_eq!(client.unwrap().whole::<u64>("numbers").await.unwrap(), [0; 0]);
    }

    #[tokio::test]
    async fn coordinators_of_before_there_were_pages_are_understood() {
        let owner = serde_json::json!({
            "owner": "alice", "quota": { "budget": null, "sessions": 5 }, "granted": 0, "granted_sessions": 3,
        });
        let tokens = serde_json::json!({ "tokens": [], "owners": [owner] });
        let routes = axum::Router::new()
            .route("/v1/sweeps", get(async || "[]"))
            .route("/v1/tokens", get(async move || Json(tokens)));
        let client = Client::new(&with_token(&serving(routes))).unwrap();
        assert!(client.sweeps().await.unwrap().is_empty());
        assert_eq!(client.tokens().await.unwrap().owners[0].quota.sessions, Some(5));
        let nobody = serde_json::json!({ "tokens": [], "owners": [] });
        let routes = axum::Router::new().route("/v1/tokens", get(async move || Json(nobody)));
        let client = Client::new(&with_token(&serving(routes))).unwrap();
        assert!(client.tokens().await.unwrap().owners.is_empty());
    }

    #[test]
    fn a_link_leads_to_the_same_list_alone() {
        let next = |link: &'static str| next_page(&HeaderMap::from_iter([(LINK, HeaderValue::from_static(link))]));
        assert_eq!(next("<?after=a%2Bb&limit=2>; rel=\"next\"").as_deref(), Some("?after=a%2Bb&limit=2"));
        for other in [
            "<https://evil.example/v1/sweeps?after=a>; rel=\"next\"",
            "<//evil.example/?after=a>; rel=\"next\"",
            "<../tokens?after=a>; rel=\"next\"",
            "<?after=a>; rel=\"prev\"",
            "?after=a",
            "",
        ] {
            assert_eq!(next(other), None, "{other}");
        }
    }

    #[tokio::test]
    async fn a_redirection_is_not_followed() {
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let answer = move || async move {
            count.fetch_add(1, Ordering::SeqCst);
            "[]"
        };
        let elsewhere = serving(axum::Router::new().route("/v1/sweeps", get(answer)));
        let to = format!("{elsewhere}/v1/sweeps");
        let redirecting = axum::Router::new().route("/v1/sweeps", get(async move || Redirect::temporary(&to)));
        let problem = Client::new(&with_token(&serving(redirecting))).unwrap().sweeps().await.unwrap_err();
        assert!(problem.downcast_ref::<BadConfiguration>().is_some());
        assert!(problem.to_string().contains(&format!("redirects to {elsewhere}/v1/sweeps")), "{problem}");
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }

    /// Reads an answer; `true` if it is understood.
    type Reading = fn(&[u8]) -> bool;

    fn reads<T: DeserializeOwned>(body: &[u8]) -> bool {
        decoded::<T>(body).is_ok()
    }

    /// Right answers, and their kinds.
    const ANSWERS: [(&str, Reading); 10] = [
        (
            r#"[{"id":"s1","name":"nightly","lock":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
                 "state":"running","budget":5000000000,"created_at":"2026-01-01T00:00:00Z","ended_at":null}]"#,
            reads::<Vec<SweepRow>>,
        ),
        (
            r#"{"id":"s1","state":"running","created_at":"2026-01-01T00:00:00Z","ended_at":null,"has_report":true,"cells":[],
                "budget":{"cap":9,"spent":1,"maybe_spent":2,"reserved":3,"left":3}}"#,
            reads::<SweepStatus>,
        ),
        (r#"{"id":"s1","created":true,"sessions":12}"#, reads::<Submitted>),
        (
            r#"{"term":3,"stalled":null,"reports_waiting":1,"reports_set_aside":0,"dead_letters":0,"sweeps":[],
                "findings":[{"about":"s1","problem":"it stands still","next_step":"look"}]}"#,
            reads::<Diagnosis>,
        ),
        (
            r#"{"going":[{"sweep":"s1","ended_at":"2026-01-01T00:00:00Z","goes":"everything","objects":3}],
                "kept":1,"applied":false,"left":0,"problems":["one"]}"#,
            reads::<GcResult>,
        ),
        (
            r#"{"tokens":[],"owners":[{"owner":"alice","quota":{"sessions":7},"granted":0,"granted_sessions":0}]}"#,
            reads::<TokenList>,
        ),
        (
            r#"[{"number":7,"at":"2026-01-01T00:00:00Z","actor":"alice","credential":"a token","action":"submit",
                 "subject":"s1","result":null}]"#,
            reads::<Vec<AuditRow>>,
        ),
        (
            r#"[{"kind":"lock","digest":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"}]"#,
            reads::<Vec<Input>>,
        ),
        (r#"{"verdicts":[],"looked_up":1}"#, reads::<VerdictsPage>),
        (r#"{"at":"2026-01-01T00:00:00Z"}"#, reads::<Asked>),
    ];

    #[test]
    fn an_answer_of_each_kind_is_read() {
        for (right, reads) in ANSWERS {
            assert!(reads(right.as_bytes()), "{right}");
        }
    }

    #[test]
    fn a_refusal_without_words_says_its_status() {
        for text in ["", " ", r#"{"error":""}"#] {
            let said = refusal(StatusCode::NOT_FOUND, text.to_owned()).to_string();
            assert_eq!(said, "the coordinator answered 404 Not Found; does it run another version?", "{text:?}");
        }
        let said = refusal(StatusCode::CONFLICT, r#"{"error":"it has ended"}"#.to_owned()).to_string();
        assert_eq!(said, "the coordinator answered 409 Conflict: it has ended");
    }

    proptest! {
        #[test]
        fn an_answer_that_is_nearly_right_is_read_or_refused(
            (which, body) in (0..ANSWERS.len()).prop_flat_map(|which| {
                nearly(ANSWERS[which].0.as_bytes()).prop_map(move |body| (which, body))
            }),
        ) {
            let (_, reads) = ANSWERS[which];
            reads(&body);
        }

        #[test]
        fn whatever_a_refusal_says_the_error_has_words(status in 400_u16..600, text in nearly_text(r#"{"error":"no"}"#)) {
            let said = refusal(StatusCode::from_u16(status).unwrap(), text).to_string();
            prop_assert!(!said.trim().is_empty());
        }

        #[test]
        fn whatever_a_link_says_it_leads_to_the_same_list(link in nearly(b"<?after=a%2Bb&limit=2>; rel=\"next\"")) {
            if let Ok(link) = HeaderValue::from_bytes(&link) {
                let next = next_page(&HeaderMap::from_iter([(LINK, link)]));
                prop_assert!(next.is_none_or(|next| next.starts_with('?')));
            }
        }
    }
}
