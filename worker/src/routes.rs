//! Queues of the last broadcast: which endpoints they need here, and which of them are consumed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use regatta_backends::Queue;
use regatta_llm::Endpoint;
use regatta_proto::{EndpointName, EndpointRoute, SweepId};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::opener::Opener;
use crate::opening::{Openings, is_same_endpoint};
use crate::publisher::ConfirmingPublisher;
use crate::route::Route;
use crate::unserved::Unserved;
use crate::worker::Shared;

/// Name of the coordinator's broadcasts beside the queues that a worker consumes; no queue can have it.
pub(crate) const BROADCASTS: &str = "the coordinator's broadcasts";

/// Open endpoints and consumed queues of this process, by queue.
pub(crate) struct Routes {
    queue: Queue,
    shared: Arc<Shared>,
    publisher: ConfirmingPublisher,
    /// Tracks sessions of all routes.
    sessions: TaskTracker,
    /// Endpoints whose queues are consumed; `None` is all.
    served: Option<BTreeSet<EndpointName>>,
    /// Routes of the last broadcast.
    told: Vec<EndpointRoute>,
    openings: Openings,
    opened: Opened,
    running: BTreeMap<String, Route>,
    /// Queues that could not be consumed, with the time of the next try.
    unserved: BTreeMap<String, (Unserved, Instant)>,
    /// Queues whose sessions need endpoints that the last broadcast did not have.
    incomplete: BTreeMap<String, Unserved>,
}

/// Endpoints that are open, by queue, with the route that they were opened for.
type Opened = BTreeMap<String, (EndpointRoute, Endpoint)>;

impl Routes {
    /// No routes yet. Sessions are tracked by `sessions`.
    pub(crate) fn new(
        queue: Queue,
        shared: Arc<Shared>,
        publisher: ConfirmingPublisher,
        sessions: TaskTracker,
        served: Option<BTreeSet<EndpointName>>,
        opener: Opener,
    ) -> Self {
        let openings = Openings::new(opener, shared.metrics.endpoints_unserved.clone());
        Self {
            queue,
            shared,
            publisher,
            sessions,
            served,
            told: Vec::new(),
            openings,
            opened: BTreeMap::new(),
            running: BTreeMap::new(),
            unserved: BTreeMap::new(),
            incomplete: BTreeMap::new(),
        }
    }

    /// Serves the routes of a broadcast, as far as their endpoints are open, and no others. Waits for no endpoint to open.
    pub(crate) async fn follow(&mut self, told: Vec<EndpointRoute>) {
        self.told = told;
        let is_told = |queue: &String| self.told.iter().any(|route| route.queue == *queue);
        self.unserved.retain(|queue, _| is_told(queue));
        self.incomplete.retain(|queue, _| is_told(queue));
        let (wanted, before) = (self.wanted(), std::mem::take(&mut self.opened));
        self.openings.retain(&wanted);
        for route in wanted {
            let known = before.values().find(|(opened, _)| is_same_endpoint(opened, &route));
            match known.map(|(_, endpoint)| endpoint.clone()) {
                Some(endpoint) => drop(self.opened.insert(route.queue.clone(), (route, endpoint))),
                None => self.openings.begin(&route),
            }
        }
        let (told, opened) = (&self.told, &self.opened);
        self.running.retain(|_, running| told.contains(&running.spec) && beside(opened, &running.spec).is_some());
        self.serve().await;
    }

    /// The next endpoint that is open, for [`Self::serve_at`]; `None` if none is being opened. Cancel-safe.
    pub(crate) async fn opened(&mut self) -> Option<(EndpointRoute, Endpoint)> {
        self.openings.next().await
    }

    /// Serves the routes that waited for `endpoint`, which was opened for `route`.
    pub(crate) async fn serve_at(&mut self, (route, endpoint): (EndpointRoute, Endpoint)) {
        for wanted in self.wanted() {
            if is_same_endpoint(&wanted, &route) {
                self.opened.entry(wanted.queue.clone()).or_insert_with(|| (wanted, endpoint.clone()));
            }
        }
        self.serve().await;
    }

