//! All roles at work on one sweep, until it ends or the process is told to leave.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use regatta_backends::{Blobs, Stalled, StoreHealth};
use regatta_catalog::Sweep;
use regatta_llm::{CallMetrics, Standstill};
use regatta_memory::{ByteBudget, ByteMetrics};
use regatta_proto::{EndpointName, SweepState};
use regatta_worker::{CachedResponses, Environment, Lifecycle, SharedPermits, Worker, WorkerConfig, WorkerMetrics};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::gate::WhileRecording;
use super::{Embedded, clock};
use crate::exit::CannotRecord;
use crate::progress::Progress;
use crate::signals::Leaving;

/// Interval between two redraws of the table.
const REDRAW: Duration = Duration::from_millis(200);
/// Time the scorer gets to record what the workers reported last.
const RECORD_GRACE: Duration = Duration::from_secs(30);
/// The same after a second signal.
const STOP_GRACE: Duration = Duration::from_secs(1);

impl Embedded {
    pub(super) async fn work(
        &self,
        sweep: &Sweep,
        addresses: BTreeMap<EndpointName, String>,
        leaving: &Leaving,
    ) -> anyhow::Result<SweepState> {
        let (dispatching, scoring) = (CancellationToken::new(), CancellationToken::new());
        let lifecycle = Lifecycle { drain: CancellationToken::new(), stop: leaving.stop.child_token() };
        let coordinating = tokio::spawn({
            let (coordinator, stop) = (self.coordinator.clone(), dispatching.clone());
            async move { coordinator.run(addresses, stop).await }
        });
        let scorer = self.scorer(&self.registry)?;
        let state = scorer.health();
        let working = tokio::spawn(self.worker(state.clone())?.run(lifecycle.clone()));
        let recording = tokio::spawn({
            let stop = scoring.clone();
            async move { scorer.run(stop).await }
        });
        let watched = self.watch(sweep, leaving, &state).await;
        dispatching.cancel();
        lifecycle.drain.cancel();
        if watched.is_err() {
            // No session could go on.
            lifecycle.stop.cancel();
        }
        let worked = working.await;
        scoring.cancel();
        let (recorded, coordinated) = tokio::join!(ended(recording, &leaving.stop), ended(coordinating, &leaving.stop));
        worked.context("the worker ended unexpectedly")??;
        match recorded {
            Some(recorded) => recorded.context("the scorer ended unexpectedly")??,
            None => tracing::warn!("left before every result was recorded; run it again to continue"),
        }
        match coordinated {
            Some(coordinated) => coordinated.context("the coordinator ended unexpectedly")?,
            None => tracing::warn!("left while the coordinator waited for a store; run it again to continue"),
        }
        watched?;
        let state = self.state(sweep).await?;
        if state.is_end() {
            self.link_artifacts(&sweep.id)?;
        }
        Ok(state)
    }

    /// Shows how the sweep goes until it ends or the process is told to leave.
    async fn watch(&self, sweep: &Sweep, leaving: &Leaving, recording: &StoreHealth) -> anyhow::Result<()> {
        let mut progress = Progress::start();
        loop {
            let stalled = recording.stalled().or_else(|| self.coordinator.health().stalled());
            if let Some(stalled) = stalled.filter(|stalled| stalled.since.elapsed() >= self.give_up_after) {
                progress.leave();
                return Err(self.cannot_record(&stalled).into());
            }
            let status = self.coordinator.status(&sweep.id).await?;
            let so_far = if progress.has_scores() { self.coordinator.so_far(&sweep.id).await? } else { Vec::new() };
            progress.show(&status, so_far);
            if status.state.is_end() {
                progress.finish(&status);
                return Ok(());
            }
            // Nobody else takes out what was set aside here, and the run would dispatch it again for ever.
            let set_aside = self.queue.dead_letters().await?;
            if set_aside > 0 {
                progress.leave();
                anyhow::bail!(
                    "failed to record {set_aside} of the run's reports; the log says why. What was recorded is in {}: run it again to \
                     continue when the cause is gone",
                    self.directory.display()
                );
            }
            tokio::select! {
                () = tokio::time::sleep(REDRAW) => {}
                () = leaving.drain.cancelled() => {
                    progress.leave();
                    return Ok(());
                }
            }
        }
    }

    fn cannot_record(&self, stalled: &Stalled) -> CannotRecord {
        CannotRecord(format!(
            "nothing could be recorded for {} s, so nothing more is paid for: {}. What was paid for is kept in {}: make it writable, or \
             free some space, and run the same command again to continue",
            stalled.since.elapsed().as_secs(),
            stalled.reason,
            self.directory.display()
        ))
    }

    fn worker(&self, recording: StoreHealth) -> anyhow::Result<Worker> {
        let seed = crate::process::random_seed();
        let id = crate::process::worker_id(seed)?;
        let environment = Environment {
            clock: clock(),
            variables: crate::process::variables(),
            permits: Arc::new(WhileRecording { permits: SharedPermits(self.permits.clone()), recording }),
            bytes: ByteBudget::observed(regatta_memory::default_bytes(), ByteMetrics::register(&self.registry)?),
            answers: Arc::new(CachedResponses(Blobs::directory(&self.answers).with_context(|| {
                format!("failed to open the directory of the response cache {}", self.answers.display())
            })?)),
            policy: self.rights.policy.clone(),
            network: None,
            standstill: Standstill::watch(),
        };
        let metrics = WorkerMetrics::register(&self.registry)?;
        let calls = Arc::new(CallMetrics::register(&self.registry)?);
        Ok(Worker::new(
            WorkerConfig::new(id, seed),
            self.queue.clone(),
            self.catalog.clone(),
            environment,
            metrics,
            calls,
        )
        .with_tracer(self.traces.tracer("regatta.worker")))
    }
}

/// Waits for the end of `task`, which was told to leave. Ends it when that takes too long, a moment after `at_once`: then the result is `None`.
/// Either way nothing is left of it, and what it had taken from queues is there again.
async fn ended<T>(mut task: JoinHandle<T>, at_once: &CancellationToken) -> Option<Result<T, JoinError>> {
    let is_late = async {
        tokio::select! {
            () = tokio::time::sleep(RECORD_GRACE) => {}
            () = async { at_once.cancelled().await; tokio::time::sleep(STOP_GRACE).await } => {}
        }
    };
    tokio::select! {
        biased;
        ended = &mut task => return Some(ended),
        () = is_late => task.abort(),
    }
    Some(task.await).filter(|ended| !matches!(ended, Err(error) if error.is_cancelled()))
}
