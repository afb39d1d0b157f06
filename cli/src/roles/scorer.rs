//! `regatta scorer`.

use std::process::ExitCode;
use std::sync::Arc;

use prometheus::Registry;
use regatta_catalog::Catalog;
use regatta_proto::SystemClock;
use regatta_scorer::{Scorer, ScorerConfig, ScorerMetrics};
use tokio_util::sync::CancellationToken;

use super::services;
use crate::args::ScorerArgs;
use crate::benchmarks::BENCHMARKS;
use crate::signals::Leaving;
use crate::{embedded, telemetry};

pub(crate) async fn run(args: ScorerArgs) -> anyhow::Result<ExitCode> {
    embedded::install_tls();
    let leaving = Leaving::on_signals()?;
    let listener = telemetry::listen(args.listen).await?;
    let registry = Registry::new();
    let scorer = Scorer::new(
        ScorerConfig { batch: args.batch.clamp(1, 10_000), ..ScorerConfig::default() },
        services::ledger(&args.ledger).await?,
        services::queue(&args.queue, crate::process::random_seed()).await?,
        Catalog::new(services::blobs(&args.blobs).await?, BENCHMARKS),
        Arc::new(SystemClock),
        ScorerMetrics::register(&registry)?,
    );
    let stop = CancellationToken::new();
    let server = telemetry::serve(listener, telemetry::routes(registry), stop.clone());
    tracing::info!(address = %args.listen, "scoring");
    scorer.run(leaving.drain).await?;
    stop.cancel();
    server.await?;
    Ok(ExitCode::SUCCESS)
}
