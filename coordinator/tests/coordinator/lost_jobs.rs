//! Jobs that the broker has lost are dispatched again although others of their sweep go on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use regatta_backends::Consumer;
use regatta_catalog::Sweep;
use regatta_proto::{Job, Money, SessionJob, SessionKey};
use regatta_stage::session_of;
use tokio::time::Instant;

use crate::recovering::all_jobs;
use crate::stage::{Process, Stage, queue_of, spec};
use crate::told::deployed;

/// Time that the broker may take to notice that a worker is cut off, and the next worker to tell of what it is given then.
pub(crate) const GIVEN_TO_ANOTHER_WITHIN: Duration = Duration::from_secs(72);

/// A sweep whose jobs workers have taken. Of three nobody tells, of three somebody does, and of the others one ends every half minute, so that
/// the sweep is never quiet.
pub(crate) struct Moving {
    pub(crate) stage: Stage,
    pub(crate) process: Process,
    pub(crate) sweep: Arc<Sweep>,
    /// Workers that wait for more.
    pub(crate) consumer: Consumer<Job>,
    pub(crate) lost: Vec<SessionJob>,
    pub(crate) told: Vec<SessionJob>,
    pub(crate) ending: Vec<SessionJob>,
    ended_at: Instant,
}

impl Moving {
    pub(crate) async fn begin() -> Self {
        Self::begin_on(deployed().await).await
    }

    pub(crate) async fn begin_on(stage: Stage) -> Self {
        let process = stage.start();
        let sweep = stage.submit(&process, &spec("s", 6, "trials: 6")).await;
        let mut jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
        // So that the last ones are of several cells, whose jobs wait in one queue.
        jobs.sort_by_key(|job| (job.key.item, job.key.cell));
        let lost = jobs.split_off(jobs.len() - 3);
        let told = jobs.split_off(jobs.len() - 3);
        let consumer = stage.queue.consume_jobs(&queue_of(&sweep), 1_000).await.unwrap();
        Self { stage, process, sweep, consumer, lost, told, ending: jobs, ended_at: Instant::now() }
    }

    /// Lets rounds pass for `time`, in which workers tell of what they have, or until they are given more; returns that.
    pub(crate) async fn given_within(&mut self, time: Duration) -> Vec<SessionJob> {
        let since = Instant::now();
        loop {
            let given = self.given().await;
            if !given.is_empty() || since.elapsed() >= time {
                return given;
            }
            self.go_on().await;
        }
    }

    /// Jobs that workers have been given since.
    async fn given(&mut self) -> Vec<SessionJob> {
        let mut given = Vec::new();
        while let Some(delivery) = self.consumer.next().now_or_never() {
            let delivery = delivery.expect("the queue is open");
            delivery.receipt.ack().await;
            given.push(session_of(delivery.message));
        }
        given
    }

