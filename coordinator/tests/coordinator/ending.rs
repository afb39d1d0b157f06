use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_backends::{Consumer, Queue};
use regatta_catalog::Sweep;
use regatta_coordinator::{BudgetChange, CoordinatorError, Resumption};
use regatta_proto::{AccountId, AccountRequest, Job, Money, Partition, Report, SessionJob, SweepState, Transcript};

use crate::stage::{Process, Stage, queue_of, spec, tabulate};
use crate::told::{batched, deployed};

const DOLLAR: Money = Money(1_000_000_000);

#[tokio::test]
async fn a_cancelled_sweep_is_tabulated_and_everybody_is_told() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    process.coordinator.cancel(&sweep.id).await.unwrap();
    assert_eq!(stage.state(&sweep.id).await, SweepState::Cancelled);
    assert_eq!(stage.report().await, tabulate(&sweep));
    assert_eq!(stage.told().await.cancelled, std::slice::from_ref(&sweep.id));
    let again = process.coordinator.cancel(&sweep.id).await;
    assert!(matches!(again, Err(CoordinatorError::WrongState { state: SweepState::Cancelled, .. })));
    process.end().await;
}

#[tokio::test]
async fn a_cancelled_sweep_keeps_its_queues_open_until_its_jobs_are_out_of_them() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    stage.until(async || stage.waiting(&sweep).await > 0).await;
    process.coordinator.cancel(&sweep.id).await.unwrap();
    assert_eq!(stage.told().await.routes.len(), 1, "else no worker would look into the queue and drop the jobs");
    let waiting = stage.waiting(&sweep).await as usize;
    stage.take(&sweep, waiting).await;
    stage.until(async || stage.told().await.routes.is_empty()).await;
    assert_eq!(stage.told().await.cancelled, std::slice::from_ref(&sweep.id));
    process.end().await;
}

/// One call to a store fails.
struct FailsAt {
    /// Calls before that one.
    calls_left: AtomicU32,
    /// It takes effect all the same.
    takes_effect: bool,
}

impl FailsAt {
    fn troubles(call: u32, takes_effect: bool) -> Troubles {
        Troubles::new(Arc::new(Self { calls_left: AtomicU32::new(call), takes_effect }))
    }

    fn is_reached(&self) -> Result<(), Trouble> {
        if self.calls_left.fetch_sub(1, Ordering::Relaxed) == 0 { Err(Trouble) } else { Ok(()) }
    }
}

impl Fate for FailsAt {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async { if self.takes_effect { Ok(()) } else { self.is_reached() } }.boxed()
    }

    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async { if self.takes_effect { self.is_reached() } else { Ok(()) } }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_sweep_that_is_cancelled_while_the_broker_is_away_is_tabulated_once_it_is_back() {
    let mut stage = deployed().await;
    let sweep = stage.submit(&stage.process(), &spec("s", 2, "")).await;
    let queue = stage.queue.clone();
    stage.queue = queue.troubled(FailsAt::troubles(0, false));
    let cut_off = stage.process();
    stage.queue = queue;
    cut_off.coordinator.cancel(&sweep.id).await.unwrap();
    assert_eq!(stage.state(&sweep.id).await, SweepState::Cancelled);
    let process = stage.start();
    for _ in 0..2 {
        stage.until(async || stage.reported().await > 0).await;
        assert_eq!(stage.report().await, tabulate(&sweep), "again and again until it is done");
    }
    // A scorer notes that it has written the reports.
    stage.ledger.note_tabulated(&sweep.id, 0).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(stage.reported().await, 0);
    process.end().await;
}

/// Questions about what is recorded among the next reports, by partition; none of those reports may ask for tables.
async fn asked_before_any_tables(consumer: &mut Consumer<Report>) -> BTreeMap<u8, (u64, Partition)> {
    let mut asked = BTreeMap::new();
    while let Some(delivery) = consumer.next().now_or_never() {
        let delivery = delivery.expect("the queue is open");
        let Report::Echo { number, partition, .. } = delivery.message else { panic!("{:?}", delivery.message) };
        asked.insert(partition.number, (number, partition));
        delivery.receipt.ack().await;
    }
    asked
}

