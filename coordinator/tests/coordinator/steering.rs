//! Sweeps that people steer while they run.

use axum::http::StatusCode;
use regatta_backends::{AuditOutcome, LedgerError};
use regatta_coordinator::{BudgetChange, ConcurrencyChange, CoordinatorError, Resumption, SweepStatus};
use regatta_proto::{AccountId, Money, SweepState};
use serde_json::{Value, json};

use crate::identity::{Desk, OPERATOR};
use crate::stage::{Stage, spec, tabulate};

const DOLLAR: u64 = 1_000_000_000;

fn budget(change: BudgetChange) -> Resumption {
    Resumption { budget: Some(change) }
}

#[tokio::test]
async fn nothing_of_a_paused_sweep_is_dispatched_and_workers_are_not_told_of_it_until_it_goes_on() {
    let mut stage = Stage::set().await;
    stage.config.window = 8;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "trials: 5")).await;
    stage.until_waiting(&sweep, 8).await;
    let jobs = stage.take(&sweep, 4).await;
    for _ in 0..2 {
        process.coordinator.pause(&sweep.id).await.unwrap();
    }
    assert!(stage.told().await.routes.is_empty());
    // What workers had begun is finished and recorded, and nothing takes its place.
    stage.finish(&sweep, &jobs, Money::ZERO).await;
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await, 4);
    assert_eq!(stage.state(&sweep.id).await, SweepState::Running);
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    stage.until_waiting(&sweep, 8).await;
    let told = stage.told().await;
    assert_eq!((told.routes.len(), told.generations.is_empty()), (1, true), "no job is void");
    process.end().await;
}

#[tokio::test]
async fn who_leads_next_knows_of_a_pause() {
    let mut stage = Stage::set().await;
    stage.config.window = 8;
    let first = stage.start();
    let sweep = stage.submit(&first, &spec("s", 6, "trials: 5")).await;
    stage.until_waiting(&sweep, 8).await;
    first.coordinator.pause(&sweep.id).await.unwrap();
    first.end().await;
    let second = stage.start();
    assert!(stage.told().await.routes.is_empty());
    second.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    assert_eq!(stage.told().await.routes.len(), 1);
    second.end().await;
}

#[tokio::test]
async fn a_paused_sweep_ends_when_nothing_is_left_of_it() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    stage.until_waiting(&sweep, 4).await;
    let jobs = stage.take(&sweep, 4).await;
    process.coordinator.pause(&sweep.id).await.unwrap();
    stage.finish(&sweep, &jobs, Money::ZERO).await;
    assert_eq!(stage.report().await, tabulate(&sweep));
    let late = process.coordinator.pause(&sweep.id).await;
    assert!(matches!(late, Err(CoordinatorError::WrongState { state: SweepState::Tabulating, .. })), "{late:?}");
    process.end().await;
}

#[tokio::test]
async fn a_paused_sweep_can_be_cancelled_and_its_resume_has_it_run() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    process.coordinator.pause(&sweep.id).await.unwrap();
    process.coordinator.cancel(&sweep.id).await.unwrap();
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    let status = process.coordinator.status(&sweep.id).await.unwrap();
    assert_eq!((status.state, status.is_paused), (SweepState::Running, false));
    process.end().await;
}

#[tokio::test]
async fn more_money_lets_a_running_sweep_dispatch_more_at_once() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "trials: 3\nbudget_usd: 4")).await;
    stage.until_waiting(&sweep, 4).await;
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await, 4, "each may cost a dollar");
    let more = budget(BudgetChange::To(Money(8 * DOLLAR)));
    for _ in 0..2 {
        process.coordinator.resume(&sweep.id, more).await.unwrap();
    }
    stage.until_waiting(&sweep, 8).await;
    let account = AccountId { sweep: sweep.id.clone(), model: None };
    assert_eq!(stage.permits.account(&account).await.unwrap().unwrap().cap, Money(8 * DOLLAR));
    process.end().await;
}

