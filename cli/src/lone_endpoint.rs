//! One endpoint for a command that runs no sweep: nobody shares its limits, and no account pays for its calls.

use std::path::Path;
use std::sync::Arc;

use prometheus::Registry;
use regatta_backends::Permits;
use regatta_llm::{BudgetLeases, CallMetrics, Encoders, Endpoint, OpenContext, ResponseStore, Standstill};
use regatta_memory::ByteBudget;
use regatta_proto::{EndpointName, EndpointSpec, SystemClock, WorkerId};
use regatta_worker::{Policy, SharedPermits};

use crate::embedded::install_tls;
use crate::exit::bad_configuration;

/// Surroundings of an endpoint.
pub(crate) struct Surroundings<'a> {
    /// Name of the command, under which permits are held.
    pub(crate) command: &'a str,
    /// Directory that paths of the endpoint are relative to.
    pub(crate) base_dir: &'a Path,
    /// The response cache.
    pub(crate) answers: Arc<dyn ResponseStore>,
    /// Keys that may be used, and addresses that may be reached.
    pub(crate) policy: &'a Policy,
}

/// Opens the endpoint of `spec`, which sends nothing.
///
/// # Errors
/// When it cannot be opened, as bad configuration.
pub(crate) fn open(
    name: &EndpointName,
    spec: &EndpointSpec,
    surroundings: Surroundings<'_>,
) -> anyhow::Result<Endpoint> {
    install_tls();
    let Surroundings { command, base_dir, answers, policy } = surroundings;
    let permits = Arc::new(SharedPermits(Permits::memory()));
    let metrics = Arc::new(CallMetrics::register(&Registry::new())?);
    let holder = WorkerId::new(command)?;
    let budget_leases = BudgetLeases::new(permits.clone(), holder.clone(), metrics.clone());
    let context = OpenContext {
        env: &|name| std::env::var(name).ok(),
        base_dir,
        recorded: None,
        encoders: Encoders::default(),
        metrics,
        clock: Arc::new(SystemClock),
        seed: 0,
        permits,
        holder,
        pool: spec.pool(),
        budget_leases,
        bytes: ByteBudget::default(),
        answers,
        policy: policy.outbound().clone(),
        network: None,
        standstill: Standstill::watch(),
    };
    Endpoint::open(name, spec, &context).map_err(bad_configuration)
}
