//! Admission of requests: people and programs with the token, and no page of another site that a browser of theirs has open.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use regatta_proto::Digest;

use super::{ApiConfig, Problem};

/// Refuses whom [`check`] refuses.
pub(super) async fn guard(State(config): State<ApiConfig>, request: Request, next: Next) -> Response {
    match check(&config, request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err((status, problem)) => (status, Json(Problem { error: problem })).into_response(),
    }
}

type Refusal = (StatusCode, String);

fn check(config: &ApiConfig, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    let text = |name| headers.get(name).map(|value: &header::HeaderValue| value.to_str().unwrap_or("\u{fffd}"));
    let host = text(header::HOST);
    if let Some(origin) = text(header::ORIGIN)
        && origin.split_once("://").map(|(_, host)| host) != host
    {
        return refuse(
            StatusCode::FORBIDDEN,
            format!("pages of other sites may not ask this coordinator: Origin is {origin:?}"),
        );
    }
    match &config.token {
        Some(token) => {
            let given = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
            // Digests are compared, so that the time taken tells nothing about the token.
            if given.is_none_or(|given| Digest::of(given.as_bytes()) != Digest::of(token.as_bytes())) {
                return refuse(StatusCode::UNAUTHORIZED, "this coordinator asks for a token; set REGATTA_TOKEN to it");
            }
        }
        // A page whose name was made to lead here (DNS rebinding) names itself, not this machine.
        None if !config.asks_for_certificates && host.is_some_and(|host| !is_loopback(host)) => {
            let problem = "without a token this coordinator answers to localhost alone; ask it at http://127.0.0.1, or give it a token \
                           (REGATTA_TOKEN)";
            return refuse(StatusCode::FORBIDDEN, problem);
        }
        None => {}
    }
    // What a form of another site can send is none of these.
    if *method == Method::POST && !text(header::CONTENT_TYPE).is_some_and(is_json) {
        let problem = "send JSON, with the header content-type: application/json, also where the body is empty";
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem);
    }
    Ok(())
}

fn refuse(status: StatusCode, problem: impl Into<String>) -> Result<(), Refusal> {
    Err((status, problem.into()))
}

fn is_json(content_type: &str) -> bool {
    content_type.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_matches(['[', ']']);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: (&str, &str) = ("content-type", "application/json");
    const TOKEN: (&str, &str) = ("authorization", "Bearer secret");

    fn asked(token: Option<&str>, method: Method, headers: &[(&'static str, &'static str)]) -> Option<u16> {
        let config = ApiConfig { token: token.map(Into::into), asks_for_certificates: false };
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        check(&config, &method, &headers).err().map(|(status, _)| status.as_u16())
    }

    #[test]
    fn without_a_token_a_foreign_host_is_refused() {
        for host in ["evil.example", "evil.example:8080", "10.0.0.1:8080", "localhost.evil.example", ""] {
            assert_eq!(asked(None, Method::GET, &[("host", host)]), Some(403), "{host}");
        }
        for host in ["localhost", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST:1"] {
            assert_eq!(asked(None, Method::GET, &[("host", host)]), None, "{host}");
        }
        assert_eq!(asked(Some("secret"), Method::GET, &[("host", "regatta.example"), TOKEN]), None);
    }

    #[test]
    fn a_foreign_origin_is_refused_with_a_token_or_without() {
        let (host, origin) = (("host", "127.0.0.1:8080"), ("origin", "https://evil.example"));
        assert_eq!(asked(None, Method::GET, &[host, origin]), Some(403));
        assert_eq!(asked(Some("secret"), Method::GET, &[host, TOKEN, origin]), Some(403));
        assert_eq!(asked(None, Method::GET, &[host, ("origin", "null")]), Some(403));
        assert_eq!(asked(None, Method::GET, &[host, ("origin", "http://127.0.0.1:8080")]), None);
    }

    #[test]
    fn what_changes_something_must_be_json() {
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
            assert_eq!(asked(None, Method::POST, &[("content-type", kind)]), Some(415), "{kind}");
        }
        assert_eq!(asked(None, Method::POST, &[]), Some(415));
        assert_eq!(asked(None, Method::POST, &[JSON]), None);
        assert_eq!(asked(None, Method::POST, &[("content-type", "Application/JSON; charset=utf-8")]), None);
    }

    #[test]
    fn a_wrong_token_is_refused() {
        for given in [None, Some(("authorization", "Bearer wrong")), Some(("authorization", "secret"))] {
            assert_eq!(asked(Some("secret"), Method::GET, given.as_slice()), Some(401), "{given:?}");
        }
    }
}
