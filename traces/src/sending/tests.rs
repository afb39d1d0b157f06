use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use opentelemetry::trace::{SpanId, SpanKind, TraceId};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::SpanData;
use prometheus::Registry;
use tokio::sync::Notify;

use super::*;
use crate::Span;

/// A collector that notes the sizes of batches, once it may answer.
#[derive(Debug, Clone, Default)]
struct Fake {
    batches: Arc<Mutex<Vec<usize>>>,
    /// Waited for before each answer.
    may_answer: Option<Arc<Notify>>,
    is_away: bool,
}

impl SpanExporter for Fake {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        if let Some(may_answer) = &self.may_answer {
            may_answer.notified().await;
        }
        self.batches.lock().unwrap().push(batch.len());
        match self.is_away {
            true => Err(OTelSdkError::InternalFailure("away".to_owned())),
            false => Ok(()),
        }
    }
}

fn span(trace: u128) -> Span {
    let ids = (TraceId::from(trace), SpanId::from(1), None);
    Span::new(ids, "chat m", SpanKind::Client, (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH))
}

fn started(fake: &Fake, sampled: f64) -> (Traces, TraceMetrics) {
    let metrics = TraceMetrics::register(&Registry::new()).unwrap();
    (Traces::start_with(fake.clone(), None, sampled, metrics.clone()), metrics)
}

fn dropped(metrics: &TraceMetrics) -> [u64; 2] {
    ["full", "collector"].map(|reason| metrics.dropped.with_label_values(&[reason]).get())
}

#[tokio::test(start_paused = true)]
async fn spans_are_sent_in_batches_and_what_waits_is_sent_at_the_end() {
    let fake = Fake::default();
    let (traces, metrics) = started(&fake, 1.0);
    let tracer = traces.tracer("regatta.worker");
    (0..BATCH_MAX + 3).for_each(|number| tracer.send(span(number as u128 + 1)));
    traces.flush().await;
    assert_eq!(*fake.batches.lock().unwrap(), [BATCH_MAX, 3]);
    assert_eq!((metrics.exported.get(), dropped(&metrics)), (BATCH_MAX as u64 + 3, [0, 0]));
    tracer.send(span(1));
    assert_eq!(dropped(&metrics), [1, 0], "nobody sends it any more");
}

#[tokio::test(start_paused = true)]
async fn a_span_waits_for_others_for_a_second() {
    let fake = Fake::default();
    let (traces, metrics) = started(&fake, 1.0);
    let tracer = traces.tracer("regatta.worker");
    tracer.send(span(1));
    tokio::time::sleep(LINGER / 2).await;
    tracer.send(span(2));
    assert_eq!(metrics.exported.get(), 0);
    tokio::time::sleep(LINGER).await;
    assert_eq!(*fake.batches.lock().unwrap(), [2]);
    traces.flush().await;
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_does_not_answer_holds_up_nobody_and_what_does_not_fit_is_counted() {
    let never = Fake { may_answer: Some(Arc::default()), ..Fake::default() };
    let (traces, metrics) = started(&never, 1.0);
    let tracer = traces.tracer("regatta.worker");
    let beginning = Instant::now();
    // Handing over takes no time at all: it is no future, and the clock stands still.
    (0..QUEUED_MAX + 10).for_each(|number| tracer.send(span(number as u128 + 1)));
    assert_eq!((beginning.elapsed(), dropped(&metrics)), (Duration::ZERO, [10, 0]));
    traces.flush().await;
    assert_eq!(beginning.elapsed(), FLUSH_WAIT, "the end is bounded");
    assert_eq!(metrics.exported.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn spans_of_a_collector_that_is_away_are_dropped_and_counted() {
    let away = Fake { is_away: true, ..Fake::default() };
    let (traces, metrics) = started(&away, 1.0);
    traces.tracer("regatta.worker").send(span(1));
    traces.flush().await;
    assert_eq!((metrics.exported.get(), dropped(&metrics)), (0, [0, 1]));
}

#[tokio::test(start_paused = true)]
async fn a_share_of_the_traces_is_sent_and_each_of_them_whole() {
    let fake = Fake::default();
    let (traces, metrics) = started(&fake, 0.5);
    let (one, other) = (traces.tracer("regatta.worker"), traces.tracer("regatta.scorer"));
    let ids = (0..1000_u64)
        .map(|number| TraceId::from_bytes(std::array::from_fn(|at| crate::derived(&[&number.to_string()])[at])));
    let taken: Vec<TraceId> = ids.filter(|id| one.takes(*id)).collect();
    assert!((400..600).contains(&taken.len()), "{}", taken.len());
    assert!(taken.iter().all(|id| other.takes(*id)));
    one.send(Span { trace: taken[0], ..span(1) });
    traces.flush().await;
    assert_eq!(metrics.exported.get(), 1);
}

#[tokio::test]
async fn a_tracer_that_is_off_takes_nothing() {
    let traces = Traces::default();
    let tracer = traces.tracer("regatta.worker");
    tracer.send(span(1));
    assert!(!tracer.is_on() && !tracer.takes(TraceId::from(1)));
    traces.flush().await;
}
