use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_backends::{Blobs, Claimed, Ledger, Queue, RecordState, ShardRow, Term};
use regatta_catalog::Sweep;
use regatta_coordinator::CoordinatorConfig;
use regatta_proto::{
    Answerer, Cell, CellIndex, Digest, ItemIndex, Job, ModelRef, Money, Question, Report, SessionJob, SessionKey,
    ShardIndex, Transcript, WorkerId,
};

use crate::stage::{Stage, queue_of, record, spec};

/// Long enough for many rounds, short enough to wait for.
const QUIET: Duration = Duration::from_millis(200);

/// Longer than any test.
pub(crate) const LEASE: Duration = Duration::from_secs(3600);

/// The job of the first attempt of a session.
fn first_job(sweep: &Sweep, cell: CellIndex, item: ItemIndex) -> SessionJob {
    SessionJob {
        key: SessionKey { sweep: sweep.id.clone(), cell, item },
        lock: sweep.digest,
        attempt: 1,
        generation: 0,
        transcript: Transcript::default(),
    }
}

/// The jobs of the first attempts of all sessions.
pub(crate) fn all_jobs(sweep: &Sweep) -> Vec<SessionJob> {
    let of = |cell: &Cell, item: &ItemIndex| first_job(sweep, cell.index, *item);
    sweep.cells().iter().flat_map(|cell| sweep.selected(cell).iter().map(move |item| of(cell, item))).collect()
}

/// The jobs of the first attempts of the sessions of each shard.
async fn jobs_by_shard(stage: &Stage, sweep: &Sweep) -> Vec<Vec<SessionJob>> {
    let of_shard = |shard: ShardRow| {
        let order = sweep.dispatch_order(sweep.cell(shard.cell).unwrap());
        let items = &order[shard.first as usize..][..shard.count as usize];
        items.iter().map(|item| first_job(sweep, shard.cell, *item)).collect()
    };
    stage.ledger.shards(&sweep.id).await.unwrap().into_iter().map(of_shard).collect()
}

/// A coordinator has died while it published the only shard of `sweep`: `published` jobs got through.
pub(crate) async fn die_while_publishing(stage: &Stage, sweep: &Sweep, published: &[SessionJob]) {
    assert_eq!(stage.ledger.shards(&sweep.id).await.unwrap().len(), 1);
    die_while_publishing_shard(stage, sweep, ShardIndex(0), published).await;
}

/// A coordinator has died while it published `shard`, and returns the term in which it led: `published` jobs got through.
async fn die_while_publishing_shard(stage: &Stage, sweep: &Sweep, shard: ShardIndex, published: &[SessionJob]) -> Term {
    let dead = stage.config.id.clone();
    let term = stage.ledger.lead(&dead, LEASE).await.unwrap().expect("nobody else leads");
    assert!(stage.ledger.claim_shard(&sweep.id, shard, 0, term).await.unwrap());
    stage.queue.declare_jobs(&queue_of(sweep)).await.unwrap();
    let jobs = published.iter().map(|job| Job::Session(Box::new(job.clone()))).collect();
    stage.queue.publish_jobs(&queue_of(sweep), jobs).await.unwrap();
    term
}

/// Waits until the coordinator has had more than the quiet time, and has looked again after that.
async fn let_quiet_time_pass(stage: &Stage) {
    let since = Instant::now();
    while since.elapsed() < QUIET * 2 {
        stage.round().await;
    }
    stage.round().await;
}

#[tokio::test]
async fn a_restarted_coordinator_dispatches_nothing_twice() {
    let mut stage = Stage::set().await;
    stage.config.window = 8;
    let first = stage.start();
    let sweep = stage.submit(&first, &spec("s", 6, "trials: 2")).await;
    stage.until_waiting(&sweep, 8).await;
    let mut taken = stage.take(&sweep, 3).await;
    first.end().await;
    let second = stage.start();
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await, 5);
    let total = all_jobs(&sweep).len();
    let mut seen = BTreeSet::new();
    while seen.len() < total {
        for job in taken.drain(..) {
            assert!(seen.insert(job.key.clone()), "{} came twice", job.key);
            stage.finish(&sweep, &[job], Money::ZERO).await;
        }
        if seen.len() < total {
            stage.until(async || stage.waiting(&sweep).await > 0).await;
            taken = stage.take(&sweep, 1).await;
        }
    }
    second.end().await;
}

