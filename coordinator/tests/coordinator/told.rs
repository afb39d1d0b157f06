//! Sessions, batches and questions of which workers tell are neither in doubt nor lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_backends::{Blobs, Ledger};
use regatta_catalog::Sweep;
use regatta_coordinator::{CoordinatorConfig, Resumption};
use regatta_proto::{Job, Money, Report, SessionJob, SessionKey};

use crate::recovering::{all_jobs, can_be_asked_again, die_while_publishing, wait_for_a_verdict};
use crate::stage::{Stage, queue_of, spec};

/// A stage with the times of a deployment, whose clock is put forward when nothing else is left to do.
pub(crate) async fn deployed() -> Stage {
    let mut stage = Stage::set().await;
    (stage.ledger, stage.in_memory) = (Ledger::in_memory().unwrap(), Some(Blobs::memory()));
    stage.config = CoordinatorConfig::default();
    stage
}

/// Lets rounds pass, in each of which a worker tells of what it holds, until jobs wait or `patience` is over.
async fn rounds_until_jobs_wait(stage: &Stage, sweep: &Sweep, patience: Duration, tell: impl AsyncFn()) -> bool {
    let since = tokio::time::Instant::now();
    while stage.waiting(sweep).await == 0 && since.elapsed() < patience {
        tell().await;
        stage.round().await;
    }
    stage.waiting(sweep).await > 0
}

