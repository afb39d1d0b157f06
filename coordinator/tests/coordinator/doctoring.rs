//! Diagnoses of deployments in which something is wrong: each finding comes from a real state of the stores, with its next step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use regatta_backends::{Blobs, Consumer, Ledger, Permits};
use regatta_catalog::{Catalog, Sweep};
use regatta_coordinator::{Diagnosis, Patient};
use regatta_proto::{
    AccountId, AccountRequest, Job, Limits, Money, Party, PoolRequest, ShardIndex, Share, Signals, SweepState, WorkerId,
};

use crate::recovering::all_jobs;
use crate::stage::{BENCHMARKS, Process, Stage, queue_of, spec, tabulate};

/// Longer than any test.
const LEASE: Duration = Duration::from_secs(3600);

async fn diagnose(process: &Process) -> Diagnosis {
    process.coordinator.diagnose().await.unwrap()
}

/// Subject, problem and next step of each finding.
fn findings(diagnosis: &Diagnosis) -> Vec<(&str, &str, &str)> {
    let found = diagnosis.findings.iter();
    found.map(|finding| (finding.about.as_str(), finding.problem.as_str(), finding.next_step.as_str())).collect()
}

/// A sweep whose every job waits, at a coordinator that has gone.
async fn all_waiting(stage: &Stage) -> Arc<Sweep> {
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 1, "")).await;
    stage.until_waiting(&sweep, 2).await;
    process.end().await;
    sweep
}

/// A worker that takes one job, and leaves the other to wait.
async fn take_one(stage: &Stage, sweep: &Sweep) -> Consumer<Job> {
    stage.queue.consume_jobs(&queue_of(sweep), 1).await.unwrap()
}

/// Worker "w-1", with `in_flight` calls of `sweep` at its endpoint and five more that wait, tells `signals`.
async fn lease(permits: &Permits, sweep: &Sweep, in_flight: u32, signals: Signals) -> f64 {
    let endpoint = sweep.lock.endpoints.values().next().unwrap();
    let party = Party {
        sweep: sweep.id.clone(),
        model: "oracle".to_owned(),
        share: Share::default(),
        in_flight,
        waiting: 5,
        waiting_tokens: 50,
        unsent_requests: 0,
        unsent_tokens: 0,
        token_correction: 0,
    };
    let request = PoolRequest {
        pool: endpoint.pool(),
        holder: worker(),
        limits: Limits { concurrency: 2, requests_per_minute: None, tokens_per_minute: None },
        model_limits: BTreeMap::new(),
        parties: vec![party],
        signals,
    };
    permits.lease(&request).await.unwrap().factor
}

fn worker() -> WorkerId {
    "w-1".parse().unwrap()
}

#[tokio::test]
async fn nothing_is_found_where_a_worker_takes_the_jobs() {
    let stage = Stage::set().await;
    let sweep = all_waiting(&stage).await;
    let _worker = take_one(&stage, &sweep).await;
    assert_eq!(findings(&diagnose(&stage.process()).await), []);
}

#[tokio::test]
async fn jobs_that_no_worker_consumes_are_found() {
    let stage = Stage::set().await;
    let sweep = all_waiting(&stage).await;
    let expected = (
        sweep.id.as_str(),
        "2 jobs of endpoint sim wait, and no worker consumes them",
        "start a worker that has this endpoint's key and whose policy allows it (docs/runbooks/RegattaQueueNotDraining.md)",
    );
    let diagnosis = diagnose(&stage.process()).await;
    assert_eq!(findings(&diagnosis), [expected]);
    let queue = &diagnosis.sweeps[0].queues[0];
    assert_eq!((queue.ready, queue.consumers, queue.unacknowledged), (2, 0, 0));
}

#[tokio::test]
async fn shards_in_doubt_are_found() {
    let stage = Stage::set().await;
    let sweep = stage.submit(&stage.process(), &spec("s", 1, "")).await;
    let term = stage.ledger.lead(&stage.config.id, LEASE).await.unwrap().unwrap();
    assert!(stage.ledger.claim_shard(&sweep.id, ShardIndex(0), 0, term).await.unwrap());
    let expected = (
        sweep.id.as_str(),
        "1 shards are in doubt: a coordinator ended while it published their jobs",
        "wait: what is missing is dispatched again when the queues have been empty and quiet for a minute",
    );
    let diagnosis = diagnose(&stage.process()).await;
    assert_eq!(findings(&diagnosis), [expected]);
    assert_eq!(diagnosis.sweeps[0].doubtful_shards, 1);
}

