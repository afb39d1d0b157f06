//! `regatta coordinator`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use prometheus::Registry;
use regatta_catalog::Catalog;
use regatta_coordinator::{ApiConfig, Coordinator, CoordinatorConfig, CoordinatorMetrics, router};
use regatta_proto::SystemClock;
use tokio_util::sync::CancellationToken;

use super::{Readiness, services};
use crate::args::CoordinatorArgs;
use crate::benchmarks::BENCHMARKS;
use crate::price_tables::price_book;
use crate::signals::Leaving;
use crate::{embedded, telemetry};

pub(crate) async fn run(args: CoordinatorArgs) -> anyhow::Result<ExitCode> {
    embedded::install_tls();
    let leaving = Leaving::on_signals()?;
    let listener = telemetry::listen(args.listen).await?;
    let registry = Registry::new();
    let seed = crate::process::random_seed();
    let config = CoordinatorConfig {
        id: crate::process::worker_id(seed)?,
        window: args.window,
        doubtful_after: Duration::from_secs(args.doubtful_after_s),
        ..CoordinatorConfig::default()
    };
    let (stop, readiness) = (CancellationToken::new(), Readiness::default());
    let routes = telemetry::routes(registry.clone()).merge(readiness.routes());
    let server = telemetry::serve(listener, routes, stop.clone());
    let connect = async {
        Ok::<_, anyhow::Error>(Coordinator::new(
            config,
            services::ledger(&args.ledger, &readiness).await?,
            services::queue(&args.queue, seed, &readiness).await?,
            services::permits(&args.ledger, &readiness).await?,
            Catalog::new(services::blobs(&args.blobs, &readiness).await?, BENCHMARKS),
            Arc::new(SystemClock),
            CoordinatorMetrics::register(&registry)?,
            price_book(args.prices.as_deref())?,
        ))
    };
    let Some(coordinator) = leaving.drain.run_until_cancelled(connect).await else { return Ok(ExitCode::SUCCESS) };
    let coordinator = Arc::new(coordinator?);
    readiness.works(router(coordinator.clone(), ApiConfig { token: args.token.map(Arc::from) }));
    let surveyed = coordinator.clone();
    let survey = move || -> BoxFuture<'static, anyhow::Result<()>> {
        let coordinator = surveyed.clone();
        Box::pin(async move { Ok(coordinator.survey().await?) })
    };
    tokio::spawn(readiness.follow(leaving.drain.clone(), survey));
    tracing::info!(address = %args.listen, "coordinating");
    coordinator.run(BTreeMap::new(), leaving.drain).await;
    stop.cancel();
    server.await?;
    Ok(ExitCode::SUCCESS)
}
