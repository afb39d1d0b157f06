//! `regatta coordinator`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware;
use futures::future::BoxFuture;
use jiff::SignedDuration;
use prometheus::Registry;
use regatta_backends::queue::RabbitMqConfig;
use regatta_catalog::Catalog;
use regatta_coordinator::{
    Access, ApiConfig, CertificateRules, Coordinator, CoordinatorConfig, CoordinatorMetrics, Readers, Scheduling,
    router_and_readers,
};
use regatta_proto::{Digest, SystemClock};
use regatta_viewer::{Source, Store, TokenUse};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::certificates;
use super::drift_pages::StoredDrifts;
use super::night_gate::StoredNights;
use super::policy::CoordinatorPolicy;
use super::steering::ApiSteering;
use super::{Readiness, services};
use crate::args::CoordinatorArgs;
use crate::benchmarks::deployed;
use crate::exit::BadConfiguration;
use crate::listener::is_reached_by_others;
use crate::price_tables::price_book;
use crate::signals::Leaving;
use crate::tls::{self, Identity};
use crate::{embedded, listener, telemetry, traces};

/// Part of the memory of container or machine that the data of a submission may take: it is in memory beside that of another that is planned,
/// and of sweeps that run.
const DATA_PART: u64 = 3;

pub(crate) async fn run(args: CoordinatorArgs) -> anyhow::Result<ExitCode> {
    embedded::install_tls();
    let leaving = Leaving::on_signals()?;
    let CoordinatorPolicy { channels, verifier, certificates, quotas, coded } =
        CoordinatorPolicy::read(args.policy.as_deref(), Arc::new(SystemClock))?;
    let asked = Asked {
        token: args.token.as_deref(),
        no_token: args.no_token,
        certificates: args.tls_client_ca.is_some(),
        issuers: verifier.is_some(),
    };
    let access = access(asked, certificates, args.listen)?;
    check_encryption(args.listen, args.tls_cert.is_some(), args.plain_http)?;
    let identity = args.tls_cert.as_deref().zip(args.tls_key.as_deref());
    let identity = identity.map(|(certificate, key)| Identity { certificate, key });
    let tls = identity.map(|identity| tls::server(identity, args.tls_client_ca.as_deref())).transpose()?;
    let (has_tls, asks_for_certificates) = (tls.is_some(), args.tls_client_ca.is_some());
    let benchmarks = deployed(coded, None);
    let listener = listener::listen(args.listen)?;
    let registry = Registry::new();
    let traces = traces::start_or_go_without(&args.traces, "regatta-coordinator", &registry)?;
    let seed = crate::process::random_seed();
    let config = config_of(&args, seed)?;
    let (stop, readiness) = (CancellationToken::new(), Readiness::default());
    let server = serve(&args, listener, tls, &registry, &readiness, &stop)?;
    let connect = async {
        let ledger = services::ledger(&args.ledger, &readiness).await?;
        let queue = services::queue(&args.queue, &readiness, |config| RabbitMqConfig { seed, ..config }).await?;
        let permits = services::permits(&args.ledger, &readiness).await?;
        let blobs = services::blobs(&args.blobs, &readiness).await?;
        let catalog = Catalog::new(blobs.clone(), benchmarks);
        let store = Store { ledger: ledger.clone(), catalog: catalog.clone(), permits: Some(permits.clone()) };
        let of_nights = (ledger.clone(), blobs.clone());
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
        let coordinator = coordinator.with_scheduling(scheduling).with_quotas(quotas);
        Ok::<_, anyhow::Error>((coordinator, Source::Deployment(store), of_nights))
    };
    let Some(coordinator) = leaving.drain.run_until_cancelled(connect).await else { return Ok(ExitCode::SUCCESS) };
    let (mut coordinator, source, (ledger, blobs)) = coordinator?;
    coordinator.trace_to(traces.tracer("regatta.coordinator"));
    let coordinator = Arc::new(coordinator);
    let config = ApiConfig { access, verifier, bytes: args.memory.budget(&registry)? };
    let drifts = StoredDrifts::new(coordinator.clone(), ledger, blobs);
    let tls = (has_tls, asks_for_certificates);
    readiness.works(routes(&coordinator, config, source, drifts, tls, stop.clone()));
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
    let (remover, drain) = (coordinator.clone(), leaving.drain.clone());
    let removing = tokio::spawn(async move { remover.keep_removing(drain).await });
    coordinator.run(BTreeMap::new(), leaving.drain).await;
    schedules.await?;
    removing.await?;
    if let Err(error) = coordinator.resign().await {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "failed to give up the lead, which ends by itself within seconds"
        );
    }
    traces.flush().await;
    stop.cancel();
    server.await?;
    Ok(ExitCode::SUCCESS)
}

