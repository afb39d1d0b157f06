//! `regatta scorer`.

use std::process::ExitCode;
use std::sync::Arc;

use futures::future::BoxFuture;
use prometheus::Registry;
use regatta_backends::queue::RabbitMqConfig;
use regatta_catalog::Catalog;
use regatta_proto::SystemClock;
use regatta_scorer::{Scorer, ScorerConfig, ScorerMetrics};
use regatta_worker::Policy;
use tokio_util::sync::CancellationToken;

use super::readiness::all_is_consumed;
use super::{Readiness, services};
use crate::args::ScorerArgs;
use crate::benchmarks::deployed;
use crate::policy::with_file;
use crate::signals::Leaving;
use crate::{embedded, listener, telemetry, traces};

pub(crate) async fn run(args: ScorerArgs) -> anyhow::Result<ExitCode> {
    embedded::install_tls();
    let leaving = Leaving::on_signals()?;
    let policy = with_file(Policy::closed(), args.policy.as_deref())?;
    let benchmarks = deployed(policy.coded().clone(), None);
    let listener = listener::listen(args.listen)?;
    let registry = Registry::new();
    let traces = traces::start_or_go_without(&args.traces, "regatta-scorer", &registry)?;
    let (stop, readiness) = (CancellationToken::new(), Readiness::default());
    let routes = telemetry::routes(registry.clone()).merge(readiness.routes());
    let server = listener::serve(listener, routes, stop.clone());
    let seed = crate::process::random_seed();
    let bytes = args.memory.budget(&registry)?;
    let connect = async {
        let ledger = services::ledger(&args.ledger, &readiness).await?;
        let with_bytes = |config| RabbitMqConfig { seed, bytes: Some(bytes.clone()), ..config };
        let queue = services::queue(&args.queue, &readiness, with_bytes).await?;
        Ok::<_, anyhow::Error>((ledger, queue, services::blobs(&args.blobs, &readiness).await?))
    };
    let Some(connected) = leaving.drain.run_until_cancelled(connect).await else { return Ok(ExitCode::SUCCESS) };
    let (ledger, queue, blobs) = connected?;
    let config = ScorerConfig {
        batch: args.batch.clamp(1, 10_000),
        compact_transcripts: args.queue.compact_transcripts,
        ..ScorerConfig::default()
    };
    let scorer = Scorer::new(
        config,
        ledger,
        queue.clone(),
        Catalog::new(blobs.clone(), benchmarks),
        Arc::new(SystemClock),
        ScorerMetrics::register(&registry)?,
    )
    .with_tracer(traces.tracer("regatta.scorer"));
    let (health, consuming) = (scorer.health(), scorer.consuming());
    let look = move || -> BoxFuture<'static, anyhow::Result<()>> {
        let (queue, blobs, health, consuming) = (queue.clone(), blobs.clone(), health.clone(), consuming.clone());
        Box::pin(async move {
            queue.waiting_reports().await?;
            services::reach_bucket(&blobs).await?;
            if let Some(stalled) = health.stalled() {
                anyhow::bail!("reports cannot be recorded: {}", stalled.reason);
            }
            all_is_consumed(&consuming)
        })
    };
    readiness.works(axum::Router::new());
    tokio::spawn(readiness.follow(leaving.drain.clone(), look));
    tracing::info!(address = %args.listen, "scoring");
    scorer.run(leaving.drain).await?;
    traces.flush().await;
    stop.cancel();
    server.await?;
    Ok(ExitCode::SUCCESS)
}
