//! `regatta gate` for nights of schedules: the same judgement, over what the sweeps have left in the bucket.

use std::sync::Arc;

use futures::future::BoxFuture;
use regatta_backends::{BlobError, Blobs};
use regatta_coordinator::{GateError, GateJudgement, GateQuestion, NightGate};
use tokio::sync::Semaphore;

use crate::commands::gate;
use crate::ended_run::EndedRun;

/// Judges nights, one at a time: results of two sweeps are in memory meanwhile.
pub(crate) struct StoredNights {
    blobs: Blobs,
    turn: Arc<Semaphore>,
}

impl StoredNights {
    pub(crate) fn new(blobs: Blobs) -> Self {
        Self { blobs, turn: Arc::new(Semaphore::new(1)) }
    }
}

impl NightGate for StoredNights {
    fn check(&self, policy: &str) -> Result<(), String> {
        gate::check_for_schedule(policy).map_err(|error| format!("{error:#}"))
    }

    fn judge<'a>(&'a self, question: &'a GateQuestion) -> BoxFuture<'a, Result<GateJudgement, GateError>> {
        let (blobs, question, turn) = (self.blobs.clone(), question.clone(), Arc::clone(&self.turn));
        Box::pin(async move {
            let failed = |error: &dyn std::error::Error| GateError::Failed(error.to_string());
            let _turn = turn.acquire().await.map_err(|error| failed(&error))?;
            // Reading and testing take seconds of a processor, which nobody else should wait for.
            let runtime = tokio::runtime::Handle::current();
            let judged = tokio::task::spawn_blocking(move || runtime.block_on(judge(&blobs, &question)));
            judged.await.map_err(|error| failed(&error))?.map_err(|error| {
                // Documents are looked up by name: what cannot be read is away, and what is not there is no error of the store.
                let is_away = error.chain().any(|cause| cause.downcast_ref::<BlobError>().is_some());
                let text = format!("{error:#}");
                if is_away { GateError::Failed(text) } else { GateError::Refused(text) }
            })
        })
    }
}

async fn judge(blobs: &Blobs, question: &GateQuestion) -> anyhow::Result<GateJudgement> {
    let run = EndedRun::stored(blobs, &question.run).await?;
    let baseline = match &question.baseline {
        Some(baseline) => Some(EndedRun::stored(blobs, baseline).await?),
        None => None,
    };
    gate::judge_night(&question.policy, baseline.as_ref(), &run, question.night)
}
