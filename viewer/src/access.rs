//! Access to the pages: people with the token are let in, and requests that another site's page makes in their browser are refused.
//!
//! A browser cannot send `Authorization` by itself, so the token is entered once in a form, and stored in a cookie that scripts cannot read
//! and that requests from other sites do not carry. The cookie is sent to the pages alone, not to the API.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Form, Query, Request, State};
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use futures::future::BoxFuture;
use maud::html;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use regatta_coordinator::PeerCertificate;
use regatta_proto::Digest;
use regatta_serving::{RareLine, is_loopback_host};
use serde::Deserialize;

use crate::authors::Authors;
use crate::drifts::Drifts;
use crate::forms::{self, FormLimit};
use crate::page::{self, Page};
use crate::problem::Problem;
use crate::steering::Steering;

/// Name of the cookie.
const COOKIE: &str = "regatta_view";
/// Lifetime of the cookie in seconds: a working day.
const KEPT_S: u32 = 12 * 60 * 60;
/// Longest token that is checked, in bytes: browsers keep no longer cookie.
const TOKEN_BYTES_MAX: usize = 4096;
/// Longest body of the form, in bytes: strangers send it. Percent-encoding makes three bytes of one.
const FORM_BYTES_MAX: usize = 16 << 10;
/// The form of a login.
const FORM: FormLimit = FormLimit { bytes_max: FORM_BYTES_MAX, advice: "enter the token alone" };

/// The use that somebody makes of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenUse {
    /// A log-in with the form.
    LogIn,
    /// A request for a page, with the token in its cookie or header.
    Look,
}

/// Somebody who was let in, as they are told from others: by the token that was accepted, or else by the certificate of their connection. All
/// who have neither are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Reader(Option<Digest>);

impl Reader {
    /// Whoever has `token`.
    pub(crate) fn of_token(token: &str) -> Self {
        Self(Some(Digest::of(token.as_bytes())))
    }
}

/// Checks a token: `true` if it may see the pages.
type Admits = Arc<dyn Fn(String, TokenUse) -> BoxFuture<'static, bool> + Send + Sync>;

/// The people who may see the pages.
#[derive(Clone)]
pub struct Access {
    admits: Option<Admits>,
    /// Clients present certificates, so every client that gets here is known.
    asks_for_certificates: bool,
    /// Pages are served over TLS, so the cookie is marked `Secure`.
    over_tls: bool,
    /// Steers sweeps for those who may.
    steering: Option<Arc<dyn Steering>>,
    /// Compares the nights of schedules.
    drifts: Option<Arc<dyn Drifts>>,
    /// Knows who annotates.
    authors: Option<Arc<dyn Authors>>,
}

impl Access {
    /// Everybody on this machine, by the name of the loopback interface. A port that other machines reach must not be served with it.
    #[must_use]
    pub const fn loopback() -> Self {
        Self {
            admits: None,
            asks_for_certificates: false,
            over_tls: false,
            steering: None,
            drifts: None,
            authors: None,
        }
    }

    /// Everybody whose token `admits` accepts.
    #[must_use]
    pub fn by_token(admits: impl Fn(String, TokenUse) -> BoxFuture<'static, bool> + Send + Sync + 'static) -> Self {
        Self { admits: Some(Arc::new(admits)), ..Self::loopback() }
    }

    /// The same access over TLS. With `asks_for_certificates`, a client certificate replaces the token.
    #[must_use]
    pub fn over_tls(self, asks_for_certificates: bool) -> Self {
        Self { over_tls: true, asks_for_certificates, ..self }
    }

    /// The same access, with forms by which `steering` is told what to do with sweeps.
    #[must_use]
    pub fn with_steering(self, steering: Arc<dyn Steering>) -> Self {
        Self { steering: Some(steering), ..self }
    }

    /// The same access, with pages of drift that `drifts` makes.
    #[must_use]
    pub fn with_drifts(self, drifts: Arc<dyn Drifts>) -> Self {
        Self { drifts: Some(drifts), ..self }
    }

    /// The same access, with annotations of sweeps by the people whom `authors` knows.
    #[must_use]
    pub fn with_authors(self, authors: Arc<dyn Authors>) -> Self {
        Self { authors: Some(authors), ..self }
    }

    pub(crate) fn authors(&self) -> Option<Arc<dyn Authors>> {
        self.authors.clone()
    }