/// A sweep with a budget that was just cancelled, and what is reported about it in two partitions.
struct Divided {
    stage: Stage,
    process: Process,
    sweep: Arc<Sweep>,
    reports: Consumer<Report>,
}

async fn cancelled_over_two_partitions() -> Divided {
    let mut stage = deployed().await;
    (stage.queue, stage.has_scorer) = (Queue::memory_divided(2), false);
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "budget_usd: 9\n")).await;
    // Its account is open by then.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let reports = stage.queue.consume_reports(64).await.unwrap();
    process.coordinator.cancel(&sweep.id).await.unwrap();
    Divided { stage, process, sweep, reports }
}

#[tokio::test(start_paused = true)]
async fn tables_of_a_cancelled_sweep_wait_until_what_was_reported_before_is_recorded_in_all_partitions() {
    let Divided { stage, process, sweep, mut reports } = cancelled_over_two_partitions().await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let asked = asked_before_any_tables(&mut reports).await;
    assert_eq!(asked.keys().copied().collect::<Vec<_>>(), [0, 1]);
    for (number, partition) in asked.into_values() {
        assert_eq!(asked_before_any_tables(&mut reports).await, BTreeMap::new());
        stage.ledger.echo(&sweep.id, number, partition).await.unwrap();
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    assert_eq!(reports.next().await.unwrap().message, tabulate(&sweep));
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn tables_of_a_cancelled_sweep_wait_for_as_long_as_a_partition_is_stuck() {
    let Divided { stage: _stage, process, mut reports, .. } = cancelled_over_two_partitions().await;
    let mut asked = 0;
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(10)).await;
        asked += asked_before_any_tables(&mut reports).await.len();
    }
    assert!((20..=60).contains(&asked), "every half a minute in two partitions, not {asked} times");
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn tables_of_a_cancelled_sweep_know_what_it_was_granted_after_that() {
    let Divided { stage, process, sweep, mut reports } = cancelled_over_two_partitions().await;
    tell(&stage, &sweep, 1, 0).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    for (number, partition) in asked_before_any_tables(&mut reports).await.into_values() {
        stage.ledger.echo(&sweep.id, number, partition).await.unwrap();
    }
    assert_eq!(reports.next().await.unwrap().message, tabulate(&sweep));
    assert_eq!(stage.ledger.sweep(&sweep.id).await.unwrap().unwrap().granted, Some(DOLLAR));
    process.end().await;
}

/// The broker gives `job` back, which a worker held that was cut off. Says whether workers are told to drop it, which one does.
async fn is_dropped(stage: &Stage, sweep: &Sweep, job: &SessionJob) -> bool {
    let job = Job::Session(Box::new(job.clone()));
    stage.queue.publish_jobs(&queue_of(sweep), vec![job]).await.unwrap();
    let since = tokio::time::Instant::now();
    while since.elapsed() < Duration::from_secs(20) {
        let told = stage.told().await;
        if !told.routes.is_empty() {
            assert_eq!(told.cancelled, std::slice::from_ref(&sweep.id));
            stage.take(sweep, 1).await;
            stage.until(async || stage.told().await.routes.is_empty()).await;
            return true;
        }
    }
    false
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_sweep_drops_jobs_that_workers_held_which_were_cut_off() {
    let stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    stage.until(async || stage.waiting(&sweep).await > 0).await;
    let waiting = stage.waiting(&sweep).await as usize;
    let jobs = stage.take(&sweep, waiting).await;
    process.coordinator.cancel(&sweep.id).await.unwrap();
    let told = stage.told().await;
    assert_eq!((told.routes, told.cancelled), (Vec::new(), vec![sweep.id.clone()]), "nothing waits");
    tokio::time::sleep(stage.config.running_within / 2).await;
    assert!(is_dropped(&stage, &sweep, &jobs[0]).await);
    tokio::time::sleep(stage.config.running_within / 2).await;
    assert!(is_dropped(&stage, &sweep, &jobs[1]).await, "where one came back, others may");
    process.end().await;
}

/// Runs `spec` to its end, and says whether a copy of a job that comes back after the end is dropped.
async fn drops_a_copy_after_its_end(spec: &str) -> bool {
    let stage = deployed().await;
    let process = stage.start();
    let sweep = stage.submit(&process, spec).await;
    stage.until(async || stage.waiting(&sweep).await > 0).await;
    let count = stage.waiting(&sweep).await as usize;
    let jobs = stage.take(&sweep, count).await;
    stage.finish(&sweep, &jobs, Money::ZERO).await;
    stage.until(async || stage.state(&sweep.id).await == SweepState::Tabulating).await;
    let end = Timestamp::UNIX_EPOCH;
    stage.ledger.transition(&sweep.id, &[SweepState::Tabulating], SweepState::Complete, end).await.unwrap();
    stage.round().await;
    let is_dropped = is_dropped(&stage, &sweep, &jobs[0]).await;
    process.end().await;
    is_dropped
}

#[tokio::test(start_paused = true)]
async fn copies_of_jobs_that_a_sweep_with_batches_may_leave_are_dropped_after_its_end() {
    assert!(drops_a_copy_after_its_end(&batched("s")).await);
    assert!(!drops_a_copy_after_its_end(&spec("s", 6, "")).await, "others leave none");
}

#[tokio::test(start_paused = true)]
async fn a_sweep_that_is_over_is_looked_at_however_many_newer_ones_are_over_too() {
    let mut stage = deployed().await;
    stage.config.tick = Duration::from_secs(1);
    let process = stage.start();
    let oldest = stage.submit(&process, &spec("oldest", 2, "")).await;
    let jobs = stage.take(&oldest, 1).await;
    for number in 0..30 {
        let newer = stage.submit(&process, &spec(&format!("s{number}"), 1, "")).await;
        assert!(stage.end(&newer.id, SweepState::Complete, Timestamp::UNIX_EPOCH).await);
    }
    process.coordinator.cancel(&oldest.id).await.unwrap();
    let waiting = stage.waiting(&oldest).await as usize;
    stage.take(&oldest, waiting).await;
    assert!(is_dropped(&stage, &oldest, &jobs[0]).await);
    process.end().await;
}

#[tokio::test]
async fn a_cancelled_sweep_dispatches_nothing_more() {
    let mut stage = Stage::set().await;
    stage.config.window = 8;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "trials: 5")).await;
    stage.until_waiting(&sweep, 8).await;
    let jobs = stage.take(&sweep, 8).await;
    process.coordinator.cancel(&sweep.id).await.unwrap();
    // A round that had begun before may not know yet; what it dispatches, workers drop.
    stage.round().await;
    stage.finish(&sweep, &jobs, Money::ZERO).await;
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await, 0);
    process.end().await;
}

