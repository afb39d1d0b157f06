//! Routes of the bridge: paths of sessions, model calls and tool requests.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response};
use regatta_benchmarks::ToolRequest;
use regatta_memory::{ByteBudget, TooLarge, parsed_bytes};
use regatta_proto::MemberName;
use regatta_serving::{ApiError, Dialect, Expanded, Format, NoBody, StoredObject, read_body};

use crate::answer_body::{AnswerBody, Gone};
use crate::answers::{refuse, stored};
use crate::calls::{Asked, closed};
use crate::connection::Peer;
use crate::open::{Absent, Opened, REQUESTS_MAX, Sessions};
use crate::{models, tools};

/// Longest request to a model.
pub(crate) const CALL_BYTES_MAX: usize = 4 << 20;
/// Longest request to a tool.
const TOOL_BYTES_MAX: usize = 1 << 20;

const MEMBER: &str = "x-regatta-member";
const MODELS: &str = "/v1/models";
const TOOL_REQUEST: &str = "/tools/request";
const TOOL_PROXY: &str = "/tools/proxy/";
/// Routes of the providers that are refused. Their answers would be those of other models, would cost what no session knows of, or stand for
/// something that the provider keeps.
const UNSERVED: [&str; 6] =
    ["/embeddings", "/completions", "/moderations", "/messages/count_tokens", "/responses/", "/conversations/"];

/// State that all requests share.
pub(crate) struct Server {
    pub(crate) sessions: Arc<Sessions>,
    /// Bytes of requests that are read.
    pub(crate) bytes: ByteBudget,
    /// Seconds since 1970 that every answer carries: the start of the bridge.
    pub(crate) created: i64,
}