    pub(crate) fn drifts(&self) -> Option<Arc<dyn Drifts>> {
        self.drifts.clone()
    }

    pub(crate) fn steering(&self) -> Option<Arc<dyn Steering>> {
        self.steering.clone()
    }

    pub(crate) const fn is_asked_for_token(&self) -> bool {
        self.admits.is_some()
    }

    fn cookie(&self, token: &str, seconds: u32) -> String {
        let value = utf8_percent_encode(token, NON_ALPHANUMERIC);
        let secure = if self.over_tls { "; Secure" } else { "" };
        format!("{COOKIE}={value}; Path=/ui; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
    }

    /// `true` if the request carries a token that is accepted, as a header or in the cookie.
    async fn admits(&self, headers: &HeaderMap) -> bool {
        let Some(admits) = &self.admits else { return true };
        match given(headers) {
            Some(token) => admits(token, TokenUse::Look).await,
            None => false,
        }
    }

    /// Whoever asks, once they are let in.
    fn reader(&self, headers: &HeaderMap, extensions: &Extensions) -> Reader {
        match &self.admits {
            // One that was not checked could be another in each request.
            Some(_) => given(headers).map_or(Reader(None), |token| Reader::of_token(&token)),
            None => Reader(extensions.get::<PeerCertificate>().map(|certificate| certificate.fingerprint)),
        }
    }

    /// The reason to refuse a request because of its host or origin; `None` if both are right.
    fn refusal(&self, headers: &HeaderMap) -> Option<String> {
        let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("\u{fffd}"));
        let host = text(header::HOST);
        if let Some(origin) = text(header::ORIGIN)
            && origin.split_once("://").is_none_or(|(_, asking)| Some(asking) != host)
        {
            return Some(format!("pages of other sites may not ask this one: Origin is {origin:?}"));
        }
        // With DNS rebinding, a page's own name resolves to this machine; the `Host` header then has that name.
        let is_open = self.admits.is_none() && !self.asks_for_certificates;
        if is_open && !host.is_some_and(is_loopback_host) {
            return Some(
                "without a token these pages are for this machine alone; open them at http://127.0.0.1".to_owned(),
            );
        }
        None
    }
}

/// The token of the header, or else of the cookie; `None` if it is longer than any token.
pub(crate) fn given(headers: &HeaderMap) -> Option<String> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = match bearer.and_then(|value| value.strip_prefix("Bearer ")) {
        Some(token) => token.to_owned(),
        None => {
            let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
            let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
            let (_, value) = pairs.find(|(name, _)| *name == COOKIE)?;
            percent_decode_str(value).decode_utf8().ok()?.into_owned()
        }
    };
    (token.len() <= TOKEN_BYTES_MAX).then_some(token)
}

/// The form, and where its token goes.
pub(crate) fn door(access: Arc<Access>) -> Router {
    let form =
        get(form).post(login).layer(middleware::from_fn_with_state(FORM, forms::read)).with_state(access.clone());
    Router::new().route("/ui/login", form).layer(middleware::from_fn_with_state(access, from_here))
}

/// Refuses requests from other sites' pages.
async fn from_here(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    match access.refusal(request.headers()) {
        Some(why) => Problem::refused(why).into_response(),
        None => next.run(request).await,
    }
}

/// Refuses requests that change something unless a page of ours makes them. Browsers name the origin with every form that is sent, so one
/// without it comes from a program, which may as well say where it is.
pub(crate) async fn of_a_page(request: Request, next: Next) -> Response {
    match request.headers().contains_key(header::ORIGIN) {
        // One that is named has been compared already.
        true => next.run(request).await,
        false => {
            Problem::refused("a form is taken from these pages alone, and this request names no Origin").into_response()
        }
    }
}

/// Admits requests with a valid token. Others are redirected to the form, or get an error if they ask for no page.
pub(crate) async fn admit(State(access): State<Arc<Access>>, mut request: Request, next: Next) -> Response {
    if let Some(why) = access.refusal(request.headers()) {
        return Problem::refused(why).into_response();
    }
    // A request cannot be shared between threads while it is borrowed; its headers can.
    let headers = request.headers().clone();
    if access.admits(&headers).await {
        let reader = access.reader(&headers, request.extensions());
        request.extensions_mut().insert(reader);
        return next.run(request).await;
    }
    // The routes beside the pages are for programs, which fill in no form.
    if !request.uri().path().starts_with("/ui") {
        return Problem::no_token("a token is asked for here: Authorization: Bearer …").into_response();
    }
    let wanted = request.uri().path_and_query().map_or("/ui/", |path| path.as_str());
    let wanted = utf8_percent_encode(wanted, NON_ALPHANUMERIC);
    Redirect::to(&format!("/ui/login?to={wanted}")).into_response()
}

