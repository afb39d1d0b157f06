//! A simulated endpoint without a network, within the client's process.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::future::poll_fn;
use hyper::body::Body;
use hyper::{Request, Response};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::batches::store::Batches;
use crate::counters::Counters;
use crate::delivery::Dropped;
use crate::endpoint::Endpoint;
use crate::server::{Config, StartError};
use crate::session::ServedSuite;

/// A simulated endpoint that is called instead of connected to; clones share it. Answers are returned whole, at the time of their last
/// byte.
#[derive(Clone)]
pub struct InProcess {
    endpoint: Arc<Endpoint>,
    /// Batches are aborted with the last clone.
    _open: Arc<DropGuard>,
}

impl InProcess {
    /// Creates the endpoint of `config`, without a port.
    ///
    /// # Errors
    /// When the simulation's settings are invalid.
    pub fn new(config: Config) -> Result<Self, StartError> {
        let Config { listen: _, simulation, suites, script, clock } = config;
        simulation.check().map_err(|(field, problem)| StartError::Simulation { field, problem })?;
        let suites = suites.into_iter().map(ServedSuite::new).collect();
        let open = CancellationToken::new();
        let batches = Batches::new(TaskTracker::new(), open.child_token());
        let endpoint = Arc::new(Endpoint::new(simulation, suites, script, clock, batches));
        Ok(Self { endpoint, _open: Arc::new(open.drop_guard()) })
    }

    /// Counts since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.endpoint.counters()
    }

    /// Answers one request.
    ///
    /// # Errors
    /// When the simulation drops the connection, before or during its answer.
    pub async fn answer<B>(&self, request: Request<B>) -> Result<Response<Bytes>, Dropped>
    where
        B: Body<Data = Bytes, Error: fmt::Display>,
    {
        let (head, body) = self.endpoint.serve(request).await?.into_parts();
        let (mut body, mut whole) = (pin!(body), BytesMut::new());
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            if let Ok(data) = frame.map_err(|_| Dropped)?.into_data() {
                whole.extend_from_slice(&data);
            }
        }
        Ok(Response::from_parts(head, whole.freeze()))
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").finish_non_exhaustive()
    }
}
