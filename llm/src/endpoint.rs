//! The interface to models.

use futures::future::BoxFuture;
use std::fmt;
use std::sync::Arc;

use regatta_proto::{
    AskedQuestion, Call, EndpointKind, EndpointName, EndpointSpec, ErrorClass, FailedCall, Lane, ModelRef, ModelSpec,
    Try,
};
use tokio_util::sync::CancellationToken;

use crate::batch::BatchClient;
use crate::chat::Caller;
use crate::encoding::Encoding;
use crate::open;
use crate::{Answers, CallError, ChatCall, Interrupted, OpenContext, OpenError, Payer, RecordedVerdicts};

/// An endpoint, opened once a process and shared by all its sessions; clones share one endpoint.
#[derive(Clone)]
pub struct Endpoint(Arc<Opened>);

struct Opened {
    name: EndpointName,
    service: Service,
    batches: Option<BatchClient>,
}

enum Service {
    Models(Box<Caller>),
    Encoder(Arc<Encoding>),
    /// With the name of the file that the spec says they are in.
    Recorded(Arc<RecordedVerdicts>, String),
}

impl Endpoint {
    /// Opens the endpoint of `spec`: resolves its address and key, or loads its encoder or verdicts, which blocks the thread. Sends nothing. Must be
    /// called within a Tokio runtime, where a task then leases permits until the last clone is dropped.
    ///
    /// # Errors
    /// When the key's variable is not set, the address is invalid, or a file cannot be used; names the endpoint.
    pub fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Result<Self, OpenError> {
        let service = match spec.kind {
            EndpointKind::Encoder => Service::Encoder(open::encoder(name, spec, context)?),
            EndpointKind::Recorded => {
                let (verdicts, file) = open::recorded(name, spec, context)?;
                Service::Recorded(verdicts, file)
            }
            EndpointKind::Openai
            | EndpointKind::OpenaiResponses
            | EndpointKind::Azure
            | EndpointKind::Anthropic
            | EndpointKind::Gemini
            | EndpointKind::Bedrock
            | EndpointKind::Simulated => Service::Models(Box::new(Caller::open(name, spec, context)?)),
        };
        let batches = match spec.lane {
            Lane::Batch => Some(BatchClient::open(name, spec, context)?),
            Lane::Live => None,
        };
        Ok(Self(Arc::new(Opened { name: name.clone(), service, batches })))
    }

    /// Runs one chat call, with reservation, permits, retries, provenance and cost.
    ///
    /// # Errors
    /// When the call was given up or interrupted. For encoders and recorded verdicts, which do not chat, a bad request.
    pub fn chat<'a>(&'a self, call: ChatCall<'a>) -> BoxFuture<'a, Result<Call, CallError>> {
        Box::pin(async move {
            if let Service::Models(caller) = &self.0.service {
                return caller.chat(call).await;
            }
            let detail = format!("endpoint {} only answers evaluators' questions; it cannot chat", self.0.name);
            Err(CallError::Failed(FailedCall {
                role: call.role,
                attempt: call.attempt,
                model: ModelRef { endpoint: self.0.name.clone(), model: call.model.to_owned() },
                tries: vec![Try::not_sent(ErrorClass::BadRequest, detail)],
                request: None,
                asked: None,
            }))
        })
    }

    /// The endpoint's batch API; `None` unless its delivery mode is batch.
    #[must_use]
    pub fn batch(&self) -> Option<&BatchClient> {
        self.0.batches.as_ref()
    }

    /// Answers an evaluator's questions: similarities by `/embeddings` or the encoder; judgements by a chat that ends with the prompt, with
    /// the parameters of `judge`; and both from recorded verdicts. Only requests that are sent cost money and need permits.
    ///
    /// # Errors
    /// Only when interrupted; questions without an answer are part of the [`Answers`].
    pub fn answer<'a>(
        &'a self,
        judge: &'a ModelSpec,
        questions: &'a [AskedQuestion],
        payer: Payer<'a>,
        interrupt: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Answers, Interrupted>> {
        Box::pin(async move {
            match &self.0.service {
                Service::Models(caller) => caller.answer_all(judge, questions, payer, interrupt).await,
                Service::Encoder(encoding) => encoding.answer(questions, interrupt).await,
                Service::Recorded(verdicts, file) => Ok(verdicts.answer(questions, file)),
            }
        })
    }

    /// Requests without an answer yet; for an encoder, batches that are being encoded.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        match &self.0.service {
            Service::Models(caller) => caller.tries.in_flight(),
            Service::Encoder(encoding) => encoding.in_flight(),
            Service::Recorded(..) => 0,
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({})", self.0.name)
    }
}

#[cfg(test)]
mod tests;
