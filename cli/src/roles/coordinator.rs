//! `regatta coordinator`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use prometheus::Registry;
use regatta_catalog::Catalog;
use regatta_coordinator::{ApiConfig, Coordinator, CoordinatorConfig, CoordinatorMetrics, Scheduling, router};
use regatta_proto::{Digest, SystemClock};
use regatta_viewer::{Access, Source, Store};
use tokio_util::sync::CancellationToken;

use super::channels::Channels;
use super::night_gate::StoredNights;
use super::{Readiness, services};
use crate::args::CoordinatorArgs;
use crate::benchmarks::deployed;
use crate::exit::BadConfiguration;
use crate::listener::is_reached_by_others;
use crate::price_tables::price_book;
use crate::signals::Leaving;
use crate::tls::{self, Identity};
use crate::{embedded, listener, telemetry};

pub(crate) async fn run(args: CoordinatorArgs) -> anyhow::Result<ExitCode> {
    embedded::install_tls();
    let leaving = Leaving::on_signals()?;
    let token = token(args.token.as_deref(), args.no_token, args.tls_client_ca.is_some(), args.listen)?;
    let identity = args.tls_cert.as_deref().zip(args.tls_key.as_deref());
    let identity = identity.map(|(certificate, key)| Identity { certificate, key });
    let tls = identity.map(|identity| tls::server(identity, args.tls_client_ca.as_deref())).transpose()?;
    let (has_tls, asks_for_certificates) = (tls.is_some(), args.tls_client_ca.is_some());
    let (channels, coded) = Channels::read(args.policy.as_deref())?;
    let benchmarks = deployed(coded, None);
    let listener = listener::listen(args.listen).await?;
    let registry = Registry::new();
    let seed = crate::process::random_seed();
    let config = CoordinatorConfig {
        id: crate::process::worker_id(seed)?,
        window: args.window,
        doubtful_after: Duration::from_secs(args.doubtful_after_s),
        ..CoordinatorConfig::default()
    };
    let (stop, readiness) = (CancellationToken::new(), Readiness::default());
    let watched = telemetry::routes(registry.clone());
    let server = match args.metrics {
        Some(address) => {
            let beside = listener::listen(address).await?;
            listener::serve(beside, watched.merge(readiness.probe()), stop.clone());
            listener::serve_tls(listener, tls, readiness.routes(), stop.clone())
        }
        None => listener::serve_tls(listener, tls, watched.merge(readiness.routes()), stop.clone()),
    };
    let connect = async {
        let ledger = services::ledger(&args.ledger, &readiness).await?;
        let queue = services::queue(&args.queue, seed, &readiness).await?;
        let permits = services::permits(&args.ledger, &readiness).await?;
        let blobs = services::blobs(&args.blobs, &readiness).await?;
        let catalog = Catalog::new(blobs.clone(), benchmarks);
        let store = Store { ledger: ledger.clone(), catalog: catalog.clone(), permits: Some(permits.clone()) };
        let scheduling = Scheduling { gate: Arc::new(StoredNights::new(blobs.clone())), messenger: Arc::new(channels) };
        let coordinator = Coordinator::new(
            config,
            ledger,
            queue,
            permits,
            catalog,
            Arc::new(SystemClock),
            CoordinatorMetrics::register(&registry)?,
            price_book(args.prices.as_deref())?,
        );
        Ok::<_, anyhow::Error>((coordinator.with_scheduling(scheduling), Source::Deployment(store)))
    };
    let Some(coordinator) = leaving.drain.run_until_cancelled(connect).await else { return Ok(ExitCode::SUCCESS) };
    let (coordinator, source) = coordinator?;
    let coordinator = Arc::new(coordinator);
    let access = access(token.clone(), has_tls, asks_for_certificates);
    let pages = regatta_viewer::router(source, access, Arc::new(SystemClock), stop.clone());
    readiness.works(router(coordinator.clone(), ApiConfig { token, asks_for_certificates }).merge(pages));
    let surveyed = coordinator.clone();
    let survey = move || -> BoxFuture<'static, anyhow::Result<()>> {
        let coordinator = surveyed.clone();
        Box::pin(async move { Ok(coordinator.survey().await?) })
    };
    tokio::spawn(readiness.follow(leaving.drain.clone(), survey));
    tracing::info!(address = %args.listen, "coordinating");
    let (keeper, drain) = (coordinator.clone(), leaving.drain.clone());
    // A task of its own: planning and judging a night take a processor, and dispatching must not wait for it.
    let schedules = tokio::spawn(async move { keeper.keep_schedules(drain).await });
    coordinator.run(BTreeMap::new(), leaving.drain).await;
    schedules.await?;
    stop.cancel();
    server.await?;
    Ok(ExitCode::SUCCESS)
}

