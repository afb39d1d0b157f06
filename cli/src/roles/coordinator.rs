//! `regatta coordinator`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use prometheus::Registry;
use regatta_catalog::Catalog;
use regatta_coordinator::{ApiConfig, Coordinator, CoordinatorConfig, CoordinatorMetrics, router};
use regatta_proto::SystemClock;
use tokio_util::sync::CancellationToken;

use super::services;
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
    let coordinator = Arc::new(Coordinator::new(
        config,
        services::ledger(&args.ledger).await?,
        services::queue(&args.queue, seed).await?,
        services::permits(&args.ledger).await?,
        Catalog::new(services::blobs(&args.blobs).await?, BENCHMARKS),
        Arc::new(SystemClock),
        CoordinatorMetrics::register(&registry)?,
        price_book(args.prices.as_deref())?,
    ));
    let api = router(coordinator.clone(), ApiConfig { token: args.token.map(Arc::from) });
    let stop = CancellationToken::new();
    let server = telemetry::serve(listener, api.merge(telemetry::routes(registry)), stop.clone());
    tracing::info!(address = %args.listen, "coordinating");
    coordinator.run(BTreeMap::new(), leaving.drain).await;
    stop.cancel();
    server.await?;
    Ok(ExitCode::SUCCESS)
}
