//! The simulated endpoints of an embedded run: one HTTP server on loopback for each.

use std::collections::BTreeMap;

use anyhow::Context;
use regatta_proto::{EndpointKind, EndpointName, EndpointSpec};
use regatta_simulator::{Config, SimulatedEndpoint, SimulatedSuite};

/// Running endpoints by name.
pub(crate) struct SimulatedEndpoints(BTreeMap<EndpointName, SimulatedEndpoint>);

impl SimulatedEndpoints {
    /// Starts every endpoint of kind `simulated`.
    pub(crate) async fn start(
        endpoints: &BTreeMap<EndpointName, EndpointSpec>,
        suites: &[SimulatedSuite],
    ) -> anyhow::Result<Self> {
        let mut started = BTreeMap::new();
        for (name, endpoint) in endpoints.iter().filter(|(_, endpoint)| endpoint.kind == EndpointKind::Simulated) {
            let config = Config {
                simulation: endpoint.simulation.clone().unwrap_or_default(),
                ..Config::on_loopback(suites.to_vec())
            };
            let server = SimulatedEndpoint::start(config)
                .await
                .with_context(|| format!("failed to start the simulated endpoint {name}"))?;
            started.insert(name.clone(), server);
        }
        Ok(Self(started))
    }

    /// Address of each endpoint.
    pub(crate) fn addresses(&self) -> BTreeMap<EndpointName, String> {
        self.0.iter().map(|(name, server)| (name.clone(), server.url())).collect()
    }

    pub(crate) async fn shutdown(self) {
        for server in self.0.into_values() {
            server.shutdown().await;
        }
    }
}