/// Sessions of before may run, and what their workers have reported may wait.
#[tokio::test]
async fn a_leader_that_takes_over_dispatches_nothing_before_all_that_was_reported_is_recorded() {
    let mut stage = Stage::set().await;
    stage.config.window = 8;
    let first = stage.start();
    let sweep = stage.submit(&first, &spec("s", 6, "trials: 2")).await;
    stage.until_waiting(&sweep, 8).await;
    let taken = stage.take(&sweep, 8).await;
    first.end().await;
    stage.has_scorer = false;
    let second = stage.start();
    stage.finish(&sweep, &taken, Money::ZERO).await;
    let_quiet_time_pass(&stage).await;
    assert_eq!(stage.waiting(&sweep).await, 0);
    stage.has_scorer = true;
    stage.until_waiting(&sweep, 8).await;
    second.end().await;
}

#[tokio::test]
async fn a_shard_in_doubt_is_left_alone_while_its_queue_holds_jobs() {
    let mut stage = Stage::set().await;
    stage.config.doubtful_after = QUIET;
    let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
    let jobs = all_jobs(&sweep);
    die_while_publishing(&stage, &sweep, &jobs[..3]).await;
    let process = stage.start();
    let_quiet_time_pass(&stage).await;
    assert_eq!(stage.waiting(&sweep).await, 3);
    assert_eq!(process.metrics.reconciled.get(), 0);
    process.end().await;
}

#[tokio::test]
async fn a_shard_in_doubt_is_dispatched_again_after_the_quiet_time_without_what_has_a_result() {
    let mut stage = Stage::set().await;
    stage.config.doubtful_after = QUIET;
    let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
    let jobs = all_jobs(&sweep);
    die_while_publishing(&stage, &sweep, &jobs[..3]).await;
    let process = stage.start();
    let taken = stage.take(&sweep, 3).await;
    stage.begin(&taken[1]).await;
    let last_outcome = Instant::now();
    stage.finish(&sweep, &taken[..1], Money::ZERO).await;
    stage.until(async || stage.waiting(&sweep).await > 0).await;
    assert!(last_outcome.elapsed() >= QUIET);
    let again = stage.take(&sweep, jobs.len() - 1).await;
    assert_eq!(stage.waiting(&sweep).await, 0);
    assert!(again.iter().all(|job| job.key != taken[0].key), "it has a result");
    let numbers: Vec<u32> = again.iter().filter(|job| job.key == taken[1].key).map(|job| job.attempt).collect();
    assert_eq!(numbers, [2], "its first attempt is known");
    process.end().await;
}

/// Two shards of one cell: a coordinator has dispatched the first, and died while it published the second. A worker has the jobs that got
/// through, has told of one session of each shard, and of one that has ended.
async fn second_shard_is_doubtful(running_within: Duration) {
    let mut stage = Stage::set().await;
    // Shards are an eighth of it.
    stage.config.window = 48;
    (stage.config.doubtful_after, stage.config.running_within) = (QUIET, running_within);
    let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
    let shards = jobs_by_shard(&stage, &sweep).await;
    let [innocent, doubtful] = shards.as_slice() else { panic!("{} shards", shards.len()) };
    let term = die_while_publishing_shard(&stage, &sweep, ShardIndex(0), innocent).await;
    assert!(stage.ledger.confirm_shard(&sweep.id, ShardIndex(0), innocent.len() as u32, term).await.unwrap());
    die_while_publishing_shard(&stage, &sweep, ShardIndex(1), &doubtful[..3]).await;
    stage.take(&sweep, innocent.len() + 3).await;
    let [ended, told, prefetched, ..] = doubtful.as_slice() else { panic!("{} sessions", doubtful.len()) };
    stage.begin(&innocent[0]).await;
    stage.begin(told).await;
    stage.finish(&sweep, std::slice::from_ref(ended), Money::ZERO).await;

    let process = stage.start();
    stage.until(async || stage.waiting(&sweep).await > 0).await;
    let is_told = !running_within.is_zero();
    let expected: BTreeSet<(SessionKey, u32)> = doubtful
        .iter()
        .filter(|job| job.key != ended.key && !(is_told && job.key == told.key))
        .map(|job| (job.key.clone(), if job.key == told.key { 2 } else { 1 }))
        .collect();
    assert!(expected.contains(&(prefetched.key.clone(), 1)), "nobody can know of it");
    let again = stage.take(&sweep, expected.len()).await;
    let found: BTreeSet<_> = again.iter().map(|job| (job.key.clone(), job.attempt)).collect();
    assert_eq!(found, expected, "told within {running_within:?}");
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await, 0, "none of the other shard is among them");
    assert_eq!(process.metrics.reconciled.get(), 1);
    let cells = stage.ledger.cell_progress(&sweep.id).await.unwrap();
    assert_eq!((cells[0].dispatched, cells[0].items), (12, 12), "each is counted once");
    process.end().await;
}