    /// One round.
    pub(crate) async fn go_on(&mut self) {
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
    pub(crate) fn noticed_within(&self) -> Duration {
        self.stage.config.running_within + Duration::from_secs(35)
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
    let again = moving.given_within(moving.noticed_within()).await;
    assert!(since.elapsed() >= moving.stage.config.running_within, "somebody may have told of them");
    assert_eq!(keys(&again), keys(&moving.lost));
    assert_ne!(again[0].key.cell, again[2].key.cell, "cells of one queue do not wait for each other");
    assert!(again.iter().all(|job| job.attempt == 2), "a later attempt");
    // Who has them now is lost at once, too.
    assert_eq!(moving.given_within(moving.stage.config.running_within - Duration::from_secs(5)).await, []);
    assert_eq!(keys(&moving.given_within(Duration::from_secs(45)).await), keys(&moving.lost), "lost for good");
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn jobs_that_the_broker_gives_to_the_next_worker_are_not_dispatched_beside_it() {
    let mut moving = Moving::begin().await;
    assert_eq!(moving.given_within(GIVEN_TO_ANOTHER_WITHIN).await, []);
    moving.told.append(&mut moving.lost);
    assert_eq!(moving.given_within(Duration::from_secs(150)).await, []);
    moving.process.end().await;
}

/// The last of a long queue is taken by a worker that is cut off at once; the broker notices after a minute, and gives it to the next.
#[tokio::test(start_paused = true)]
async fn a_job_that_has_waited_long_is_not_lost_before_whoever_took_it_is_known_to_be_cut_off() {
    let mut moving = Moving::begin().await;
    let waits = moving.lost.remove(0);
    // Nobody can take it yet.
    let queue = queue_of(&moving.sweep);
    moving.consumer.stop();
    moving.stage.queue.publish_jobs(&queue, vec![Job::Session(Box::new(waits.clone()))]).await.unwrap();
    let since = Instant::now();
    while since.elapsed() < moving.noticed_within() {
        moving.go_on().await;
        assert_eq!(moving.stage.waiting(&moving.sweep).await, 1, "nothing is lost before it was taken");
    }
    moving.consumer = moving.stage.queue.consume_jobs(&queue, 1_000).await.unwrap();
    assert_eq!(keys(&moving.given().await), keys(std::slice::from_ref(&waits)));
    let given = moving.given_within(GIVEN_TO_ANOTHER_WITHIN).await;
    assert!(!keys(&given).contains(&waits.key), "its worker may be cut off, and the next one be given it");
    moving.told.push(waits);
    let again = moving.given_within(Duration::from_secs(60)).await;
    assert_eq!(keys(&again), keys(&moving.lost), "the others have been lost all the time");
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_while_nobody_consumes_its_queue() {
    let mut moving = Moving::begin().await;
    moving.consumer.stop();
    let since = Instant::now();
    while since.elapsed() < moving.noticed_within() * 2 {
        moving.go_on().await;
        assert_eq!(moving.stage.waiting(&moving.sweep).await, 0, "the broker may not know what waits");
    }
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn sessions_whose_reports_wait_for_a_scorer_are_not_dispatched_again() {
    let mut moving = Moving::begin().await;
    moving.stage.has_scorer = false;
    let patience = moving.noticed_within() + Duration::from_secs(60);
    assert_eq!(moving.given_within(patience).await, [], "nobody has answered that all is recorded");
    let lost = std::mem::take(&mut moving.lost);
    moving.stage.finish(&moving.sweep, &lost, Money::ZERO).await;
    moving.stage.has_scorer = true;
    assert_eq!(moving.given_within(Duration::from_secs(60)).await, [], "they have results");
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_takes_over_notices_jobs_that_were_lost_before() {
    let mut moving = Moving::begin().await;
    assert_eq!(moving.given_within(Duration::from_secs(30)).await, []);
    let next = moving.stage.start();
    std::mem::replace(&mut moving.process, next).end().await;
    let again = moving.given_within(moving.noticed_within() + Duration::from_secs(20)).await;
    assert_eq!(keys(&again), keys(&moving.lost));
    moving.process.end().await;
}

/// Reports may wait for scorers for minutes, in which the ledger hears of nobody.
#[tokio::test(start_paused = true)]
async fn an_answer_tells_nothing_of_what_became_silent_after_its_question() {
    let mut moving = Moving::begin().await;
    moving.stage.has_scorer = false;
    assert_eq!(moving.given_within(moving.noticed_within()).await, []);
    // The late answer does not count, and the coordinator asks once more a while later.
    moving.stage.has_scorer = true;
    moving.go_on().await;
    moving.stage.answer_echoes().await;
    moving.stage.has_scorer = false;
    assert_eq!(moving.given_within(Duration::from_secs(20)).await, []);
    let told = std::mem::take(&mut moving.told);
    assert_eq!(moving.given_within(moving.stage.config.running_within + Duration::from_secs(40)).await, []);
    moving.stage.has_scorer = true;
    moving.stage.answer_echoes().await;
    let mut given = moving.given_within(Duration::from_secs(5)).await;
    given.extend(moving.given().await);
    assert_eq!(keys(&given), keys(&moving.lost), "and none of {:?}", keys(&told));
    moving.process.end().await;
}

/// A broker that loses what it has loses jobs that were taken a while ago, and others that were about to be.
#[tokio::test(start_paused = true)]
async fn jobs_that_were_lost_within_seconds_of_each_other_are_dispatched_again_together() {
    let mut moving = Moving::begin().await;
    for job in moving.lost.clone() {
        moving.stage.begin(&job).await;
    }
    let (since, last) = (Instant::now(), moving.lost[2].clone());
    while since.elapsed() < Duration::from_secs(12) {
        moving.go_on().await;
        moving.stage.begin(&last).await;
    }
    let again = moving.given_within(moving.noticed_within() + Duration::from_secs(12)).await;
    assert_eq!(keys(&again), keys(&moving.lost));
    moving.process.end().await;
}
