//! `regatta worker`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use prometheus::Registry;
use regatta_catalog::Catalog;
use regatta_llm::CallMetrics;
use regatta_proto::SystemClock;
use regatta_worker::{Environment, KeptAnswers, Lifecycle, SharedPermits, Worker, WorkerConfig, WorkerMetrics};
use tokio_util::sync::CancellationToken;

use super::services;
use crate::args::WorkerArgs;
use crate::benchmarks::BENCHMARKS;
use crate::signals::Leaving;
use crate::{embedded, telemetry};

pub(crate) async fn run(args: WorkerArgs) -> anyhow::Result<ExitCode> {
    embedded::install_tls();
    let leaving = Leaving::on_signals()?;
    let listener = telemetry::listen(args.listen).await?;
    let registry = Registry::new();
    let seed = crate::process::random_seed();
    let config = WorkerConfig {
        drain: Duration::from_secs(args.drain_s),
        hand_over_after: Duration::from_secs(args.hand_over_after_s),
        bridge: args.bridge,
        ..WorkerConfig::new(crate::process::worker_id(seed)?, seed)
    };
    let id = config.id.clone();
    let blobs = services::blobs(&args.blobs).await?;
    let worker = Worker::new(
        config,
        services::queue(&args.queue, seed).await?,
        Catalog::new(blobs.clone(), BENCHMARKS),
        Environment {
            clock: Arc::new(SystemClock),
            variables: crate::process::variables(),
            permits: Arc::new(SharedPermits(services::permits(&args.ledger).await?)),
            answers: Arc::new(KeptAnswers(blobs)),
            network: None,
        },
        WorkerMetrics::register(&registry)?,
        Arc::new(CallMetrics::register(&registry)?),
    );
    let stop = CancellationToken::new();
    let server = telemetry::serve(listener, telemetry::routes(registry), stop.clone());
    tracing::info!(worker = %id, address = %args.listen, "working");
    worker.run(Lifecycle { drain: leaving.drain, stop: leaving.stop }).await?;
    stop.cancel();
    server.await?;
    Ok(ExitCode::SUCCESS)
}