/// Runs a sweep of at least 12 sessions, each at most a dollar, to its end, and gives what was spent and how many ran.
async fn run_on_a_budget(budget: &str, costs: &[Money]) -> (u64, u64) {
    let stage = Stage::set().await;
    let mut process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 6, &format!("trials: 2\nbudget_usd: {budget}"))).await;
    let budget = Money::from_dollars(budget.parse().unwrap()).unwrap();
    process.work();
    let (mut spent, mut ran) = (0, 0);
    let mut costs = costs.iter().cycle();
    loop {
        stage
            .until(async || stage.waiting(&sweep).await > 0 || stage.state(&sweep.id).await != SweepState::Running)
            .await;
        stage.round().await;
        let waiting = stage.waiting(&sweep).await;
        assert!(spent + waiting * DOLLAR.0 <= budget.0, "{spent} spent and {waiting} outstanding");
        if waiting == 0 {
            break;
        }
        for job in stage.take(&sweep, waiting as usize).await {
            let cost = *costs.next().unwrap();
            spent += cost.0;
            ran += 1;
            stage.finish(&sweep, &[job], cost).await;
        }
    }
    assert_eq!(stage.report().await, tabulate(&sweep));
    assert_eq!(stage.state(&sweep.id).await, SweepState::Tabulating);
    process.end().await;
    (spent, ran)
}