#[tokio::test]
async fn sessions_that_nobody_has_are_found_and_the_oldest_that_somebody_has_is_told() {
    let mut stage = Stage::set().await;
    let sweep = all_waiting(&stage).await;
    let taken = stage.take(&sweep, 2).await;
    let expected = (
        sweep.id.as_str(),
        "2 sessions are outstanding, but no job waits and no worker tells of one: their jobs may be lost",
        "wait three minutes: they are dispatched again by themselves, if a scorer runs and can reach its stores",
    );
    let diagnosis = diagnose(&stage.process()).await;
    assert_eq!(findings(&diagnosis), [expected]);
    assert_eq!(diagnosis.sweeps[0].oldest, None);

    stage.config.running_within = LEASE;
    stage.begin(&taken[1]).await;
    let diagnosis = diagnose(&stage.process()).await;
    assert_eq!(findings(&diagnosis), []);
    let told = &diagnosis.sweeps[0];
    assert_eq!((told.running, told.outstanding, told.queues[0].unacknowledged), (Some(1), 2, 2));
    let oldest = told.oldest.as_ref().unwrap();
    assert_eq!(oldest.session, format!("{} {}", taken[1].key.cell, taken[1].key.item));
    assert_eq!(oldest.started_at, Timestamp::UNIX_EPOCH);
}

#[tokio::test]
async fn what_is_wrong_with_a_paused_sweep_is_mended_once_it_goes_on() {
    let stage = Stage::set().await;
    let sweep = all_waiting(&stage).await;
    stage.process().coordinator.pause(&sweep.id).await.unwrap();
    let diagnosis = diagnose(&stage.process()).await;
    assert_eq!(findings(&diagnosis), [], "its jobs wait for nobody");
    assert!(diagnosis.sweeps[0].is_paused);
    stage.take(&sweep, 2).await;
    let expected = (
        sweep.id.as_str(),
        "2 sessions are outstanding, but no job waits and no worker tells of one: their jobs may be lost",
        "go on with it: regatta resume SWEEP; three minutes later they are dispatched again by themselves",
    );
    assert_eq!(findings(&diagnose(&stage.process()).await), [expected]);
    let doubtful = stage.submit(&stage.process(), &spec("t", 1, "")).await;
    let term = stage.ledger.lead(&stage.config.id, LEASE).await.unwrap().unwrap();
    assert!(stage.ledger.claim_shard(&doubtful.id, ShardIndex(0), 0, term).await.unwrap());
    stage.process().coordinator.pause(&doubtful.id).await.unwrap();
    let expected = (
        doubtful.id.as_str(),
        "1 shards are in doubt: a coordinator ended while it published their jobs",
        "go on with it: regatta resume SWEEP; a minute later what is missing is dispatched again",
    );
    assert!(findings(&diagnose(&stage.process()).await).contains(&expected));
}

#[tokio::test]
async fn messages_that_were_delivered_too_often_are_found() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    stage.until_waiting(&sweep, 4).await;
    process.end().await;
    let mut worker = take_one(&stage, &sweep).await;
    while stage.queue.dead_letters().await.unwrap() == 0 {
        let delivery = worker.next().await.unwrap();
        assert!(matches!(delivery.message, Job::Session(_)));
        delivery.receipt.hand_back().await;
    }
    let expected = (
        "dead letters",
        "1 messages were delivered too often, or cannot be read",
        "see docs/runbooks/RegattaDeadLetters.md for where they come from; purge the queue when their sweeps have ended",
    );
    assert_eq!(findings(&diagnose(&stage.process()).await), [expected]);
}

#[tokio::test]
async fn reports_that_are_set_aside_are_found() {
    let stage = Stage::set().await;
    let sweep = all_waiting(&stage).await;
    let _worker = take_one(&stage, &sweep).await;
    stage.queue.set_aside_reports(vec![tabulate(&sweep), tabulate(&sweep)]).await.unwrap();
    let expected = (
        "reports",
        "2 reports are set aside because their sweep cannot be read",
        "bring back the lock or data set that the sweep's finding, or a scorer's warning, names: they are recorded within a minute",
    );
    assert_eq!(findings(&diagnose(&stage.process()).await), [expected]);
}

#[tokio::test]
async fn a_sweep_that_cannot_be_read_is_found_and_so_is_the_coordinator_that_cannot_look_after_it() {
    let stage = Stage::set().await;
    let sweep = stage.submit(&stage.process(), &spec("s", 1, "")).await;
    std::fs::remove_dir_all(stage.blob_folder().join("locks")).unwrap();
    let process = stage.start();
    stage.until(async || process.metrics.failed_ticks.get() > 0).await;
    let diagnosis = diagnose(&process).await;
    let reason = diagnosis.sweeps[0].unreadable.as_ref().unwrap();
    assert!(reason.contains("is not in the blob store"), "{reason}");
    let (of_coordinator, of_sweep) =
        (format!("its last look at the sweeps failed: {reason}"), format!("it cannot be read: {reason}"));
    let expected = [
        (
            "coordinator",
            of_coordinator.as_str(),
            "bring that store back; it is tried again every few seconds (docs/runbooks/RegattaTicksFailing.md)",
        ),
        (
            sweep.id.as_str(),
            of_sweep.as_str(),
            "restore what is missing from a backup, or run the version that planned it; else cancel it",
        ),
    ];
    assert_eq!(findings(&diagnosis), expected);
    process.end().await;
}

