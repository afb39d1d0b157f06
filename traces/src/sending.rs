//! Sends spans in batches, beside all that is worked on.

use std::time::Duration;

use opentelemetry_sdk::trace::SpanExporter;
use regatta_backends::Outage;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::otlp::{Probe, span_data};
use crate::tracer::{Sent, Tracer};
use crate::{Collector, TraceMetrics};

/// Spans that wait to be sent, a kilobyte or less each; further ones are dropped.
const QUEUED_MAX: usize = 8_192;
/// Spans of one request, as OpenTelemetry's own processors have it.
const BATCH_MAX: usize = 512;
/// Longest time that a span waits for others of its batch.
const LINGER: Duration = Duration::from_secs(1);
/// Longest time for which a process that leaves sends what waits.
const FLUSH_WAIT: Duration = Duration::from_secs(5);

/// The sender of this process's spans.
#[derive(Debug, Default)]
pub struct Traces(Option<Sender>);

#[derive(Debug)]
struct Sender {
    queue: mpsc::Sender<Sent>,
    sampled: f64,
    metrics: TraceMetrics,
    stop: CancellationToken,
    /// Has the one task that sends.
    tasks: TaskTracker,
    task: AbortHandle,
}

impl Traces {
    /// Sends the share `sampled` (0 to 1) of all traces to `collector`. Must be called in a runtime.
    #[must_use]
    pub fn start(collector: Collector, sampled: f64, metrics: TraceMetrics) -> Self {
        let (exporter, probe) = collector.into_parts();
        Self::start_with(exporter, Some(probe), sampled, metrics)
    }

    fn start_with(
        exporter: impl SpanExporter + 'static,
        probe: Option<Probe>,
        sampled: f64,
        metrics: TraceMetrics,
    ) -> Self {
        let (queue, spans) = mpsc::channel(QUEUED_MAX);
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let sending = Sending { exporter, probe, metrics: metrics.clone() };
        let task = tasks.spawn(sending.run(spans, stop.clone())).abort_handle();
        tasks.close();
        Self(Some(Sender { queue, sampled, metrics, stop, tasks, task }))
    }

    /// A tracer for `part` of this program, as `regatta.worker`.
    #[must_use]
    pub fn tracer(&self, part: &'static str) -> Tracer {
        self.0.as_ref().map_or_else(Tracer::default, |sender| {
            Tracer::on(part, sender.queue.clone(), sender.sampled, sender.metrics.clone())
        })
    }

    /// Sends what waits, within five seconds, and nothing after that.
    pub async fn flush(&self) {
        let Some(sender) = &self.0 else { return };
        sender.stop.cancel();
        if timeout(FLUSH_WAIT, sender.tasks.wait()).await.is_err() {
            sender.task.abort();
            tracing::warn!("left before the collector of traces had taken all spans");
        }
    }
}

struct Sending<E> {
    exporter: E,
    /// Asked where the exporter fails, once for each line in the log.
    probe: Option<Probe>,
    metrics: TraceMetrics,
}

impl<E: SpanExporter> Sending<E> {
    async fn run(self, mut spans: mpsc::Receiver<Sent>, stop: CancellationToken) {
        // The exporter has pauses of its own.
        let mut outage = Outage::new(Duration::ZERO, Duration::ZERO);
        loop {
            let batch = gather(&mut spans, &stop).await;
            if batch.is_empty() {
                break;
            }
            let count = batch.len() as u64;
            let sent = self.exporter.export(batch.into_iter().map(span_data).collect()).await;
            match sent {
                Ok(()) => {
                    self.metrics.exported.inc_by(count);
                    if let Some(lasted) = outage.ends() {
                        tracing::info!(lasted_s = lasted.as_secs(), "the collector of traces takes spans again");
                    }
                }
                Err(error) => {
                    self.metrics.dropped.with_label_values(&["collector"]).inc_by(count);
                    if outage.fails().is_told {
                        let problem = match &self.probe {
                            Some(probe) => probe.problem().await,
                            None => None,
                        };
                        let error = problem.unwrap_or_else(|| error.to_string());
                        tracing::warn!(%error, spans = count, "the collector of traces did not take spans, which are dropped");
                    }
                }
            }
        }
    }
}

/// The next batch; an empty one at the end.
async fn gather(spans: &mut mpsc::Receiver<Sent>, stop: &CancellationToken) -> Vec<Sent> {
    let mut batch = Vec::new();
    let mut until = None;
    while batch.len() < BATCH_MAX {
        let room = BATCH_MAX - batch.len();
        let is_over = tokio::select! {
            biased;
            received = spans.recv_many(&mut batch, room) => received == 0,
            () = stop.cancelled(), if !spans.is_closed() => {
                // What waits is received all the same.
                spans.close();
                false
            }
            () = sleep_until(until), if until.is_some() => true,
        };
        if is_over {
            break;
        }
        until = until.or_else(|| (!batch.is_empty()).then(|| Instant::now() + LINGER));
    }
    batch
}

async fn sleep_until(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
