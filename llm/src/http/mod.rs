//! A client of one endpoint that uses any [`Format`] over HTTP: one request, one try.

pub(crate) mod extra;
mod session_headers;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use regatta_memory::{ByteBudget, HeldBytes};
use regatta_proto::{
    ChatRequest, ClientFormat, Clock, EndpointKind, EndpointName, EndpointSpec, ErrorClass, Passed, SessionSeed,
};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::{Map, Value};

use crate::call::Told;
use crate::errors::Failure;
use crate::open::{Access, OpenContext};
use crate::open_error::OpenError;
use crate::received::Received;
use crate::secret::Secret;
use crate::transport::{Incoming, Transport};
use crate::wire::anthropic::Anthropic;
use crate::wire::gemini::Gemini;
use crate::wire::openai::OpenAi;
use crate::wire::openai::embeddings::{self, Embedded};
use crate::wire::reading::Reading;
use crate::wire::responses::Responses;
use crate::wire::{Completion, Format, Outgoing, ReadContext};

use session_headers::session_headers;

/// One endpoint: its address, its format, and the common parts of its requests.
pub(crate) struct HttpClient {
    base: String,
    format: Box<dyn Format>,
    /// Format in which a client's own fields can be sent; `None` if no client of the bridge writes the endpoint's.
    client_format: Option<ClientFormat>,
    /// The format of `/embeddings`; `None` if the kind has none.
    embeddings: Option<OpenAi>,
    transport: Transport,
    secret: Secret,
    /// Headers of every request, without the key.
    headers: HeaderMap,
    /// Further fields of every body.
    extra: Map<String, Value>,
    stream: bool,
    identify_sessions: bool,
    /// Adds the session's seed to each request without one.
    sends_seed: bool,
    /// Bytes of answers that belong to no session.
    bytes: ByteBudget,
    clock: Arc<dyn Clock>,
}

