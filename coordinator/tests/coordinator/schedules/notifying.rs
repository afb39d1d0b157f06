use regatta_coordinator::NightVerdict;
use regatta_proto::SweepState;
use serde_json::{Value, json};

use super::night_shift::NightShift;

/// A night of the schedule with `notify`, judged as NO-GO, and what was told.
async fn two_nights(notify: Value, refuses: u32) -> NightShift {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    *shift.gate.verdicts.lock().unwrap() = vec![Ok(NightVerdict::NoGo)];
    *shift.postman.refuses.lock().unwrap() = refuses;
    shift.schedule(&process, json!({ "cron": "@hourly", "gate": "metrics: {}", "notify": notify })).await;
    for _ in 0..2 {
        shift.pass(3600);
        process.coordinator.look_after_schedules().await.unwrap();
        shift.end_sweeps(SweepState::Complete).await;
        process.coordinator.look_after_schedules().await.unwrap();
    }
    shift
}

#[tokio::test]
async fn the_verdict_of_the_gate_reaches_the_webhook() {
    let shift = two_nights(json!({ "webhooks": ["ci"] }), 0).await;
    assert_eq!(shift.postman.told(), ["ended 2026-11-23T01:00:00Z", "no_go 2026-11-23T02:00:00Z"]);
    let mut body = shift.postman.bodies().remove(1);
    // Names end with digests of locks, which hold this build's version.
    for field in ["sweep", "baseline"] {
        let name = body[field].as_str().unwrap().rsplit_once('-').unwrap().0.to_owned();
        body[field] = name.into();
    }
    insta::assert_json_snapshot!(body);
}

#[tokio::test]
async fn only_what_is_asked_for_is_told_and_to_every_channel() {
    let shift = two_nights(json!({ "events": ["no_go"], "webhooks": ["ci"], "commands": ["page"] }), 0).await;
    let taken = shift.postman.taken.lock().unwrap();
    let channels: Vec<_> = taken.iter().map(|message| message.channel.as_str()).collect();
    assert_eq!(channels.len(), 2);
    assert!(channels.contains(&"webhook/ci") && channels.contains(&"command/page"), "{channels:?}");
}

#[tokio::test]
async fn a_notice_that_is_not_taken_is_sent_again_under_the_same_id() {
    let shift = two_nights(json!({ "events": ["no_go"], "webhooks": ["ci"] }), 2).await;
    let process = shift.stage.process();
    assert!(shift.postman.taken.lock().unwrap().is_empty());
    for (seconds, taken) in [(9, 0), (2, 0), (19, 0), (2, 1), (3600, 1)] {
        shift.pass(seconds);
        // One look sends; nobody else leads in these tests, so that any process may look.
        process.coordinator.look_after_schedules().await.unwrap();
        let no_gos = shift.postman.told().iter().filter(|told| told.starts_with("no_go")).count();
        assert_eq!(no_gos, taken, "after {seconds} more seconds");
    }
}
