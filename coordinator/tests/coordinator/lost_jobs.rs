//! Jobs that the broker has lost are dispatched again although others of their sweep go on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use regatta_catalog::Sweep;
use regatta_proto::{Job, Money, SessionJob, SessionKey};
use tokio::time::Instant;

use crate::recovering::all_jobs;
use crate::stage::{Process, Stage, queue_of, spec};
use crate::told::deployed;

/// Time that the broker may take to notice that a worker is cut off, and the next worker to tell of what it is given then.
const GIVEN_TO_ANOTHER_WITHIN: Duration = Duration::from_secs(70);

/// A sweep whose jobs workers have taken. Of three nobody tells, of three somebody does, and of the others one ends every half minute, so that
/// the sweep is never quiet.
struct Moving {
    stage: Stage,
    process: Process,
    sweep: Arc<Sweep>,
    lost: Vec<SessionJob>,
    told: Vec<SessionJob>,
    ending: Vec<SessionJob>,
    ended_at: Instant,
}

impl Moving {
    async fn begin() -> Self {
        let stage = deployed().await;
        let process = stage.start();
        let sweep = stage.submit(&process, &spec("s", 6, "trials: 4")).await;
        let mut jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
        let lost = jobs.split_off(jobs.len() - 3);
        let told = jobs.split_off(jobs.len() - 3);
        Self { stage, process, sweep, lost, told, ending: jobs, ended_at: Instant::now() }
    }

    /// Lets rounds pass for `time`, in which workers tell of what they have, or until jobs wait; true if they do.
    async fn jobs_wait_within(&mut self, time: Duration) -> bool {
        let since = Instant::now();
        while since.elapsed() < time && self.stage.waiting(&self.sweep).await == 0 {
            self.go_on().await;
        }
        self.stage.waiting(&self.sweep).await > 0
    }

    /// One round.
    async fn go_on(&mut self) {
        for job in self.told.iter().chain(&self.ending) {
            self.stage.begin(job).await;
        }
        if self.ended_at.elapsed() >= Duration::from_secs(30) {
            self.ended_at = Instant::now();
            let job = self.ending.pop().expect("it moves for as long as a test looks");
            self.stage.finish(&self.sweep, &[job], Money::ZERO).await;
        }
        self.stage.round().await;
    }

    /// Time within which jobs are dispatched again that are lost now.
    fn noticed_within(&self) -> Duration {
        self.stage.config.running_within + Duration::from_secs(30)
    }
}

fn keys(jobs: &[SessionJob]) -> BTreeSet<SessionKey> {
    jobs.iter().map(|job| job.key.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn lost_jobs_of_a_sweep_that_goes_on_are_dispatched_again_and_no_others() {
    let mut moving = Moving::begin().await;
    for job in moving.lost.clone() {
        moving.stage.begin(&job).await;
    }
    let since = Instant::now();
    let patience = moving.noticed_within();
    assert!(moving.jobs_wait_within(patience).await, "not dispatched again");
    assert!(since.elapsed() >= moving.stage.config.running_within, "somebody may have told of them");
    let again = moving.stage.take(&moving.sweep, moving.lost.len()).await;
    assert_eq!(keys(&again), keys(&moving.lost));
    assert!(again.iter().all(|job| job.attempt == 2), "a later attempt");
    // Who has them now is lost at once, too.
    assert!(!moving.jobs_wait_within(moving.stage.config.running_within - Duration::from_secs(5)).await);
    assert!(moving.jobs_wait_within(Duration::from_secs(40)).await, "lost for good");
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn jobs_that_the_broker_gives_to_the_next_worker_are_not_dispatched_beside_it() {
    let mut moving = Moving::begin().await;
    assert!(!moving.jobs_wait_within(GIVEN_TO_ANOTHER_WITHIN).await);
    moving.told.append(&mut moving.lost);
    assert!(!moving.jobs_wait_within(Duration::from_secs(150)).await);
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn jobs_are_not_lost_while_others_wait_in_their_queue() {
    let mut moving = Moving::begin().await;
    let waits = moving.ending.remove(0);
    let queue = queue_of(&moving.sweep);
    moving.stage.queue.publish_jobs(&queue, vec![Job::Session(Box::new(waits))]).await.unwrap();
    let since = Instant::now();
    while since.elapsed() < moving.noticed_within() * 2 {
        moving.go_on().await;
        assert_eq!(moving.stage.waiting(&moving.sweep).await, 1, "after {:?}", since.elapsed());
    }
    moving.stage.take(&moving.sweep, 1).await;
    assert!(moving.jobs_wait_within(Duration::from_secs(60)).await, "whoever took them tells of them soon");
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn sessions_whose_reports_wait_for_a_scorer_are_not_dispatched_again() {
    let mut moving = Moving::begin().await;
    moving.stage.has_scorer = false;
    let patience = moving.noticed_within() + Duration::from_secs(60);
    assert!(!moving.jobs_wait_within(patience).await, "nobody has answered that all is recorded");
    let lost = std::mem::take(&mut moving.lost);
    moving.stage.finish(&moving.sweep, &lost, Money::ZERO).await;
    moving.stage.has_scorer = true;
    assert!(!moving.jobs_wait_within(Duration::from_secs(60)).await, "they have results");
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_takes_over_notices_jobs_that_were_lost_before() {
    let mut moving = Moving::begin().await;
    assert!(!moving.jobs_wait_within(Duration::from_secs(30)).await);
    let next = moving.stage.start();
    std::mem::replace(&mut moving.process, next).end().await;
    let patience = moving.noticed_within() + Duration::from_secs(15);
    assert!(moving.jobs_wait_within(patience).await, "not dispatched again");
    let again = moving.stage.take(&moving.sweep, moving.lost.len()).await;
    assert_eq!(keys(&again), keys(&moving.lost));
    moving.process.end().await;
}
