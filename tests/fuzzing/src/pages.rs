//! Requests of browsers, and of strangers, to the pages of runs.

mod stage;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Method, Request, Uri, header};
use tower::ServiceExt as _;

use self::stage::{MARKER, PAGES, Site, TOKEN};
use crate::input::Input;
use crate::requests::{ANSWER_BYTES_MAX, NAME_MARK};
use crate::runtime::block_on;

/// Stands for cell and item of the session that has a result.
const SESSION_MARK: u8 = 0x1c;
/// The request of an input, and the page that it leads to.
const REQUESTS_MAX: usize = 2;

/// Method and path of a route of the pages.
type Route = (&'static str, &'static str);

const ROUTES: [Route; 23] = [
    ("GET", "/ui/"),
    ("GET", "/ui/money"),
    ("GET", "/ui/schedules"),
    ("GET", "/ui/runs/\u{1d}"),
    ("GET", "/ui/runs/\u{1d}/leaderboard"),
    ("GET", "/ui/runs/\u{1d}/items"),
    ("GET", "/ui/runs/\u{1d}/compare"),
    ("GET", "/ui/runs/\u{1d}/endpoints"),
    ("GET", "/ui/runs/\u{1d}/money"),
    ("GET", "/ui/runs/\u{1d}/report"),
    ("GET", "/ui/runs/\u{1d}/sessions/\u{1c}"),
    ("GET", "/ui/runs/\u{1d}/sessions/\u{1c}/transcript"),
    ("GET", "/ui/runs/\u{1d}/sessions/\u{1c}/pictures/0"),
    ("POST", "/ui/runs/\u{1d}/sessions/\u{1c}/annotate"),
    ("GET", "/ui/events"),
    ("GET", "/ui/runs/\u{1d}/events"),
    ("GET", "/ui/login"),
    ("POST", "/ui/login"),
    ("GET", "/ui/logout"),
    ("GET", "/ui/runs/\u{1d}/cancel"),
    ("POST", "/ui/runs/\u{1d}/steer"),
    ("GET", "/ui/endpoints"),
    ("GET", "/ui/schedules/nightly/drift"),
];

/// Media types in which a browser looks for markup.
const MARKUP: [&str; 2] = ["text/html", "image/svg+xml"];
/// All others that are answered.
const NO_MARKUP: [&str; 4] = ["text/plain", "text/css", "text/javascript", "text/event-stream"];

/// No request is answered as a fault of ours, no text of it is markup of a page, and strangers see nothing.
pub(crate) fn run(mut input: Input<'_>) {
    let number = usize::from(input.byte());
    let route = usize::from(input.byte());
    let is_of_a_page = input.byte().is_multiple_of(2);
    let mut records = input.records();
    let (method, path) = match ROUTES.get(route) {
        Some((method, path)) => (method.as_bytes(), path.as_bytes()),
        None => (records.next().unwrap_or_default(), records.next().unwrap_or_default()),
    };
    let (query, cookie) = (records.next().unwrap_or_default(), records.next().unwrap_or_default());
    let form = records.collect::<Vec<_>>().join(&b"\x1e"[..]);
    let Ok(method) = Method::from_bytes(method) else { return };
    PAGES.with(|pages| {
        pages.forget_annotations();
        let site = &pages.sites[number % pages.sites.len()];
        let path = with(path, &[(NAME_MARK, &site.run), (SESSION_MARK, &pages.session)]);
        let Ok(uri) = Uri::try_from(address(&path, query)) else { return };
        let Ok(cookie_sent) = HeaderValue::from_bytes(&with(cookie, &[(NAME_MARK, TOKEN)])) else { return };
        let sender = Sender { cookie: cookie_sent, is_known: cookie.contains(&NAME_MARK), is_of_a_page };
        let form = with(&form, &[(NAME_MARK, TOKEN)]);
        let mut request = Some((method, uri, form));
        for _ in 0..REQUESTS_MAX {
            let Some((method, uri, form)) = request else { break };
            let next = block_on(ask(site, &sender, &method, &uri, form));
            request = next.map(|uri| (Method::GET, uri, Vec::new()));
        }
    });
}

/// Whoever sends a request.
struct Sender {
    cookie: HeaderValue,
    /// The cookie has the token, which inputs cannot know.
    is_known: bool,
    /// A page of ours sends the request, as its origin says.
    is_of_a_page: bool,
}

