//! The worker: follows the coordinator's broadcasts, consumes the queues they name, and leaves in two steps.

use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

use regatta_backends::{Consuming, Queue, QueueError};
use regatta_catalog::{Catalog, Sweep};
use regatta_llm::{BudgetLeases, CallMetrics};
use regatta_memory::ByteBudget;
use regatta_proto::{BatchJob, Clock, Control, Digest, Job, SessionJob, SweepId};
use regatta_traces::Tracer;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::attempts::Attempts;
use crate::checkpoints::{Checkpoint, Checkpoints};
use crate::external::shared::External;
use crate::holdings::Holdings;
use crate::opener::Opener;
use crate::publisher::ConfirmingPublisher;
use crate::routes::{BROADCASTS, Routes};
use crate::running::Running;
use crate::telling::tell;
use crate::void::Void;
use crate::{Environment, WorkerConfig, WorkerMetrics};

/// Longest wait between two looks into a blob store that does not answer.
const CATALOG_RETRY_MAX: Duration = Duration::from_secs(30);
/// Looks into a blob store that does not answer, before the session is given up as not measured.
const CATALOG_TRIES: u32 = 12;
/// Time that interrupted sessions get to finish the call that is in flight, and the publisher to be confirmed.
const INTERRUPT_GRACE: Duration = Duration::from_secs(20);

/// When to leave.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    /// First signal: fetch nothing more, finish what runs.
    pub drain: CancellationToken,
    /// Second signal: hand over at once.
    pub stop: CancellationToken,
}

/// Reason why a worker could not run.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The queue failed for good.
    #[error(transparent)]
    Queue(#[from] QueueError),
}

/// Consumes jobs, drives sessions, reports outcomes and usage.
pub struct Worker {
    config: WorkerConfig,
    queue: Queue,
    catalog: Catalog,
    environment: Environment,
    metrics: WorkerMetrics,
    call_metrics: Arc<CallMetrics>,
    tracer: Tracer,
    consuming: Consuming,
}

/// Reason why a job's sweep could not be read.
pub(crate) enum Unreadable {
    /// This process leaves; another may have more luck.
    Interrupted,
    /// The stored sweep is missing, or damaged.
    Damaged,
}

/// State that all sessions of the process share.
pub(crate) struct Shared {
    pub(crate) attempts: Attempts,
    pub(crate) holdings: Holdings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: WorkerMetrics,
    pub(crate) hand_over_after: Duration,
    /// Money of this process's calls.
    pub(crate) budget_leases: Arc<BudgetLeases>,
    /// Fires when no session may begin another call.
    pub(crate) interrupt: CancellationToken,
    pub(crate) external: External,
    pub(crate) checkpoints: Checkpoints,
    /// Bytes that sessions may hold.
    pub(crate) bytes: ByteBudget,
    catalog: Catalog,
    void: watch::Sender<Void>,
    pub(crate) running: Running,
    pub(crate) tracer: Tracer,
    pub(crate) consuming: Consuming,
}

impl Shared {
    pub(crate) fn is_cancelled(&self, sweep: &SweepId) -> bool {
        self.void.borrow().is_cancelled(sweep)
    }

    /// True if the sweep of `job` was cancelled after its publication.
    pub(crate) fn is_dropped(&self, job: &Job) -> bool {
        self.void.borrow().is_dropped(job)
    }

    /// True if `job` was published before its sweep was last resumed.
    pub(crate) fn is_stale(&self, job: &Job) -> bool {
        self.void.borrow().is_stale(job)
    }

    /// True if nothing more is to be done with `batch`; see [`Void::is_void`].
    pub(crate) fn is_void(&self, batch: &BatchJob) -> bool {
        self.void.borrow().is_void(batch)
    }

    /// True if `session` is not to be part of a batch any more; see [`Void::is_session_void`].
    pub(crate) fn is_session_void(&self, session: &SessionJob) -> bool {
        self.void.borrow().is_session_void(session)
    }

