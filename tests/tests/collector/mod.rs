//! A collector of traces: takes requests for export over HTTP, and keeps the spans that are in them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span as ProtoSpan;
use prost::Message as _;
use regatta_tests::http::{self, Request};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A span as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty for a root.
    pub(crate) parent: String,
    pub(crate) name: String,
    pub(crate) kind: i32,
    pub(crate) begun: u64,
    pub(crate) ended: u64,
    /// Part of the program that it is of.
    pub(crate) part: String,
    pub(crate) service: String,
    pub(crate) attributes: BTreeMap<String, Value>,
    pub(crate) events: Vec<(String, BTreeMap<String, Value>)>,
    /// Traces that it is linked to.
    pub(crate) links: Vec<String>,
    pub(crate) error: Option<String>,
}

/// Behaviour of a collector towards requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Takes,
    NeverAnswers,
}

#[derive(Default)]
struct Taken {
    requests: usize,
    heads: Vec<String>,
    bodies: Vec<Vec<u8>>,
}

/// A collector that listens.
pub(crate) struct Collector {
    pub(crate) address: String,
    taken: Arc<Mutex<Taken>>,
}

impl Collector {
    pub(crate) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let taken = Arc::<Mutex<Taken>>::default();
        let keeps = taken.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(take(stream, manner, keeps.clone()));
            }
        });
        Self { address, taken }
    }

    /// Requests that have come.
    pub(crate) fn requests(&self) -> usize {
        self.taken.lock().unwrap().requests
    }

    /// Request lines and headers.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.taken.lock().unwrap().heads.clone()
    }

    /// Everything that was sent in bodies.
    pub(crate) fn bodies(&self) -> Vec<u8> {
        self.taken.lock().unwrap().bodies.concat()
    }

    /// All spans.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let taken = self.taken.lock().unwrap();
        taken.bodies.iter().flat_map(|body| spans_of(ExportTraceServiceRequest::decode(&body[..]).unwrap())).collect()
    }
}

/// Takes the requests of a connection until its client closes it.
async fn take(stream: TcpStream, manner: Manner, taken: Arc<Mutex<Taken>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(Request { head, body }) = Request::read(&mut stream).await? {
        taken.lock().unwrap().requests += 1;
        if manner == Manner::NeverAnswers {
            std::future::pending::<()>().await;
        }
        {
            let mut taken = taken.lock().unwrap();
            taken.heads.push(head);
            taken.bodies.push(body);
        }
        stream.write_all(&http::answer("200 OK", "application/x-protobuf", "")).await?;
    }
    Ok(())
}

fn spans_of(request: ExportTraceServiceRequest) -> Vec<Span> {
    let mut spans = Vec::new();
    for of_service in request.resource_spans {
        let resource = attributes(&of_service.resource.unwrap().attributes);
        let service = resource["service.name"].as_str().unwrap().to_owned();
        for of_part in of_service.scope_spans {
            let part = of_part.scope.unwrap().name;
            spans.extend(of_part.spans.into_iter().map(|span| read(span, &part, &service)));
        }
    }
    spans
}

fn read(span: ProtoSpan, part: &str, service: &str) -> Span {
    let events = span.events.iter().map(|event| (event.name.clone(), attributes(&event.attributes)));
    Span {
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        kind: span.kind,
        begun: span.start_time_unix_nano,
        ended: span.end_time_unix_nano,
        part: part.to_owned(),
        service: service.to_owned(),
        attributes: attributes(&span.attributes),
        events: events.collect(),
        links: span.links.iter().map(|link| hex(&link.trace_id)).collect(),
        error: span.status.filter(|status| status.code == 2).map(|status| status.message),
        name: span.name,
    }
}

fn attributes(all: &[KeyValue]) -> BTreeMap<String, Value> {
    all.iter().map(|one| (one.key.clone(), value(one.value.as_ref().unwrap()))).collect()
}

fn value(value: &AnyValue) -> Value {
    match value.value.as_ref().unwrap() {
        any_value::Value::StringValue(text) => json!(text),
        any_value::Value::BoolValue(yes) => json!(yes),
        any_value::Value::IntValue(number) => json!(number),
        any_value::Value::DoubleValue(number) => json!(number),
        any_value::Value::ArrayValue(list) => list.values.iter().map(self::value).collect(),
        other => panic!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
