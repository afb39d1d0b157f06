//! The one door to models.

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

/// An endpoint, opened once a process and shared by all its sessions; a clone is the same endpoint.
#[derive(Clone)]
pub struct Endpoint(Arc<Opened>);

struct Opened {
    name: EndpointName,
    service: Service,
    batches: Option<BatchClient>,
}

enum Service {
    Models(Box<Caller>),
    Encoder(Box<Encoding>),
    Recorded(Box<RecordedVerdicts>),
}

impl Endpoint {
    /// Opens the endpoint of `spec`: finds its address and key, or loads its encoder or verdicts. Nothing is sent. Within a Tokio runtime,
    /// where a task then leases permits until the last clone is dropped.
    ///
    /// # Errors
    /// When the key's variable is not set, the address is none, or a file cannot be used; names the endpoint.
    pub fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Result<Self, OpenError> {
        let service = match spec.kind {
            EndpointKind::Encoder => Service::Encoder(Box::new(open::encoder(name, spec, context.base_dir)?)),
            EndpointKind::Recorded => Service::Recorded(Box::new(open::recorded(name, spec, context)?)),
            _ => Service::Models(Box::new(Caller::open(name, spec, context)?)),
        };
        let batches = match spec.lane {
            Lane::Batch => Some(BatchClient::open(name, spec, context)?),
            Lane::Live => None,
        };
        Ok(Self(Arc::new(Opened { name: name.clone(), service, batches })))
    }

    /// One chat call: money, permits, tries, provenance, cost.
    ///
    /// # Errors
    /// When it was given up or interrupted. Encoders and recorded verdicts do not chat: a bad request.
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

    /// Its batch API, of endpoints of the batch lane.
    #[must_use]
    pub fn batch(&self) -> Option<&BatchClient> {
        self.0.batches.as_ref()
    }

    /// Answers an evaluator's questions: similarities by `/embeddings` or by the encoder, judgements by a chat that ends
    /// in the prompt, with the parameters of `judge`, and both from recorded verdicts. Only what is sent costs money and needs permits.
    ///
    /// # Errors
    /// Only when interrupted; a question without an answer is part of the [`Answers`].
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
                Service::Recorded(verdicts) => Ok(verdicts.answer(questions)),
            }
        })
    }

    /// Requests sent and not yet answered; batches being encoded, for an encoder.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        match &self.0.service {
            Service::Models(caller) => caller.tries.in_flight(),
            Service::Encoder(encoding) => encoding.in_flight(),
            Service::Recorded(_) => 0,
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