    /// The generation that a session of `sweep` goes on in whose job is of the generation `begun`: its sweep may have been resumed since.
    pub(crate) fn generation(&self, sweep: &SweepId, begun: u32) -> u32 {
        self.void.borrow().generation(sweep).max(begun)
    }

    /// Takes note of a broadcast; `false` if it comes late, and is not to be followed. The attempts of each sweep that was resumed since the
    /// last one are reported at once: its coordinator dispatches soon, and a cancel may have given them up as lost.
    fn hear(&self, control: &Control) -> bool {
        let heard = self.void.borrow().after(control);
        let Some((void, resumed)) = heard else { return false };
        self.void.send_replace(void);
        for sweep in resumed {
            self.attempts.tell_again(&sweep);
        }
        true
    }

    /// The sweep of a job. Waits out a blob store that is away for a while.
    pub(crate) async fn sweep(&self, lock: &Digest) -> Result<Arc<Sweep>, Unreadable> {
        self.patiently(&format!("sweep {lock}"), || Box::pin(self.catalog.sweep(lock))).await
    }

    /// Checkpoint of an earlier attempt at `job`. Waits out a blob store that is away for a while.
    pub(crate) async fn checkpoint(&self, job: &SessionJob) -> Result<Option<Checkpoint>, Unreadable> {
        let what = format!("checkpoint of {}", job.key);
        self.patiently(&what, || Box::pin(self.checkpoints.find(job))).await
    }

    async fn patiently<'a, T, E: std::fmt::Display>(
        &self,
        what: &str,
        read: impl Fn() -> BoxFuture<'a, Result<T, E>>,
    ) -> Result<T, Unreadable> {
        let mut delay = Duration::from_millis(200);
        for tried in 1..=CATALOG_TRIES {
            match read().await {
                Ok(found) => return Ok(found),
                Err(error) => tracing::warn!(%error, what, tried, "failed to read from the blob store"),
            }
            if tried < CATALOG_TRIES {
                tokio::select! {
                    biased;
                    () = self.interrupt.cancelled() => return Err(Unreadable::Interrupted),
                    () = tokio::time::sleep(delay) => delay = (delay * 2).min(CATALOG_RETRY_MAX),
                }
            }
        }
        tracing::error!(what, "gave up reading from the blob store");
        Err(Unreadable::Damaged)
    }
}

impl Worker {
    /// A worker over the two seams it uses.
    #[must_use]
    pub fn new(
        config: WorkerConfig,
        queue: Queue,
        catalog: Catalog,
        environment: Environment,
        metrics: WorkerMetrics,
        call_metrics: Arc<CallMetrics>,
    ) -> Self {
        let consuming = Consuming::awaiting(BROADCASTS);
        Self { config, queue, catalog, environment, metrics, call_metrics, tracer: Tracer::default(), consuming }
    }

    /// The same worker, which sends spans of what it does to `tracer`.
    #[must_use]
    pub fn with_tracer(mut self, tracer: Tracer) -> Self {
        self.tracer = tracer;
        self
    }

    /// Tells at any time whether this worker consumes what it was told to. Endpoints that it cannot open are not part of it: a spec that names a key
    /// that is not here says nothing of the worker.
    #[must_use]
    pub fn consuming(&self) -> Consuming {
        self.consuming.clone()
    }

