//! Requests to the tool servers of a session.

use std::borrow::Cow;

use hyper::header::{ACCEPT, ALLOW, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode, Uri};
use regatta_benchmarks::{ToolAnswer, ToolRequest};
use regatta_serving::ApiError;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::answer_body::AnswerBody;
use crate::answers;

/// A request, written as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct WireAnswer<'a> {
    status: u16,
    content_type: &'a str,
    body: Cow<'a, str>,
}

/// Reads `{"method", "url", "body"}`. A body that is a text is sent as it is, any other as JSON.
pub(crate) fn read(body: &[u8]) -> Result<ToolRequest, ApiError> {
    let failed = |error: serde_json::Error| {
        let message = format!("failed to read the request to a tool: {error}; expected method, url and, if any, body");
        ApiError::bad_request(None, message)
    };
    let Wire { method, url, body } = serde_json::from_slice(body).map_err(failed)?;
    let body = match body {
        None => None,
        Some(body) if body.get().starts_with('"') => {
            Some(serde_json::from_str::<String>(body.get()).map_err(failed)?.into_bytes())
        }
        Some(body) => Some(body.get().as_bytes().to_vec()),
    };
    Ok(ToolRequest { method: method.to_ascii_uppercase(), url: url.into_owned(), body })
}

/// True if the client accepts `text/plain`: then the answer is sent as the tool server gives it, not as JSON.
pub(crate) fn wants_it_raw(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepts.flat_map(|accept| accept.split(',')).any(|kind| kind.trim().starts_with("text/plain"))
}

/// The answer as JSON. Bytes that are not UTF-8 become U+FFFD.
pub(crate) fn told(answer: &ToolAnswer) -> Response<AnswerBody> {
    let body = String::from_utf8_lossy(&answer.body);
    answers::json(&WireAnswer { status: answer.status, content_type: answer.content_type, body })
}

/// The answer as the tool server gives it.
pub(crate) fn given(answer: ToolAnswer) -> Response<AnswerBody> {
    let ToolAnswer { status, content_type, allow, body } = answer;
    // What is no final status cannot be sent as one.
    let status = StatusCode::from_u16(status).ok().filter(|status| !status.is_informational());
    let mut response = answers::raw(status.unwrap_or(StatusCode::BAD_GATEWAY), content_type, body);
    if let Some(allow) = allow.and_then(|methods| HeaderValue::from_str(methods).ok()) {
        response.headers_mut().insert(ALLOW, allow);
    }
    response
}

/// The URL that `SCHEME/HOST:PORT/PATH` in a path stands for, with the query of `uri`.
pub(crate) fn proxied(place: &str, uri: &Uri) -> Result<String, ApiError> {
    let wrong = || {
        let message = "expected /tools/proxy/SCHEME/HOST:PORT/PATH, where SCHEME is http or https";
        ApiError::bad_request(None, message)
    };
    let (scheme, rest) = place.split_once('/').ok_or_else(wrong)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if !matches!(scheme, "http" | "https") || host.is_empty() {
        return Err(wrong());
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Ok(format!("{scheme}://{host}/{path}{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_is_a_text_is_sent_as_it_is_and_any_other_as_json() {
        let body = |text: &str| {
            let request = read(format!(r#"{{"method": "post", "url": "http://h/", "body": {text}}}"#).as_bytes());
            request.unwrap().body.map(|body| String::from_utf8(body).unwrap())
        };
        assert_eq!(body(r#""a\nb""#).as_deref(), Some("a\nb"));
        assert_eq!(body(r#"{"a": 1}"#).as_deref(), Some(r#"{"a": 1}"#));
        assert_eq!(body("null"), None);
        let request = read(br#"{"method": "get", "url": "http://h:1/p?q=%20"}"#).unwrap();
        assert_eq!(request, ToolRequest { method: "GET".into(), url: "http://h:1/p?q=%20".into(), body: None });
    }

    #[test]
    fn a_place_in_a_path_is_a_url() {
        let url = |place: &str| proxied(place, &Uri::from_static("/x?a=1&b=%2F")).ok();
        assert_eq!(url("http/127.0.0.1:3000/a//b%20c/").as_deref(), Some("http://127.0.0.1:3000/a//b%20c/?a=1&b=%2F"));
        assert_eq!(url("https/api.example.org").as_deref(), Some("https://api.example.org/?a=1&b=%2F"));
        for wrong in ["", "http", "http/", "http//x", "ftp/h/p"] {
            assert_eq!(url(wrong), None, "{wrong}");
        }
    }
}
