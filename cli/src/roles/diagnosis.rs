//! A deployment's stores, asked without a coordinator.

use std::time::Duration;

use anyhow::Context;
use regatta_backends::queue::RabbitMqConfig;
use regatta_catalog::Catalog;
use regatta_coordinator::{Diagnosis, Patient};

use super::{Readiness, services};
use crate::args::{BlobArgs, LedgerArgs, QueueArgs};
use crate::benchmarks::READ_BENCHMARKS;

/// Time that the stores have to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Diagnoses a deployment from its stores.
pub(crate) async fn diagnose((ledger, queue, blobs): &(LedgerArgs, QueueArgs, BlobArgs)) -> anyhow::Result<Diagnosis> {
    let asked = async {
        let readiness = Readiness::default();
        let (store, permits) =
            (services::ledger(ledger, &readiness).await?, services::permits(ledger, &readiness).await?);
        let queue = services::queue(queue, &readiness, |config| RabbitMqConfig {
            seed: crate::process::random_seed(),
            ..config
        })
        .await?;
        let catalog = Catalog::new(services::blobs(blobs, &readiness).await?, READ_BENCHMARKS);
        let patient = Patient { ledger: &store, queue: &queue, permits: &permits, catalog: &catalog, of_run: false };
        Ok::<_, anyhow::Error>(patient.diagnose().await?)
    };
    let answered = tokio::time::timeout(PATIENCE, asked).await;
    answered
        .with_context(|| format!("failed to ask the stores: not all have answered within {} s", PATIENCE.as_secs()))?
}
