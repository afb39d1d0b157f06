//! `regatta worker`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use prometheus::Registry;
use regatta_backends::queue::RabbitMqConfig;
use regatta_catalog::Catalog;
use regatta_llm::{CallMetrics, Standstill};
use regatta_proto::{Digest, SystemClock};
use regatta_worker::{
    CachedResponses, Environment, Lifecycle, Policy, SharedPermits, Worker, WorkerConfig, WorkerMetrics,
};
use tokio_util::sync::CancellationToken;

use super::readiness::all_is_consumed;
use super::{Readiness, bridge, services};
use crate::args::WorkerArgs;
use crate::benchmarks::deployed;
use crate::policy::with_file;
use crate::signals::Leaving;
use crate::{embedded, listener, telemetry, traces};

pub(crate) async fn run(args: WorkerArgs) -> anyhow::Result<ExitCode> {
    embedded::install_tls();
    let leaving = Leaving::on_signals()?;
    let policy = with_file(Policy::closed(), args.policy.as_deref())?.with_agent_user(args.agent_user.clone());
    let benchmarks = deployed(policy.coded().clone(), args.agent_user);
    let bridge = bridge::prepare(&args.bridge)?;
    let listener = listener::listen(args.listen)?;
    let registry = Registry::new();
    let traces = traces::start_or_go_without(&args.traces, "regatta-worker", &registry)?;
    let seed = crate::process::random_seed();
    let config = WorkerConfig {
        endpoints: (!args.endpoints.is_empty()).then(|| args.endpoints.into_iter().collect()),
        drain: Duration::from_secs(args.drain_s),
        hand_over_after: Duration::from_secs(args.hand_over_after_s),
        compact_transcripts: args.queue.compact_transcripts,
        bridge: bridge.place.clone(),
        bridge_authorities: bridge.authorities.clone(),
        ..WorkerConfig::new(crate::process::worker_id(seed)?, seed)
    };
    let id = config.id.clone();
    let (stop, readiness) = (CancellationToken::new(), Readiness::default());
    let routes = telemetry::routes(registry.clone()).merge(readiness.routes());
    let server = listener::serve(listener, routes, stop.clone());
    let connect = async {
        let permits = services::permits(&args.ledger, &readiness).await?;
        let queue = services::queue(&args.queue, &readiness, |config| RabbitMqConfig { seed, ..config }).await?;
        Ok::<_, anyhow::Error>((permits, queue, services::blobs(&args.blobs, &readiness).await?))
    };
    let Some(connected) = leaving.drain.run_until_cancelled(connect).await else { return Ok(ExitCode::SUCCESS) };
    let (permits, queue, blobs) = connected?;
    let stores = (queue.clone(), permits.clone(), blobs.clone());
    let worker = Worker::new(
        config,
        queue,
        Catalog::new(blobs.clone(), benchmarks),
        Environment {
            clock: Arc::new(SystemClock),
            variables: crate::process::variables(),
            permits: Arc::new(SharedPermits(permits)),
            bytes: args.memory.budget(&registry)?,
            answers: Arc::new(CachedResponses(blobs)),
            policy: Arc::new(policy),
            network: None,
            standstill: Standstill::watch(),
        },
        WorkerMetrics::register(&registry)?,
        Arc::new(CallMetrics::register(&registry)?),
    )
    .with_tracer(traces.tracer("regatta.worker"));
    let consuming = worker.consuming();
    let look = move || -> BoxFuture<'static, anyhow::Result<()>> {
        let ((queue, permits, blobs), consuming) = (stores.clone(), consuming.clone());
        Box::pin(async move {
            queue.waiting_reports().await?;
            // Any read tells whether the store is there.
            permits.failures(&Digest::of(b"readiness")).await?;
            services::reach_bucket(&blobs).await?;
            all_is_consumed(&consuming)
        })
    };
    readiness.works(axum::Router::new());
    tokio::spawn(readiness.follow(leaving.drain.clone(), look));
    tracing::info!(worker = %id, address = %args.listen, "working");
    worker.run(Lifecycle { drain: leaving.drain, stop: leaving.stop }).await?;
    traces.flush().await;
    stop.cancel();
    server.await?;
    Ok(ExitCode::SUCCESS)
}