fn config_of(args: &CoordinatorArgs, seed: u64) -> anyhow::Result<CoordinatorConfig> {
    Ok(CoordinatorConfig {
        id: crate::process::worker_id(seed)?,
        window: args.window,
        doubtful_after: Duration::from_secs(args.doubtful_after_s),
        keep_unused: args.keep_unused_h.map(|hours| SignedDuration::from_hours(i64::from(hours))),
        cached_days: args.cached_days.map(u32::from),
        data_memory: regatta_memory::memory_bytes().map(|bytes| bytes / DATA_PART),
        ..CoordinatorConfig::default()
    })
}

/// Serves at once what `readiness` has by then, and the metrics, at an address of their own where others reach the API.
fn serve(
    args: &CoordinatorArgs,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    registry: &Registry,
    readiness: &Readiness,
    stop: &CancellationToken,
) -> anyhow::Result<JoinHandle<()>> {
    let of_one = usize::from(args.connections_per_address);
    Ok(match args.metrics {
        Some(address) => {
            let beside = listener::listen(address)?;
            listener::serve(beside, telemetry::routes(registry.clone()).merge(readiness.probe()), stop.clone());
            listener::serve_tls(listener, tls, of_one, readiness.routes(), stop.clone())
        }
        // They ask for no token, and tell names of sweeps, models and endpoints.
        None if is_reached_by_others(args.listen) => {
            tracing::info!("others reach the API, so that it serves no /metrics; --metrics ADDRESS serves them apart");
            listener::serve_tls(listener, tls, of_one, telemetry::health().merge(readiness.routes()), stop.clone())
        }
        None => {
            let routes = telemetry::routes(registry.clone()).merge(readiness.routes());
            listener::serve_tls(listener, tls, of_one, routes, stop.clone())
        }
    })
}

/// The API, and the pages beside it, which take people in by whether connections are encrypted and clients are asked for certificates.
fn routes(
    coordinator: &Arc<Coordinator>,
    config: ApiConfig,
    source: Source,
    drifts: StoredDrifts,
    (has_tls, asks_for_certificates): (bool, bool),
    stop: CancellationToken,
) -> axum::Router {
    let access = config.access.clone();
    let (routes, readers) = router_and_readers(coordinator.clone(), config);
    let steering = Arc::new(ApiSteering { api: routes.clone(), readers: readers.clone() });
    let viewers = viewers(&readers, &access, has_tls, asks_for_certificates);
    let viewers = viewers.with_steering(steering.clone()).with_authors(steering).with_drifts(Arc::new(drifts));
    let pages = regatta_viewer::router(source, viewers, Arc::new(SystemClock), stop);
    let pages = match access {
        Access::Certificates(_) => pages.layer(middleware::from_fn(move |request, next| {
            certificates::admit_readers(readers.clone(), request, next)
        })),
        Access::Open | Access::Tokens { .. } => pages,
    };
    routes.merge(pages).layer(middleware::from_fn(certificates::identify))
}

/// Refuses to serve the API to other machines unencrypted, unless somebody said that the way is safe.
fn check_encryption(listen: SocketAddr, has_tls: bool, plain_http: bool) -> anyhow::Result<()> {
    if has_tls || plain_http || !is_reached_by_others(listen) {
        return Ok(());
    }
    Err(BadConfiguration(format!(
        "others would reach the API on {listen} unencrypted, tokens and transcripts included: give it a certificate (--tls-cert, --tls-key), \
         listen on 127.0.0.1, or, where the way is safe or something in front of it speaks TLS, say --plain-http \
         (REGATTA_PLAIN_HTTP=true)"
    ))
    .into())
}

/// Access to the pages: for those who may read at the API.
pub(super) fn viewers(
    readers: &Readers,
    access: &Access,
    has_tls: bool,
    asks_for_certificates: bool,
) -> regatta_viewer::Access {
    let viewers = match access {
        Access::Tokens { .. } => {
            let readers = readers.clone();
            regatta_viewer::Access::by_token(move |given, token_use| {
                let readers = readers.clone();
                Box::pin(async move {
                    match token_use {
                        TokenUse::LogIn => readers.log_in(&given).await,
                        TokenUse::Look => readers.admit(&given).await,
                    }
                })
            })
        }
        Access::Open | Access::Certificates(_) => regatta_viewer::Access::loopback(),
    };
    if has_tls { viewers.over_tls(asks_for_certificates) } else { viewers }
}