fn keys(jobs: &[SessionJob]) -> BTreeSet<SessionKey> {
    jobs.iter().map(|job| job.key.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_shard_in_doubt_repeats_no_session_of_a_batch_that_a_worker_tells_of() {
    for is_told in [true, false] {
        let stage = deployed().await;
        let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
        let jobs = all_jobs(&sweep);
        die_while_publishing(&stage, &sweep, &jobs[..5]).await;
        let of_batch = stage.take(&sweep, 5).await;
        stage.begin_batch("0a", &of_batch).await;
        let process = stage.start();
        let tell = async || {
            if is_told {
                stage.tell_of_batch(&sweep.id, "0a").await;
            }
        };
        assert!(rounds_until_jobs_wait(&stage, &sweep, Duration::from_secs(100), tell).await);
        let again = stage.take(&sweep, jobs.len() - of_batch.len()).await;
        assert!(keys(&again).is_disjoint(&keys(&of_batch)), "a worker told of these when it began them");
        let tell = async || {
            tell().await;
            for job in &again {
                stage.begin(job).await;
            }
        };
        let is_lost = rounds_until_jobs_wait(&stage, &sweep, stage.config.lost_after * 2, tell).await;
        assert_eq!(is_lost, !is_told);
        if is_lost {
            assert_eq!(keys(&stage.take(&sweep, of_batch.len()).await), keys(&of_batch));
        }
        assert_eq!(stage.waiting(&sweep).await, 0);
        process.end().await;
    }
}

/// A sweep whose endpoint answers by batches.
pub(crate) fn batched(name: &str) -> String {
    spec(name, 6, "").replace("kind: openai, ", "kind: openai, lane: batch, ")
}

#[tokio::test(start_paused = true)]
async fn a_sweep_whose_batches_are_all_told_of_has_lost_nothing_for_as_long_as_they_take() {
    let stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &batched("s")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    stage.begin_batch("0a", &jobs[..5]).await;
    stage.begin_batch("0b", &jobs[5..]).await;
    // Each three minutes the worker that holds one of them is cut off, and the broker gives it to the next when it has noticed.
    let since = tokio::time::Instant::now();
    let is_cut_off = || since.elapsed().as_secs() % 180 < 75;
    let tell = async || {
        if !is_cut_off() {
            stage.tell_of_batch(&sweep.id, "0a").await;
        }
        stage.tell_of_batch(&sweep.id, "0b").await;
    };
    assert!(!rounds_until_jobs_wait(&stage, &sweep, Duration::from_secs(2 * 3600), tell).await);
    assert_eq!((process.metrics.reconciled.get(), process.metrics.missing.get()), (0, 0));
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn lost_jobs_of_a_sweep_with_batches_are_dispatched_again_without_waiting_for_its_batches() {
    let stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &batched("s")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    stage.begin_batch("0a", &jobs[..5]).await;
    let since = tokio::time::Instant::now();
    let tell = async || stage.tell_of_batch(&sweep.id, "0a").await;
    assert!(rounds_until_jobs_wait(&stage, &sweep, Duration::from_secs(3600), tell).await);
    let took = since.elapsed();
    assert!(took >= stage.config.lost_after && took <= Duration::from_secs(180), "{took:?}");
    let again = stage.take(&sweep, jobs.len() - 5).await;
    assert_eq!(keys(&again), keys(&jobs[5..]));
    assert_eq!(stage.waiting(&sweep).await, 0);
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_sweep_with_batches_is_warned_of_sessions_that_nobody_has_like_any_other() {
    let stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &batched("s")).await;
    stage.take(&sweep, all_jobs(&sweep).len()).await;
    let since = tokio::time::Instant::now();
    while process.metrics.missing.get() == 0 {
        stage.round().await;
        assert!(since.elapsed() <= Duration::from_secs(30), "not warned of");
    }
    process.end().await;
}

/// Time in which the broker notices that a worker is cut off, and gives what it held to another, which tells of it.
const GIVEN_TO_ANOTHER_WITHIN: Duration = Duration::from_secs(62);

/// Lets rounds pass for `time`, in none of which a job is dispatched.
async fn nothing_is_dispatched_for(stage: &Stage, sweep: &Sweep, time: Duration) {
    let since = tokio::time::Instant::now();
    while since.elapsed() < time {
        stage.round().await;
        assert_eq!(stage.waiting(sweep).await, 0, "after {:?}", since.elapsed());
    }
}

/// The next worker tells of the jobs that it was given, and all others are dispatched again.
async fn all_but_what_is_told_of_comes_again(stage: &Stage, sweep: &Sweep, told: &[SessionJob]) {
    stage.begin_batch("0a", told).await;
    let tell = async || stage.tell_of_batch(&sweep.id, "0a").await;
    assert!(rounds_until_jobs_wait(stage, sweep, Duration::from_secs(120), tell).await);
    let again = stage.take(sweep, all_jobs(sweep).len() - told.len()).await;
    assert!(keys(&again).is_disjoint(&keys(told)));
}

#[tokio::test(start_paused = true)]
async fn jobs_that_a_worker_took_before_it_was_cut_off_are_not_dispatched_beside_those_that_the_broker_gives_to_the_next()
 {
    for longer_than_lost in [false, true] {
        let stage = deployed().await;
        let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
        let jobs = all_jobs(&sweep);
        die_while_publishing(&stage, &sweep, &jobs[..5]).await;
        let process = stage.start();
        // No worker is there for longer than it takes a doubtful job, or any, to count as lost.
        let wait = if longer_than_lost { stage.config.lost_after * 2 } else { stage.config.doubtful_after * 2 };
        let since = tokio::time::Instant::now();
        while since.elapsed() < wait {
            stage.round().await;
        }
        let taken = stage.take(&sweep, 5).await;
        nothing_is_dispatched_for(&stage, &sweep, GIVEN_TO_ANOTHER_WITHIN).await;
        all_but_what_is_told_of_comes_again(&stage, &sweep, &taken).await;
        process.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_of_a_worker_that_was_cut_off_at_once_are_told_of_before_they_are_in_doubt() {
    let stage = deployed().await;
    let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
    let jobs = all_jobs(&sweep);
    die_while_publishing(&stage, &sweep, &jobs[..5]).await;
    // They were hardly there when they were taken: no look at the queue has found them.
    let taken = stage.take(&sweep, 5).await;
    let process = stage.start();
    nothing_is_dispatched_for(&stage, &sweep, GIVEN_TO_ANOTHER_WITHIN).await;
    all_but_what_is_told_of_comes_again(&stage, &sweep, &taken).await;
    process.end().await;
}

/// The broker loses them a moment after their worker has told of them, and the worker goes.
#[tokio::test(start_paused = true)]
async fn lost_jobs_are_dispatched_again_soon_after_what_was_told_of_them_is_too_old() {
    let stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    tokio::time::sleep(Duration::from_secs(7)).await;
    for job in &jobs {
        stage.begin(job).await;
    }
    let told_at = tokio::time::Instant::now();
    while stage.waiting(&sweep).await == 0 {
        stage.round().await;
        assert!(told_at.elapsed() < stage.config.running_within + Duration::from_secs(25), "not dispatched again");
    }
    assert!(told_at.elapsed() >= stage.config.running_within);
    process.end().await;
}

/// A worker tells of one before all of them are lost, and it with them.
#[tokio::test(start_paused = true)]
async fn what_was_told_of_before_everything_was_lost_is_dispatched_again_with_the_rest() {
    let stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    tokio::time::sleep(Duration::from_secs(7)).await;
    stage.begin(&jobs[0]).await;
    let told_at = tokio::time::Instant::now();
    while stage.waiting(&sweep).await == 0 {
        stage.round().await;
        assert!(told_at.elapsed() < stage.config.running_within + Duration::from_secs(25), "not dispatched again");
    }
    assert_eq!(stage.waiting(&sweep).await, jobs.len() as u64);
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_handed_over_is_not_lost_before_whoever_takes_it_can_tell() {
    let stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    let tell = async || {
        for job in &jobs {
            stage.begin(job).await;
        }
    };
    // Their models think for long, so that nothing moves.
    assert!(!rounds_until_jobs_wait(&stage, &sweep, stage.config.lost_after * 2, tell).await);
    for job in &jobs {
        stage.hand_over(job).await;
    }
    nothing_is_dispatched_for(&stage, &sweep, GIVEN_TO_ANOTHER_WITHIN).await;
    // Nobody has taken them: they are lost.
    assert!(rounds_until_jobs_wait(&stage, &sweep, stage.config.lost_after, async || {}).await);
    process.end().await;
}

/// A job waits for less than the time after which the ledger is told that nothing moves, and is taken by a worker that is cut off at once.
#[tokio::test(start_paused = true)]
async fn a_job_that_waited_for_a_moment_begins_the_quiet_time_anew_for_later_leaders_too() {
    let stage = deployed().await;
    let mut process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    tokio::time::sleep(stage.config.lost_after - Duration::from_secs(10)).await;
    let job = Job::Session(Box::new(jobs[0].clone()));
    stage.queue.publish_jobs(&queue_of(&sweep), vec![job]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    stage.take(&sweep, 1).await;
    let lives = [Duration::from_secs(4); 2];
    for life in lives {
        tokio::time::sleep(life).await;
        process.end().await;
        process = stage.start();
    }
    let rest = GIVEN_TO_ANOTHER_WITHIN.saturating_sub(lives.iter().sum());
    nothing_is_dispatched_for(&stage, &sweep, rest).await;
    process.end().await;
}

/// Nobody looks at the queues of a paused sweep, and another leads when it goes on. Its jobs are given to a worker at once, who has not told of them yet.
#[tokio::test(start_paused = true)]
async fn a_pause_is_no_silence_for_who_leads_when_the_sweep_goes_on() {
    let stage = deployed().await;
    let before = stage.start();
    let sweep = stage.submit(&before, &spec("s", 6, "")).await;
    stage.take(&sweep, all_jobs(&sweep).len()).await;
    // By then the ledger is told that nothing moves.
    tokio::time::sleep(Duration::from_secs(5)).await;
    before.coordinator.pause(&sweep.id).await.unwrap();
    before.end().await;
    let process = stage.start();
    tokio::time::sleep(stage.config.lost_after * 2).await;
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    nothing_is_dispatched_for(&stage, &sweep, GIVEN_TO_ANOTHER_WITHIN).await;
    // Nobody has taken them: they are lost.
    assert!(rounds_until_jobs_wait(&stage, &sweep, stage.config.lost_after, async || {}).await);
    process.end().await;
}

/// The broker takes no messages, of the coordinator and of workers, and the coordinator's are the first that it takes again.
#[tokio::test(start_paused = true)]
async fn while_nothing_could_be_said_nothing_is_lost_that_is_told_of_a_moment_later() {
    let mut stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    stage.has_scorer = false;
    tokio::time::sleep(stage.config.lost_after * 2).await;
    stage.has_scorer = true;
    nothing_is_dispatched_for(&stage, &sweep, Duration::from_secs(10)).await;
    stage.begin_batch("0a", &jobs).await;
    let tell = async || stage.tell_of_batch(&sweep.id, "0a").await;
    assert!(!rounds_until_jobs_wait(&stage, &sweep, stage.config.lost_after, tell).await);
    assert_eq!(process.metrics.reconciled.get(), 0);
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_long_each_time_counts_when_it_is_asked_for_once_more() {
    let mut stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    let sessions = stage.take(&sweep, all_jobs(&sweep).len()).await.len() as u64;
    let since = tokio::time::Instant::now();
    // Scorers are twenty seconds behind.
    stage.has_scorer = false;
    while stage.waiting(&sweep).await == 0 {
        tokio::time::sleep(Duration::from_secs(20)).await;
        stage.has_scorer = true;
        stage.answer_echoes().await;
        stage.has_scorer = false;
        assert!(since.elapsed() < stage.config.lost_after * 2, "not dispatched again");
    }
    assert_eq!(stage.waiting(&sweep).await, sessions);
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn questions_that_a_worker_waits_for_are_not_asked_again_however_long_their_answers_take() {
    let stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 1, "")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    stage.finish(&sweep, &jobs[1..], Money::ZERO).await;
    wait_for_a_verdict(&stage, &sweep, &jobs[0]).await;
    let since = tokio::time::Instant::now();
    while since.elapsed() < stage.config.lost_after * 4 {
        stage.tell_of_questions(&sweep).await;
        stage.round().await;
    }
    assert!(!can_be_asked_again(&stage, &sweep).await);
    assert_eq!(process.metrics.reconciled.get(), 0);

    // The worker is gone, and the broker has lost its job.
    let since = tokio::time::Instant::now();
    while process.metrics.reconciled.get() == 0 {
        stage.round().await;
        assert!(since.elapsed() < stage.config.running_within * 3, "not asked again");
    }
    assert!(can_be_asked_again(&stage, &sweep).await);
    assert_eq!(stage.report().await, Report::Rejudge { sweep: sweep.id.clone(), lock: sweep.digest });
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn questions_that_a_worker_waits_for_are_not_asked_again_because_scorers_were_away() {
    let mut stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 1, "")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    stage.finish(&sweep, &jobs[1..], Money::ZERO).await;
    wait_for_a_verdict(&stage, &sweep, &jobs[0]).await;
    stage.has_scorer = false;
    let since = tokio::time::Instant::now();
    while since.elapsed() < stage.config.lost_after * 2 {
        stage.round().await;
    }
    // The first that a scorer records is what waited for it.
    stage.tell_of_questions(&sweep).await;
    stage.has_scorer = true;
    for _ in 0..8 {
        stage.round().await;
    }
    assert!(!can_be_asked_again(&stage, &sweep).await);
    assert_eq!(process.metrics.reconciled.get(), 0);
    process.end().await;
}

/// Counts the calls to a store.
#[derive(Default)]
struct Counts(AtomicU32);

impl Fate for Counts {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn while_jobs_wait_for_workers_that_are_not_there_a_round_reads_no_more_than_of_a_sweep_in_doubt() {
    let mut stage = deployed().await;
    let counts = Arc::new(Counts::default());
    stage.ledger = stage.ledger.troubled(Troubles::new(counts.clone()));
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    stage.until_waiting(&sweep, all_jobs(&sweep).len() as u64).await;
    let rounds_from = async |quiet: Duration| {
        tokio::time::sleep(quiet).await;
        let before = counts.0.load(Ordering::Relaxed);
        tokio::time::sleep(stage.config.tick * 50).await;
        counts.0.load(Ordering::Relaxed) - before
    };
    let in_doubt = rounds_from(stage.config.doubtful_after + Duration::from_secs(10)).await;
    let lost = rounds_from(stage.config.lost_after).await;
    assert!(lost <= in_doubt, "{lost} calls in as many rounds as {in_doubt} before");
    process.end().await;
}

/// So it is too when the ledger's clock is put forward, after which all that workers have told of was told long ago.
#[tokio::test(start_paused = true)]
async fn a_leader_hears_of_all_workers_before_anything_counts_as_lost_however_long_the_ledger_says_it_is_quiet() {
    let stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    for job in &jobs {
        stage.begin(job).await;
    }
    stage.round().await;
    process.end().await;
    tokio::time::sleep(stage.config.running_within + Duration::from_secs(10)).await;

    let next = stage.start();
    // Workers tell of what they have every ten seconds.
    for _ in 0..11 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stage.answer_echoes().await;
    }
    let tell = async || {
        for job in &jobs {
            stage.begin(job).await;
        }
    };
    assert!(!rounds_until_jobs_wait(&stage, &sweep, Duration::from_secs(120), tell).await, "all of them run");
    next.end().await;
}
