use std::time::Duration;

use bytes::Bytes;
use regatta_coordinator::{GcRequest, Goes, Retention};
use regatta_proto::SweepState;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::night_shift::NightShift;
use crate::stage::{Process, spec};

#[tokio::test]
async fn nights_beyond_the_retention_go_with_their_files_and_only_when_it_is_said() {
    let shift = NightShift::at("2026-11-01T00:00:00Z").await;
    let process = shift.stage.process();
    let coordinator = &process.coordinator;
    let kept = json!({ "cron": "@daily", "budget_usd": { "night": 4 }, "retention": { "days": 10, "nights": 2, "transcripts_days": 3 } });
    shift.schedule(&process, kept).await;
    for _ in 0..15 {
        shift.pass(86_400);
        coordinator.look_after_schedules().await.unwrap();
        let running = shift.history(&process).await.remove(0).sweep.unwrap();
        for file in ["summary.json", "transcripts/0.zst", "transcripts/1.zst"] {
            shift.stage.blobs().put(&format!("sweeps/{running}/{file}"), Bytes::from_static(b"x")).await.unwrap();
        }
        shift.end_sweeps(SweepState::Complete).await;
        coordinator.look_after_schedules().await.unwrap();
    }
    let count = async || {
        (shift.stage.ledger.sweeps().await.unwrap().len(), shift.stage.blobs().list("sweeps/").await.unwrap().len())
    };
    let told = coordinator.collect(GcRequest { keep: None, cached: None, apply: false }).await.unwrap();
    assert_eq!(count().await, (15, 45), "it was only told");
    let whole = told.going.iter().filter(|going| going.goes == Goes::Everything).count();
    assert_eq!((whole, told.going.len(), told.kept, told.applied), (4, 11, 4, false));
    assert_eq!((told.going[0].objects, told.going[10].objects), (3, 2));
    let done = coordinator.collect(GcRequest { keep: None, cached: None, apply: true }).await.unwrap();
    assert_eq!((done.going, done.left), (told.going.clone(), 0));
    assert_eq!(count().await, (11, 45 - 4 * 3 - 7 * 2));
    let gone = &told.going[0].sweep;
    assert_eq!(shift.stage.ledger.sweep(gone).await.unwrap(), None);
    let again = coordinator.collect(GcRequest { keep: None, cached: None, apply: true }).await.unwrap();
    assert!(again.going.is_empty(), "what is gone is not told again");
    // The history still tells of the night.
    assert_eq!(shift.history(&process).await.last().unwrap().sweep.as_ref(), Some(gone));
}

/// Passes seven hours of a leader that removes what is old.
async fn leads_for_seven_hours(shift: &NightShift, process: &Process) {
    let (coordinator, stop) = (process.coordinator.clone(), CancellationToken::new());
    let stopped = stop.clone();
    let removing = tokio::spawn(async move { coordinator.keep_removing(stopped).await });
    shift.pass(7 * 3600);
    tokio::time::sleep(Duration::from_secs(7 * 3600)).await;
    stop.cancel();
    removing.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_leader_removes_what_a_schedule_does_not_keep_by_itself_and_no_other_sweep() {
    let shift = NightShift::at("2026-11-01T00:00:00Z").await;
    let process = shift.stage.process();
    let other = shift.stage.submit(&process, &spec("other", 2, "")).await;
    shift.stage.end(&other.id, SweepState::Complete, shift.stage.clock_now()).await;
    shift.schedule(&process, json!({ "cron": "@daily", "retention": { "days": 10, "nights": 2 } })).await;
    for _ in 0..15 {
        shift.pass(86_400);
        process.coordinator.look_after_schedules().await.unwrap();
        shift.end_sweeps(SweepState::Complete).await;
        process.coordinator.look_after_schedules().await.unwrap();
    }
    // A copy of this database uses the bucket too.
    shift.stage.blobs().put("ledgers/copy.json", Bytes::from_static(b"{}")).await.unwrap();
    leads_for_seven_hours(&shift, &process).await;
    assert_eq!(shift.stage.ledger.sweeps().await.unwrap().len(), 16, "what goes here may be the original's");
    shift.stage.blobs().delete("ledgers/copy.json").await.unwrap();
    leads_for_seven_hours(&shift, &process).await;
    let left = shift.stage.ledger.sweeps().await.unwrap();
    assert_eq!(left.len(), 11, "ten nights, and the sweep that no schedule started");
    assert!(left.iter().any(|sweep| sweep.id == other.id));
}

#[tokio::test]
async fn a_policy_without_days_is_refused() {
    let shift = NightShift::at("2026-11-01T00:00:00Z").await;
    let process = shift.stage.process();
    let error =
        process.coordinator.collect(GcRequest { keep: Some(Retention::default()), cached: None, apply: true }).await;
    assert!(error.unwrap_err().to_string().starts_with("keep: has no number of days"));
}