/// Whom the pages are for: those whom the API is for.
fn access(token: Option<Arc<str>>, has_tls: bool, asks_for_certificates: bool) -> Access {
    let access = match token {
        // Digests are compared, so that the time taken tells nothing about the token.
        Some(token) => Access::by_token(move |given| Digest::of(given.as_bytes()) == Digest::of(token.as_bytes())),
        None => Access::loopback(),
    };
    if has_tls { access.over_tls(asks_for_certificates) } else { access }
}

/// Shortest token that nobody guesses.
const TOKEN_MIN: usize = 16;

/// The token that requests must carry. Whoever reaches a coordinator without one may do everything.
fn token(
    given: Option<&str>,
    no_token: bool,
    asks_for_certificates: bool,
    listen: SocketAddr,
) -> anyhow::Result<Option<Arc<str>>> {
    let refuse = |problem: String| Err(BadConfiguration(problem).into());
    match given.map(str::trim).filter(|token| !token.is_empty()) {
        Some(token) if token.len() < TOKEN_MIN => refuse(format!(
            "the token has {} characters, which can be guessed; make one of at least {TOKEN_MIN}, as by `openssl rand -hex 32`",
            token.len()
        )),
        Some(token) => Ok(Some(token.into())),
        // Who shows a certificate is known.
        None if asks_for_certificates => Ok(None),
        None if is_reached_by_others(listen) => refuse(format!(
            "others would reach the API on {listen} without a token: set REGATTA_TOKEN, as to the output of `openssl rand -hex 32`, ask for \
             client certificates (--tls-client-ca), or listen on 127.0.0.1"
        )),
        None if no_token => Ok(None),
        None => refuse(
            "the API has no token: set REGATTA_TOKEN, as to the output of `openssl rand -hex 32`, here and for `submit` and its like; or let \
             in everybody on this machine with --no-token"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_listens_without_a_token_by_accident_nor_beyond_loopback_at_all() {
        let asked = |given, no_token, listen: &str| token(given, no_token, false, listen.parse().unwrap());
        let long = "0123456789abcdef";
        for (given, no_token, listen, expected) in [
            (Some(long), false, "0.0.0.0:8080", true),
            (Some(long), false, "127.0.0.1:8080", true),
            (Some("short"), false, "127.0.0.1:8080", false),
            (Some("  "), false, "0.0.0.0:8080", false),
            (None, false, "127.0.0.1:8080", false),
            (None, true, "127.0.0.1:8080", true),
            (None, true, "0.0.0.0:8080", false),
            (None, true, "[::]:8080", false),
        ] {
            assert_eq!(asked(given, no_token, listen).is_ok(), expected, "{given:?} {no_token} {listen}");
        }
        let by_certificate = token(None, false, true, "0.0.0.0:8443".parse().unwrap());
        assert!(by_certificate.unwrap().is_none());
        let error = asked(None, true, "0.0.0.0:8080").unwrap_err();
        assert!(error.to_string().contains("openssl rand -hex 32"), "{error}");
    }
}
