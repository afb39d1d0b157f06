//! The control message that is broadcast to workers: queues with work, and sweeps whose jobs are void.

use std::collections::BTreeMap;

use regatta_proto::{Control, EndpointName, EndpointRoute, EndpointSpec, Limits, ModelLimits, SweepId, SweepLock};

/// The routes of every endpoint that `sweeps` use: for models under test, for judges, and, although no jobs come on their queues, for
/// the models of other roles; and of those of `void`, whose jobs are to be dropped. `addresses` are those of simulated endpoints, which
/// have none in the lock because they get a new port at every start. Each of `sweeps` comes with the calls at once of its endpoints that somebody
/// has lowered.
pub(crate) fn routes<'a>(
    sweeps: impl IntoIterator<Item = (&'a SweepId, &'a SweepLock, &'a BTreeMap<EndpointName, u32>)>,
    void: impl IntoIterator<Item = (&'a SweepId, &'a SweepLock)>,
    addresses: &BTreeMap<EndpointName, String>,
    cancelled: impl IntoIterator<Item = &'a SweepId>,
) -> Control {
    let mut routes = routes_of(sweeps, addresses);
    let limits = agree_on_limits(&mut routes);
    let spec_alone = BTreeMap::new();
    let mut void = routes_of(void.into_iter().map(|(sweep, lock)| (sweep, lock, &spec_alone)), addresses);
    // Nothing is asked for a sweep that is over, so its limits bind nobody.
    keep_to(&limits, &mut void);
    routes.extend(void);
    Control { routes, cancelled: cancelled.into_iter().cloned().collect(), ..Control::default() }
}

fn routes_of<'a>(
    sweeps: impl IntoIterator<Item = (&'a SweepId, &'a SweepLock, &'a BTreeMap<EndpointName, u32>)>,
    addresses: &BTreeMap<EndpointName, String>,
) -> Vec<EndpointRoute> {
    let mut routes = BTreeMap::new();
    for (sweep, lock, lowered) in sweeps {
        for name in lock.used_endpoints() {
            let Some(spec) = lock.endpoints.get(name) else { continue };
            let mut endpoint: EndpointSpec = spec.clone();
            if let Some(address) = addresses.get(name) {
                endpoint.base_url = Some(address.clone());
            }
            if let Some(calls) = lowered.get(name) {
                endpoint.limits.concurrency = endpoint.limits.concurrency.min(*calls);
            }
            let queue = spec.queue(name, sweep);
            routes.entry(queue.clone()).or_insert(EndpointRoute {
                name: name.clone(),
                sweep: sweep.clone(),
                queue,
                needs: lock.needed_beside(name),
                pool: spec.pool(),
                share: lock.share,
                endpoint,
            });
        }
    }
    routes.into_values().collect()
}

/// Limits of each pool, and of models in it.
type PoolLimits = BTreeMap<String, (Limits, BTreeMap<String, ModelLimits>)>;

/// Sweeps that share a provider keep to the strictest of the limits that any of them states.
fn agree_on_limits(routes: &mut [EndpointRoute]) -> PoolLimits {
    let mut pools = PoolLimits::new();
    for route in routes.iter() {
        let endpoint = &route.endpoint;
        let (limits, models) = pools.entry(route.pool.clone()).or_insert((endpoint.limits, BTreeMap::new()));
        limits.concurrency = limits.concurrency.min(endpoint.limits.concurrency);
        limits.requests_per_minute = smaller(limits.requests_per_minute, endpoint.limits.requests_per_minute);
        limits.tokens_per_minute = smaller(limits.tokens_per_minute, endpoint.limits.tokens_per_minute);
        for (model, stated) in &endpoint.model_limits {
            let agreed = models.entry(model.clone()).or_default();
            agreed.concurrency = smaller(agreed.concurrency, stated.concurrency);
            agreed.requests_per_minute = smaller(agreed.requests_per_minute, stated.requests_per_minute);
            agreed.tokens_per_minute = smaller(agreed.tokens_per_minute, stated.tokens_per_minute);
        }
    }
    keep_to(&pools, routes);
    pools
}

fn keep_to(pools: &PoolLimits, routes: &mut [EndpointRoute]) {
    for route in routes {
        if let Some((limits, models)) = pools.get(&route.pool) {
            route.endpoint.limits = *limits;
            route.endpoint.model_limits.clone_from(models);
        }
    }
}

/// The smaller limit; an absent one limits nothing.
fn smaller<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use regatta_catalog::Sweep;
    use regatta_proto::{EndpointKind, Share};

    use super::*;

    fn route(sweep: &str, pool: &str, limits: Limits) -> EndpointRoute {
        EndpointRoute {
            name: "openai".parse().unwrap(),
            sweep: sweep.parse().unwrap(),
            queue: format!("{sweep}.openai"),
            needs: Vec::new(),
            pool: pool.to_owned(),
            share: Share::default(),
            endpoint: EndpointSpec { limits, ..EndpointSpec::of_kind(EndpointKind::Openai) },
        }
    }

    fn limits(concurrency: u32, requests_per_minute: Option<u32>) -> Limits {
        Limits { concurrency, requests_per_minute, tokens_per_minute: None }
    }

    #[test]
    fn endpoints_of_roles_and_judges_are_told_of_too_and_sessions_say_what_they_need() {
        let lock = serde_json::json!({
            "v": 1, "regatta": "test", "name": "s", "seed": 1, "trials": 1,
            "benchmarks": { "b": {
                "dataset": regatta_proto::Digest::of(b""), "settings": [], "evaluators": [], "items": {},
                "roles": { "user": { "id": "people/u" }, "environment": { "id": "sim/e" } },
                "judge": { "panel": ["court/a", "people/b"], "rule": "majority", "repeats": 1 },
            } },
            "endpoints": {
                "sim": { "kind": "simulated" }, "people": { "kind": "simulated" },
                "court": { "kind": "simulated" }, "unused": { "kind": "simulated" },
            },
            "models": [{ "id": "sim/m" }], "price_sources": ["unknown"],
        });
        let talk: std::sync::Arc<dyn regatta_benchmarks::Suite> = std::sync::Arc::new(crate::talk::Talk);
        let sweep = Sweep::new(serde_json::from_value(lock).unwrap(), BTreeMap::from([("b".parse().unwrap(), talk)]));
        let sweep = sweep.unwrap();
        let control = routes([(&sweep.id, &sweep.lock, &BTreeMap::new())], [], &BTreeMap::new(), []);
        let told: Vec<(&str, Vec<&str>)> = control
            .routes
            .iter()
            .map(|route| (route.name.as_str(), route.needs.iter().map(EndpointName::as_str).collect()))
            .collect();
        assert_eq!(told, [("court", vec![]), ("people", vec![]), ("sim", vec!["people"])]);
    }

    #[test]
    fn sweeps_at_one_provider_keep_to_the_strictest_limit_that_any_of_them_states() {
        let mut routes = [
            route("one", "a", limits(10, None)),
            route("two", "a", limits(20, Some(600))),
            route("three", "b", limits(30, None)),
        ];
        agree_on_limits(&mut routes);
        let agreed: Vec<Limits> = routes.iter().map(|route| route.endpoint.limits).collect();
        assert_eq!(agreed, [limits(10, Some(600)), limits(10, Some(600)), limits(30, None)]);
    }
}
