//! Jobs that the broker has lost are dispatched again although others wait in their queue all the time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use regatta_backends::{Consumer, Delivery};
use regatta_catalog::Sweep;
use regatta_proto::{Job, Money, SessionJob, SessionKey};
use regatta_stage::session_of;
use tokio::time::Instant;

use crate::lost_jobs::GIVEN_TO_ANOTHER_WITHIN;
use crate::stage::{Process, Stage, queue_of, spec};
use crate::told::deployed;

/// Window that takes 24 s to be given out.
const SHORT: u32 = 24;
/// Shortest time within which a coordinator asks and scorers answer.
const TICK: Duration = Duration::from_millis(200);

/// A worker takes a job every second, and is done with it at once, which leaves a queue that is never empty.
struct Busy {
    stage: Stage,
    process: Process,
    sweep: Arc<Sweep>,
    consumer: Consumer<Job>,
    taken_at: Instant,
    /// Scorers answer within a tick of the coordinator, and not only once in each of its looks.
    answers_promptly: bool,
}

impl Busy {
    async fn begin() -> Self {
        Self::with_window(SHORT).await
    }

    async fn with_window(window: u32) -> Self {
        let mut stage = deployed().await;
        stage.config.window = window;
        let process = stage.start();
        let sweep = stage.submit(&process, &spec("s", 6, "trials: 30")).await;
        stage.until_waiting(&sweep, u64::from(window)).await;
        let consumer = stage.queue.consume_jobs(&queue_of(&sweep), 4).await.unwrap();
        Self { stage, process, sweep, consumer, taken_at: Instant::now(), answers_promptly: false }
    }

    /// The next job of the queue.
    async fn next(&mut self) -> Delivery<Job> {
        self.consumer.next().now_or_never().expect("jobs wait").expect("the queue is open")
    }

    /// The next job, which whoever had taken it never tells of again.
    async fn lose(&mut self) -> SessionJob {
        let delivery = self.next().await;
        delivery.receipt.ack().await;
        session_of(delivery.message)
    }

    /// One round; returns the jobs that the worker took in it.
    async fn go_on(&mut self) -> Vec<SessionJob> {
        if self.answers_promptly {
            self.stage.answer_echoes().await;
            tokio::time::sleep(TICK).await;
        } else {
            self.stage.round().await;
        }
        let mut taken = Vec::new();
        while self.taken_at.elapsed() >= Duration::from_secs(1) {
            assert!(self.stage.waiting(&self.sweep).await > 0, "jobs wait all the time");
            self.taken_at += Duration::from_secs(1);
            taken.push(self.lose().await);
        }
        for job in &taken {
            self.stage.begin(job).await;
        }
        self.stage.finish(&self.sweep, &taken, Money::ZERO).await;
        taken
    }

    /// Lets rounds pass for `time`, in which the worker takes nothing.
    async fn has_no_room_for(&mut self, time: Duration) {
        let since = Instant::now();
        while since.elapsed() < time {
            self.stage.round().await;
        }
        self.taken_at = Instant::now();
    }

    /// The jobs that the worker takes within `time`.
    async fn taken_within(&mut self, time: Duration) -> Vec<SessionJob> {
        let (since, mut taken) = (Instant::now(), Vec::new());
        while since.elapsed() < time {
            taken.extend(self.go_on().await);
        }
        taken
    }
}

/// Sessions whose jobs were taken more than once. One that nobody has told of has the same attempt each time.
fn taken_twice<'a>(taken: impl IntoIterator<Item = &'a SessionJob>) -> Vec<&'a SessionKey> {
    let mut seen = BTreeSet::new();
    taken.into_iter().map(|job| &job.key).filter(|key| !seen.insert(*key)).collect()
}

#[tokio::test(start_paused = true)]
async fn lost_jobs_are_dispatched_again_within_three_minutes_although_others_wait_all_the_time() {
    let mut busy = Busy::begin().await;
    let mut lost = Vec::new();
    for _ in 0..3 {
        lost.push(busy.lose().await);
    }
    let taken = busy.taken_within(Duration::from_secs(100)).await;
    assert!(!taken.iter().any(|job| lost.iter().any(|lost| lost.key == job.key)), "somebody may still tell of them");
    let taken = busy.taken_within(Duration::from_secs(80)).await;
    let lost: BTreeSet<SessionKey> = lost.into_iter().map(|job| job.key).collect();
    let again: Vec<&SessionJob> = taken.iter().filter(|job| lost.contains(&job.key)).collect();
    assert_eq!(again.len(), 3, "once");
    assert_eq!(again.iter().map(|job| job.key.clone()).collect::<BTreeSet<_>>(), lost);
    busy.process.end().await;
}