/// The page to open after the form: a path below these pages only.
#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    to: String,
}

impl Wanted {
    fn path(&self) -> &str {
        let is_ours =
            self.to.starts_with("/ui/") && self.to.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        if is_ours { &self.to } else { "/ui/" }
    }
}

#[derive(Deserialize)]
struct Given {
    token: String,
    #[serde(default)]
    to: String,
}

async fn form(Query(wanted): Query<Wanted>) -> Response {
    page_of_form(wanted.path(), false)
}

async fn login(State(access): State<Arc<Access>>, Form(given): Form<Given>) -> Response {
    let wanted = Wanted { to: given.to };
    let token = given.token.trim();
    let is_known = match &access.admits {
        Some(admits) => token.len() <= TOKEN_BYTES_MAX && admits(token.to_owned(), TokenUse::LogIn).await,
        None => true,
    };
    match HeaderValue::from_str(&access.cookie(token, KEPT_S)) {
        Ok(cookie) if is_known => {
            let mut response = Redirect::to(wanted.path()).into_response();
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            response
        }
        Ok(_) | Err(_) => {
            static REFUSED: RareLine = RareLine::new();
            if let Some(left_out) = REFUSED.admit("unknown") {
                tracing::warn!(left_out, "refused a token at the pages' form");
            }
            let mut response = page_of_form(wanted.path(), true);
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            response
        }
    }
}

