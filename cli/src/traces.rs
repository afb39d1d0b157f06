//! Sends traces to the collector that the command line or the environment names.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use prometheus::Registry;
use regatta_proto::causes;
use regatta_traces::{Collector, TraceMetrics, Traces};

use crate::args::TraceArgs;
use crate::exit::{BadConfiguration, bad_configuration};
use crate::plain_http::is_in_the_clear;
use crate::tls::{self, Identity};

/// Path of traces at a collector of all signals.
const PATH: &str = "v1/traces";

/// The sender of traces of the process `service`; one that sends nothing, where no collector is named.
pub(crate) fn start(args: &TraceArgs, service: &str, registry: &Registry) -> anyhow::Result<Traces> {
    let metrics = TraceMetrics::register(registry)?;
    let Some(url) = address(args) else { return Ok(Traces::default()) };
    if has_user(&url) {
        return Err(BadConfiguration(format!(
            "the address {} of the collector of traces must not have a user and a password: no request has them; give them in \
             OTEL_EXPORTER_OTLP_HEADERS",
            without_password(&url)
        ))
        .into());
    }
    if is_in_the_clear(&url) && !args.otlp_plain_http {
        return Err(BadConfiguration(format!(
            "traces would go to {} unencrypted: write https:// (--otlp-endpoint, OTEL_EXPORTER_OTLP_ENDPOINT), or say that the way is safe \
             with --otlp-plain-http (REGATTA_OTLP_PLAIN_HTTP=true)",
            without_password(&url)
        ))
        .into());
    }
    let timeout = Duration::from_millis(args.otlp_timeout_ms);
    let named = |path: &'_ Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
    let (ca, certificate, key) = (named(&args.otlp_ca), named(&args.otlp_cert), named(&args.otlp_key));
    let identity = certificate.as_deref().zip(key.as_deref());
    let identity = identity.map(|(certificate, key)| Identity { certificate, key });
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls::client(ca.as_deref(), identity)?)
        .redirect(reqwest::redirect::Policy::none())
        .timeout(timeout)
        .build()
        .context("failed to prepare the client of the collector of traces")?;
    let instance = crate::process::worker_id(crate::process::random_seed())?;
    let attributes = vec![
        ("service.name", service.to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", instance.to_string()),
    ];
    let name = args.service_name.clone().filter(|name| !name.is_empty());
    let collector = Collector::at(&url, client, timeout, attributes, name).map_err(bad_configuration)?;
    Ok(Traces::start(collector, args.trace_share, metrics))
}

/// Address of the collector. A variable that is empty is as one that is not set.
fn address(args: &TraceArgs) -> Option<String> {
    let named = |url: &Option<String>| url.clone().filter(|url| !url.is_empty());
    let of_all = || Some(format!("{}/{PATH}", named(&args.otlp_endpoint)?.trim_end_matches('/')));
    named(&args.otlp_traces_endpoint)
        .or_else(of_all)
        .filter(|_| !args.no_traces && args.traces_exporter.as_deref() != Some("none"))
}

/// The same as [`start`]; where the collector cannot be used, that is said and nothing is traced. The variables that name it are often set for every
/// program of a machine, and nothing that is worth measuring ends for want of traces.
pub(crate) fn start_or_go_without(args: &TraceArgs, service: &str, registry: &Registry) -> anyhow::Result<Traces> {
    start(args, service, registry).or_else(|error| match error.downcast_ref::<BadConfiguration>() {
        Some(_) => {
            tracing::warn!("no traces are sent: {}", causes(error.as_ref()));
            Ok(Traces::default())
        }
        None => Err(error),
    })
}

fn has_user(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| !url.username().is_empty() || url.password().is_some())
}

