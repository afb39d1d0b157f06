//! Replaces sentence encoders in a build without the feature `encoder`; none can be opened.

use std::path::Path;

use regatta_proto::{AskedQuestion, EndpointName};
use tokio_util::sync::CancellationToken;

use crate::answer::Answers;
use crate::call::Interrupted;
use crate::open_error::OpenError;

#[derive(Debug)]
pub(crate) enum Encoding {}

impl Encoding {
    pub(crate) fn open(endpoint: &EndpointName, _: &Path) -> Result<Self, OpenError> {
        Err(OpenError::NotBuilt { endpoint: endpoint.clone(), kind: "encoder", feature: "encoder" })
    }

    pub(crate) const fn in_flight(&self) -> usize {
        match *self {}
    }

    pub(crate) async fn answer(&self, _: &[AskedQuestion], _: &CancellationToken) -> Result<Answers, Interrupted> {
        match *self {}
    }
}
