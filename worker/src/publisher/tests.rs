//! Publishing, confirming and settling.

use futures::future::BoxFuture;
use prometheus::Registry;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_proto::{
    Attempt, AttemptTotals, BatchJob, CellIndex, Digest, Event, HeldBatch, ItemIndex, Outcome, Reply, SessionJob,
    SessionKey, SessionOutcome, Transcript,
};

use super::publishing::publish;
use super::*;
use crate::holdings::Holdings;
use crate::running::Running;

mod too_large;

const JOBS: &str = "jobs.test";

fn job() -> Job {
    let key = SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) };
    Job::Session(Box::new(SessionJob {
        key,
        lock: Digest::of(b""),
        attempt: 1,
        generation: 0,
        transcript: Transcript::default(),
    }))
}

fn held_here() -> HeldHere {
    Holdings::default().hold(HeldBatch { sweep: "s".parse().unwrap(), id: "0a1b".to_owned(), generation: 0 })
}

fn report() -> Report {
    Report::Tabulate { sweep: "s".parse().unwrap(), lock: Digest::of(b""), generation: None }
}

/// Takes the one job of `jobs`, leaves a report about it to be published in `reports`, and waits until all is settled.
async fn report_by_way_of(reports: &Queue, jobs: &Queue) -> WorkerMetrics {
    let mut consumer = jobs.consume_jobs(JOBS, 1).await.unwrap();
    let unsettled = TaskTracker::new();
    let held = Held::new(consumer.next().await.unwrap().receipt, &unsettled);
    consumer.stop();
    let metrics = WorkerMetrics::register(&Registry::new()).unwrap();
    let (publisher, publishing) = ConfirmingPublisher::start(reports.clone(), metrics.clone());
    publisher
        .leave(Publication { reports: vec![report()], jobs: Vec::new(), origin: Origin::Batch(held, held_here()) })
        .await;
    drop(publisher);
    publishing.await.unwrap();
    unsettled.close();
    unsettled.wait().await;
    metrics
}

#[tokio::test]
async fn a_job_is_acknowledged_when_its_report_is_published() {
    let queue = Queue::memory();
    queue.declare_jobs(JOBS).await.unwrap();
    queue.publish_jobs(JOBS, vec![job()]).await.unwrap();
    let metrics = report_by_way_of(&queue, &queue).await;
    assert_eq!((queue.depth(JOBS).await.unwrap(), metrics.reports_lost.get()), (0, 0));
    assert_eq!(queue.consume_reports(1).await.unwrap().next().await.unwrap().message, report());
}

#[test]
fn long_transcripts_are_published_a_few_at_a_time_and_short_ones_together() {
    let publication =
        |text: &str| Publication { reports: vec![ended(0, text)], jobs: Vec::new(), origin: Origin::Nobody };
    let (long, third) = ("x".repeat(BATCH_BYTES as usize + 1), "x".repeat(BATCH_BYTES as usize / 3));
    let texts = ["short", "short", &long, "short", &third, &third, &third];
    let mut waiting = texts.into_iter().map(publication).peekable();
    let mut counts = Vec::new();
    while waiting.peek().is_some() {
        counts.push(light(&mut waiting).len());
    }
    assert_eq!(counts, [2, 1, 3, 1]);
}

#[tokio::test]
async fn a_job_whose_report_cannot_be_published_is_handed_back() {
    let (jobs, closed) = (Queue::memory(), Queue::memory());
    closed.close();
    jobs.declare_jobs(JOBS).await.unwrap();
    jobs.publish_jobs(JOBS, vec![job()]).await.unwrap();
    let metrics = report_by_way_of(&closed, &jobs).await;
    assert_eq!(metrics.reports_lost.get(), 1);
    let again = jobs.consume_jobs(JOBS, 1).await.unwrap().next().await.unwrap();
    assert_eq!((again.message, again.redeliveries), (job(), 1));
}

fn key(item: u32) -> SessionKey {
    SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(item) }
}

fn attempt(item: u32) -> Attempt {
    let at = jiff::Timestamp::UNIX_EPOCH;
    let id = format!("w-{item}").parse().unwrap();
    Attempt { id, number: 1, worker: "w".parse().unwrap(), started_at: at, ended_at: at }
}

fn transcript(text: &str) -> Transcript {
    Transcript { events: vec![Event::Recorded(Reply::said(text))] }
}

