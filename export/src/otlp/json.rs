//! Spans in the JSON encoding of OTLP.

use jiff::Timestamp;
use regatta_traces::{Array, Attributes, KeyValue, Span, SpanEvent, SpanKind, Value as Typed};
use serde_json::{Value, json};

/// Status of a span that failed.
const FAILED: u8 = 2;

pub(super) fn span(span: &Span) -> Value {
    let mut document = json!({
        "traceId": span.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": span.name,
        "kind": kind(&span.kind),
        "startTimeUnixNano": nanoseconds(span.begun),
        "endTimeUnixNano": nanoseconds(span.ended),
        "attributes": attributes(&span.attributes),
        "events": span.events.iter().map(event).collect::<Value>(),
        "status": span.error.as_ref().map_or_else(|| json!({}), |message| json!({"code": FAILED, "message": message})),
    });
    if let Some(parent) = span.parent {
        document["parentSpanId"] = parent.to_string().into();
    }
    document
}

pub(super) fn attributes(attributes: &Attributes) -> Value {
    attributes.as_slice().iter().map(attribute).collect()
}

fn attribute(attribute: &KeyValue) -> Value {
    let value = match &attribute.value {
        Typed::Bool(value) => json!({"boolValue": value}),
        // Integers are texts in this encoding: JSON's numbers have 53 bits.
        Typed::I64(value) => json!({"intValue": value.to_string()}),
        Typed::F64(value) => json!({"doubleValue": value}),
        Typed::Array(Array::String(values)) => {
            let values: Value = values.iter().map(|value| json!({"stringValue": value.as_str()})).collect();
            json!({"arrayValue": {"values": values}})
        }
        // Ours are of the kinds above; what else there may be one day is written as people read it.
        other => json!({"stringValue": other.as_str()}),
    };
    json!({"key": attribute.key.as_str(), "value": value})
}

fn event(event: &SpanEvent) -> Value {
    json!({"timeUnixNano": nanoseconds(event.at), "name": event.name, "attributes": attributes(&event.attributes)})
}

/// Nanoseconds since 1970, as a text: JSON's numbers have 53 bits.
fn nanoseconds(time: Timestamp) -> String {
    time.as_nanosecond().to_string()
}

const fn kind(kind: &SpanKind) -> u8 {
    match kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
        SpanKind::Producer => 4,
        SpanKind::Consumer => 5,
    }
}
