//! AWS Bedrock's Converse, through the AWS SDK's client, which finds credentials and address, signs requests, and decodes streams. Source:
//! the Bedrock Runtime API reference and the Bedrock user guide.
//!
//! Bodies are written and read here, as for every other format. The SDK keeps JSON objects in unordered maps, so schemas of tools would be
//! written differently in every process and miss the provider's cache, and arguments would lose the order in which the model wrote them.
//!
//! Requests that Converse cannot express are refused by name: log-probabilities, forbidding tools, and thinking of models that have no
//! parameter for it. A seed is left out, because the provider samples randomly with or without one; so is the wish for one call of a tool
//! at a time, because whoever has it reads the first. Cache points are sent to model families that support them and left out otherwise, as
//! are empty assistant turns.

mod answer;
mod config;
mod conversation;
mod exchange;
mod failure;
mod reasoning;
mod request;
mod stream;
mod usage;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use bytes::Bytes;
use regatta_memory::HeldBytes;
use regatta_proto::{ChatRequest, Clock, EndpointName, EndpointSpec, ErrorClass};
use serde_json::{Map, Value};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};

use crate::errors::Failure;
use crate::http::extra;
use crate::open::OpenContext;
use crate::open_error::OpenError;
use crate::received::Received;
use crate::secret::Secret;
use crate::wire::{Completion, ReadContext};

use config::Settings;
use exchange::Exchange;

/// A client of one endpoint.
pub(crate) struct BedrockClient {
    settings: Settings,
    /// Created at the first call, because looking up credentials and region may take time.
    client: OnceCell<Client>,
    /// Further fields of every body.
    extra: Map<String, Value>,
    stream: bool,
    clock: Arc<dyn Clock>,
}

/// A request that can be sent repeatedly.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    model: String,
    body: Bytes,
}

impl BedrockClient {
    /// Checks the settings without asking AWS. Sends nothing.
    ///
    /// # Errors
    /// When the address is invalid, or a header cannot be sent; names the endpoint.
    pub(crate) fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Result<Self, OpenError> {
        let settings = Settings::new(name, spec, context.env, &context.policy)?;
        Ok(Self::new(settings, spec, Arc::clone(&context.clock)))
    }

    fn new(settings: Settings, spec: &EndpointSpec, clock: Arc<dyn Clock>) -> Self {
        let extra = spec.body.clone().into_iter().collect();
        Self { settings, client: OnceCell::new(), extra, stream: spec.stream, clock }
    }

    /// Writes a chat request.
    ///
    /// # Errors
    /// A bad request, when Converse cannot express a part of the request.
    pub(crate) fn prepare(&self, model: &str, request: &ChatRequest) -> Result<Prepared, Failure> {
        let body = request::body(model, request).and_then(|body| extra::merged(&self.extra, body));
        let body = body.map_err(|problem| self.unsendable(&problem))?;
        Ok(Prepared { model: model.to_owned(), body })
    }

    /// Sends a chat request once. Of an answer no more is read than can be `held` beside what is held already.
    ///
    /// # Errors
    /// A classified failure, if there is no usable answer.
    pub(crate) async fn once(&self, prepared: &Prepared, held: HeldBytes) -> Result<Received<Completion>, Failure> {
        let sent_at = Instant::now();
        let total_ms = self.settings.timeouts.total_ms;
        let end = sent_at + Duration::from_millis(total_ms);
        let late = || {
            let detail = format!("the answer was not complete within {total_ms} ms");
            Failure::unanswered(ErrorClass::Timeout, detail)
        };
        timeout_at(end, self.answered(prepared, sent_at, held)).await.unwrap_or_else(|_| Err(late()))
    }

    async fn answered(
        &self,
        prepared: &Prepared,
        sent_at: Instant,
        mut held: HeldBytes,
    ) -> Result<Received<Completion>, Failure> {
        let client = self.client().await?;
        let exchange = Exchange::new(prepared.body.clone(), self.settings.headers.clone(), self.stream);
        let context = &self.context();
        if self.stream {
            let request = client.converse_stream().model_id(&prepared.model).customize().interceptor(exchange.clone());
            let output = request.send().await.map_err(|error| failure::explain(&error, context))?;
            return stream::read(output, &exchange, sent_at, context, held).await;
        }
        let request = client.converse().model_id(&prepared.model).customize().interceptor(exchange.clone());
        // The body of a good answer is read here, so that the SDK may miss it: all that it has to say then is about other answers.
        if let Err(error) = request.send().await
            && error.raw_response().is_none_or(|response| !response.status().is_success())
        {
            return Err(failure::explain(&error, context));
        }
        let value = answer::read(exchange.whole_answer(&mut held).await, context)?;
        Ok(Received { value, held })
    }

    async fn client(&self) -> Result<&Client, Failure> {
        let made = self.client.get_or_try_init(|| self.settings.client());
        made.await.map_err(|problem| self.unsendable(&problem))
    }

    fn context(&self) -> ReadContext<'_> {
        ReadContext { secret: self.secret(), clock: &*self.clock }
    }

    /// The key that is removed from what is kept.
    pub(crate) fn secret(&self) -> &Secret {
        &self.settings.secret
    }

    fn unsendable(&self, problem: &str) -> Failure {
        Failure::unanswered(ErrorClass::BadRequest, self.secret().detail(problem))
    }
}

impl fmt::Debug for BedrockClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BedrockClient").field("settings", &self.settings).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
