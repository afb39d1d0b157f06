//! Replaces the client of Amazon Bedrock in a build without the feature `bedrock`; it cannot be opened.

use regatta_memory::HeldBytes;
use regatta_proto::{ChatRequest, EndpointName, EndpointSpec};

use crate::errors::Failure;
use crate::open::OpenContext;
use crate::open_error::OpenError;
use crate::received::Received;
use crate::secret::Secret;
use crate::wire::Completion;

#[derive(Debug)]
pub(crate) enum BedrockClient {}

#[derive(Debug, Clone)]
pub(crate) enum Prepared {}

impl BedrockClient {
    pub(crate) fn open(name: &EndpointName, _: &EndpointSpec, _: &OpenContext<'_>) -> Result<Self, OpenError> {
        Err(OpenError::NotBuilt { endpoint: name.clone(), kind: "bedrock", feature: "bedrock" })
    }

    pub(crate) fn prepare(&self, _: &str, _: &ChatRequest) -> Result<Prepared, Failure> {
        match *self {}
    }

    pub(crate) async fn once(&self, _: &Prepared, _: HeldBytes) -> Result<Received<Completion>, Failure> {
        match *self {}
    }
    pub(crate) fn secret(&self) -> &Secret {
        match *self {}
    }
}
