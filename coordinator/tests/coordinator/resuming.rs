//! Sessions that run through a cancel and a resume of their sweep.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_backends::{Blobs, Ledger, Quota, RecordState, ShardState};
use regatta_catalog::Sweep;
use regatta_coordinator::{CoordinatorConfig, Resumption};
use regatta_proto::{AccountId, ItemIndex, Money, Report, SessionJob, SweepState};
use tokio::time::Instant;

use crate::recovering::{can_be_asked_again, wait_for_a_verdict};
use crate::stage::{Process, Stage, record, spec, tabulate};

/// Longer than any test.
const LEASE: Duration = Duration::from_secs(3600);

/// Before each call of a coordinator to its ledger another session ends.
struct EndsAtEachCall {
    ledger: Ledger,
    sweep: Arc<Sweep>,
    running: Mutex<VecDeque<SessionJob>>,
    /// Sessions that go on.
    left: usize,
}

impl EndsAtEachCall {
    fn next(&self) -> Option<SessionJob> {
        let mut running = self.running.lock().unwrap();
        if running.len() > self.left { running.pop_front() } else { None }
    }
}

impl Fate for EndsAtEachCall {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            if let Some(job) = self.next() {
                let state = RecordState::Settled { scores: serde_json::json!({}) };
                self.ledger.record(vec![record(&self.sweep, &job, Money::ZERO, state)]).await.unwrap();
            }
            Ok(())
        }
        .boxed()
    }
}

/// A sweep of one cell whose sessions are all in workers' hands.
async fn all_taken(stage: &Stage, process: &Process) -> (Arc<Sweep>, Vec<SessionJob>) {
    let every_item = spec("s", 99, "").replace("tasks: [lumos, wikihow], ", "");
    let sweep = stage.submit(process, &every_item).await;
    assert_eq!(sweep.cells().len(), 1);
    let sessions = sweep.selected(&sweep.cells()[0]).len();
    assert!(sessions > 20, "{sessions} sessions");
    stage.until_waiting(&sweep, sessions as u64).await;
    let jobs = stage.take(&sweep, sessions).await;
    (sweep, jobs)
}

async fn cancel(stage: &Stage, process: &Process, sweep: &Sweep) {
    process.coordinator.cancel(&sweep.id).await.unwrap();
    assert_eq!(stage.report().await, tabulate(sweep));
}

#[tokio::test]
async fn a_session_that_ends_while_its_shard_is_dispatched_again_is_not_dispatched() {
    let mut stage = Stage::set().await;
    stage.config.running_within = LEASE;
    let first = stage.start();
    let (sweep, jobs) = all_taken(&stage, &first).await;
    for job in &jobs {
        stage.begin(job).await;
    }
    cancel(&stage, &first, &sweep).await;
    first.end().await;
    stage.process().coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    let ledger = stage.ledger.clone();
    let (sessions, running) = (jobs.len(), Mutex::new(jobs.into()));
    let fate = Arc::new(EndsAtEachCall { ledger: ledger.clone(), sweep: sweep.clone(), running, left: 2 });
    stage.ledger = ledger.troubled(Troubles::new(fate.clone()));
    let second = stage.start();
    stage.ledger = ledger;
    stage.until(async || stage.ledger.shards(&sweep.id).await.unwrap()[0].state == ShardState::Dispatched).await;
    assert_eq!(stage.waiting(&sweep).await, 0, "each session runs or has ended");
    assert!(fate.running.lock().unwrap().len() < sessions, "some have ended");
    second.end().await;
}

