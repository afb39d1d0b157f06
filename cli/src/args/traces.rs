//! Traces of sessions.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

/// Collector of traces. Its headers, which are secrets, come from `OTEL_EXPORTER_OTLP_HEADERS` alone.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = "Traces")]
pub(crate) struct TraceArgs {
    /// Collector of traces, by OTLP over HTTP, as http://127.0.0.1:4318; without one nothing is traced (docs/operating.md, Traces)
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true)]
    pub(crate) otlp_endpoint: Option<String>,
    /// The same with its whole path, for traces alone
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", hide_env_values = true)]
    pub(crate) otlp_traces_endpoint: Option<String>,
    /// Milliseconds that a request to it may take with all its tries; sessions never wait for it
    #[arg(long, value_name = "MS", env = "OTEL_EXPORTER_OTLP_TIMEOUT", default_value_t = ANSWERED_WITHIN_MS, value_parser = timeout)]
    pub(crate) otlp_timeout_ms: u64,
    /// Authorities of the collector (PEM) in place of the system's
    #[arg(long, value_name = "FILE", env = "OTEL_EXPORTER_OTLP_CERTIFICATE")]
    pub(crate) otlp_ca: Option<PathBuf>,
    /// Certificate to show to the collector (PEM)
    #[arg(long, value_name = "FILE", env = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", requires = "otlp_key")]
    pub(crate) otlp_cert: Option<PathBuf>,
    /// Key of that certificate (PEM)
    #[arg(long, value_name = "FILE", env = "OTEL_EXPORTER_OTLP_CLIENT_KEY", requires = "otlp_cert")]
    pub(crate) otlp_key: Option<PathBuf>,
    /// Reach the collector over plain HTTP on another machine: only where nobody else is on the way, or it is encrypted otherwise
    #[arg(long, env = "REGATTA_OTLP_PLAIN_HTTP", value_parser = BoolishValueParser::new())]
    pub(crate) otlp_plain_http: bool,
    /// Share of the sessions that are traced, 0 to 1; the same ones in every process with the same share
    #[arg(long, value_name = "SHARE", env = "OTEL_TRACES_SAMPLER_ARG", default_value_t = 1.0, value_parser = share)]
    pub(crate) trace_share: f64,
    /// Name of the service in traces; default: regatta-ROLE, or regatta
    #[arg(long, value_name = "NAME", env = "OTEL_SERVICE_NAME")]
    pub(crate) service_name: Option<String>,
    /// Trace nothing, whatever else is said
    #[arg(long, env = "OTEL_SDK_DISABLED", value_parser = disabled)]
    pub(crate) no_traces: bool,
    /// `none` is another way to trace nothing
    #[arg(long, env = "OTEL_TRACES_EXPORTER", hide = true)]
    pub(crate) traces_exporter: Option<String>,
}

const ANSWERED_WITHIN_MS: u64 = 10_000;

// The variables are OpenTelemetry's, and may be meant for other programs: one that is empty is as one that is not set.

fn timeout(text: &str) -> Result<u64, String> {
    if text.is_empty() { Ok(ANSWERED_WITHIN_MS) } else { text.parse().map_err(|error| format!("{error}")) }
}

fn disabled(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "" | "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("it is true or false".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    // Other samplers have arguments of the form `name=value`.
    if text.is_empty() || text.contains('=') {
        return Ok(1.0);
    }
    let share: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("it is between 0 and 1".to_owned()) }
}
