//! The client of an endpoint's models: our own HTTP client, or AWS's.

use regatta_memory::HeldBytes;
use regatta_proto::{ChatRequest, EndpointKind, EndpointName, EndpointSpec, ErrorClass};

use crate::bedrock::{self, BedrockClient};
use crate::call::Told;
use crate::errors::Failure;
use crate::http::{self, HttpClient};
use crate::open::OpenContext;
use crate::open_error::OpenError;
use crate::received::Received;
use crate::redaction::{redacted, redacted_failure};
use crate::usable::usable;
use crate::wire::Completion;
use crate::wire::openai::embeddings::Embedded;

/// A client of one endpoint.
#[derive(Debug)]
pub(crate) enum Client {
    Http(Box<HttpClient>),
    Bedrock(Box<BedrockClient>),
}

/// A request that can be sent repeatedly.
#[derive(Debug, Clone)]
pub(crate) enum Prepared {
    Http(Box<http::Prepared>),
    Bedrock(bedrock::Prepared),
}

impl Client {
    /// Opens the client that `spec` needs. Sends nothing.
    ///
    /// # Errors
    /// When the client of its kind cannot be opened; each error names the endpoint.
    pub(crate) fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Result<Self, OpenError> {
        Ok(match spec.kind {
            EndpointKind::Bedrock => Self::Bedrock(Box::new(BedrockClient::open(name, spec, context)?)),
            _ => Self::Http(Box::new(HttpClient::open(name, spec, context)?)),
        })
    }

    /// Writes a chat request. AWS is not told the session, because it has no use for it.
    ///
    /// # Errors
    /// A bad request, when the endpoint's format cannot express a part of the request.
    pub(crate) fn prepare(
        &self,
        model: &str,
        request: &ChatRequest,
        told: Option<&Told<'_>>,
    ) -> Result<Prepared, Failure> {
        match self {
            Self::Http(client) => client.prepare(model, request, told).map(Box::new).map(Prepared::Http),
            Self::Bedrock(client) => client.prepare(model, request).map(Prepared::Bedrock),
        }
    }

    /// Writes an embeddings request for `texts`.
    ///
    /// # Errors
    /// A bad request, when the endpoint has no embeddings.
    pub(crate) fn prepare_embeddings(&self, model: &str, texts: &[&str]) -> Result<Prepared, Failure> {
        match self {
            Self::Http(client) => client.prepare_embeddings(model, texts).map(Box::new).map(Prepared::Http),
            Self::Bedrock(_) => Err(unfit("an endpoint of this kind has no embeddings")),
        }
    }

    /// Sends a chat request once. The answer is `held` beside what is held already.
    ///
    /// # Errors
    /// A classified failure, if there is no usable answer.
    pub(crate) async fn once(&self, prepared: &Prepared, held: HeldBytes) -> Result<Received<Completion>, Failure> {
        let (read, secret) = match (self, prepared) {
            (Self::Http(client), Prepared::Http(prepared)) => {
                (client.once(prepared, held).await, client.context().secret)
            }
            (Self::Bedrock(client), Prepared::Bedrock(prepared)) => {
                (client.once(prepared, held).await, client.secret())
            }
            _ => return Err(unfit("the request was written for another endpoint")),
        };
        match read {
            Ok(received) => received.and_then(|completion| redacted(usable(completion), secret)),
            Err(failure) => Err(redacted_failure(failure, secret)),
        }
    }

    /// Sends an embeddings request for `count` texts once.
    ///
    /// # Errors
    /// Like those of [`Self::once`].
    pub(crate) async fn embed_once(&self, prepared: &Prepared, count: usize) -> Result<Embedded, Failure> {
        match (self, prepared) {
            (Self::Http(client), Prepared::Http(prepared)) => client.embed_once(prepared, count).await,
            _ => Err(unfit("an endpoint of this kind has no embeddings")),
        }
    }
}

fn unfit(problem: &str) -> Failure {
    Failure::unanswered(ErrorClass::BadRequest, problem.to_owned())
}
