use bytes::Bytes;
use regatta_coordinator::{GcRequest, Goes, Retention};
use regatta_proto::SweepState;
use serde_json::json;

use super::night_shift::NightShift;

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
    let told = coordinator.collect(GcRequest { keep: None, apply: false }).await.unwrap();
    assert_eq!(count().await, (15, 45), "it was only told");
    let whole = told.going.iter().filter(|going| going.goes == Goes::Everything).count();
    assert_eq!((whole, told.going.len(), told.kept, told.applied), (4, 11, 4, false));
    assert_eq!((told.going[0].objects, told.going[10].objects), (3, 2));
    let done = coordinator.collect(GcRequest { keep: None, apply: true }).await.unwrap();
    assert_eq!((done.going, done.left), (told.going.clone(), 0));
    assert_eq!(count().await, (11, 45 - 4 * 3 - 7 * 2));
    let gone = &told.going[0].sweep;
    assert_eq!(shift.stage.ledger.sweep(gone).await.unwrap(), None);
    let again = coordinator.collect(GcRequest { keep: None, apply: true }).await.unwrap();
    assert!(again.going.is_empty(), "what is gone is not told again");
    // The history still tells of the night.
    assert_eq!(shift.history(&process).await.last().unwrap().sweep.as_ref(), Some(gone));
}

#[tokio::test]
async fn a_policy_without_days_is_refused() {
    let shift = NightShift::at("2026-11-01T00:00:00Z").await;
    let process = shift.stage.process();
    let error = process.coordinator.collect(GcRequest { keep: Some(Retention::default()), apply: true }).await;
    assert!(error.unwrap_err().to_string().starts_with("keep: names no number of days"));
}