/// Shortest token that nobody guesses.
const TOKEN_MIN: usize = 16;

/// Credentials that somebody configured.
#[derive(Debug, Clone, Copy, Default)]
struct Asked<'a> {
    token: Option<&'a str>,
    no_token: bool,
    /// The listener asks for client certificates.
    certificates: bool,
    /// The policy names issuers of tokens.
    issuers: bool,
}

/// The credential that requests need. Whoever reaches a coordinator without one may do everything.
fn access(asked: Asked<'_>, rules: CertificateRules, listen: SocketAddr) -> anyhow::Result<Access> {
    let refuse = |problem: String| Err(BadConfiguration(problem).into());
    match asked.token.map(str::trim).filter(|token| !token.is_empty()) {
        Some(token) if token.len() < TOKEN_MIN => refuse(format!(
            "the token has {} characters, which can be guessed; make one of at least {TOKEN_MIN}, as by `openssl rand -hex 32`",
            token.len()
        )),
        Some(token) => Ok(Access::Tokens { operator: Some(Digest::of(token.as_bytes())) }),
        None if asked.issuers && asked.no_token => {
            refuse("the policy names issuers of tokens (oidc), and --no-token asks for none; leave one of them out".to_owned())
        }
        None if asked.issuers => Ok(Access::Tokens { operator: None }),
        // Who shows a certificate is known.
        None if asked.certificates => {
            if rules.grant_nothing() {
                tracing::warn!(
                    "client certificates are asked for (--tls-client-ca), and the policy grants none of them a right, so nobody may do \
                     anything: name them in its section `certificates` (--policy), as `certificates: {{ everybody: [read] }}`"
                );
            }
            Ok(Access::Certificates(rules))
        }
        None if is_reached_by_others(listen) => refuse(format!(
            "others would reach the API on {listen} without a token: set REGATTA_TOKEN, as to the output of `openssl rand -hex 32`, ask for \
             client certificates (--tls-client-ca), or listen on 127.0.0.1"
        )),
        None if asked.no_token => Ok(Access::Open),
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
        let asked = |token, no_token, listen: &str| {
            let asked = Asked { token, no_token, ..Asked::default() };
            access(asked, CertificateRules::default(), listen.parse().unwrap())
        };
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
        let error = asked(None, true, "0.0.0.0:8080").unwrap_err();
        assert!(error.to_string().contains("openssl rand -hex 32"), "{error}");
    }

    #[test]
    fn beyond_loopback_the_api_is_encrypted_or_somebody_says_that_it_need_not_be() {
        for (listen, has_tls, plain_http, expected) in [
            ("0.0.0.0:8080", false, false, false),
            ("[::]:8080", false, false, false),
            ("10.0.0.5:8080", false, false, false),
            ("0.0.0.0:8080", true, false, true),
            ("0.0.0.0:8080", false, true, true),
            ("127.0.0.1:8080", false, false, true),
            ("[::1]:8080", false, false, true),
        ] {
            let checked = check_encryption(listen.parse().unwrap(), has_tls, plain_http);
            assert_eq!(checked.is_ok(), expected, "{listen} {has_tls} {plain_http}");
        }
        let refused = check_encryption("0.0.0.0:1".parse().unwrap(), false, false).unwrap_err().to_string();
        assert!(refused.contains("--tls-cert") && refused.contains("REGATTA_PLAIN_HTTP=true"), "{refused}");
    }

    #[test]
    fn certificates_and_issuers_stand_for_a_token() {
        let everywhere = "0.0.0.0:8443".parse().unwrap();
        let certificates = Asked { certificates: true, ..Asked::default() };
        let access = |asked, listen| access(asked, CertificateRules::default(), listen);
        assert!(matches!(access(certificates, everywhere).unwrap(), Access::Certificates(_)));
        let issuers = Asked { issuers: true, ..certificates };
        assert!(matches!(access(issuers, everywhere).unwrap(), Access::Tokens { operator: None }));
        assert!(access(Asked { no_token: true, ..issuers }, "127.0.0.1:1".parse().unwrap()).is_err());
    }
}