/// A stage with the times of a deployment, on which jobs that nobody tells of are not lost for long.
async fn slow_stage() -> Stage {
    let mut stage = Stage::set().await;
    (stage.ledger, stage.in_memory) = (Ledger::in_memory().unwrap(), Some(Blobs::memory()));
    let CoordinatorConfig { tick, rebroadcast, running_within, .. } = CoordinatorConfig::default();
    (stage.config.tick, stage.config.rebroadcast, stage.config.running_within) = (tick, rebroadcast, running_within);
    stage.config.lost_after = running_within * 2;
    stage
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_worker_has_not_heard_of_a_resume_is_held_back_until_it_is_told_of_or_its_worker_is_gone() {
    let stage = slow_stage().await;
    let process = stage.start();
    let (sweep, jobs) = all_taken(&stage, &process).await;
    let told_at = Instant::now();
    for job in &jobs[..3] {
        stage.begin(job).await;
    }
    cancel(&stage, &process, &sweep).await;
    // A scorer writes the reports of the cancelled sweep, and gives up what runs.
    stage.ledger.close_open_attempts(&sweep.id, Timestamp::UNIX_EPOCH).await.unwrap();
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    stage.until_waiting(&sweep, jobs.len() as u64 - 3).await;
    let again = stage.take(&sweep, jobs.len() - 3).await;
    let keys: Vec<_> = again.iter().map(|job| &job.key).collect();
    assert!(jobs[..3].iter().all(|job| !keys.contains(&&job.key)), "they may run");
    // The worker of the first has heard, that of the second has ended it without having heard, that of the third is gone.
    stage.begin(&jobs[0]).await;
    stage.finish(&sweep, &jobs[1..2], Money::ZERO).await;
    stage.until_waiting(&sweep, 1).await;
    assert!(told_at.elapsed() >= stage.config.running_within);
    let last = stage.take(&sweep, 1).await.remove(0);
    assert_eq!((&last.key, last.attempt, last.generation), (&jobs[2].key, 2, 1));
    stage.finish(&sweep, &again, Money::ZERO).await;
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await, 0);
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_of_which_nobody_tells_any_more_is_dispatched_once_all_that_was_reported_is_recorded() {
    let mut stage = slow_stage().await;
    stage.config.window = 8;
    let process = stage.start();
    let every_item = spec("s", 99, "").replace("tasks: [lumos, wikihow], ", "");
    let sweep = stage.submit(&process, &every_item).await;
    stage.until_waiting(&sweep, 8).await;
    let mut taken = stage.take(&sweep, 8).await;
    // Begun by a job of an earlier dispatch; its worker's last report was long ago, and may wait in the queue as later ones do.
    let last = *sweep.dispatch_order(&sweep.cells()[0]).last().unwrap();
    let running =
        SessionJob { key: regatta_proto::SessionKey { item: last, ..taken[0].key.clone() }, ..taken[0].clone() };
    stage.begin(&running).await;
    tokio::time::sleep(stage.config.running_within + Duration::from_secs(1)).await;
    stage.has_scorer = false;
    let mut items: Vec<ItemIndex> = Vec::new();
    while !taken.is_empty() {
        items.extend(taken.iter().map(|job| job.key.item));
        stage.finish(&sweep, &taken, Money::ZERO).await;
        stage.round().await;
        let waiting = stage.waiting(&sweep).await as usize;
        taken = stage.take(&sweep, waiting).await;
    }
    assert!(!items.contains(&last), "its outcome may wait to be recorded");
    stage.has_scorer = true;
    stage.until(async || stage.waiting(&sweep).await > 0).await;
    let waiting = stage.waiting(&sweep).await as usize;
    let rest = stage.take(&sweep, waiting).await;
    let again: Vec<_> = rest.iter().filter(|job| job.key.item == last).map(|job| job.attempt).collect();
    assert_eq!(again, [2]);
    process.end().await;
}

#[tokio::test]
async fn no_question_to_scorers_has_the_number_of_an_earlier_one_about_its_sweep() {
    let mut stage = Stage::set().await;
    stage.has_scorer = false;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    for _ in 0..3 {
        stage.round().await;
        process.coordinator.cancel(&sweep.id).await.unwrap();
        stage.round().await;
        process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
        stage.round().await;
    }
    process.end().await;
    let mut reports = stage.queue.consume_reports(64).await.unwrap();
    let mut numbers = Vec::new();
    while let Some(delivery) = reports.next().now_or_never() {
        let delivery = delivery.expect("the queue is open");
        if let Report::Echo { number, .. } = delivery.message {
            numbers.push(number);
        }
        delivery.receipt.ack().await;
    }
    assert_eq!(numbers.len(), 3, "{numbers:?}");
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_held_back_is_dispatched_once_all_that_was_reported_is_recorded() {
    let mut stage = slow_stage().await;
    let process = stage.start();
    let (sweep, jobs) = all_taken(&stage, &process).await;
    stage.begin(&jobs[0]).await;
    cancel(&stage, &process, &sweep).await;
    stage.ledger.close_open_attempts(&sweep.id, Timestamp::UNIX_EPOCH).await.unwrap();
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    stage.until_waiting(&sweep, jobs.len() as u64 - 1).await;
    stage.take(&sweep, jobs.len() - 1).await;
    // Its worker tells of it, and scorers are away.
    stage.has_scorer = false;
    tokio::time::sleep(stage.config.running_within + Duration::from_secs(10)).await;
    assert_eq!(stage.waiting(&sweep).await, 0);
    stage.begin(&jobs[0]).await;
    stage.has_scorer = true;
    for _ in 0..4 {
        stage.round().await;
        assert_eq!(stage.waiting(&sweep).await, 0, "its worker has it");
    }
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_budget_pays_for_runs_after_a_resume_although_all_before_it_is_recorded_or_too_expensive() {
    let stage = slow_stage().await;
    let process = stage.start();
    let cheap =
        "models:\n  - { id: sim/dear, max_tokens: 1000, price: { input_per_mtok: 0, output_per_mtok: 5000 } }\n";
    let spec = spec("s", 6, "budget_usd: 2").replace("models:\n", cheap);
    let sweep = stage.submit(&process, &spec).await;
    stage.until(async || stage.waiting(&sweep).await == 2).await;
    let jobs = stage.take(&sweep, 2).await;
    assert!(
        jobs.iter().all(|job| sweep.cell(job.key.cell).unwrap().model.model == "oracle"),
        "the other is too expensive"
    );
    stage.finish(&sweep, &jobs, Money::ZERO).await;
    stage.until(async || stage.waiting(&sweep).await == 2).await;
    stage.take(&sweep, 2).await;
    cancel(&stage, &process, &sweep).await;
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    stage.until(async || stage.waiting(&sweep).await == 2).await;
    assert_eq!(stage.state(&sweep.id).await, SweepState::Running);
    process.end().await;
}

/// As when another process that began to watch it had read its budget before the resume: the account still has the old one.
#[tokio::test(start_paused = true)]
async fn the_leader_gives_an_account_the_budget_of_the_resume() {
    let stage = slow_stage().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 3, "budget_usd: 1000")).await;
    let (account, raised) = (AccountId { sweep: sweep.id.clone(), model: None }, Money(1_500_000_000_000));
    let cap = async || stage.permits.account(&account).await.unwrap().map(|account| account.cap);
    stage.until(async || cap().await == Some(Money(1_000_000_000_000))).await;
    cancel(&stage, &process, &sweep).await;
    let resumed = stage.ledger.resume(&sweep.id, SweepState::Cancelled, Some(raised), Quota::default()).await;
    assert!(resumed.unwrap().is_some());
    stage.until(async || cap().await == Some(raised)).await;
    // A leader of before stood still since it had read the old one.
    stage.permits.open_account(&account, Money(1_000_000_000_000), Money::ZERO).await.unwrap();
    stage.until(async || cap().await == Some(raised)).await;
    process.end().await;
}

/// A sweep of which one session waits for a verdict and all others have ended.
async fn one_waits(stage: &Stage, process: &Process) -> Arc<Sweep> {
    let (sweep, jobs) = all_taken(stage, process).await;
    stage.finish(&sweep, &jobs[1..], Money::ZERO).await;
    wait_for_a_verdict(stage, &sweep, &jobs[0]).await;
    sweep
}

/// Time from now until scorers are told to ask again what sessions of `sweep` wait for.
async fn asked_again_after(stage: &Stage, sweep: &Sweep) -> Duration {
    let since = Instant::now();
    stage.until(async || stage.reported().await > 0).await;
    assert_eq!(stage.report().await, Report::Rejudge { sweep: sweep.id.clone(), lock: sweep.digest });
    since.elapsed()
}

#[tokio::test(start_paused = true)]
async fn questions_of_before_a_resume_are_asked_again_once_workers_have_heard_of_it() {
    let stage = slow_stage().await;
    let process = stage.start();
    let sweep = one_waits(&stage, &process).await;
    cancel(&stage, &process, &sweep).await;
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    let after = asked_again_after(&stage, &sweep).await;
    assert!(after >= stage.config.rebroadcast * 3, "workers still believe in the cancel after {after:?}");
    assert!(after < stage.config.running_within, "nobody tells of a question");
    assert!(can_be_asked_again(&stage, &sweep).await);
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn questions_that_a_worker_waits_for_while_their_sweep_is_resumed_are_not_asked_again_until_it_is_gone() {
    let stage = slow_stage().await;
    let process = stage.start();
    let sweep = one_waits(&stage, &process).await;
    stage.tell_of_questions(&sweep).await;
    cancel(&stage, &process, &sweep).await;
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    stage.until(async || stage.told().await.generations.contains_key(&sweep.id)).await;
    assert!(!can_be_asked_again(&stage, &sweep).await, "a session that ends meanwhile may need the same answer");
    stage.tell_of_questions(&sweep).await;
    let after = asked_again_after(&stage, &sweep).await;
    assert!(after >= stage.config.running_within - Duration::from_secs(1), "asked again after {after:?}");
    assert!(can_be_asked_again(&stage, &sweep).await);
    process.end().await;
}
