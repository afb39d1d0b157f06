//! A client of one endpoint that speaks any [`Format`] over HTTP: one request, one try.

mod extra;
mod session_headers;

use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use regatta_proto::{ChatRequest, Clock, EndpointKind, EndpointName, EndpointSpec, ErrorClass};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::{Map, Value};

use crate::SessionTag;
use crate::errors::Failure;
use crate::open::{Access, OpenContext, OpenError};
use crate::secret::Secret;
use crate::transport::{Answer, Incoming, Transport};
use crate::wire::openai::OpenAi;
use crate::wire::openai::embeddings::{self, Embedded};
use crate::wire::sse::Events;
use crate::wire::{Completion, Format, Outgoing, Part, ReadContext, StreamReader};

use session_headers::session_headers;

/// One endpoint: its address, its format, and what goes with every request.
pub(crate) struct HttpClient {
    base: String,
    format: Box<dyn Format>,
    /// The format of `/embeddings`, for those that have it.
    embeddings: Option<OpenAi>,
    transport: Transport,
    secret: Secret,
    /// Of every request, besides the key.
    headers: HeaderMap,
    /// Fields of every body.
    extra: Map<String, Value>,
    stream: bool,
    identify_sessions: bool,
    clock: Arc<dyn Clock>,
}

/// A request that can be sent, as often as need be; a clone shares the body.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpClient {
    /// Finds address and key of `spec`. Nothing is sent.
    ///
    /// # Errors
    /// When the key's variable is not set, the address is none, or a header cannot be sent; names the endpoint.
    pub(crate) fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Result<Self, OpenError> {
        let Access { base, url, secret, key_header, headers } = Access::resolve(name, spec, context.env)?;
        let transport = Transport::new(&url, secret.clone(), key_header, spec.timeouts)
            .map_err(|source| OpenError::Transport { endpoint: name.clone(), source })?;
        let openai = if spec.kind == EndpointKind::Azure { OpenAi::azure(spec) } else { OpenAi::new(&base) };
        let has_embeddings = !matches!(spec.kind, EndpointKind::Anthropic | EndpointKind::Gemini);
        let format: Box<dyn Format> = match spec.kind {
            EndpointKind::Openai | EndpointKind::Simulated | EndpointKind::Azure => Box::new(openai.clone()),
            kind => return Err(OpenError::NotSpoken { endpoint: name.clone(), kind }),
        };
        Ok(Self {
            base,
            format,
            embeddings: has_embeddings.then_some(openai),
            transport,
            secret,
            headers,
            extra: spec.body.clone().into_iter().collect(),
            stream: spec.stream,
            // A simulated endpoint answers by session, so it is always told.
            identify_sessions: spec.identify_sessions || spec.kind == EndpointKind::Simulated,
            clock: Arc::clone(&context.clock),
        })
    }

    /// Writes a chat request.
    ///
    /// # Errors
    /// A bad request, when the endpoint's format has no words for something that was asked for.
    pub(crate) fn prepare(
        &self,
        model: &str,
        request: &ChatRequest,
        session: Option<&SessionTag<'_>>,
    ) -> Result<Prepared, Failure> {
        let outgoing = self.format.request(model, request, self.stream).map_err(|problem| self.unsayable(&problem))?;
        let outgoing = Outgoing {
            body: extra::merged(&self.extra, outgoing.body).map_err(|problem| self.unsayable(&problem))?,
            ..outgoing
        };
        let mut prepared = self.prepared(outgoing)?;
        if let Some(tag) = session.filter(|_| self.identify_sessions) {
            prepared.headers.extend(session_headers(tag));
        }
        Ok(prepared)
    }

    /// Writes the request for the vectors of `texts`.
    ///
    /// # Errors
    /// A bad request, when the endpoint has no embeddings.
    pub(crate) fn prepare_embeddings(&self, model: &str, texts: &[&str]) -> Result<Prepared, Failure> {
        let none = || "an endpoint of this kind has no embeddings".to_owned();
        let outgoing = self.embeddings.as_ref().ok_or_else(none).and_then(|format| format.embeddings(model, texts));
        self.prepared(outgoing.map_err(|problem| self.unsayable(&problem))?)
    }

    /// One try at a chat request.
    ///
    /// # Errors
    /// Whatever keeps its answer from being used, classified; with what it billed, as far as the answer told before it failed.
    pub(crate) async fn once(&self, prepared: &Prepared) -> Result<Completion, Failure> {
        let incoming = self.transport.send(&prepared.url, &prepared.headers, prepared.body.clone()).await?;
        if self.stream && incoming.status().is_success() && !is_json(incoming.headers()) {
            self.read_stream(incoming).await
        } else {
            self.format.answer(&incoming.whole().await?, &self.context())
        }
    }

    /// One try at a request for the vectors of `count` texts.
    ///
    /// # Errors
    /// As for [`Self::once`].
    pub(crate) async fn embed_once(&self, prepared: &Prepared, count: usize) -> Result<Embedded, Failure> {
        let answer = self.transport.post(&prepared.url, &prepared.headers, prepared.body.clone()).await?;
        embeddings::read(&answer, count, &self.context())
    }

    /// What readers of this endpoint's answers need.
    pub(crate) fn context(&self) -> ReadContext<'_> {
        ReadContext { secret: &self.secret, clock: &*self.clock }
    }

    fn prepared(&self, Outgoing { path, headers: own, body }: Outgoing) -> Result<Prepared, Failure> {
        let address = format!("{}{path}", self.base);
        let url = Url::parse(&address)
            .map_err(|error| self.unsayable(&format!("{address} is no address of a request: {error}")))?;
        let mut headers = own;
        headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        Ok(Prepared { url, headers, body })
    }

    fn unsayable(&self, problem: &str) -> Failure {
        Failure::unanswered(ErrorClass::BadRequest, self.secret.detail(problem))
    }

    async fn read_stream(&self, mut incoming: Incoming<'_>) -> Result<Completion, Failure> {
        let context = self.context();
        let mut reader = self.format.stream();
        let mut events = Events::default();
        let mut first_token = None;
        // Until the first event it may still be a whole answer, or an error, that does not say so in its head.
        let mut eventless = Some(BytesMut::new());
        let broken = loop {
            let chunk = match incoming.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => {
                    let last = events.last().map(|event| reader.event(&event, &context));
                    match last {
                        None => {}
                        Some(Err(failure)) => return Err(kept(failure, &*reader, first_token.is_some())),
                        Some(Ok(part)) => {
                            eventless = None;
                            if part == Part::Answer {
                                first_token.get_or_insert_with(|| incoming.since_sent());
                            }
                        }
                    }
                    break None;
                }
                Err(failure) => break Some(failure),
            };
            let came_at = incoming.since_sent();
            events.push(&chunk);
            let mut is_over = false;
            while let Some(event) = events.next() {
                eventless = None;
                match reader.event(&event, &context) {
                    Ok(Part::Answer) => drop(first_token.get_or_insert(came_at)),
                    Ok(Part::Other) => {}
                    Ok(Part::End) => {
                        is_over = true;
                        break;
                    }
                    Err(failure) => return Err(kept(failure, &*reader, first_token.is_some())),
                }
            }
            if is_over {
                incoming.drain().await;
                break None;
            }
            if let Some(read) = &mut eventless {
                read.extend_from_slice(&chunk);
            }
        };
        if let (None, Some(body)) = (&broken, eventless) {
            let answer =
                Answer { status: incoming.status().as_u16(), headers: incoming.headers().clone(), body: body.freeze() };
            return self.format.answer(&answer, &context);
        }
        let usage = reader.usage();
        match (reader.end(incoming.headers(), &context), broken) {
            // Whatever happened to the connection afterwards, the answer is complete.
            (Ok(completion), _) => Ok(Completion { first_token, ..completion }),
            (Err(_), Some(broken)) => Err(Failure { usage: broken.usage.or(usage), ..broken }),
            (Err(failure), None) => Err(Failure { usage: failure.usage.or(usage), ..failure }),
        }
    }
}

/// A failure in the middle of a stream, with what is known to be billed. Where nothing is known but an answer had begun, that may be.
fn kept(failure: Failure, reader: &dyn StreamReader, has_begun: bool) -> Failure {
    let usage = failure.usage.or_else(|| reader.usage());
    Failure { usage, maybe_billed: failure.maybe_billed || has_begun, ..failure }
}

/// Some servers answer whole although they were asked for a stream, and say so.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("application/json")
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpClient({})", self.base)
    }
}
