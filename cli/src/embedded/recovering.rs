//! Sessions that were reported and not recorded: kept when a run ends, and recorded by the next one.

use std::time::Duration;

use anyhow::Context;
use futures::FutureExt;
use prometheus::Registry;
use regatta_backends::Queue;
use regatta_catalog::Sweep;
use regatta_proto::{Report, SessionOutcome, counted};
use regatta_scorer::{Past, Scorer, ScorerConfig, ScorerMetrics};

use super::reserve::{Kept, Reserve};
use super::{Embedded, clock};
use crate::exit::CannotRecord;
use crate::output;

/// Time in which what was not recorded by then is to be stored.
const STORE_WITHIN: Duration = Duration::from_secs(10);

impl Embedded {
    /// Writes what an ended sweep leaves behind once more; the bytes are the same.
    pub(super) async fn tabulate(&self, sweep: &Sweep) -> anyhow::Result<()> {
        let tabulate = Report::Tabulate { sweep: sweep.id.clone(), lock: sweep.digest, generation: None };
        self.scorer_apart(sweep)
            .await?
            .record_left_over(vec![tabulate])
            .await
            .context("failed to write the reports again")
    }

    /// Records sessions that transcripts know and the ledger does not: whoever wrote them was killed before it could, or the ledger has lost
    /// its latest entries.
    pub(super) async fn recover_lost(&self, sweep: &Sweep) -> anyhow::Result<()> {
        let past = Past::read(self.catalog.blobs(), &sweep.id).await?;
        let recovery = self.scorer_apart(sweep).await?.recover_lost(sweep, &past).await;
        let recovery = recovery.context("failed to record sessions from their transcripts")?;
        if !recovery.is_nothing() {
            output::note(&format!(
                "recorded {} from transcripts, which the ledger did not know: nothing of that is paid for again",
                counted(recovery.sessions, "session", "sessions")
            ));
        }
        Ok(())
    }

    /// Records what an earlier run of this directory could only keep in its reserve, and takes the space of one for this run.
    pub(super) async fn recover(&self, sweep: &Sweep) -> anyhow::Result<Reserve> {
        let (mut reserve, reports) = Reserve::open(&self.directory.join("store/reserve"))?;
        if reports.is_empty() {
            return Ok(reserve);
        }
        let count = reports.len();
        self.scorer_apart(sweep).await?.record_left_over(reports).await.map_err(|error| {
            CannotRecord(format!(
                "{count} reports of an earlier run are kept in {} and still cannot be recorded: {error}",
                self.directory.join("store/reserve").display()
            ))
        })?;
        // They tell of sessions that ended with their process, which would be waited for.
        self.ledger.forget_workers(&sweep.id).await.context("failed to forget the workers of an earlier run")?;
        reserve.clear().context("failed to clear the reserve")?;
        output::note(&format!("recorded {count} reports that an earlier run could not record"));
        Ok(reserve)
    }

    /// Keeps what workers have reported and no scorer could record, which would be gone with this process. `false` if there was any.
    ///
    /// Sessions go to the blobs, as those of a process that is killed between a segment and its record: there is room for all of them. What
    /// cannot be written there, and what is no session, goes to the reserve.
    pub(super) async fn keep_unrecorded(&self, sweep: &Sweep, reserve: &mut Reserve) -> anyhow::Result<bool> {
        let mut consumer = self.queue.consume_reports(u32::MAX).await?;
        let (mut sessions, mut reports, mut receipts) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(Some(delivery)) = consumer.next().now_or_never() {
            receipts.push(delivery.receipt);
            match delivery.message {
                Report::Session(outcome) => sessions.push(*outcome),
                report @ (Report::HandedOver { .. } | Report::Judge(_)) => reports.push(report),
                Report::Progress(_) | Report::Rejudge { .. } | Report::Echo { .. } | Report::Tabulate { .. } => {}
            }
        }
        if sessions.is_empty() && reports.is_empty() {
            return Ok(true);
        }
        let scorer = self.scorer_apart(sweep).await?;
        // Those of a store that hangs are in the reserve then, and perhaps there too: they are recorded once.
        let storing = tokio::time::timeout(STORE_WITHIN, scorer.store_unscored(sweep, &sessions));
        let stored = storing.await.unwrap_or(0);
        reports.extend(sessions.drain(stored..).map(|outcome| Report::Session(Box::new(outcome))));
        let kept = if reports.is_empty() {
            Kept::default()
        } else {
            reserve.keep(&reports).context("failed to keep what could not be recorded")?
        };
        let Kept { whole, reduced, lost } = kept;
        output::note(&format!(
            "kept {} reports that were not recorded; the next run records them",
            stored + whole + reduced
        ));
        if reduced > 0 {
            output::note(&format!(
                "{reduced} of them without what was said: there is no space, and their sessions run again"
            ));
        }
        if lost > 0 {
            output::note(&format!("{lost} could not be kept: only the provider knows what they cost"));
        }
        Ok(false)
    }

    /// Records `outcomes` of `sweep` without running anything. Questions that they lead to wait in the queues for [`Self::execute`].
    pub(crate) async fn take_over(&self, sweep: &Sweep, outcomes: Vec<SessionOutcome>) -> anyhow::Result<()> {
        declare(&self.queue, sweep).await?;
        // The metrics of the run's own scorer are registered when it starts.
        let scorer = self.scorer(&Registry::new())?;
        scorer.take_over(sweep, &outcomes).await.context("failed to record the sessions of the old run")
    }

    pub(super) fn scorer(&self, registry: &Registry) -> anyhow::Result<Scorer> {
        self.scorer_into(registry, self.queue.clone())
    }

    /// A scorer whose questions nobody gets: they are asked when the sweep goes on, and would be asked twice.
    pub(super) async fn scorer_apart(&self, sweep: &Sweep) -> anyhow::Result<Scorer> {
        let queue = Queue::memory();
        declare(&queue, sweep).await?;
        self.scorer_into(&Registry::new(), queue)
    }

    fn scorer_into(&self, registry: &Registry, queue: Queue) -> anyhow::Result<Scorer> {
        let metrics = ScorerMetrics::register(registry)?;
        let config = ScorerConfig { shares_queue: false, ..ScorerConfig::default() };
        let (ledger, catalog) = (self.ledger.clone(), self.catalog.clone());
        let scorer = Scorer::new(config, ledger, queue, catalog, clock(), metrics);
        Ok(scorer.with_tracer(self.traces.tracer("regatta.scorer")))
    }
}

async fn declare(queue: &Queue, sweep: &Sweep) -> anyhow::Result<()> {
    for (name, endpoint) in &sweep.lock.endpoints {
        queue.declare_jobs(&endpoint.queue(name, &sweep.id)).await?;
    }
    Ok(())
}