#[tokio::test]
async fn a_budget_that_is_used_up_is_found() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 1, "budget_usd: 9")).await;
    stage.until_waiting(&sweep, 2).await;
    process.end().await;
    let spent = AccountRequest {
        account: AccountId { sweep: sweep.id.clone(), model: None },
        holder: worker(),
        spent: Money(9_000_000_000),
        maybe_spent: Money::ZERO,
        in_flight: Money::ZERO,
        sent: Money::ZERO,
        to_send: Money::ZERO,
        wanted: Money::ZERO,
        least: Money::ZERO,
        claim: None,
        claims_for_good: false,
    };
    stage.permits.settle(&spent).await.unwrap();
    let _worker = take_one(&stage, &sweep).await;
    let expected = (
        sweep.id.as_str(),
        "its budget is used up",
        "raise it: regatta resume SWEEP --budget DOLLARS, all that it may cost",
    );
    let diagnosis = diagnose(&stage.process()).await;
    assert_eq!(findings(&diagnosis), [expected]);
    assert_eq!(diagnosis.sweeps[0].budget.as_ref().unwrap().spent, spent.spent);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_of_which_less_than_half_is_used_is_found_with_who_holds_it_and_why() {
    let mut stage = Stage::set().await;
    (stage.ledger, stage.in_memory) = (Ledger::in_memory().unwrap(), Some(Blobs::memory()));
    let sweep = all_waiting(&stage).await;
    let _worker = take_one(&stage, &sweep).await;
    let refused = || Signals { refused: 9, reason: "too many".to_owned(), ..Signals::default() };
    let mut factor = lease(&stage.permits, &sweep, 0, refused()).await;
    assert_eq!((factor, findings(&diagnose(&stage.process()).await)), (0.7, vec![]), "more than half");
    while factor >= 0.5 {
        tokio::time::advance(Duration::from_secs(11)).await;
        factor = lease(&stage.permits, &sweep, 1, refused()).await;
    }
    let diagnosis = diagnose(&stage.process()).await;
    let queue = &diagnosis.sweeps[0].queues[0];
    let pool = queue.pool.as_ref().unwrap();
    let problem = format!("endpoint sim uses 49 % of its limits since {}: {}", pool.at, pool.reason);
    let expected = (
        sweep.id.as_str(),
        problem.as_str(),
        "ask the provider what it allows, and set `limits` to that (docs/runbooks/RegattaLimitsLowered.md)",
    );
    assert_eq!(findings(&diagnosis), [expected]);
    assert!(pool.reason.ends_with("refused: too many"), "{}", pool.reason);
    let leases: Vec<_> = queue.leases.iter().map(|lease| (&lease.holder, lease.in_flight, lease.waiting)).collect();
    assert_eq!(leases, [(&worker(), 1, 5)]);
}

#[tokio::test]
async fn a_held_endpoint_is_told_with_the_reason_and_is_no_finding() {
    let stage = Stage::set().await;
    let sweep = all_waiting(&stage).await;
    let _worker = take_one(&stage, &sweep).await;
    lease(&stage.permits, &sweep, 0, Signals { hold_ms: Some(30_000), ..Signals::default() }).await;
    let diagnosis = diagnose(&stage.process()).await;
    let pool = diagnosis.sweeps[0].queues[0].pool.as_ref().unwrap();
    assert!(pool.factor == 1.0 && pool.reason.starts_with("held for 30.0 s"), "{pool:?}");
    assert_eq!(findings(&diagnosis), [], "it ends by itself");
}

/// Diagnosis of a run in one process, of which nothing is at work.
async fn diagnose_run(stage: &Stage) -> Diagnosis {
    let catalog = Catalog::new(stage.blobs(), BENCHMARKS);
    let Stage { ledger, queue, permits, .. } = stage;
    Patient { ledger, queue, permits, catalog: &catalog, of_run: true }.diagnose().await.unwrap()
}

#[tokio::test]
async fn of_a_run_that_has_ended_it_is_found_what_is_missing_and_what_stopped_it() {
    let stage = Stage::set().await;
    let process = stage.process();
    let incomplete = stage.submit(&process, &spec("incomplete", 1, "")).await;
    let stopped = stage.submit(&process, &spec("stopped", 1, "budget_usd: 9")).await;
    let jobs = all_jobs(&incomplete);
    stage.fail(&incomplete, &jobs[..1]).await;
    stage.finish(&incomplete, &jobs[1..], Money::ZERO).await;
    for (sweep, end) in [(&incomplete, SweepState::Incomplete), (&stopped, SweepState::StoppedByBudget)] {
        assert!(stage.end(&sweep.id, end, Timestamp::UNIX_EPOCH).await);
    }
    let mut expected = [
        (
            incomplete.id.as_str(),
            "it has ended, and 1 of its 2 sessions are not measured",
            "look for the cause in report.md, then run the same command again: measured sessions are not repeated",
        ),
        (
            stopped.id.as_str(),
            "its budget has stopped it",
            "raise it: regatta resume SWEEP --budget +DOLLARS (SWEEP is the directory of a run); what was paid for is not paid for again",
        ),
    ];
    let diagnosis = diagnose_run(&stage).await;
    let mut found = findings(&diagnosis);
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(findings(&diagnose(&process).await), [], "a deployment goes on with other sweeps");
}