/// Deletes the cookie.
pub(crate) async fn logout() -> Response {
    let mut response = Redirect::to("/ui/login").into_response();
    let cookie = format!("{COOKIE}=; Path=/ui; HttpOnly; SameSite=Strict; Max-Age=0");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

fn page_of_form(to: &str, is_wrong: bool) -> Response {
    let body = html! {
        section.narrow {
            h1 { "Token" }
            p { "These pages are for who has the token of this deployment (" code { "REGATTA_TOKEN" } ")." }
            @if is_wrong {
                p.notice role="alert" { "That is not a token of this deployment, or it may not look." }
            }
            form method="post" action="/ui/login" {
                input type="hidden" name="to" value=(to);
                // Browsers that keep tokens ask for the name of whose they are.
                input type="text" name="username" value="regatta" autocomplete="username" hidden;
                label for="token" { "Token" }
                input #token type="password" name="token" autocomplete="current-password" required autofocus;
                button type="submit" { "Look" }
            }
        }
    };
    page::respond(Page { title: "Token", ..Page::bare(body) })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use axum::body::{Body, to_bytes};
    use futures::stream;
    use tower::ServiceExt as _;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn by_token() -> Access {
        Access::by_token(|token, _| Box::pin(std::future::ready(token == "secret of, ours; =")))
    }

    #[test]
    fn without_a_token_a_foreign_host_is_refused() {
        let open = Access::loopback();
        for host in ["evil.example", "evil.example:80", "10.0.0.1:80", "localhost.evil.example", ""] {
            assert!(open.refusal(&headers(&[("host", host)])).is_some(), "{host}");
        }
        for host in ["localhost", "127.0.0.1:8080", "[::1]:8080"] {
            assert_eq!(open.refusal(&headers(&[("host", host)])), None, "{host}");
        }
        assert!(open.refusal(&headers(&[])).is_some(), "a request that names no host");
        assert_eq!(by_token().refusal(&headers(&[("host", "regatta.example")])), None);
    }

    #[test]
    fn a_foreign_origin_is_refused_with_a_token_or_without() {
        for access in [Access::loopback(), by_token()] {
            let asked = |origin| access.refusal(&headers(&[("host", "127.0.0.1:1"), ("origin", origin)]));
            assert!(asked("https://evil.example").is_some());
            assert!(asked("null").is_some());
            assert_eq!(asked("http://127.0.0.1:1"), None);
            assert!(access.refusal(&headers(&[("origin", "null")])).is_some(), "a page without an origin, and no host");
        }
    }

    #[test]
    fn readers_are_told_apart_by_what_was_checked_and_not_by_what_they_say() {
        let bearer = |token: &str| headers(&[("authorization", &format!("Bearer {token}"))]);
        let shown = |of: &[u8]| {
            let mut extensions = Extensions::new();
            extensions.insert(PeerCertificate { names: Vec::new(), fingerprint: Digest::of(of) });
            extensions
        };
        let (asked, open) = (by_token(), Access::loopback().over_tls(true));
        let reader = |access: &Access, token, certificate: &[u8]| access.reader(&bearer(token), &shown(certificate));
        assert_ne!(reader(&asked, "one", b"a"), reader(&asked, "two", b"a"));
        assert_eq!(reader(&asked, "one", b"a"), Reader::of_token("one"));
        assert_eq!(reader(&open, "one", b"a"), reader(&open, "two", b"a"));
        assert_ne!(reader(&open, "one", b"a"), reader(&open, "one", b"b"));
        assert_eq!(Access::loopback().reader(&bearer("one"), &Extensions::new()), Reader(None));
    }

    #[tokio::test]
    async fn the_cookie_of_the_form_admits_and_no_other() {
        let access = by_token();
        let cookie = access.cookie("secret of, ours; =", 60);
        let (pair, rest) = cookie.split_once(';').unwrap();
        assert_eq!(rest, " Path=/ui; HttpOnly; SameSite=Strict; Max-Age=60");
        assert!(access.admits(&headers(&[("cookie", &format!("a=b; {pair}"))])).await);
        assert!(access.admits(&headers(&[("authorization", "Bearer secret of, ours; =")])).await);
        assert!(!access.admits(&headers(&[("cookie", "regatta_view=secret")])).await);
        assert!(!access.admits(&headers(&[("authorization", "Bearer wrong"), ("cookie", pair)])).await);
        assert!(!access.admits(&headers(&[])).await);
        assert!(access.over_tls(false).cookie("t", 60).ends_with("; Secure"));
    }

    /// Status of the answer to a form with this body, and its text.
    async fn entered(body: Body) -> (u16, String) {
        let request =
            Request::post("/ui/login").header("content-type", "application/x-www-form-urlencoded").body(body).unwrap();
        let response = door(Arc::new(by_token())).oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let text = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(text.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_form_is_short_and_comes_soon_whoever_sends_it() {
        let right = utf8_percent_encode("secret of, ours; =", NON_ALPHANUMERIC);
        assert_eq!(entered(Body::from(format!("token={right}"))).await.0, 303);
        assert_eq!(entered(Body::from("token=wrong")).await.0, 401);
        let long = vec![b'x'; FORM_BYTES_MAX + 1];
        let (status, page) = entered(Body::from(long)).await;
        assert!(status == 413 && page.contains("at most 16384 bytes; enter the token alone"), "{status} {page}");
        // A piece now and then is no reason to wait on.
        let trickle = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            Some((Ok::<_, Infallible>("x"), ()))
        });
        let begun = tokio::time::Instant::now();
        let (status, page) = entered(Body::from_stream(trickle)).await;
        assert!(status == 408 && page.contains("longer than 10 s to arrive; send it again"), "{status} {page}");
        assert_eq!(begun.elapsed(), forms::FORM_TIME_MAX);
    }

    #[tokio::test]
    async fn a_browser_sends_the_form_with_the_origin_of_its_page() {
        let request = Request::get("/ui/login").body(Body::empty()).unwrap();
        let response = door(Arc::new(by_token())).oneshot(request).await.unwrap();
        // With `no-referrer` it would be `null`, which is refused.
        assert_eq!(response.headers()[header::REFERRER_POLICY], "same-origin");
    }

    #[test]
    fn the_form_leads_to_pages_of_ours_alone() {
        let path = |to: &str| Wanted { to: to.to_owned() }.path().to_owned();
        assert_eq!(path("/ui/runs/a?b=c"), "/ui/runs/a?b=c");
        for foreign in
            ["", "//evil.example", "https://evil.example", "/ui/\r\nset-cookie: x", "/ui/\\evil", "/v1/sweeps"]
        {
            assert_eq!(path(foreign), "/ui/", "{foreign:?}");
        }
    }
}
