//! Opens one endpoint with what this process has: keys, files, stores.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use regatta_backends::Blobs;
use regatta_llm::{BudgetLeases, CallMetrics, Encoders, Endpoint, OpenContext};
use regatta_proto::{EndpointKind, EndpointRoute, WorkerId};

use crate::verdicts::Verdicts;
use crate::{Environment, WorkerConfig};

/// Opens endpoints in the name of one worker.
pub(crate) struct Opener {
    id: WorkerId,
    seed: u64,
    environment: Environment,
    metrics: Arc<CallMetrics>,
    budget_leases: Arc<BudgetLeases>,
    verdicts: Verdicts,
    encoders: Encoders,
    /// Tries to open an endpoint so far.
    tries: AtomicU64,
}

impl Opener {
    pub(crate) fn new(
        config: &WorkerConfig,
        environment: Environment,
        metrics: Arc<CallMetrics>,
        budget_leases: Arc<BudgetLeases>,
        blobs: Blobs,
    ) -> Self {
        Self {
            id: config.id.clone(),
            seed: config.seed,
            environment,
            metrics,
            budget_leases,
            verdicts: Verdicts::new(blobs),
            encoders: Encoders::default(),
            tries: AtomicU64::new(0),
        }
    }

    /// Opens the endpoint of `route`. Weights and verdicts take seconds to read, and as long as the store takes.
    ///
    /// # Errors
    /// When this process lacks what the endpoint needs, or it cannot be read.
    pub(crate) async fn open(&self, route: &EndpointRoute) -> anyhow::Result<Endpoint> {
        let recorded = match (route.endpoint.kind, &route.endpoint.content) {
            (EndpointKind::Recorded, Some(digest)) => {
                let file = route.endpoint.path.as_deref().unwrap_or_else(|| Path::new(route.name.as_str()));
                Some(self.verdicts.read(digest, &file.to_string_lossy()).await?)
            }
            _ => None,
        };
        let (name, spec, pool) = (route.name.clone(), route.endpoint.clone(), route.pool.clone());
        let Environment { clock, variables, permits, bytes, answers, policy, network, standstill } =
            self.environment.clone();
        // Each opened endpoint holds leases of its own, also where two draw on one pool.
        let number = self.tries.fetch_add(1, Ordering::Relaxed);
        let holder = WorkerId::new(format!("{}.{number}", self.id))?;
        let (metrics, seed, budget_leases) = (self.metrics.clone(), self.seed, self.budget_leases.clone());
        let encoders = self.encoders.clone();
        let reads_files = !spec.kind.chats();
        let open = move || {
            let context = OpenContext {
                env: &|name| variables.get(name).cloned(),
                base_dir: Path::new("."),
                recorded,
                encoders,
                metrics,
                clock,
                seed,
                permits,
                holder,
                pool,
                budget_leases,
                bytes,
                answers,
                policy: policy.outbound().clone(),
                network,
                standstill,
            };
            Endpoint::open(&name, &spec, &context)
        };
        Ok(if reads_files { tokio::task::spawn_blocking(open).await?? } else { open()? })
    }
}
