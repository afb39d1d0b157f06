//! Questions for judges that the broker has lost are asked again although others of their sweep go on.

use std::time::Duration;

use regatta_proto::{Money, Report, SessionJob};
use tokio::time::Instant;

use crate::lost_jobs::Moving;
use crate::recovering::{can_be_asked_again, wait_for_a_verdict};
use crate::stage::{Stage, queue_of};
use crate::told::deployed;

/// A sweep that goes on, one of whose sessions waits for a verdict that was asked for.
async fn waiting() -> Moving {
    let mut moving = Moving::begin().await;
    moving.told.append(&mut moving.lost);
    let waits = moving.ending.pop().unwrap();
    wait_for_a_verdict(&moving.stage, &moving.sweep, &waits).await;
    moving
}

impl Moving {
    /// Lets rounds pass for `time`, after each of which a worker tells of what it has, or until scorers are to ask again; says whether they are.
    async fn is_asked_again_within(&mut self, time: Duration, tell: impl AsyncFn(&Self)) -> bool {
        let since = Instant::now();
        while since.elapsed() < time {
            tell(self).await;
            self.go_on().await;
            if self.stage.reported().await > 0 {
                let rejudge = Report::Rejudge { sweep: self.sweep.id.clone(), lock: self.sweep.digest };
                assert_eq!(self.stage.report().await, rejudge);
                return true;
            }
        }
        false
    }
}

#[tokio::test(start_paused = true)]
async fn questions_that_are_lost_are_asked_again_while_others_go_on() {
    let mut moving = waiting().await;
    let told_within = moving.stage.config.running_within;
    assert!(!moving.is_asked_again_within(told_within, async |_| {}).await, "somebody may have told of it");
    let patience = moving.noticed_within() + Duration::from_secs(15) - told_within;
    assert!(moving.is_asked_again_within(patience, async |_| {}).await);
    assert!(can_be_asked_again(&moving.stage, &moving.sweep).await);
    // Whoever asks it now has the same time.
    assert!(!moving.is_asked_again_within(told_within, async |_| {}).await);
    assert!(moving.is_asked_again_within(patience, async |_| {}).await, "lost for good");
    assert_eq!(moving.process.metrics.reconciled.get(), 2, "no session was dispatched again");
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn questions_and_sessions_that_were_lost_at_once_count_as_lost_at_once() {
    let mut moving = Moving::begin().await;
    for job in moving.lost.clone() {
        moving.stage.begin(&job).await;
    }
    let waits = moving.ending.pop().unwrap();
    wait_for_a_verdict(&moving.stage, &moving.sweep, &waits).await;
    assert_eq!(moving.given_within(moving.noticed_within()).await.len(), moving.lost.len());
    // What comes of these sessions fills the queue of the judge.
    assert!(moving.is_asked_again_within(Duration::from_secs(2), async |_| {}).await);
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn questions_that_a_worker_names_are_not_asked_again() {
    let mut moving = waiting().await;
    let patience = moving.noticed_within() * 2;
    let tell = async |moving: &Moving| moving.stage.tell_of_questions(&moving.sweep).await;
    assert!(!moving.is_asked_again_within(patience, tell).await);
    assert!(!can_be_asked_again(&moving.stage, &moving.sweep).await);
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn no_question_is_asked_again_while_a_worker_of_a_version_that_names_none_holds_some() {
    let mut moving = waiting().await;
    let patience = moving.noticed_within() * 2;
    let tell = async |moving: &Moving| moving.stage.tell_of_unnamed_questions(&moving.sweep.id).await;
    assert!(!moving.is_asked_again_within(patience, tell).await);
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn questions_whose_answers_wait_for_a_scorer_are_not_asked_again() {
    let mut moving = waiting().await;
    moving.stage.has_scorer = false;
    let patience = moving.noticed_within() * 2;
    assert!(!moving.is_asked_again_within(patience, async |_| {}).await, "nobody has answered that all is recorded");
    assert!(!can_be_asked_again(&moving.stage, &moving.sweep).await);
    moving.process.end().await;
}

/// A sweep of which nothing is left but the verdict that a session waits for, whose question somebody has claimed.
async fn with_nothing_else_left(stage: Stage) -> Moving {
    let moving = Moving::begin_on(stage).await;
    let all: Vec<SessionJob> =
        [&moving.lost, &moving.told, &moving.ending].into_iter().flat_map(|jobs| jobs.iter().cloned()).collect();
    moving.stage.finish(&moving.sweep, &all[1..], Money::ZERO).await;
    wait_for_a_verdict(&moving.stage, &moving.sweep, &all[0]).await;
    moving
}

#[tokio::test(start_paused = true)]
async fn questions_that_a_scorer_claimed_and_may_not_have_asked_are_asked_again_when_their_sweep_is_quiet() {
    let mut stage = deployed().await;
    stage.config.lost_after *= 2;
    let moving = with_nothing_else_left(stage).await;
    let since = Instant::now();
    while moving.stage.reported().await == 0 {
        moving.stage.round().await;
    }
    let (waited, config) = (since.elapsed(), &moving.stage.config);
    assert!((config.doubtful_after..config.lost_after).contains(&waited), "{waited:?}");
    assert!(can_be_asked_again(&moving.stage, &moving.sweep).await);
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn questions_in_doubt_are_not_asked_again_while_nobody_consumes_their_judges_queue() {
    let mut stage = deployed().await;
    stage.config.lost_after *= 3;
    let mut moving = with_nothing_else_left(stage).await;
    moving.consumer.stop();
    let since = Instant::now();
    while since.elapsed() < moving.stage.config.doubtful_after + Duration::from_secs(30) {
        moving.stage.round().await;
        assert_eq!(moving.stage.reported().await, 0, "the broker may not know what waits");
    }
    moving.consumer = moving.stage.queue.consume_jobs(&queue_of(&moving.sweep), 1_000).await.unwrap();
    while moving.stage.reported().await == 0 {
        moving.stage.round().await;
    }
    assert!(since.elapsed() < moving.stage.config.lost_after, "it is known now that nothing waits");
    assert!(can_be_asked_again(&moving.stage, &moving.sweep).await);
    moving.process.end().await;
}

#[tokio::test(start_paused = true)]
async fn questions_whose_jobs_a_worker_has_taken_are_in_no_doubt() {
    let moving = with_nothing_else_left(deployed().await).await;
    moving.stage.tell_of_questions(&moving.sweep).await;
    let since = Instant::now();
    while since.elapsed() < moving.stage.config.doubtful_after + Duration::from_secs(10) {
        moving.stage.round().await;
        assert_eq!(moving.stage.reported().await, 0);
    }
    moving.process.end().await;
}