/// Target of a request within a session.
enum Place<'p> {
    Call(Format),
    Models,
    /// One model of the list, by its name.
    Model(&'p str),
    /// A response or a conversation of the session.
    Stored(StoredObject<'p>),
    /// A route of the providers that is refused.
    Unserved,
    ToolRequest,
    ToolProxy(&'p str),
}

impl<'p> Place<'p> {
    fn at(path: &'p str) -> Option<Self> {
        match path {
            MODELS | "/models" => Some(Self::Models),
            TOOL_REQUEST => Some(Self::ToolRequest),
            _ => match path.strip_prefix(TOOL_PROXY) {
                Some(place) => Some(Self::ToolProxy(place)),
                None => Format::at(path).map(Self::Call).or_else(|| Self::beside_calls(path)),
            },
        }
    }

    /// A route that clients ask for beside their calls; it may lack the version.
    fn beside_calls(path: &'p str) -> Option<Self> {
        if let Some(object) = StoredObject::at(path) {
            return Some(Self::Stored(object));
        }
        let path = path.strip_prefix("/v1").unwrap_or(path);
        if let Some(name) = path.strip_prefix("/models/").filter(|name| !name.is_empty()) {
            return Some(Self::Model(name));
        }
        let is_at = |route: &str| path == route || (route.ends_with('/') && path.starts_with(route));
        UNSERVED.into_iter().any(is_at).then_some(Self::Unserved)
    }

    fn takes(&self, method: &Method) -> bool {
        match self {
            Self::Call(_) | Self::ToolRequest => method == Method::POST,
            Self::Models | Self::Model(_) => method == Method::GET,
            Self::Stored(object) => object.takes(method),
            // They are refused in the same words.
            Self::Unserved | Self::ToolProxy(_) => true,
        }
    }
}

impl Server {
    /// Answers one request.
    pub(crate) async fn serve(&self, request: Request<Incoming>, peer: &Peer) -> Result<Response<AnswerBody>, Gone> {
        let (head, body) = request.into_parts();
        let dialect = dialect(&head);
        match self.answer(&head, body, peer).await {
            Ok(response) => Ok(response),
            Err(NoBody::Refused(error)) => Ok(refuse(&error, dialect)),
            Err(NoBody::Disconnected(error)) => {
                tracing::debug!(%error, "a client of the bridge went away while it sent its request");
                Err(Gone)
            }
        }
    }

    async fn answer(
        &self,
        head: &Parts,
        body: Incoming,
        peer: &Peer,
    ) -> Result<Response<AnswerBody>, NoBody<hyper::Error>> {
        let refused = NoBody::Refused;
        let (opened, rest) = self.find(head.uri.path()).map_err(refused)?;
        let (member, rest) = member(rest, &head.headers).map_err(refused)?;
        let Some(place) = Place::at(rest) else {
            opened.session.no_such_route(&format!("{} {rest}", head.method));
            return Err(refused(unknown_route(head)));
        };
        if !place.takes(&head.method) {
            opened.session.no_such_route(&format!("{} {rest}", head.method));
            let message = format!("{rest} does not take {}", head.method);
            return Err(refused(ApiError::wrong_method(message)));
        }
        if matches!(place, Place::Unserved) {
            let error = unserved(&format!("{} {rest}", head.method));
            opened.session.unreadable(&error.message);
            return Err(refused(error));
        }
        let Ok(place_of_request) = Arc::clone(&opened.requests).try_acquire_owned() else {
            let message =
                format!("{REQUESTS_MAX} requests of this session wait for their answers; wait for one of them");
            return Err(refused(ApiError::rate_limited(Some(1), message)));
        };
        let limit = if matches!(place, Place::Call(_)) { CALL_BYTES_MAX } else { TOOL_BYTES_MAX };
        // Given back when the request is answered, or handed over to its session.
        let mut held = self.bytes.holder().read();
        let body = match opened.closed.run_until_cancelled(read_body(body, limit, Some(&mut held))).await {
            None => return Err(refused(closed())),
            Some(body) => body?,
        };
        let too_large = |error: TooLarge| refused(ApiError::too_large(error.to_string()));
        held.grow(parsed_bytes(&body) - body.len() as u64).await.map_err(too_large)?;
        let expanded = match place {
            Place::Call(Format::Responses) => expand(&opened, &body).map_err(refused)?,
            _ => Expanded::default(),
        };
        if let Some(whole) = &expanded.body {
            held.grow(parsed_bytes(whole)).await.map_err(too_large)?;
        }
        Ok(match place {
            Place::Call(format) => {
                let (opened, headers, created) = (&opened, &head.headers, self.created);
                let place = place_of_request;
                Asked { opened, member, format, headers, body, expanded, held, peer, created, place }.answer().await
            }
            Place::Stored(object) => {
                let asked = (head.uri.query().unwrap_or_default(), &*body);
                match opened.responses.serve(object, &head.method, asked, self.created) {
                    Ok(told) => stored(told, held, place_of_request),
                    Err(error) => {
                        // Whoever tidies up does not need what is gone already.
                        if head.method != Method::DELETE {
                            opened.session.unreadable(&error.message);
                        }
                        return Err(refused(error));
                    }
                }
            }
            Place::Models => models::list(&opened.session.models(), self.created, dialect(head)),
            Place::Model(name) => models::one(name, self.created, dialect(head)),
            Place::Unserved => return Err(refused(unserved(rest))),
            Place::ToolRequest => {
                let request = tools::read(&body).map_err(refused)?;
                let answer = opened.session.serve(request);
                if tools::wants_it_raw(&head.headers) { tools::given(answer) } else { tools::told(&answer) }
            }
            Place::ToolProxy(place) => {
                let url = tools::proxied(place, &head.uri).map_err(refused)?;
                let body = (!body.is_empty()).then(|| body.to_vec());
                tools::given(opened.session.serve(ToolRequest { method: head.method.as_str().to_owned(), url, body }))
            }
        })
    }

    /// The session that `path` names, and what follows its name.
    fn find<'p>(&self, path: &'p str) -> Result<(Arc<Opened>, &'p str), ApiError> {
        let Some(named) = path.strip_prefix("/sessions/") else {
            return Err(ApiError::unknown_route("everything here is below the base URL of a session"));
        };
        let end = named.find('/').unwrap_or(named.len());
        let (token, rest) = named.split_at(end);
        match self.sessions.find(token) {
            Ok(opened) => Ok((opened, rest)),
            Err(Absent::Closed) => Err(closed()),
            Err(Absent::Unknown) => Err(ApiError::unknown_id("there is no such session")),
        }
    }
}

/// The request with the earlier responses, conversations and items of the session that it refers to.
fn expand(opened: &Opened, body: &[u8]) -> Result<Expanded, ApiError> {
    opened.responses.expand(body).inspect_err(|error| opened.session.unreadable(&error.message))
}

/// The member of a team that the path or, if it does not, a header names; and the path without it.
fn member<'p>(path: &'p str, headers: &HeaderMap) -> Result<(Option<MemberName>, &'p str), ApiError> {
    let (name, rest) = match path.strip_prefix("/members/") {
        Some(named) => {
            let (name, rest) = named.split_at(named.find('/').unwrap_or(named.len()));
            (Some(name), rest)
        }
        None => match headers.get(MEMBER).map(|name| name.to_str()) {
            Some(Err(_)) => return Err(ApiError::bad_request(Some(MEMBER), "the name of the member is no text")),
            Some(Ok(name)) => (Some(name), path),
            None => (None, path),
        },
    };
    let name = name.map(MemberName::new).transpose();
    let name = name.map_err(|error| ApiError::bad_request(Some(MEMBER), error.to_string()))?;
    Ok((name, rest))
}

/// Provider whose error format a client expects, whatever its route.
fn dialect(head: &Parts) -> Dialect {
    let path = head.uri.path();
    let is_anthropic = head.headers.contains_key("anthropic-version")
        || path.ends_with("/messages")
        || path.ends_with("/messages/count_tokens");
    if is_anthropic { Dialect::Anthropic } else { Dialect::Openai }
}

/// 400, and no 404, which many clients take for a model that does not exist.
fn unserved(route: &str) -> ApiError {
    let message = format!(
        "{route} is not served to agents: only calls of chat models are answered, paid and recorded; have the agent do without, or ask \
         another address for it"
    );
    ApiError { code: Some("unsupported_route"), ..ApiError::bad_request(None, message) }
}

fn unknown_route(head: &Parts) -> ApiError {
    let routes: Vec<&str> =
        Format::ALL.map(Format::route).into_iter().chain([MODELS, TOOL_REQUEST, TOOL_PROXY]).collect();
    let message = format!("there is no such {} here; a session has {}", head.method, routes.join(", "));
    ApiError::unknown_route(message)
}