#[tokio::test]
async fn a_budget_holds_even_if_every_session_costs_its_worst_case() {
    let (spent, ran) = run_on_a_budget("9.5", &[DOLLAR]).await;
    assert_eq!((spent, ran), (9 * DOLLAR.0, 9));
}

#[tokio::test]
async fn a_budget_ends_the_sweep_when_what_is_left_pays_for_no_further_session() {
    let (_, ran) = run_on_a_budget("5.5", &[DOLLAR]).await;
    assert_eq!(ran, 5);
}

#[tokio::test]
async fn a_budget_for_less_than_all_sessions_of_a_cell_runs_one_after_the_other() {
    let (spent, ran) = run_on_a_budget("1.5", &[Money(DOLLAR.0 / 5)]).await;
    assert_eq!((spent, ran), (3 * DOLLAR.0 / 5, 3), "the fourth could cost more than is left");
}

#[tokio::test]
async fn what_sessions_did_not_cost_is_spent_on_others() {
    let cheap = Money(DOLLAR.0 / 100);
    let (_, ran) = run_on_a_budget("5", &[cheap]).await;
    assert!(ran >= 12, "all of them ran: {ran}");
}

#[tokio::test]
async fn a_budget_for_nothing_ends_the_sweep_at_once() {
    assert_eq!(run_on_a_budget("0.5", &[DOLLAR]).await, (0, 0));
}

#[tokio::test]
async fn a_raised_budget_lets_more_sessions_run_and_nothing_else_raises_it() {
    let stage = Stage::set().await;
    let mut process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 6, "trials: 2\nbudget_usd: 4.5")).await;
    process.work();
    stage.until_waiting(&sweep, 4).await;
    let jobs = stage.take(&sweep, 4).await;
    stage.finish(&sweep, &jobs, DOLLAR).await;
    assert_eq!(stage.report().await, tabulate(&sweep));
    let (from, now) = ([SweepState::Tabulating], Timestamp::UNIX_EPOCH);
    assert!(stage.ledger.transition(&sweep.id, &from, SweepState::StoppedByBudget, now).await.unwrap());

    let lowered = Resumption { budget: Some(BudgetChange::To(DOLLAR)) };
    assert!(process.coordinator.resume(&sweep.id, lowered).await.is_err());
    assert_eq!(stage.state(&sweep.id).await, SweepState::StoppedByBudget, "a refused wish changes nothing");
    let raised = Resumption { budget: Some(BudgetChange::By(Money(4 * DOLLAR.0))) };
    process.coordinator.resume(&sweep.id, raised).await.unwrap();
    stage.until_waiting(&sweep, 4).await;
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await, 4);
    let budget = process.coordinator.status(&sweep.id).await.unwrap().budget.unwrap();
    assert_eq!(budget.cap, Money(17 * DOLLAR.0 / 2));
    process.end().await;
}

/// The supervising task may not have noticed that the sweep had ended; then it does not open the accounts again.
#[tokio::test]
async fn a_raised_budget_is_the_accounts_before_the_sweep_runs_again() {
    let stage = Stage::set().await;
    let mut process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 6, "trials: 2\nbudget_usd: 4.5")).await;
    process.work();
    stage.until_waiting(&sweep, 4).await;
    process.end().await;
    let process = stage.process();
    assert!(stage.end(&sweep.id, SweepState::StoppedByBudget, Timestamp::UNIX_EPOCH).await);
    let raised = Resumption { budget: Some(BudgetChange::By(Money(4 * DOLLAR.0))) };
    process.coordinator.resume(&sweep.id, raised).await.unwrap();
    let account = AccountId { sweep: sweep.id.clone(), model: None };
    assert_eq!(stage.permits.account(&account).await.unwrap().unwrap().cap, Money(17 * DOLLAR.0 / 2));
}

/// A failed request that is repeated must not raise the budget twice.
#[tokio::test]
async fn a_budget_is_not_raised_by_a_resume_that_fails() {
    let stage = Stage::set().await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 6, "trials: 2\nbudget_usd: 4.5")).await;
    process.end().await;
    assert!(stage.end(&sweep.id, SweepState::StoppedByBudget, Timestamp::UNIX_EPOCH).await);
    std::fs::remove_dir_all(stage.blob_folder()).unwrap();
    let process = stage.process();
    let raised = Resumption { budget: Some(BudgetChange::By(DOLLAR)) };
    process.coordinator.resume(&sweep.id, raised).await.unwrap_err();
    let budget = stage.ledger.sweep(&sweep.id).await.unwrap().unwrap().budget;
    assert_eq!(budget, Some(Money(9 * DOLLAR.0 / 2)));
}