#[tokio::test]
async fn a_doubtful_shard_repeats_no_session_of_another() {
    for running_within in [Duration::ZERO, LEASE] {
        second_shard_is_doubtful(running_within).await;
    }
}

#[tokio::test]
async fn dispatched_jobs_count_as_lost_only_after_the_long_quiet_time() {
    let mut stage = Stage::set().await;
    stage.config.doubtful_after = Duration::ZERO;
    stage.config.lost_after = QUIET;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    let total = all_jobs(&sweep).len();
    let taken = stage.take(&sweep, total).await;
    let since = Instant::now();
    stage.begin(&taken[0]).await;
    stage.finish(&sweep, &taken[1..2], Money::ZERO).await;
    stage.until(async || stage.waiting(&sweep).await > 0).await;
    assert!(since.elapsed() >= QUIET);
    let again = stage.take(&sweep, total - 1).await;
    assert!(again.iter().any(|job| job.key == taken[0].key && job.attempt == 2));
    process.end().await;
}

#[tokio::test]
async fn sessions_that_are_outstanding_while_nobody_has_their_jobs_are_warned_of_long_before_they_count_as_lost() {
    let mut stage = Stage::set().await;
    stage.config.missed_after = Duration::from_millis(10);
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    // Acknowledged, and never heard of again.
    stage.take(&sweep, all_jobs(&sweep).len()).await;
    stage.until(async || process.metrics.missing.get() > 0).await;
    assert_eq!(process.metrics.reconciled.get(), 0);
    let diagnosis = process.coordinator.diagnose().await.unwrap();
    assert_eq!(diagnosis.sweeps[0].running, Some(0));
    let problem = &diagnosis.findings[0].problem;
    assert!(problem.contains("no job waits and no worker tells of one"), "{problem}");
    process.end().await;
}

#[tokio::test]
async fn while_a_worker_tells_of_a_session_nothing_is_missing() {
    let mut stage = Stage::set().await;
    stage.config.missed_after = QUIET;
    stage.config.running_within = LEASE;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    let taken = stage.take(&sweep, all_jobs(&sweep).len()).await;
    stage.begin(&taken[0]).await;
    let_quiet_time_pass(&stage).await;
    assert_eq!(process.metrics.missing.get(), 0);
    assert_eq!(process.coordinator.diagnose().await.unwrap().findings, []);
    process.end().await;
}

#[tokio::test]
async fn a_session_of_which_a_worker_tells_is_not_dispatched_again() {
    let mut stage = Stage::set().await;
    (stage.config.doubtful_after, stage.config.lost_after) = (Duration::ZERO, QUIET);
    stage.config.running_within = LEASE;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    let total = all_jobs(&sweep).len();
    let taken = stage.take(&sweep, total).await;
    stage.begin(&taken[0]).await;
    stage.until(async || stage.waiting(&sweep).await > 0).await;
    let again = stage.take(&sweep, total - 1).await;
    assert!(again.iter().all(|job| job.key != taken[0].key));
    process.end().await;
}

