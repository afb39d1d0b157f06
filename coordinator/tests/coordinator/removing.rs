//! Sweeps that `gc` removes while something of them is alive, or comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::SignedDuration;
use regatta_backends::Ledger;
use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_catalog::Sweep;
use regatta_coordinator::{GcRequest, GcResult, Resumption, Retention};
use regatta_proto::{Report, SweepState};

use crate::stage::{Process, Stage, spec};

/// Longer than any test.
const LEASE: Duration = Duration::from_secs(3600);

/// Removes what ended before now.
async fn gc(process: &Process) -> GcResult {
    let keep = Some(Retention { days: Some(0), nights: 0, transcripts_days: None });
    process.coordinator.collect(GcRequest { keep, cached: None, apply: true }).await.unwrap()
}

fn gone(result: &GcResult) -> Vec<&str> {
    result.going.iter().map(|going| going.sweep.as_str()).collect()
}

/// Cancels `sweep`; then a second passes.
async fn cancel(stage: &Stage, process: &Process, sweep: &Sweep) {
    process.coordinator.cancel(&sweep.id).await.unwrap();
    assert!(matches!(stage.report().await, Report::Tabulate { sweep: told, .. } if told == sweep.id));
    stage.clock.advance(SignedDuration::from_secs(1));
}

#[tokio::test]
async fn a_sweep_that_was_removed_and_is_submitted_again_has_another_id() {
    let stage = Stage::set().await;
    let process = stage.process();
    let text = spec("s", 2, "budget_usd: 20\n");
    let mut ids = Vec::new();
    for _ in 0..3 {
        let sweep = stage.submit(&process, &text).await;
        let again = process.coordinator.submit(stage.submission(&text).await, None).await.unwrap();
        assert_eq!((&again.id, again.created), (&sweep.id, false), "to submit again is harmless");
        // Workers know of its second generation, and of what they have spent for it, for as long as they live.
        cancel(&stage, &process, &sweep).await;
        process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
        cancel(&stage, &process, &sweep).await;
        assert_eq!(gone(&gc(&process).await), [sweep.id.as_str()]);
        ids.push(sweep.id.clone());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert!(ids.iter().all(|id| id.as_str().starts_with("s-")), "{ids:?}");
}

#[tokio::test]
async fn a_cancelled_sweep_stays_while_workers_tell_of_its_sessions() {
    let mut stage = Stage::set().await;
    stage.config.running_within = LEASE;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    stage.until_waiting(&sweep, 4).await;
    let jobs = stage.take(&sweep, 4).await;
    stage.begin(&jobs[0]).await;
    cancel(&stage, &process, &sweep).await;
    // As a scorer does with the reports; its worker goes on to tell of the session.
    stage.ledger.close_open_attempts(&sweep.id, stage.clock_now()).await.unwrap();
    stage.begin(&jobs[0]).await;
    let result = gc(&process).await;
    assert_eq!((gone(&result), result.kept), (vec![], 1));
    process.end().await;
    stage.config.running_within = Duration::ZERO;
    assert_eq!(gone(&gc(&stage.process()).await), [sweep.id.as_str()], "nobody tells of it any more");
}

#[tokio::test]
async fn a_complete_sweep_goes_although_workers_told_of_its_questions_a_moment_ago() {
    let mut stage = Stage::set().await;
    stage.config.running_within = LEASE;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    stage.tell_of_questions(&sweep).await;
    assert!(stage.end(&sweep.id, SweepState::Complete, stage.clock_now()).await);
    stage.clock.advance(SignedDuration::from_secs(1));
    assert_eq!(gone(&gc(&process).await), [sweep.id.as_str()], "each session has its result");
}

#[tokio::test]
async fn a_cancelled_sweep_stays_while_jobs_of_it_wait() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    stage.until_waiting(&sweep, 4).await;
    cancel(&stage, &process, &sweep).await;
    assert_eq!(gone(&gc(&process).await), [""; 0]);
    // Workers drop them.
    stage.take(&sweep, 4).await;
    assert_eq!(gone(&gc(&process).await), [sweep.id.as_str()]);
    process.end().await;
}

/// Somebody resumes `second` as soon as the ledger has forgotten `first`.
struct ResumesAfter {
    /// And cancels it again.
    ends_again: bool,
    ledger: Ledger,
    first: Arc<Sweep>,
    process: Process,
    second: Arc<Sweep>,
    is_done: AtomicBool,
}

impl Fate for ResumesAfter {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            let is_first_gone = self.ledger.sweep(&self.first.id).await.unwrap().is_none();
            if is_first_gone && !self.is_done.swap(true, Ordering::SeqCst) {
                self.process.coordinator.resume(&self.second.id, Resumption::default()).await.unwrap();
                if self.ends_again {
                    self.process.coordinator.cancel(&self.second.id).await.unwrap();
                }
            }
            Ok(())
        }
        .boxed()
    }
}

/// Removes two sweeps, of which the second is resumed, and perhaps cancelled again, when the first is gone; returns the second's state.
async fn resumed_meanwhile(ends_again: bool) -> SweepState {
    let mut stage = Stage::set().await;
    let process = stage.process();
    let (first, second) = (
        stage.submit(&process, &spec("first", 2, "")).await,
        stage.submit(&process, &spec("second", 2, "budget_usd: 20\n")).await,
    );
    cancel(&stage, &process, &first).await;
    cancel(&stage, &process, &second).await;
    let second_lock = stage.blob_folder().join(format!("locks/{}.json", second.digest));
    let is_done = AtomicBool::new(false);
    let (ledger, first_sweep, second_sweep) = (stage.ledger.clone(), first.clone(), second.clone());
    let fate = ResumesAfter { ends_again, ledger, first: first_sweep, process, second: second_sweep, is_done };
    let fate = Arc::new(fate);
    stage.ledger = stage.ledger.troubled(Troubles::new(fate.clone()));
    let result = gc(&stage.process()).await;
    assert!(fate.is_done.load(Ordering::SeqCst));
    assert_eq!(gone(&result), [first.id.as_str()]);
    assert!(second_lock.exists(), "its lock stays");
    stage.state(&second.id).await
}

#[tokio::test]
async fn a_sweep_that_is_resumed_while_others_are_removed_stays_whole() {
    assert_eq!(resumed_meanwhile(false).await, SweepState::Running);
}

#[tokio::test]
async fn a_sweep_that_is_resumed_and_ends_again_while_others_are_removed_stays_whole() {
    assert_eq!(resumed_meanwhile(true).await, SweepState::Cancelled);
}