    fn is_served(&self, route: &EndpointRoute) -> bool {
        self.served.as_ref().is_none_or(|endpoints| endpoints.contains(&route.name))
    }

    /// Routes whose endpoints are needed here: sessions of what is served may need others beside it, which are opened and not consumed.
    fn wanted(&self) -> Vec<EndpointRoute> {
        let served = self.told.iter().filter(|route| self.is_served(route));
        let beside_served: BTreeSet<(&SweepId, &EndpointName)> =
            served.flat_map(|route| route.needs.iter().map(|name| (&route.sweep, name))).collect();
        let is_wanted =
            |route: &&EndpointRoute| self.is_served(route) || beside_served.contains(&(&route.sweep, &route.name));
        self.told.iter().filter(is_wanted).cloned().collect()
    }

    /// Consumes each served queue for whose sessions everything is open.
    async fn serve(&mut self) {
        let is_idle = |route: &&EndpointRoute| self.is_served(route) && !self.running.contains_key(&route.queue);
        let idle: Vec<EndpointRoute> = self.told.iter().filter(is_idle).cloned().collect();
        for route in idle {
            let queue = route.queue.clone();
            let Some((_, endpoint)) = self.opened.get(&queue) else { continue };
            let Some(beside) = beside(&self.opened, &route) else {
                self.wait_for_others(&route);
                continue;
            };
            self.incomplete.remove(&queue);
            if self.unserved.get(&queue).is_some_and(|(_, next)| Instant::now() < *next) {
                continue;
            }
            let started = Route::start(
                route,
                endpoint.clone(),
                beside,
                &self.queue,
                self.shared.clone(),
                self.publisher.clone(),
                self.sessions.clone(),
            );
            match started.await {
                Ok(route) => {
                    tracing::info!(queue, "consuming");
                    self.shared.consuming.consumes(&queue, route.subscriptions.clone());
                    self.unserved.remove(&queue);
                    self.running.insert(queue, route);
                }
                Err(error) => self.fails(queue, error.to_string()),
            }
        }
        let (running, unserved) = (&self.running, &self.unserved);
        let is_here = |queue: &str| running.contains_key(queue) || unserved.contains_key(queue);
        self.shared.consuming.retain(|queue| queue == BROADCASTS || is_here(queue));
    }

    /// Notes that sessions of `route` need endpoints that are not open here.
    fn wait_for_others(&mut self, route: &EndpointRoute) {
        let queue = &route.queue;
        let is_told =
            |name: &EndpointName| self.told.iter().any(|told| told.sweep == route.sweep && told.name == *name);
        if route.needs.iter().all(is_told) {
            // Whatever keeps one of them from being opened is logged there.
            self.incomplete.remove(queue);
            tracing::debug!(queue, "cannot serve this endpoint yet: its sessions need others that are not open here");
            return;
        }
        // Looked at again with each broadcast, without a pause.
        let unserved = self.incomplete.entry(queue.clone());
        let _ = unserved
            .or_insert_with_key(|queue| Unserved::new(queue.clone(), self.shared.metrics.endpoints_unserved.clone()))
            .fails("its sessions need others that the coordinator does not tell of".to_owned());
    }

    /// Notes that `queue` could not be consumed; it is tried again after a pause.
    fn fails(&mut self, queue: String, reason: String) {
        self.shared.consuming.lacks(&queue, reason.clone());
        let gauge = &self.shared.metrics.endpoints_unserved;
        let new = |queue: &String| (Unserved::new(queue.clone(), gauge.clone()), Instant::now());
        let (unserved, next) = self.unserved.entry(queue).or_insert_with_key(new);
        *next = Instant::now() + unserved.fails(reason);
    }
}

/// Endpoints of `opened` that sessions of `route` use for other roles; `None` unless all of them are open.
fn beside(opened: &Opened, route: &EndpointRoute) -> Option<BTreeMap<EndpointName, Endpoint>> {
    let find = |name: &EndpointName| {
        let mut opened = opened.values();
        let (_, endpoint) = opened.find(|(spec, _)| spec.sweep == route.sweep && spec.name == *name)?;
        Some((name.clone(), endpoint.clone()))
    };
    route.needs.iter().map(find).collect()
}
