//! `regatta coordinator`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use prometheus::Registry;
use regatta_catalog::Catalog;
use regatta_coordinator::{ApiConfig, Coordinator, CoordinatorConfig, CoordinatorMetrics, PriceBook, router};
use regatta_llm::{PRICE_FILE_BYTES_MAX, PriceTable};
use regatta_proto::{Clock, SystemClock};
use tokio_util::sync::CancellationToken;

use crate::args::CoordinatorArgs;
use crate::exit::bad_configuration;
use crate::signals::Leaving;
use crate::{embedded, services, telemetry};

/// The price table in the file `prices`, or the shipped one, as the coordinator asks it: prices of the day on which a sweep is planned.
pub(crate) fn price_book(prices: Option<&Path>) -> anyhow::Result<Arc<PriceBook>> {
    let table = price_table(prices)?;
    Ok(Arc::new(move |endpoint, model| table.resolve(endpoint, model, today())))
}

/// The price table in the file `prices`, or the shipped one.
pub(crate) fn price_table(prices: Option<&Path>) -> anyhow::Result<PriceTable> {
    match prices {
        Some(path) => read_table(path).with_context(|| path.display().to_string()).map_err(bad_configuration),
        None => Ok(PriceTable::shipped()?),
    }
}

fn read_table(path: &Path) -> anyhow::Result<PriceTable> {
    let text = String::from_utf8(read_bounded(path)?).context("failed to read it as text")?;
    Ok(PriceTable::parse(&text)?)
}

/// A file of prices, which no list of prices is larger than.
pub(crate) fn read_bounded(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = PRICE_FILE_BYTES_MAX as u64 + 1;
    std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).context("failed to read it")?;
    Ok(bytes)
}

/// The day, UTC.
pub(crate) fn today() -> jiff::civil::Date {
    SystemClock.now().to_zoned(jiff::tz::TimeZone::UTC).date()
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
        services::permits(&args.ledger).await?,
        Catalog::new(services::blobs(&args.blobs).await?),
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