/// A worker is cut off before it has told of what it was given, which had waited for long; the broker notices after a minute.
#[tokio::test(start_paused = true)]
async fn a_job_that_the_broker_gives_to_another_after_a_minute_is_not_dispatched_beside_it() {
    let mut busy = Busy::begin().await;
    busy.taken_within(Duration::from_secs(40)).await;
    busy.has_no_room_for(Duration::from_secs(120)).await;
    let delivery = busy.next().await;
    let given = busy.taken_within(GIVEN_TO_ANOTHER_WITHIN).await;
    delivery.receipt.hand_back().await;
    let key = session_of(delivery.message).key;
    let next = busy.taken_within(Duration::from_secs(5)).await;
    assert!(!given.iter().any(|job| job.key == key));
    assert!(next.iter().any(|job| job.key == key), "before all that no worker has yet");
    let later = busy.taken_within(Duration::from_secs(120)).await;
    assert_eq!(taken_twice(given.iter().chain(&next).chain(&later)), Vec::<&SessionKey>::new());
    busy.process.end().await;
}

/// A worker was killed that had told of it for long, and the others are full.
#[tokio::test(start_paused = true)]
async fn a_job_that_was_told_of_and_waits_again_is_not_lost() {
    let mut busy = Busy::begin().await;
    let delivery = busy.next().await;
    let Job::Session(job) = &delivery.message else { panic!("nobody has asked for {:?}", delivery.message) };
    for _ in 0..24 {
        busy.stage.begin(job).await;
        busy.go_on().await;
    }
    delivery.receipt.hand_back().await;
    busy.stage.round().await;
    let waiting = busy.stage.waiting(&busy.sweep).await;
    busy.has_no_room_for(Duration::from_secs(300)).await;
    assert_eq!(busy.stage.waiting(&busy.sweep).await, waiting);
    busy.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_told_of_and_lost_is_dispatched_again_within_three_minutes_although_others_wait() {
    let mut busy = Busy::begin().await;
    let lost = busy.lose().await;
    busy.stage.begin(&lost).await;
    let taken = busy.taken_within(Duration::from_secs(75)).await;
    assert!(!taken.iter().any(|job| job.key == lost.key), "whoever told of it may tell of it again");
    let taken = busy.taken_within(Duration::from_secs(105)).await;
    assert_eq!(taken.iter().filter(|job| job.key == lost.key).count(), 1);
    busy.process.end().await;
}

/// A worker that ends hands it over: it publishes its job again, with what there is of it, and the others are full.
/// The first that was published after the loss was seen is given out when the lost one is suspected already, and has been for long enough.
#[tokio::test(start_paused = true)]
async fn a_lost_job_is_looked_at_again_and_again_until_it_was_overtaken_twice() {
    let mut busy = Busy::with_window(60).await;
    busy.answers_promptly = true;
    let lost = busy.lose().await;
    let taken = busy.taken_within(Duration::from_secs(135)).await;
    assert!(!taken.iter().any(|job| job.key == lost.key), "somebody may still tell of it");
    let taken = busy.taken_within(Duration::from_secs(105)).await;
    assert_eq!(taken.iter().filter(|job| job.key == lost.key).count(), 1, "when it has waited for a minute too");
    busy.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_handed_over_and_waits_at_the_end_of_its_queue_is_not_lost() {
    let mut busy = Busy::begin().await;
    busy.taken_within(Duration::from_secs(5)).await;
    let job = busy.lose().await;
    busy.stage.begin(&job).await;
    let before = busy.taken_within(Duration::from_secs(20)).await;
    busy.stage.queue.publish_jobs(&queue_of(&busy.sweep), vec![Job::Session(Box::new(job.clone()))]).await.unwrap();
    busy.has_no_room_for(Duration::from_secs(300)).await;
    let later = busy.taken_within(Duration::from_secs(150)).await;
    assert_eq!(taken_twice(before.iter().chain(&later)), Vec::<&SessionKey>::new());
    assert!(later.iter().any(|taken| taken.key == job.key));
    busy.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_waits_while_no_worker_has_room_is_not_lost() {
    let mut busy = Busy::begin().await;
    let before = busy.taken_within(Duration::from_secs(40)).await;
    busy.stage.round().await;
    let waiting = busy.stage.waiting(&busy.sweep).await;
    busy.has_no_room_for(Duration::from_secs(300)).await;
    assert_eq!(busy.stage.waiting(&busy.sweep).await, waiting);
    let later = busy.taken_within(Duration::from_secs(120)).await;
    assert_eq!(taken_twice(before.iter().chain(&later)), Vec::<&SessionKey>::new());
    busy.process.end().await;
}
