//! Spans over the network: OTLP over HTTP, in protobuf, by OpenTelemetry's own exporter.

use std::time::Duration;

use opentelemetry::trace::{Event, Link, SpanContext, SpanId, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks};
use regatta_proto::{TlsOptions, causes, with_handshake_advice};

use crate::SpanEvent;
use crate::tracer::Sent;

/// Options by which whoever sends traces is told about TLS.
const TLS_OPTIONS: TlsOptions = TlsOptions {
    authorities: "--otlp-ca (OTEL_EXPORTER_OTLP_CERTIFICATE)",
    identity: Some("--otlp-cert and --otlp-key"),
};

/// A collector of traces.
#[derive(Debug)]
pub struct Collector {
    exporter: SpanExporter,
    probe: Probe,
}

/// Learns why a collector is not reached: the exporter says no more than that the network failed.
#[derive(Debug)]
pub(crate) struct Probe {
    client: reqwest::Client,
    url: String,
}

/// Reason why a collector cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to set up the collector of traces at {url:?}")]
pub struct CollectorError {
    url: String,
    #[source]
    source: ExporterBuildError,
}

impl Collector {
    /// The collector that takes requests at `url`, asked by `client`, each within `timeout`. Headers (`OTEL_EXPORTER_OTLP_HEADERS`) and
    /// compression come from the environment, as attributes of the service do (`OTEL_RESOURCE_ATTRIBUTES`), besides `service`.
    ///
    /// # Errors
    /// When `url` is none, or the environment asks for what this build cannot do.
    pub fn at(
        url: &str,
        client: reqwest::Client,
        timeout: Duration,
        service: Vec<(&'static str, String)>,
        name: Option<String>,
    ) -> Result<Self, CollectorError> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(url)
            .with_timeout(timeout)
            .with_http_client(client.clone())
            .build();
        let mut exporter = exporter.map_err(|source| CollectorError { url: url.to_owned(), source })?;
        let service = service.into_iter().map(|(key, value)| KeyValue::new(key, value));
        let resource =
            Resource::builder_empty().with_attributes(service).with_detector(Box::new(EnvResourceDetector::new()));
        // The variable of its own goes before the one with all attributes.
        let resource = match name {
            Some(name) => resource.with_service_name(name),
            None => resource,
        };
        exporter.set_resource(&resource.build());
        Ok(Self { exporter, probe: Probe { client, url: url.to_owned() } })
    }

    pub(crate) fn into_parts(self) -> (SpanExporter, Probe) {
        (self.exporter, self.probe)
    }
}

impl Probe {
    /// The reason with advice; `None` where somebody answers, whatever that is. The address is not in it.
    pub(crate) async fn problem(&self) -> Option<String> {
        let error = self.client.get(self.url.as_str()).send().await.err()?.without_url();
        Some(with_handshake_advice(causes(&error), TLS_OPTIONS))
    }
}

/// A span as exporters take it.
pub(crate) fn span_data((part, span): Sent) -> SpanData {
    let mut events = SpanEvents::default();
    events.events.extend(span.events.into_iter().map(event));
    let mut links = SpanLinks::default();
    links.links.extend(span.links.into_iter().map(|(trace, id)| Link::with_context(context(trace, id))));
    SpanData {
        span_context: context(span.trace, span.id),
        parent_span_id: span.parent.unwrap_or(SpanId::INVALID),
        parent_span_is_remote: false,
        span_kind: span.kind,
        name: span.name.into(),
        start_time: span.begun.into(),
        end_time: span.ended.into(),
        attributes: span.attributes.into_vec(),
        dropped_attributes_count: 0,
        events,
        links,
        status: span.error.map_or(Status::Unset, Status::error),
        instrumentation_scope: InstrumentationScope::builder(part).build(),
    }
}

fn context(trace: TraceId, id: SpanId) -> SpanContext {
    SpanContext::new(trace, id, TraceFlags::SAMPLED, false, TraceState::NONE)
}

fn event(event: SpanEvent) -> Event {
    Event::new(event.name, event.at.into(), event.attributes.into_vec(), 0)
}
