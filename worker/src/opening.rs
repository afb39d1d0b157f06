//! Endpoints that are being opened, each by a task of its own that tries until it succeeds: files and stores may be slow, or fail, and that
//! concerns nobody else.

use std::sync::Arc;

use prometheus::IntGauge;
use regatta_llm::Endpoint;
use regatta_proto::EndpointRoute;
use tokio::task::{AbortHandle, JoinSet};

use crate::opener::Opener;
use crate::unserved::Unserved;

/// Endpoints that are being opened.
pub(crate) struct Openings {
    opener: Arc<Opener>,
    unserved: IntGauge,
    begun: Vec<(EndpointRoute, AbortHandle)>,
    tasks: JoinSet<(EndpointRoute, Endpoint)>,
}

impl Openings {
    pub(crate) fn new(opener: Opener, unserved: IntGauge) -> Self {
        Self { opener: Arc::new(opener), unserved, begun: Vec::new(), tasks: JoinSet::new() }
    }

    /// Begins to open the endpoint of `route`, unless that is being opened already.
    pub(crate) fn begin(&mut self, route: &EndpointRoute) {
        if self.begun.iter().any(|(begun, _)| is_same_endpoint(begun, route)) {
            return;
        }
        let unserved = Unserved::new(route.queue.clone(), self.unserved.clone());
        let task = self.tasks.spawn(open(self.opener.clone(), route.clone(), unserved));
        self.begun.push((route.clone(), task));
    }

    /// Ends the openings of endpoints that no route of `wanted` needs any more.
    pub(crate) fn retain(&mut self, wanted: &[EndpointRoute]) {
        self.begun.retain(|(begun, task)| {
            let is_wanted = wanted.iter().any(|route| is_same_endpoint(begun, route));
            if !is_wanted {
                task.abort();
            }
            is_wanted
        });
    }

    /// The next endpoint that is open, with the route that it was opened for; `None` if none is being opened. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<(EndpointRoute, Endpoint)> {
        loop {
            let (id, opened) = match self.tasks.join_next_with_id().await? {
                Ok((id, opened)) => (id, Some(opened)),
                Err(error) => {
                    if error.is_panic() {
                        tracing::error!(%error, "failed to open an endpoint; the next broadcast begins anew");
                    }
                    (error.id(), None)
                }
            };
            self.begun.retain(|(_, task)| task.id() != id);
            if opened.is_some() {
                return opened;
            }
        }
    }
}

/// Opens the endpoint of `route`, however often that fails.
async fn open(opener: Arc<Opener>, route: EndpointRoute, mut unserved: Unserved) -> (EndpointRoute, Endpoint) {
    loop {
        match opener.open(&route).await {
            Ok(endpoint) => return (route, endpoint),
            Err(error) => tokio::time::sleep(unserved.fails(format!("{error:#}"))).await,
        }
    }
}

/// True if the routes of two sweeps mean one endpoint, and so share its connections, its circuit breaker and its permits.
pub(crate) fn is_same_endpoint(one: &EndpointRoute, other: &EndpointRoute) -> bool {
    one.pool == other.pool && one.name == other.name && one.endpoint == other.endpoint
}
