//! Routes of an endpoint.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Body;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use regatta_proto::Digest;
use regatta_serving::{Expanded, Format as ChatFormat, NoBody, StoredObject, read_body};

use crate::answer_body::AnswerBody;
use crate::api_error::{ApiError, Dialect, json_bytes};
use crate::batches;
use crate::counters::Counters;
use crate::delivery::Dropped;
use crate::draft::Draft;
use crate::endpoint::Endpoint;
use crate::formats::{ChatCall, Format, embeddings};
use crate::identity::request_digest;
use crate::model::{ModelEntry, ModelList};
use crate::responding::{respond, respond_error};

/// Longest request to a model in bytes: far above any benchmark's longest conversation.
const MAX_BODY_BYTES: usize = 16 << 20;
const MODELS: &str = "/v1/models";
const HEALTH: &str = "/healthz";
const COUNTERS: &str = "/simulator/counters";
/// All routes, for the error message about an unknown one.
const ROUTES: [&str; 11] = [
    ChatFormat::Chat.route(),
    ChatFormat::Messages.route(),
    ChatFormat::Responses.route(),
    Format::Embeddings.route(),
    "/v1/conversations",
    "/v1/files",
    "/v1/batches",
    "/v1/messages/batches",
    MODELS,
    HEALTH,
    COUNTERS,
];

impl Endpoint {
    /// Answers a request.
    pub(crate) async fn serve<B>(self: &Arc<Self>, request: Request<B>) -> Result<Response<AnswerBody>, Dropped>
    where
        B: Body<Data = Bytes, Error: std::fmt::Display>,
    {
        let (head, body) = request.into_parts();
        let path = head.uri.path();
        let format = Format::at(path);
        match (&head.method, path, format) {
            (&Method::POST, _, Some(format)) => match read_body(body, MAX_BODY_BYTES, None).await {
                Ok(body) => self.ask(format, &head.headers, &body).await,
                Err(NoBody::Refused(refusal)) => Ok(self.refuse(refusal, format.dialect())),
                Err(NoBody::Disconnected(error)) => {
                    tracing::debug!(%error, "a client of the simulated endpoint went away while it sent its request");
                    Err(Dropped)
                }
            },
            (&Method::GET, MODELS, _) => Ok(ok(json_bytes(&ModelList::new(self.script.is_some(), self.created)))),
            (&Method::GET, HEALTH, _) => Ok(ok(Bytes::from_static(b"{\"status\":\"ok\"}"))),
            (&Method::GET, COUNTERS, _) => Ok(ok(json_bytes(&self.counters()))),
            (method, MODELS | HEALTH | COUNTERS, _) | (method, _, Some(_)) => {
                let refusal = ApiError::wrong_method(format!("{path} does not take {method}"));
                Ok(self.refuse(refusal, format.map_or(Dialect::Openai, Format::dialect)))
            }
            (method, _, None) => {
                if let Some(name) = path.strip_prefix(MODELS).and_then(|rest| rest.strip_prefix('/')) {
                    return Ok(self.model(method, name));
                }
                if let Some(object) = StoredObject::at(path) {
                    return self.stored(object, (method, head.uri.query().unwrap_or_default()), body).await;
                }
                if let Some(dialect) = batches::dialect_of(path) {
                    return self.serve_batches(dialect, &head, body).await;
                }
                let message = format!("there is no {method} {path}; a simulated endpoint has {}", ROUTES.join(", "));
                Ok(self.refuse(ApiError::unknown_route(message), Dialect::Openai))
            }
        }
    }

    /// Answers a request about the model `name`.
    fn model(&self, method: &Method, name: &str) -> Response<AnswerBody> {
        let entry = match ModelEntry::named(name, self.script.is_some(), self.created) {
            Ok(entry) => entry,
            Err(refusal) => return self.refuse(refusal, Dialect::Openai),
        };
        if method != Method::GET {
            let refusal = ApiError::wrong_method(format!("a model does not take {method}"));
            return self.refuse(refusal, Dialect::Openai);
        }
        ok(json_bytes(&entry))
    }

    /// Answers a request to a model.
    async fn ask(
        self: &Arc<Self>,
        format: Format,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Response<AnswerBody>, Dropped> {
        let expanded = match format {
            Format::Chat(ChatFormat::Responses) => match self.responses.expand(body) {
                Ok(expanded) => expanded,
                Err(refusal) => return Ok(self.refuse(refusal, format.dialect())),
            },
            Format::Chat(ChatFormat::Chat | ChatFormat::Messages) | Format::Embeddings => Expanded::default(),
        };
        let body = expanded.body.as_deref().unwrap_or(body);
        let digest = request_digest(format.route(), headers, body);
        match self.draft(format, headers, body, &digest).await {
            Ok(draft) => self.deliver(Draft { keeping: expanded.keeping, ..draft }, &digest).await,
            Err(refusal) => Ok(self.refuse(refusal, format.dialect())),
        }
    }

    /// Answers a request about a response or a conversation.
    async fn stored<B>(
        &self,
        object: StoredObject<'_>,
        (method, query): (&Method, &str),
        body: B,
    ) -> Result<Response<AnswerBody>, Dropped>
    where
        B: Body<Data = Bytes, Error: std::fmt::Display>,
    {
        if !object.takes(method) {
            let refusal = ApiError::wrong_method(format!("this object does not take {method}"));
            return Ok(self.refuse(refusal, Dialect::Openai));
        }
        let body = match read_body(body, MAX_BODY_BYTES, None).await {
            Ok(body) => body,
            Err(NoBody::Refused(refusal)) => return Ok(self.refuse(refusal, Dialect::Openai)),
            Err(NoBody::Disconnected(error)) => {
                tracing::debug!(%error, "a client of the simulated endpoint went away while it sent its request");
                return Err(Dropped);
            }
        };
        match self.responses.serve(object, method, (query, &body), self.created) {
            Ok(told) => Ok(ok(told)),
            Err(refusal) => Ok(self.refuse(refusal, Dialect::Openai)),
        }
    }

    /// Drafts the answer to a request.
    pub(crate) async fn draft(
        &self,
        format: Format,
        headers: &HeaderMap,
        body: &[u8],
        digest: &Digest,
    ) -> Result<Draft, ApiError> {
        match format {
            Format::Embeddings => embeddings::draft(body),
            Format::Chat(format) => self.write(format, headers, ChatCall::parse(format, body)?, digest).await,
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        self.tally.snapshot(&self.suites, self.limits.most_in_flight())
    }

    /// Answers with `refusal`, and counts the request as refused.
    pub(crate) fn refuse(&self, refusal: ApiError, dialect: Dialect) -> Response<AnswerBody> {
        self.tally.refused();
        respond_error(&refusal, dialect)
    }
}

fn ok(json: Bytes) -> Response<AnswerBody> {
    respond(StatusCode::OK, "application/json", json)
}
