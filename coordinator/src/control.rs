//! What workers must know: endpoints with work, and sweeps whose jobs are void.

use std::collections::BTreeMap;

use regatta_catalog::Sweep;
use regatta_proto::{Control, EndpointName, EndpointRoute, EndpointSpec, SweepId};

/// The routes of every endpoint that `sweeps` use, for models and for judges. `addresses` are those of simulated endpoints, which
/// have none in the lock because they get a new port at every start.
pub(crate) fn routes<'a>(
    sweeps: impl IntoIterator<Item = &'a Sweep>,
    addresses: &BTreeMap<EndpointName, String>,
    cancelled: impl IntoIterator<Item = &'a SweepId>,
) -> Control {
    let mut routes = BTreeMap::new();
    for sweep in sweeps {
        let judges = sweep.lock.benchmarks.values().filter_map(|benchmark| benchmark.judge.as_ref());
        for model in sweep.lock.models.iter().map(|model| &model.id).chain(judges) {
            let Some(spec) = sweep.lock.endpoints.get(&model.endpoint) else { continue };
            let mut endpoint: EndpointSpec = spec.clone();
            if let Some(address) = addresses.get(&model.endpoint) {
                endpoint.base_url = Some(address.clone());
            }
            let queue = spec.queue(&model.endpoint, &sweep.id);
            routes.entry(queue.clone()).or_insert(EndpointRoute {
                name: model.endpoint.clone(),
                sweep: sweep.id.clone(),
                queue,
                pool: spec.pool(),
                share: sweep.lock.share,
                endpoint,
            });
        }
    }
    Control { routes: routes.into_values().collect(), cancelled: cancelled.into_iter().cloned().collect() }
}