#[tokio::test]
async fn a_running_sweep_is_given_a_whole_budget_that_is_higher() {
    let stage = Stage::set().await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 2, "budget_usd: 4")).await;
    let resume = async |change| process.coordinator.resume(&sweep.id, budget(change)).await;
    let by = resume(BudgetChange::By(Money(DOLLAR))).await;
    assert!(matches!(by, Err(CoordinatorError::RelativeBudget(_))), "a repeated request would raise it twice: {by:?}");
    let lower = resume(BudgetChange::To(Money(DOLLAR))).await;
    assert!(matches!(lower, Err(CoordinatorError::Ledger(LedgerError::BudgetNotRaised { .. }))), "{lower:?}");
    let nothing = process.coordinator.resume(&sweep.id, Resumption::default()).await;
    assert!(matches!(nothing, Err(CoordinatorError::WrongState { state: SweepState::Running, .. })), "{nothing:?}");
    // One that is paused goes on with the first request, so that the second finds nothing to do.
    process.coordinator.pause(&sweep.id).await.unwrap();
    resume(BudgetChange::By(Money(DOLLAR))).await.unwrap();
    assert!(resume(BudgetChange::By(Money(DOLLAR))).await.is_err());
    let row = stage.ledger.sweep(&sweep.id).await.unwrap().unwrap();
    assert_eq!((row.budget, row.is_paused), (Some(Money(5 * DOLLAR)), false));
}

#[tokio::test]
async fn calls_at_once_are_lowered_and_given_back_and_never_more_than_those_of_the_spec() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    let told = async || stage.told().await.routes.remove(0).endpoint.limits.concurrency;
    let limit = async |endpoint: &str, calls| {
        let change = ConcurrencyChange { endpoint: endpoint.parse().unwrap(), calls };
        process.coordinator.limit_concurrency(&sweep.id, &change).await
    };
    assert_eq!(told().await, 2);
    limit("sim", Some(1)).await.unwrap();
    assert_eq!(told().await, 1);
    for wanted in [0, 3] {
        let refused = limit("sim", Some(wanted)).await;
        assert!(matches!(refused, Err(CoordinatorError::Concurrency { most: 2, .. })), "{refused:?}");
    }
    let unknown = limit("nowhere", Some(1)).await;
    assert!(matches!(unknown, Err(CoordinatorError::UnknownEndpoint { .. })), "{unknown:?}");
    limit("sim", None).await.unwrap();
    assert_eq!(told().await, 2);
    process.end().await;
}

#[tokio::test]
async fn a_sweep_is_steered_by_its_owner_and_admins_and_the_audit_log_says_by_whom() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    let bob = desk.token(2, "bob", &["read", "submit"], json!({})).await;
    let submitted = desk.submit(&alice, "s", 2, "budget_usd: 5").await.unwrap();
    let path = format!("/v1/sweeps/{}", submitted.id);
    let steer = async |token: &str, what: &str, body: Value| {
        desk.ask(token, "POST", &format!("{path}/{what}"), body).await.0.as_u16()
    };
    assert_eq!(steer(&alice, "pause", Value::Null).await, 204);
    assert_eq!(steer(&bob, "resume", Value::Null).await, 403);
    assert_eq!(steer(&bob, "pause", Value::Null).await, 403);
    assert_eq!(steer(&bob, "concurrency", json!({ "endpoint": "sim", "calls": 1 })).await, 403);
    let (_, body) = desk.ask(&bob, "GET", &path, Value::Null).await;
    assert!(serde_json::from_value::<SweepStatus>(body).unwrap().is_paused, "who reads sees it");
    assert_eq!(steer(&alice, "resume", json!({ "budget": { "to": 9 * DOLLAR } })).await, 204);
    assert_eq!(steer(OPERATOR, "concurrency", json!({ "endpoint": "sim", "calls": 1 })).await, 204);
    assert_eq!(steer(OPERATOR, "concurrency", json!({ "endpoint": "sim" })).await, 204);
    assert_eq!(steer(&alice, "concurrency", json!({ "endpoint": "sim", "calls": 7 })).await, 422);
    assert_eq!(steer(&alice, "resume", json!({ "budget": { "by": DOLLAR } })).await, 409);
    let (status, _) = desk.ask(&alice, "POST", "/v1/sweeps/none/pause", Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let steered = ["pause", "resume", "concurrency"];
    let entries = desk.audit().await;
    let done: Vec<String> = entries
        .iter()
        .rev()
        .filter(|entry| steered.contains(&entry.action.as_str()))
        .filter_map(|entry| Some((entry, entry.result.as_ref()?)))
        .filter(|(_, result)| result.outcome == AuditOutcome::Done)
        .map(|(entry, result)| format!("{} {} {}", entry.actor, entry.action, result.detail).trim_end().to_owned())
        .collect();
    assert_eq!(
        done,
        [
            "alice pause",
            "alice resume budget raised to $9.00",
            "operator concurrency endpoint sim: calls at once limited to 1",
            "operator concurrency endpoint sim: calls at once as in the spec",
        ]
    );
}