/// Time from the moment at which the last job was taken, and lost, until it is dispatched again, if another coordinator takes over after
/// each of `lives`.
async fn time_until_dispatched_again(lives: &[Duration]) -> Duration {
    let mut stage = Stage::set().await;
    (stage.ledger, stage.in_memory) = (Ledger::in_memory().unwrap(), Some(Blobs::memory()));
    (stage.config.tick, stage.config.rebroadcast) = (Duration::from_millis(200), Duration::from_secs(2));
    let mut process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    stage.take(&sweep, all_jobs(&sweep).len()).await;
    let since = tokio::time::Instant::now();
    for life in lives {
        let until = tokio::time::Instant::now() + *life;
        while tokio::time::Instant::now() < until {
            tokio::time::sleep(stage.config.tick).await;
            stage.answer_echoes().await;
        }
        process.end().await;
        process = stage.start();
    }
    while stage.waiting(&sweep).await == 0 {
        tokio::time::sleep(stage.config.tick).await;
        stage.answer_echoes().await;
    }
    process.end().await;
    since.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_takes_over_does_not_begin_to_wait_anew() {
    let lost_after = CoordinatorConfig::default().lost_after;
    let in_time = lost_after..lost_after + Duration::from_secs(20);
    for lives in [&[][..], &[60], &[30, 30], &[20, 20, 20]] {
        let lives: Vec<Duration> = lives.iter().copied().map(Duration::from_secs).collect();
        let taken = time_until_dispatched_again(&lives).await;
        assert!(in_time.contains(&taken), "{taken:?} with lives of {lives:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn lost_jobs_are_warned_of_within_fifteen_seconds_and_dispatched_again_within_three_minutes() {
    let mut stage = Stage::set().await;
    (stage.ledger, stage.in_memory) = (Ledger::in_memory().unwrap(), Some(Blobs::memory()));
    stage.config = CoordinatorConfig::default();
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    stage.take(&sweep, all_jobs(&sweep).len()).await;
    let since = tokio::time::Instant::now();
    while process.metrics.missing.get() == 0 {
        tokio::time::sleep(stage.config.tick).await;
        assert!(since.elapsed() <= Duration::from_secs(15), "not warned of");
    }
    while stage.waiting(&sweep).await == 0 {
        stage.round().await;
        assert!(since.elapsed() <= Duration::from_secs(180), "not dispatched again");
    }
    process.end().await;
}

/// One call takes effect and looks failed, once `until` of them are over.
struct LooksFailed {
    until: AtomicU32,
}

impl LooksFailed {
    const NEVER: u32 = u32::MAX;
}

impl Fate for LooksFailed {
    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        let count =
            |until: u32| if until == Self::NEVER { None } else { Some(until.checked_sub(1).unwrap_or(Self::NEVER)) };
        let looks_failed = self.until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count) == Ok(0);
        async move { if looks_failed { Err(Trouble) } else { Ok(()) } }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn lost_jobs_are_dispatched_again_once_whichever_call_to_the_ledger_looks_failed() {
    for call in 0..16 {
        let mut stage = Stage::set().await;
        let ledger = Ledger::in_memory().unwrap();
        (stage.ledger, stage.in_memory) = (ledger.clone(), Some(Blobs::memory()));
        (stage.config.tick, stage.config.rebroadcast) = (Duration::from_secs(1), Duration::from_secs(4));
        let fate = Arc::new(LooksFailed { until: AtomicU32::new(LooksFailed::NEVER) });
        stage.ledger = ledger.troubled(Troubles::new(fate.clone()));
        let process = stage.start();
        stage.ledger = ledger;
        let sweep = stage.submit(&process, &spec("s", 6, "")).await;
        let sessions = all_jobs(&sweep).len();
        stage.take(&sweep, sessions).await;
        tokio::time::sleep(stage.config.lost_after - Duration::from_millis(1_500)).await;
        // The coordinator asks whether all is recorded that was reported, and hears that it is.
        stage.round().await;
        assert_eq!(stage.waiting(&sweep).await, 0);
        fate.until.store(call, Ordering::Relaxed);
        while stage.waiting(&sweep).await == 0 {
            stage.round().await;
        }
        // Their workers have not told of them yet.
        assert_eq!(stage.take(&sweep, sessions).await.len(), sessions);
        let since = tokio::time::Instant::now();
        while since.elapsed() < Duration::from_secs(20) {
            stage.round().await;
            assert_eq!(stage.waiting(&sweep).await, 0, "dispatched twice where call {call} looked failed");
        }
        process.end().await;
    }
}

/// Outcomes may wait in the queue while nothing of them is in the ledger.
#[tokio::test]
async fn nothing_is_dispatched_again_before_all_that_was_reported_is_recorded() {
    let mut stage = Stage::set().await;
    (stage.config.doubtful_after, stage.config.lost_after) = (Duration::ZERO, QUIET);
    stage.has_scorer = false;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    let total = all_jobs(&sweep).len();
    stage.take(&sweep, total).await;
    let_quiet_time_pass(&stage).await;
    assert_eq!(stage.waiting(&sweep).await, 0);
    stage.has_scorer = true;
    stage.until_waiting(&sweep, total as u64).await;
    process.end().await;
}

#[tokio::test]
async fn with_a_queue_that_dies_everything_without_a_result_is_planned_again_at_the_start() {
    let mut stage = Stage::set().await;
    stage.config.queue_survives = false;
    let first = stage.start();
    let sweep = stage.submit(&first, &spec("s", 6, "")).await;
    let jobs = all_jobs(&sweep);
    stage.until_waiting(&sweep, jobs.len() as u64).await;
    let taken = stage.take(&sweep, 4).await;
    stage.finish(&sweep, &taken[..3], Money::ZERO).await;
    stage.begin(&taken[3]).await;
    first.end().await;
    stage.queue = Queue::memory();
    let second = stage.start();
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await as usize, jobs.len() - 3);
    let again = stage.take(&sweep, jobs.len() - 3).await;
    let of = |wanted: &SessionJob| again.iter().find(|job| job.key == wanted.key).map(|job| job.attempt);
    assert_eq!((of(&taken[0]), of(&taken[3])), (None, Some(2)));
    second.end().await;
}

#[tokio::test]
async fn a_sweep_of_this_very_process_is_not_planned_again() {
    let mut stage = Stage::set().await;
    stage.config.queue_survives = false;
    let process = stage.start();
    let one = stage.submit(&process, &spec("one", 6, "")).await;
    stage.until_waiting(&one, all_jobs(&one).len() as u64).await;
    stage.take(&one, all_jobs(&one).len()).await;
    let two = stage.submit(&process, &spec("two", 6, "")).await;
    stage.until_waiting(&two, all_jobs(&two).len() as u64).await;
    let next = stage.take(&two, all_jobs(&two).len()).await;
    assert!(next.iter().all(|job| job.key.sweep == two.id));
    process.end().await;
}

/// A session of `job` waits for a verdict that was asked for; returns the claim.
pub(crate) async fn wait_for_a_verdict(stage: &Stage, sweep: &Sweep, job: &SessionJob) {
    let (question, judge) = question(sweep);
    let state = RecordState::Awaiting {
        judge: judge.clone(),
        questions: vec![question],
        transcript: bytes::Bytes::from_static(b"kept"),
    };
    stage.ledger.record(vec![record(sweep, job, Money::ZERO, state)]).await.unwrap();
    let claimed = claim(stage, sweep).await;
    assert_eq!(claimed.questions.len(), 1, "it was not asked before");
}

/// A question, and whom it is put to.
pub(crate) fn question(sweep: &Sweep) -> (Digest, ModelRef) {
    let question = Question::Similarity { left: vec!["a".to_owned()], right: vec!["b".to_owned()] };
    (question.digest(), sweep.lock.benchmarks.values().next().unwrap().judge.clone().unwrap().name())
}

/// Claims the question if nobody has, and says so.
pub(crate) async fn can_be_asked_again(stage: &Stage, sweep: &Sweep) -> bool {
    !claim(stage, sweep).await.questions.is_empty()
}

async fn claim(stage: &Stage, sweep: &Sweep) -> Claimed {
    let (question, judge) = question(sweep);
    let answerer = Answerer::new(&sweep.lock.endpoints[&judge.endpoint], &judge.model, &sweep.id);
    stage.ledger.claim_questions(&sweep.id, &judge, answerer, &[question]).await.unwrap()
}

#[tokio::test]
async fn with_a_queue_that_dies_questions_without_an_answer_are_asked_again_at_the_start() {
    let mut stage = Stage::set().await;
    stage.config.queue_survives = false;
    let first = stage.start();
    let sweep = stage.submit(&first, &spec("s", 1, "")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    stage.finish(&sweep, &jobs[1..], Money::ZERO).await;
    wait_for_a_verdict(&stage, &sweep, &jobs[0]).await;
    first.end().await;
    stage.queue = Queue::memory();
    let second = stage.start();
    assert_eq!(stage.report().await, Report::Rejudge { sweep: sweep.id.clone(), lock: sweep.digest });
    assert!(can_be_asked_again(&stage, &sweep).await);
    second.end().await;
}

#[tokio::test(start_paused = true)]
async fn where_everything_is_forgotten_a_question_of_this_very_moment_is_too() {
    let mut stage = Stage::set().await;
    (stage.ledger, stage.in_memory) = (Ledger::in_memory().unwrap(), Some(Blobs::memory()));
    let sweep = stage.submit(&stage.process(), &spec("s", 1, "")).await;
    wait_for_a_verdict(&stage, &sweep, &all_jobs(&sweep)[0]).await;
    let term = stage.ledger.lead(&stage.config.id, LEASE).await.unwrap().expect("nobody else leads");
    stage.ledger.reset_dispatch(&sweep.id, Duration::ZERO, term).await.unwrap();
    assert!(can_be_asked_again(&stage, &sweep).await);
}

#[tokio::test]
async fn questions_whose_answers_never_come_count_as_lost_after_the_long_quiet_time() {
    let mut stage = Stage::set().await;
    stage.config.doubtful_after = Duration::ZERO;
    stage.config.lost_after = QUIET;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 1, "")).await;
    let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
    let since = Instant::now();
    stage.finish(&sweep, &jobs[1..], Money::ZERO).await;
    wait_for_a_verdict(&stage, &sweep, &jobs[0]).await;
    assert_eq!(stage.report().await, Report::Rejudge { sweep: sweep.id.clone(), lock: sweep.digest });
    assert!(since.elapsed() >= QUIET);
    // The coordinator may have found the sweep quiet a moment before the question was claimed: then it is lost at the next look.
    stage.until(async || can_be_asked_again(&stage, &sweep).await).await;
    assert_eq!(stage.waiting(&sweep).await, 0, "the session itself has a result");
    process.end().await;
}

#[tokio::test]
async fn a_round_that_fails_is_repeated() {
    let stage = Stage::set().await;
    let sweep = stage.submit(&stage.process(), &spec("s", 2, "")).await;
    let (locks, away) = (stage.blob_folder().join("locks"), stage.blob_folder().join("away"));
    std::fs::rename(&locks, &away).unwrap();
    let process = stage.start();
    stage.until(async || process.metrics.failed_ticks.get() >= 2).await;
    std::fs::rename(&away, &locks).unwrap();
    stage.until(async || process.metrics.sweeps_running.get() == 1).await;
    stage.until_waiting(&sweep, all_jobs(&sweep).len() as u64).await;
    process.end().await;
}

#[tokio::test]
async fn a_sweep_that_cannot_be_read_does_not_hold_up_the_others() {
    let stage = Stage::set().await;
    let broken = stage.submit(&stage.process(), &spec("broken", 2, "")).await;
    std::fs::write(stage.blob_folder().join(format!("locks/{}.json", broken.digest)), "{}").unwrap();
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("whole", 2, "")).await;
    stage.until(async || process.metrics.sweeps_running.get() == 1).await;
    stage.until_waiting(&sweep, all_jobs(&sweep).len() as u64).await;
    assert!(process.metrics.failed_ticks.get() > 0);
    process.end().await;
}

#[tokio::test]
async fn a_leader_that_leaves_in_order_is_followed_before_its_lease_is_over() {
    let stage = Stage::set().await;
    let successor: WorkerId = "successor".parse().unwrap();
    let process = stage.start();
    stage.until(async || process.metrics.leads.get() == 1).await;
    assert_eq!(stage.ledger.lead(&successor, LEASE).await.unwrap(), None);

    let coordinator = process.coordinator.clone();
    process.end().await;
    coordinator.resign().await.unwrap();

    assert!(stage.ledger.lead(&successor, LEASE).await.unwrap().is_some());
}