    /// Works until `lifecycle` says to leave; returns when nothing of it is left running.
    ///
    /// # Errors
    /// When the broadcasts cannot be followed.
    pub fn run(self, lifecycle: Lifecycle) -> BoxFuture<'static, Result<(), WorkerError>> {
        Box::pin(async move {
            let mut controls = self.queue.listen().await?;
            self.consuming.consumes(BROADCASTS, controls.subscriptions());
            let (publisher, publishing) = ConfirmingPublisher::start(self.queue.clone(), self.metrics.clone());
            let shared = self.shared();
            let sessions = TaskTracker::new();
            let opener = Opener::new(
                &self.config,
                self.environment.clone(),
                self.call_metrics.clone(),
                shared.budget_leases.clone(),
                self.catalog.blobs().clone(),
            );
            let (served, queue) = (self.config.endpoints.clone(), self.queue.clone());
            let mut routes = Routes::new(queue, shared.clone(), publisher.clone(), sessions.clone(), served, opener);
            let (attempts, holdings) = (shared.attempts.clone(), shared.holdings.clone());
            let telling = tell(self.queue.clone(), attempts, holdings, self.config.progress_every);
            let mut telling = AbortOnDropHandle::new(tokio::spawn(telling));
            loop {
                tokio::select! {
                    biased;
                    () = lifecycle.drain.cancelled() => break,
                    control = controls.next() => match control {
                        Some(control) if shared.hear(&control) => routes.follow(control.routes).await,
                        Some(control) => tracing::info!(number = ?control.number, "ignored a broadcast that came late"),
                        None => break,
                    },
                    Some(opened) = routes.opened() => routes.serve_at(opened).await,
                    _ = &mut telling => {
                        tracing::error!("the task that reports what this worker holds has ended; the worker leaves");
                        break;
                    }
                }
            }
            drop(routes);
            sessions.close();
            self.leave(&lifecycle, &shared, &sessions).await;
            let budget_leases = shared.budget_leases.clone();
            drop((publisher, shared));
            if tokio::time::timeout(INTERRUPT_GRACE, budget_leases.close()).await.is_err() {
                tracing::warn!("left before the store of permits had heard what was spent; it keeps what was reserved");
            }
            // Sessions abandoned at the very end still hold the publisher; their jobs are delivered again.
            if tokio::time::timeout(INTERRUPT_GRACE, publishing).await.is_err() {
                tracing::warn!("left before every report was confirmed; the jobs concerned will be delivered again");
            }
            // Until then there was something to tell of.
            drop(telling);
            Ok(())
        })
    }

    /// All that the tasks of this worker share, of which nothing has happened yet.
    fn shared(&self) -> Arc<Shared> {
        let void = watch::Sender::default();
        Arc::new(Shared {
            attempts: Attempts::of(self.config.id.clone()),
            holdings: Holdings::default(),
            clock: self.environment.clock.clone(),
            metrics: self.metrics.clone(),
            hand_over_after: self.config.hand_over_after,
            budget_leases: BudgetLeases::new(
                self.environment.permits.clone(),
                self.config.id.clone(),
                self.call_metrics.clone(),
            ),
            interrupt: CancellationToken::new(),
            external: External::new(
                &self.config,
                self.environment.variables.clone(),
                self.environment.policy.clone(),
                self.environment.bytes.clone(),
            ),
            checkpoints: Checkpoints::new(
                self.catalog.blobs().clone(),
                self.config.progress_every,
                self.config.acknowledged_after,
                void.subscribe(),
            )
            .with_compact(self.config.compact_transcripts),
            bytes: self.environment.bytes.clone(),
            catalog: self.catalog.clone(),
            void,
            running: Running::default(),
            tracer: self.tracer.clone(),
            consuming: self.consuming.clone(),
        })
    }

    /// Two steps: sessions may finish until the drain time is over or a second signal comes; then they are handed over.
    async fn leave(&self, lifecycle: &Lifecycle, shared: &Shared, sessions: &TaskTracker) {
        tokio::select! {
            biased;
            () = sessions.wait() => return,
            () = lifecycle.stop.cancelled() => {}
            () = tokio::time::sleep(self.config.drain) => {}
        }
        shared.interrupt.cancel();
        if tokio::time::timeout(INTERRUPT_GRACE, sessions.wait()).await.is_err() {
            tracing::warn!(sessions = sessions.len(), "left with calls in flight; their jobs will be delivered again");
        }
    }
}