fn ended(item: u32, text: &str) -> Report {
    let (key, attempt) = (key(item), attempt(item));
    let (lock, outcome) = (Digest::of(b""), Outcome::Measured);
    Report::Session(Box::new(SessionOutcome { key, lock, attempt, outcome, transcript: transcript(text) }))
}

fn handed_over(item: u32, text: &str) -> (Report, (String, Job)) {
    let totals = AttemptTotals::default();
    let report = Report::HandedOver { key: key(item), attempt: attempt(item), totals, taken_over: false };
    let job =
        SessionJob { key: key(item), lock: Digest::of(b""), attempt: 2, generation: 0, transcript: transcript(text) };
    (report, ("next".to_owned(), Job::Session(Box::new(job))))
}

/// A connection on which the confirmation of one call is lost, after so many others.
struct Unconfirmed(AtomicI32);

impl Fate for Unconfirmed {
    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        let is_it = self.0.fetch_sub(1, Ordering::Relaxed) == 0;
        Box::pin(std::future::ready(if is_it { Err(Trouble) } else { Ok(()) }))
    }
}

#[tokio::test(start_paused = true)]
async fn the_job_of_a_session_that_is_handed_over_is_published_once_whichever_confirmation_is_lost() {
    // That of the job, and that of the report after it.
    for others in [0, 1] {
        let queue = Queue::memory();
        queue.declare_jobs("next").await.unwrap();
        let metrics = WorkerMetrics::register(&Registry::new()).unwrap();
        let (report, next) = handed_over(1, "short");
        let origin = Origin::Session(running(&queue, &next).await);
        let publication = Publication { reports: vec![report.clone()], jobs: vec![next], origin };
        let troubled = queue.troubled(Troubles::new(Arc::new(Unconfirmed(AtomicI32::new(others)))));
        publish(&troubled, &metrics, vec![publication]).await;
        assert_eq!(queue.depth("next").await.unwrap(), 1, "after {others} calls");
        assert_eq!(queue.consume_reports(1).await.unwrap().next().await.unwrap().message, report);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_published_until_it_is_confirmed_as_no_checkpoint_has_what_its_sessions_have_paid_for() {
    assert_eq!(copies(batch(&["short", "short"])).await, 2, "the first may not have arrived");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_has_asked_nothing_and_is_sent_on_is_published_once() {
    assert_eq!(copies(job()).await, 1);
}

/// Messages that the queue has of `job` when the confirmation of the first is lost.
async fn copies(job: Job) -> u64 {
    let queue = Queue::memory();
    queue.declare_jobs("next").await.unwrap();
    let metrics = WorkerMetrics::register(&Registry::new()).unwrap();
    let jobs = vec![("next".to_owned(), job)];
    let publication = Publication { reports: Vec::new(), jobs, origin: Origin::Nobody };
    let troubled = queue.troubled(Troubles::new(Arc::new(Unconfirmed(AtomicI32::new(0)))));
    publish(&troubled, &metrics, vec![publication]).await;
    queue.depth("next").await.unwrap()
}

/// The intent of a batch of sessions that have said these texts.
fn batch(texts: &[&str]) -> Job {
    let session = |(item, text): (u32, &&str)| SessionJob {
        key: key(item),
        lock: Digest::of(b""),
        attempt: 2,
        generation: 0,
        transcript: transcript(text),
    };
    Job::Batch(Box::new(BatchJob {
        sweep: "s".parse().unwrap(),
        lock: Digest::of(b""),
        model: "a/m".parse().unwrap(),
        id: "0a1b".to_owned(),
        provider_id: None,
        intended_at: jiff::Timestamp::UNIX_EPOCH,
        since: None,
        sessions: (1..).zip(texts).map(session).collect(),
    }))
}

/// The session of `job` runs here: its job was delivered from a queue of its own.
async fn running(queue: &Queue, (_, job): &(String, Job)) -> RunningSession {
    let Job::Session(session) = job else { panic!("it is a session's") };
    queue.declare_jobs("first").await.unwrap();
    queue.publish_jobs("first", vec![job.clone()]).await.unwrap();
    let delivery = queue.consume_jobs("first", 1).await.unwrap().next().await.unwrap();
    let held = Held::new(delivery.receipt, &TaskTracker::new());
    Running::default().begin(&session.key, 1, held).await.expect("it runs nowhere else")
}