/// Sends a request, holds its answer to the laws, and returns the page that it leads to.
async fn ask(site: &Site, sender: &Sender, method: &Method, uri: &Uri, form: Vec<u8>) -> Option<Uri> {
    let response = site.routes.clone().oneshot(request(site, sender, method, uri, form)).await.unwrap();
    let (head, body) = response.into_parts();
    let body = to_bytes(body, ANSWER_BYTES_MAX).await.unwrap();
    let said = String::from_utf8_lossy(&body);
    let asked = format!("{method} {uri}: {}", head.status);
    assert!(!head.status.is_server_error(), "{asked}: {said}");
    if site.is_asked_for_token && !sender.is_known {
        let is_open = uri.path() == "/ui/login" || uri.path().starts_with("/ui/assets/");
        assert!(is_open || !head.status.is_success(), "{asked} by a stranger: {said}");
    }
    match head.headers.get(header::CONTENT_TYPE).map(|media_type| media_type.to_str().unwrap()) {
        None => assert!(body.is_empty(), "{asked}: of no type: {said}"),
        Some(media_type) if MARKUP.iter().any(|markup| media_type.starts_with(markup)) => {
            assert!(!said.to_ascii_lowercase().contains(MARKER), "{asked}: a text became markup: {said}");
        }
        Some(media_type) => {
            assert!(NO_MARKUP.iter().any(|known| media_type.starts_with(known)), "{asked}: {media_type}");
        }
    }
    let location = head.headers.get(header::LOCATION)?.to_str().ok()?;
    assert!(location.starts_with("/ui/"), "{asked}: leads to {location}");
    location.parse().ok()
}

fn request(site: &Site, sender: &Sender, method: &Method, uri: &Uri, form: Vec<u8>) -> Request<Body> {
    let request = Request::builder().method(method.clone()).uri(uri.clone()).header(header::HOST, site.host);
    let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let request = request.header(header::COOKIE, sender.cookie.clone());
    let request = match sender.is_of_a_page {
        true => request.header(header::ORIGIN, format!("http://{}", site.host)),
        false => request,
    };
    request.body(Body::from(form)).unwrap()
}

/// `bytes` with texts in the place of marks.
fn with(bytes: &[u8], texts: &[(u8, &str)]) -> Vec<u8> {
    let text_of = |byte: &u8| match texts.iter().find(|(mark, _)| mark == byte) {
        Some((_, text)) => text.as_bytes().to_vec(),
        None => vec![*byte],
    };
    bytes.iter().flat_map(text_of).collect()
}

/// Path and query, in which bytes that no address may hold are percent-encoded, and nothing else.
fn address(path: &[u8], query: &[u8]) -> String {
    let separator: &[u8] = if query.is_empty() { b"" } else { b"?" };
    let mut address = String::new();
    for byte in path.iter().chain(separator).chain(query) {
        match byte {
            b'"' | b'#' | b'<' | b'>' | b'`' => address.push_str(&format!("%{byte:02X}")),
            byte if byte.is_ascii_graphic() => address.push(char::from(*byte)),
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    /// Status and text of an answer to whoever has the token.
    fn answer(site: &Site, method: &str, uri: &str, form: &str) -> (StatusCode, String) {
        let cookie = HeaderValue::from_str(&format!("regatta_view={TOKEN}")).unwrap();
        let sender = Sender { cookie, is_known: true, is_of_a_page: true };
        let request = request(site, &sender, &method.parse().unwrap(), &uri.parse().unwrap(), form.as_bytes().to_vec());
        block_on(async {
            let response = site.routes.clone().oneshot(request).await.unwrap();
            let status = response.status();
            let body = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await.unwrap();
            (status, String::from_utf8_lossy(&body).into_owned())
        })
    }

    #[test]
    fn every_route_of_the_pages_is_there() {
        PAGES.with(|pages| {
            for (site, (method, path)) in pages.sites.iter().flat_map(|site| ROUTES.map(|route| (site, route))) {
                let path = with(path.as_bytes(), &[(NAME_MARK, &site.run), (SESSION_MARK, &pages.session)]);
                let path = String::from_utf8(path).unwrap();
                let form = if path == "/ui/login" { format!("token={TOKEN}") } else { "note=x".to_owned() };
                let (status, said) = answer(site, method, &path, &form);
                // The run has not ended, its benchmark draws no pictures, there is no schedule, and nobody annotates a deployment's sweeps or steers
                // them here.
                let may_be_missing = ["/report", "/pictures/0", "/annotate", "/cancel", "/steer", "/drift"];
                let may_be_missing = may_be_missing.iter().any(|end| path.ends_with(end));
                let is_missing = status == StatusCode::NOT_FOUND && may_be_missing;
                assert!(
                    status.is_success() || status.is_redirection() || is_missing,
                    "{method} {path}: {status}: {said}"
                );
            }
        });
    }

    #[test]
    fn a_session_in_which_everybody_says_the_marker_can_be_annotated_with_it() {
        PAGES.with(|pages| {
            pages.forget_annotations();
            let site = &pages.sites[0];
            let session = format!("/ui/runs/{}/sessions/{}", site.run, pages.session);
            let (status, said) =
                answer(site, "POST", &format!("{session}/annotate"), "mark=wrong&note=annotated+%3Cscript%3E");
            assert_eq!(status, StatusCode::SEE_OTHER, "{said}");
            let (status, said) = answer(site, "GET", &session, "");
            assert_eq!(status, StatusCode::OK, "{said}");
            assert!(said.contains("annotated &lt;script&gt;"), "{said}");
            assert!(said.matches("&lt;script&gt;").count() > 2, "the conversation has it too: {said}");
        });
    }
}