/// A request that can be sent repeatedly; clones share the body.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpClient {
    /// Resolves address and key of `spec`. Sends nothing.
    ///
    /// # Errors
    /// When the key's variable is not set, the address is invalid, or a header cannot be sent; names the endpoint.
    pub(crate) fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Result<Self, OpenError> {
        let Access { base, url, secret, key_header, headers, egress, is_providers_own } =
            Access::resolve(name, spec, context.env, &context.policy)?;
        let transport = Transport::new(
            &url,
            secret.clone(),
            key_header,
            spec.timeouts,
            egress,
            context.network.clone(),
            context.standstill.clone(),
        )
        .map_err(|source| OpenError::Transport { endpoint: name.clone(), source })?;
        let openai = if spec.kind == EndpointKind::Azure { OpenAi::azure(&base, spec) } else { OpenAi::new(&base) };
        let format: Box<dyn Format> = match spec.kind {
            EndpointKind::Openai | EndpointKind::Simulated | EndpointKind::Azure => Box::new(openai.clone()),
            EndpointKind::OpenaiResponses => Box::new(Responses),
            EndpointKind::Anthropic => Box::new(Anthropic),
            EndpointKind::Gemini => Box::new(Gemini),
            EndpointKind::Bedrock | EndpointKind::Encoder | EndpointKind::Recorded => {
                return Err(OpenError::NotSpoken { endpoint: name.clone(), kind: spec.kind });
            }
        };
        Ok(Self {
            base,
            format,
            client_format: client_format(spec.kind),
            embeddings: spec.kind.has_embeddings().then_some(openai),
            transport,
            secret,
            headers,
            extra: spec.body.clone().into_iter().collect(),
            // Lines of a batch are answered as a whole.
            stream: spec.stream && spec.lane.is_live(),
            // A simulated endpoint answers by session, so it is always told.
            identify_sessions: spec.identify_sessions || spec.kind == EndpointKind::Simulated,
            sends_seed: spec.send_seed.unwrap_or_else(|| takes_seed(spec.kind, is_providers_own)),
            bytes: context.bytes.clone(),
            clock: Arc::clone(&context.clock),
        })
    }

    /// Writes a chat request.
    ///
    /// # Errors
    /// A bad request, when the endpoint's format cannot express a part of the request.
    pub(crate) fn prepare(
        &self,
        model: &str,
        request: &ChatRequest,
        told: Option<&Told<'_>>,
    ) -> Result<Prepared, Failure> {
        let seeded = told.filter(|_| self.sends_seed).map(|told| seeded(request, told.seed()));
        let worded = seeded.as_ref().unwrap_or(request);
        let outgoing = self.format.request(model, worded, self.stream).map_err(|problem| self.unsayable(&problem))?;
        let outgoing = Outgoing {
            body: extra::merged(&self.extra, outgoing.body)
                .and_then(|body| self.with_passed(request.passed.as_deref(), body))
                .map_err(|problem| self.unsayable(&problem))?,
            ..outgoing
        };
        let mut prepared = self.prepared(outgoing)?;
        if let Some(told) = told.filter(|_| self.identify_sessions) {
            prepared.headers.extend(session_headers(told, request.member.as_ref()));
        }
        Ok(prepared)
    }

    /// The body with the fields that a client wrote, but for those that the endpoint's spec sets.
    ///
    /// # Errors
    /// A sentence, when the fields are of another format.
    fn with_passed(&self, passed: Option<&Passed>, body: Bytes) -> Result<Bytes, String> {
        let Some(passed) = passed else { return Ok(body) };
        if self.client_format != Some(passed.format) {
            return Err(format!(
                "{} of the request can only be sent to an endpoint that has {}, as the client wrote it; leave it out, or evaluate the model \
                 at such an endpoint",
                passed.names(),
                passed.format
            ));
        }
        let mut fields = passed.fields.clone();
        fields.retain(|name, _| !self.extra.contains_key(name));
        extra::replaced(&fields, &body)
    }

    /// Writes an embeddings request for `texts`.
    ///
    /// # Errors
    /// A bad request, when the endpoint has no embeddings.
    pub(crate) fn prepare_embeddings(&self, model: &str, texts: &[&str]) -> Result<Prepared, Failure> {
        let none = || "an endpoint of this kind has no embeddings".to_owned();
        let outgoing = self.embeddings.as_ref().ok_or_else(none).and_then(|format| format.embeddings(model, texts));
        self.prepared(outgoing.map_err(|problem| self.unsayable(&problem))?)
    }

    /// Sends a chat request once. The answer is `held` beside what is held already.
    ///
    /// # Errors
    /// A classified failure, if there is no usable answer, with the usage that was reported before it.
    pub(crate) async fn once(&self, prepared: &Prepared, held: HeldBytes) -> Result<Received<Completion>, Failure> {
        let body = prepared.body.clone();
        let incoming = self.transport.send(&prepared.url, &prepared.headers, body, held).await?;
        if self.stream && incoming.status().is_success() && !is_json(incoming.headers()) {
            self.read_stream(incoming).await
        } else {
            let (answer, held) = incoming.whole().await?;
            Ok(Received { value: self.format.answer(&answer, &self.context())?, held })
        }
    }

    /// Sends an embeddings request for `count` texts once.
    ///
    /// # Errors
    /// Like those of [`Self::once`].
    pub(crate) async fn embed_once(&self, prepared: &Prepared, count: usize) -> Result<Embedded, Failure> {
        let (body, held) = (prepared.body.clone(), self.bytes.holder().read());
        let (answer, _held) = self.transport.post(&prepared.url, &prepared.headers, body, held).await?;
        embeddings::read(&answer, count, &self.context())
    }

    /// The budget within which answers are read.
    pub(crate) const fn bytes(&self) -> &ByteBudget {
        &self.bytes
    }

    /// The base address, up to and including the version, without a trailing slash.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// The endpoint's wire format.
    pub(crate) fn format(&self) -> &dyn Format {
        &*self.format
    }

    pub(crate) const fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Headers of every request, without those of the transport.
    pub(crate) const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The context that readers of this endpoint's answers need.
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

    async fn read_stream(&self, mut incoming: Incoming<'_>) -> Result<Received<Completion>, Failure> {
        let mut reading = Reading::new(&*self.format, self.context());
        let broken = loop {
            match incoming.chunk().await {
                Ok(Some(chunk)) => {
                    if reading.take(&chunk, incoming.since_sent())? {
                        incoming.drain().await;
                        break None;
                    }
                    if let Err(failure) = incoming.keep(reading.bytes()).await {
                        break Some(failure);
                    }
                }
                Ok(None) => break incoming.keep(reading.parsed_bytes()).await.err(),
                Err(failure) => break Some(failure),
            }
        };
        let value = reading.end(incoming.status().as_u16(), incoming.headers(), incoming.since_sent(), broken)?;
        Ok(Received { value, held: incoming.into_held() })
    }
}

/// `true` for a JSON body: some servers answer as a whole although a stream was requested.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("application/json")
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpClient({})", self.base)
    }
}

/// `true` if an endpoint takes a seed by default. Servers that only resemble a provider's may refuse unknown fields, so they get one only
/// with `send_seed: true`. A simulated endpoint is told the session, which determines more.
const fn takes_seed(kind: EndpointKind, is_providers_own: bool) -> bool {
    match kind {
        EndpointKind::Azure => true,
        EndpointKind::Openai | EndpointKind::Gemini => is_providers_own,
        EndpointKind::OpenaiResponses
        | EndpointKind::Anthropic
        | EndpointKind::Bedrock
        | EndpointKind::Simulated
        | EndpointKind::Encoder
        | EndpointKind::Recorded => false,
    }
}

/// The format of an endpoint's requests, where clients of the bridge may write it as well.
const fn client_format(kind: EndpointKind) -> Option<ClientFormat> {
    match kind {
        EndpointKind::Openai | EndpointKind::Azure | EndpointKind::Simulated => Some(ClientFormat::Chat),
        EndpointKind::OpenaiResponses => Some(ClientFormat::Responses),
        EndpointKind::Anthropic => Some(ClientFormat::Messages),
        EndpointKind::Gemini | EndpointKind::Bedrock | EndpointKind::Encoder | EndpointKind::Recorded => None,
    }
}

/// `request` with `seed`, unless it has one of its own.
fn seeded(request: &ChatRequest, SessionSeed(seed): SessionSeed) -> ChatRequest {
    let mut request = request.clone();
    request.sampling.seed.get_or_insert(seed);
    request
}

#[cfg(test)]
mod tests;