fn without_password(url: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(url) else { return "the collector".to_owned() };
    // Only addresses without a host have no room for them.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.into()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use jiff::Timestamp;
    use regatta_tests::Logged;
    use regatta_traces::{Span, SpanId, SpanKind, TraceId};
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        traces: TraceArgs,
    }

    fn args(arguments: &[&str]) -> TraceArgs {
        Line::parse_from([&["regatta"], arguments].concat()).traces
    }

    #[test]
    fn traces_go_to_the_path_of_traces_and_nowhere_unless_a_collector_is_named() {
        let at = |arguments: &[&str]| address(&args(arguments));
        assert_eq!(at(&[]), None);
        assert_eq!(at(&["--otlp-endpoint", ""]), None);
        assert_eq!(at(&["--otlp-endpoint", "http://127.0.0.1:4318/"]).unwrap(), "http://127.0.0.1:4318/v1/traces");
        let both = ["--otlp-endpoint", "http://h", "--otlp-traces-endpoint", "https://t/x"];
        assert_eq!(at(&both).unwrap(), "https://t/x");
        assert_eq!(at(&["--otlp-endpoint", "http://127.0.0.1:4318", "--no-traces"]), None);
    }

    #[tokio::test]
    async fn a_collector_on_another_machine_is_reached_over_tls_or_by_an_explicit_word() {
        crate::embedded::install_tls();
        let started = |arguments: &[&str]| start(&args(arguments), "regatta", &Registry::new());
        let refused = started(&["--otlp-endpoint", "http://otel.example:4318"]).unwrap_err().to_string();
        assert!(refused.contains("http://otel.example:4318") && refused.contains("--otlp-plain-http"), "{refused}");
        let refused = started(&["--otlp-endpoint", "https://user:secret@otel.example:4318"]).unwrap_err().to_string();
        assert!(refused.contains("OTEL_EXPORTER_OTLP_HEADERS") && !refused.contains("secret"), "{refused}");
        start_or_go_without(&args(&["--otlp-endpoint", "http://otel.example:4318"]), "regatta", &Registry::new())
            .unwrap();
        started(&["--otlp-endpoint", "http://otel.example:4318", "--otlp-plain-http"]).unwrap();
        started(&["--otlp-endpoint", "https://otel.example:4318"]).unwrap();
        started(&[]).unwrap();
    }

    #[tokio::test]
    async fn a_collector_whose_certificate_is_a_strangers_is_sent_nothing_and_the_log_says_what_to_do() {
        crate::embedded::install_tls();
        let (logged, _listening) = Logged::listen();
        let folder = tempfile::tempdir().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let (acceptor, stop) = (Some(tls::tests::strangers(folder.path())), CancellationToken::new());
        let serving = crate::listener::serve_tls(listener, acceptor, 64, axum::Router::new(), stop.clone());
        let traces = start(&args(&["--otlp-endpoint", &url]), "regatta", &Registry::new()).unwrap();
        let ids = (TraceId::from(1_u128), SpanId::from(1_u64), None);
        let times = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        traces.tracer("regatta.worker").send(Span::new(ids, "chat m", SpanKind::Client, times));
        traces.flush().await;
        let lines = logged.lines();
        let is_told = |line: &String| line.contains("name the file of that authority with --otlp-ca");
        assert!(lines.iter().any(is_told), "{lines:?}");
        stop.cancel();
        serving.await.unwrap();
    }

    #[test]
    fn variables_that_are_empty_or_meant_for_others_refuse_nothing() {
        let args = args(&["--otlp-timeout-ms", "", "--trace-share", "endpoint=http://sampler,pollingIntervalMs=5000"]);
        assert_eq!((args.otlp_timeout_ms, args.trace_share), (10_000, 1.0));
        let none = self::args(&["--otlp-endpoint", "http://127.0.0.1:4318", "--traces-exporter", "none"]);
        assert_eq!(address(&none), None);
    }

    #[test]
    fn a_share_is_between_nothing_and_all() {
        assert!(Line::try_parse_from(["regatta", "--trace-share", "1.5"]).is_err());
        assert_eq!(args(&["--trace-share", "0.25"]).trace_share, 0.25);
    }
}