/// Resumes a sweep with a dollar more while the ledger fails one call, then repeats that; gives the dollars by which its budget is raised, and
/// says if the first try went through.
async fn raised_by(call: u32, takes_effect: bool) -> (u64, bool) {
    let mut stage = Stage::set().await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 6, "trials: 2\nbudget_usd: 4")).await;
    assert!(stage.end(&sweep.id, SweepState::StoppedByBudget, Timestamp::UNIX_EPOCH).await);
    let ledger = stage.ledger.clone();
    stage.ledger = ledger.troubled(FailsAt::troubles(call, takes_effect));
    let troubled = stage.process();
    stage.ledger = ledger;
    let raised = || Resumption { budget: Some(BudgetChange::By(DOLLAR)) };
    let first = troubled.coordinator.resume(&sweep.id, raised()).await;
    if first.is_err() {
        let again = process.coordinator.resume(&sweep.id, raised()).await;
        assert!(again.is_ok() || takes_effect, "{again:?}");
    }
    assert_eq!(stage.state(&sweep.id).await, SweepState::Running);
    let budget = stage.ledger.sweep(&sweep.id).await.unwrap().unwrap().budget.unwrap();
    (budget.0 / DOLLAR.0 - 4, first.is_ok())
}

#[tokio::test]
async fn a_resume_that_fails_anywhere_and_is_repeated_raises_the_budget_once() {
    for takes_effect in [false, true] {
        for call in 0.. {
            let (dollars, is_done) = raised_by(call, takes_effect).await;
            assert_eq!(dollars, 1, "call {call} failed, takes effect: {takes_effect}");
            if is_done {
                assert!(call > 2, "some calls have failed");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_sweep_without_a_budget_has_none_to_raise() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    process.coordinator.cancel(&sweep.id).await.unwrap();
    let wish = Resumption { budget: Some(BudgetChange::By(DOLLAR)) };
    assert!(matches!(process.coordinator.resume(&sweep.id, wish).await, Err(CoordinatorError::NoBudget(_))));
    process.end().await;
}

/// A sweep that a budget stopped, with the job of the session that it ended and the transcript of that session.
async fn stopped_by_budget(stage: &Stage, process: &Process) -> (Arc<Sweep>, SessionJob, Transcript) {
    let sweep = stage.submit(process, &spec("s", 2, "budget_usd: 9")).await;
    stage.until_waiting(&sweep, 4).await;
    let mut jobs = stage.take(&sweep, 4).await;
    let ended = jobs.remove(0);
    stage.finish(&sweep, &jobs, DOLLAR).await;
    let transcript = stage.finish_out_of_budget(&sweep, &ended).await;
    assert_eq!(stage.report().await, tabulate(&sweep));
    let (from, now) = ([SweepState::Tabulating], Timestamp::UNIX_EPOCH);
    assert!(stage.ledger.transition(&sweep.id, &from, SweepState::StoppedByBudget, now).await.unwrap());
    (sweep, ended, transcript)
}

/// Path of the only segment of `sweep`.
fn segment(stage: &Stage, sweep: &Sweep) -> PathBuf {
    let folder = stage.blob_folder().join("sweeps").join(sweep.id.as_str()).join("transcripts");
    let mut files = std::fs::read_dir(folder).unwrap();
    files.next().unwrap().unwrap().path()
}

#[tokio::test]
async fn a_session_that_a_budget_ended_goes_on_from_its_transcript() {
    let stage = Stage::set().await;
    let process = stage.start();
    let (sweep, ended, transcript) = stopped_by_budget(&stage, &process).await;
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    stage.until_waiting(&sweep, 1).await;
    let again = stage.take(&sweep, 1).await;
    assert_eq!((&again[0].key, again[0].attempt), (&ended.key, ended.attempt + 1));
    assert_eq!(again[0].transcript, transcript);
    process.end().await;
}

/// As when retention has removed it, or a disk has damaged it: the sweep would never end.
#[tokio::test]
async fn a_session_that_a_budget_ended_begins_anew_when_its_transcript_is_gone_or_damaged() {
    let damages: [fn(&Path); 2] =
        [|path| std::fs::remove_file(path).unwrap(), |path| std::fs::write(path, b"not what was written").unwrap()];
    for damage in damages {
        let stage = Stage::set().await;
        let process = stage.start();
        let (sweep, ended, _) = stopped_by_budget(&stage, &process).await;
        damage(&segment(&stage, &sweep));
        process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
        stage.until_waiting(&sweep, 1).await;
        let again = stage.take(&sweep, 1).await;
        assert_eq!((&again[0].key, again[0].attempt), (&ended.key, ended.attempt + 1));
        assert_eq!(again[0].transcript, Transcript::default());
        process.end().await;
    }
}

#[tokio::test]
async fn a_session_that_a_budget_ended_waits_for_its_transcript_while_the_store_is_away() {
    let stage = Stage::set().await;
    let process = stage.start();
    let (sweep, _, transcript) = stopped_by_budget(&stage, &process).await;
    let (path, kept) = (segment(&stage, &sweep), stage.blob_folder().join("kept"));
    std::fs::rename(&path, &kept).unwrap();
    // Following a link to itself fails, and says nothing of what the store holds.
    std::os::unix::fs::symlink(&path, &path).unwrap();
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    stage.until(async || process.metrics.failed_ticks.get() > 0).await;
    assert_eq!(stage.waiting(&sweep).await, 0);
    // In one step: in between it would not be there.
    std::fs::rename(&kept, &path).unwrap();
    stage.until_waiting(&sweep, 1).await;
    assert_eq!(stage.take(&sweep, 1).await[0].transcript, transcript);
    process.end().await;
}

#[tokio::test]
async fn waste_is_spent_once_and_shown_once() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    let mut jobs = stage.take(&sweep, 1).await;
    stage.finish(&sweep, &jobs, DOLLAR).await;
    jobs[0].attempt = 2;
    stage.finish(&sweep, &jobs, DOLLAR).await;
    let status = process.coordinator.status(&sweep.id).await.unwrap();
    assert_eq!((status.cells[0].cost.known, status.cells[0].wasted.known), (DOLLAR, DOLLAR));
    assert_eq!(status.sessions_cost().known, DOLLAR + DOLLAR);
    process.end().await;
}

/// Has the worker `w` tell the account of `sweep`: `spent` dollars, and so many that it may have under way.
async fn tell(stage: &Stage, sweep: &Sweep, spent: u64, under_way: u64) {
    let money = |dollars: u64| Money(dollars * DOLLAR.0);
    let request = AccountRequest {
        account: AccountId { sweep: sweep.id.clone(), model: None },
        holder: "w".parse().unwrap(),
        spent: money(spent),
        maybe_spent: Money::ZERO,
        in_flight: Money::ZERO,
        sent: Money::ZERO,
        to_send: money(under_way),
        wanted: money(under_way),
        least: Money::ZERO,
        claim: None,
        claims_for_good: false,
    };
    stage.permits.settle(&request).await.unwrap();
}

/// A sweep without a budget whose sessions are recorded at a dollar each, and how many these are.
async fn finished(stage: &Stage, process: &Process) -> (Arc<Sweep>, u64) {
    let sweep = stage.submit(process, &spec("s", 2, "")).await;
    let sessions = sweep.cells().iter().map(|cell| sweep.selected(cell).len() as u64).sum();
    stage.until_waiting(&sweep, sessions).await;
    tell(stage, &sweep, 0, 70).await;
    let jobs = stage.take(&sweep, sessions as usize).await;
    stage.finish(&sweep, &jobs, DOLLAR).await;
    (sweep, sessions)
}

async fn cost(process: &Process, sweep: &Sweep) -> (u64, u64) {
    let cost = process.coordinator.status(&sweep.id).await.unwrap().cost;
    (cost.known.known.0 / DOLLAR.0, cost.at_most.0 / DOLLAR.0)
}

#[tokio::test]
async fn a_sweep_ends_when_its_workers_have_given_back_what_they_might_have_spent() {
    let stage = Stage::set().await;
    let process = stage.start();
    let (sweep, sessions) = finished(&stage, &process).await;
    stage.round().await;
    stage.round().await;
    assert_eq!(stage.state(&sweep.id).await, SweepState::Running);
    assert_eq!(cost(&process, &sweep).await, (sessions, 70), "of the seventy dollars some are told of by now");
    tell(&stage, &sweep, sessions, 0).await;
    assert_eq!(stage.report().await, tabulate(&sweep));
    assert_eq!(stage.ledger.sweep(&sweep.id).await.unwrap().unwrap().granted, Some(Money(sessions * DOLLAR.0)));
    assert_eq!(cost(&process, &sweep).await, (sessions, sessions));
    process.end().await;
}

#[tokio::test]
async fn what_a_worker_that_died_might_have_spent_is_kept_with_the_sweep_that_ends_without_it() {
    let mut stage = Stage::set().await;
    stage.config.leases_return_within = Duration::from_millis(20);
    let process = stage.start();
    let (sweep, sessions) = finished(&stage, &process).await;
    assert_eq!(stage.report().await, tabulate(&sweep));
    assert_eq!(stage.ledger.sweep(&sweep.id).await.unwrap().unwrap().granted, Some(Money(70 * DOLLAR.0)));
    // What comes later changes nothing of what the reports say.
    tell(&stage, &sweep, sessions, 0).await;
    assert_eq!(cost(&process, &sweep).await, (sessions, 70));
    process.end().await;
}

#[tokio::test]
async fn only_a_sweep_that_ended_without_all_results_can_be_resumed() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    let refused = |result, expected| match result {
        Err(CoordinatorError::WrongState { state, .. }) => assert_eq!(state, expected),
        other => panic!("{other:?}"),
    };
    refused(process.coordinator.resume(&sweep.id, Resumption::default()).await, SweepState::Running);
    stage.until(async || stage.waiting(&sweep).await > 0).await;
    let count = stage.waiting(&sweep).await as usize;
    let jobs = stage.take(&sweep, count).await;
    stage.finish(&sweep, &jobs, Money::ZERO).await;
    assert_eq!(stage.report().await, tabulate(&sweep));
    refused(process.coordinator.resume(&sweep.id, Resumption::default()).await, SweepState::Tabulating);
    let end = Timestamp::UNIX_EPOCH;
    stage.ledger.transition(&sweep.id, &[SweepState::Tabulating], SweepState::Complete, end).await.unwrap();
    refused(process.coordinator.resume(&sweep.id, Resumption::default()).await, SweepState::Complete);
    process.end().await;
}

#[tokio::test]
async fn a_resumed_sweep_runs_what_has_no_result() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "")).await;
    stage.until(async || stage.waiting(&sweep).await > 0).await;
    let count = stage.waiting(&sweep).await as usize;
    let jobs = stage.take(&sweep, count).await;
    stage.finish(&sweep, &jobs[..count - 2], Money::ZERO).await;
    process.coordinator.cancel(&sweep.id).await.unwrap();
    assert_eq!(stage.report().await, tabulate(&sweep));
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    // A coordinator that has not noticed the end between both asks first whether all is recorded.
    stage.until_waiting(&sweep, 2).await;
    let again = stage.take(&sweep, 2).await;
    assert_eq!(
        again.iter().map(|job| &job.key).collect::<Vec<_>>(),
        jobs[count - 2..].iter().map(|job| &job.key).collect::<Vec<_>>()
    );
    let told = stage.told().await;
    assert!(told.cancelled.is_empty());
    // Jobs of before the resume may still be in the queue: workers know them by their generation.
    assert_eq!(told.generations, BTreeMap::from([(sweep.id.clone(), 1)]));
    assert_eq!(again.iter().map(|job| job.generation).collect::<Vec<_>>(), [1, 1]);
    process.end().await;
}
