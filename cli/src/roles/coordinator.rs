//! `regatta coordinator`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use prometheus::Registry;
use regatta_catalog::Catalog;
use regatta_coordinator::{ApiConfig, Coordinator, CoordinatorConfig, CoordinatorMetrics, PriceBook, router};
use regatta_llm::PriceTable;
use regatta_proto::SystemClock;
use tokio_util::sync::CancellationToken;

use crate::args::CoordinatorArgs;
use crate::signals::Leaving;
use crate::{embedded, services, telemetry};

/// The shipped price table as the coordinator asks it.
pub(crate) fn price_book() -> anyhow::Result<Arc<PriceBook>> {
    let table = PriceTable::shipped()?;
    Ok(Arc::new(move |kind, model| table.resolve(kind, model)))
}

pub(crate) async fn run(args: CoordinatorArgs) -> anyhow::Result<ExitCode> {
    embedded::install_tls();
    let leaving = Leaving::on_signals()?;
    let listener = telemetry::listen(args.listen).await?;
    let registry = Registry::new();
    let config = CoordinatorConfig {
        window: args.window,
        doubtful_after: Duration::from_secs(args.doubtful_after_s),
        ..CoordinatorConfig::default()
    };
    let coordinator = Arc::new(Coordinator::new(
        config,
        services::ledger(&args.ledger).await?,
        services::queue(&args.queue, super::random_seed()).await?,
        Catalog::new(services::blobs(&args.blobs).await?),
        Arc::new(SystemClock),
        CoordinatorMetrics::register(&registry)?,
        price_book()?,
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
