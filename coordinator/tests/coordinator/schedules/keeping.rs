use regatta_backends::TickState;
use regatta_coordinator::{GateError, NightVerdict};
use regatta_proto::{ScheduleName, SweepState, json_bytes};
use serde_json::json;

use super::night_shift::NightShift;
use crate::stage::spec;

fn nightly() -> ScheduleName {
    "nightly".parse().unwrap()
}

/// A schedule of every minute over a whole day, whose sweeps take 20 seconds, looked at every 20 seconds.
async fn a_day_of_minutes(from: &str, seconds: i64) -> (NightShift, Vec<String>) {
    let shift = NightShift::at(from).await;
    let process = shift.stage.process();
    shift.schedule(&process, json!({ "time_zone": "Europe/Berlin" })).await;
    for look in 0..seconds / 20 {
        shift.pass(20);
        process.coordinator.look_after_schedules().await.unwrap();
        if look % 3 == 0 {
            shift.end_sweeps(SweepState::Complete).await;
        }
    }
    process.coordinator.look_after_schedules().await.unwrap();
    let ticks = shift.states(&process).await;
    (shift, ticks)
}

#[tokio::test]
async fn every_minute_of_a_day_has_its_sweep_also_when_clocks_are_put_forward() {
    let (shift, ticks) = a_day_of_minutes("2027-03-27T23:00:00Z", 23 * 3600).await;
    assert_eq!(ticks.len(), 23 * 60);
    assert_eq!(ticks[0], "2027-03-27T23:01:00Z ended");
    assert!(ticks[..ticks.len() - 1].iter().all(|tick| tick.ends_with(" ended")), "{ticks:?}");
    let sweeps = shift.stage.ledger.sweeps().await.unwrap();
    assert_eq!(sweeps.len(), 23 * 60, "one sweep a tick");
}

#[tokio::test]
async fn every_minute_of_a_day_has_its_sweep_also_when_clocks_are_put_back() {
    let (shift, ticks) = a_day_of_minutes("2026-10-24T22:00:00Z", 25 * 3600).await;
    assert_eq!(ticks.len(), 25 * 60);
    assert!(ticks[..ticks.len() - 1].iter().all(|tick| tick.ends_with(" ended")), "{ticks:?}");
    assert_eq!(shift.stage.ledger.sweeps().await.unwrap().len(), 25 * 60);
}

/// Ticks that went by while nobody led: from 00:00 to 00:10, looked at every minute up to 00:14, each sweep over within one.
async fn after_ten_minutes_away(catch_up: &str) -> Vec<String> {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    shift
        .schedule(&process, json!({ "catch_up": catch_up, "late_within_s": 30, "notify": { "webhooks": ["ci"] } }))
        .await;
    shift.pass(10 * 60);
    for _ in 0..5 {
        process.coordinator.look_after_schedules().await.unwrap();
        shift.end_sweeps(SweepState::Complete).await;
        shift.pass(60);
    }
    let mut lines = shift.states(&process).await;
    lines.extend(shift.postman.told().into_iter().map(|told| format!("told: {told}")));
    lines
}

#[tokio::test]
async fn ticks_that_nobody_was_there_for_are_made_up_for_as_the_policy_says() {
    let mut shown = String::new();
    for policy in ["none", "last", "all:3"] {
        shown += &format!("{policy}\n  {}\n", after_ten_minutes_away(policy).await.join("\n  "));
    }
    insta::assert_snapshot!(shown);
}

#[tokio::test]
async fn two_sweeps_of_a_schedule_never_run_at_once() {
    for (policy, ended) in [("none", 2), ("last", 2), ("all:9", 6)] {
        let shift = NightShift::at("2026-11-23T00:00:00Z").await;
        let process = shift.stage.process();
        shift.schedule(&process, json!({ "catch_up": policy, "late_within_s": 30 })).await;
        // The first sweep runs for five minutes, the others are over at once.
        for minute in 0..14 {
            shift.pass(60);
            process.coordinator.look_after_schedules().await.unwrap();
            let running = shift.count(&process, TickState::Running).await;
            assert!(running <= 1, "{policy}: {running} run");
            if minute >= 4 {
                shift.end_sweeps(SweepState::Complete).await;
            }
            if minute == 5 {
                process.coordinator.pause_schedule(&nightly(), true).await.unwrap();
            }
        }
        assert_eq!(shift.count(&process, TickState::Ended).await, ended, "{policy}");
        let missed = shift.count(&process, TickState::Missed).await;
        assert_eq!(ended + missed, 6, "{policy}: every tick before the pause is told of");
    }
}

#[tokio::test]
async fn a_paused_schedule_runs_on_demand_alone_and_makes_up_for_nothing() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let coordinator = &process.coordinator;
    shift.schedule(&process, json!({ "catch_up": "all:9" })).await;
    coordinator.pause_schedule(&nightly(), true).await.unwrap();
    shift.pass(10 * 60 + 5);
    let asked = coordinator.run_schedule(&nightly()).await.unwrap();
    assert_eq!(coordinator.run_schedule(&nightly()).await.unwrap(), asked, "within a second");
    coordinator.look_after_schedules().await.unwrap();
    assert_eq!(coordinator.schedule(&nightly()).await.unwrap().next, None);
    assert_eq!(shift.states(&process).await, ["2026-11-23T00:10:05Z running"]);
    coordinator.pause_schedule(&nightly(), false).await.unwrap();
    shift.pass(30);
    shift.end_sweeps(SweepState::Complete).await;
    coordinator.look_after_schedules().await.unwrap();
    assert_eq!(shift.states(&process).await, ["2026-11-23T00:10:05Z ended"]);
    let status = coordinator.schedule(&nightly()).await.unwrap();
    assert_eq!(status.next.unwrap().to_string(), "2026-11-23T00:11:00Z");
}

#[tokio::test]
async fn a_month_has_a_budget_and_each_night_gets_what_is_left_of_it() {
    let shift = NightShift::at("2026-11-29T23:59:30Z").await;
    let process = shift.stage.process();
    let budget =
        json!({ "cron": "@daily", "budget_usd": { "night": 4, "month": 10 }, "notify": { "webhooks": ["ci"] } });
    shift.schedule(&process, budget).await;
    let mut budgets = Vec::new();
    // 30 November; then a night a day.
    shift.pass(60);
    for night in 0..5 {
        process.coordinator.look_after_schedules().await.unwrap();
        let tick = shift.history(&process).await.remove(0);
        if let Some(id) = tick.sweep {
            let sweep = shift.stage.ledger.sweep(&id).await.unwrap().unwrap();
            budgets.push(format!("{} {}", tick.at, sweep.budget.unwrap()));
            shift.spend(&id, 3.5).await;
        } else {
            budgets.push(format!("{} {}: {}", tick.at, tick.state, tick.reason.unwrap()));
        }
        shift.end_sweeps(SweepState::Complete).await;
        process.coordinator.look_after_schedules().await.unwrap();
        // December begins after the first night.
        shift.pass(if night == 4 { 0 } else { 86_400 });
    }
    insta::assert_snapshot!(budgets.join("\n"), @r"
    2026-11-30T00:00:00Z $4.00
    2026-12-01T00:00:00Z $4.00
    2026-12-02T00:00:00Z $4.00
    2026-12-03T00:00:00Z $3.00
    2026-12-04T00:00:00Z refused: budget_usd.month: is used up: $10.50 of $10.00 are spent this month
    ");
    assert_eq!(shift.postman.told().last().unwrap(), "refused 2026-12-04T00:00:00Z");
}

#[tokio::test]
async fn the_gate_holds_a_night_against_the_baseline_that_is_asked_for() {
    for (baseline, expected) in [
        ("previous", [None, Some(0), Some(1), Some(2)]),
        // The second night has the best score.
        ("best", [None, Some(0), Some(1), Some(1)]),
    ] {
        let shift = NightShift::at("2026-11-23T00:00:00Z").await;
        let process = shift.stage.process();
        *shift.gate.scores.lock().unwrap() = vec![0.5, 0.9, 0.7, 0.8];
        shift.schedule(&process, json!({ "baseline": baseline, "gate": "metrics: {}" })).await;
        for _ in 0..4 {
            shift.pass(60);
            process.coordinator.look_after_schedules().await.unwrap();
            shift.end_sweeps(SweepState::Complete).await;
            process.coordinator.look_after_schedules().await.unwrap();
        }
        let asked = shift.gate.asked.lock().unwrap();
        let runs: Vec<_> = asked.iter().map(|question| question.run.clone()).collect();
        let held: Vec<_> =
            asked.iter().map(|question| runs.iter().position(|run| Some(run) == question.baseline.as_ref())).collect();
        assert_eq!(held, expected, "{baseline}");
        let nights: Vec<_> = asked.iter().map(|question| question.night).collect();
        assert_eq!(nights, [1, 1, 2, 3], "a night without a baseline is not judged");
    }
}

#[tokio::test]
async fn every_night_is_held_against_the_sweep_that_its_schedule_names_the_first_one_too() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let golden = shift.stage.submit(&process, &spec("golden", 2, "")).await;
    assert!(shift.stage.end(&golden.id, SweepState::Complete, shift.stage.clock_now()).await);
    // Better nights between them change nothing.
    *shift.gate.scores.lock().unwrap() = vec![0.5, 0.9, 0.7];
    shift.schedule(&process, json!({ "baseline": golden.id.as_str(), "gate": "metrics: {}" })).await;
    for _ in 0..3 {
        shift.pass(60);
        process.coordinator.look_after_schedules().await.unwrap();
        shift.end_sweeps(SweepState::Complete).await;
        process.coordinator.look_after_schedules().await.unwrap();
    }
    let asked = shift.gate.asked.lock().unwrap().clone();
    let held: Vec<_> = asked.iter().map(|question| (question.baseline.as_ref(), question.night)).collect();
    assert_eq!(held, [(Some(&golden.id), 1), (Some(&golden.id), 2), (Some(&golden.id), 3)]);
    let mut outcomes = shift.history(&process).await.into_iter().map(|tick| tick.outcome.unwrap());
    assert!(outcomes.all(|outcome| outcome.baseline.as_ref() == Some(&golden.id)));
}

#[tokio::test]
async fn a_night_that_was_cancelled_is_not_judged_and_no_baseline() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    shift.schedule(&process, json!({ "gate": "metrics: {}" })).await;
    for state in [SweepState::Complete, SweepState::Cancelled, SweepState::StoppedByBudget, SweepState::Complete] {
        shift.pass(60);
        process.coordinator.look_after_schedules().await.unwrap();
        shift.end_sweeps(state).await;
        process.coordinator.look_after_schedules().await.unwrap();
    }
    let asked = shift.gate.asked.lock().unwrap().clone();
    let held: Vec<_> = asked.iter().map(|question| question.baseline.clone()).collect();
    assert_eq!(held, [None, Some(asked[0].run.clone()), Some(asked[0].run.clone())]);
    let cancelled = shift.history(&process).await.remove(2).outcome.unwrap();
    assert_eq!(cancelled.unjudged.as_deref(), Some("its sweep is cancelled"));
}

#[tokio::test]
async fn a_gate_whose_stores_are_away_is_asked_again_for_ten_minutes() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let look = async || process.coordinator.look_after_schedules().await.unwrap();
    shift.schedule(&process, json!({ "cron": "@hourly", "gate": "metrics: {}" })).await;
    let away = || Err(GateError::Failed("the bucket is away".to_owned()));
    *shift.gate.verdicts.lock().unwrap() = vec![away(), Ok(NightVerdict::NoGo), away(), away(), away()];
    for _ in 0..3 {
        shift.pass(3600);
        look().await;
        shift.end_sweeps(SweepState::Complete).await;
        look().await;
        look().await;
    }
    shift.pass(601);
    look().await;
    let outcomes: Vec<_> = shift.history(&process).await.into_iter().map(|tick| tick.outcome.unwrap()).collect();
    assert_eq!(outcomes[1].verdict, Some(NightVerdict::NoGo));
    assert_eq!((outcomes[0].verdict, outcomes[0].unjudged.as_deref()), (None, Some("the bucket is away")));
}

#[tokio::test]
async fn a_night_that_somebody_resumes_counts_as_running_and_its_cost_is_counted_anew() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let coordinator = &process.coordinator;
    shift.schedule(&process, json!({ "cron": "@hourly", "catch_up": "last" })).await;
    shift.pass(3600);
    coordinator.look_after_schedules().await.unwrap();
    let id = shift.history(&process).await.remove(0).sweep.unwrap();
    shift.end_sweeps(SweepState::Incomplete).await;
    coordinator.look_after_schedules().await.unwrap();
    coordinator.resume(&id, Default::default()).await.unwrap();
    shift.pass(3600);
    coordinator.look_after_schedules().await.unwrap();
    let expected = ["2026-11-23T01:00:00Z running", "2026-11-23T02:00:00Z due"];
    assert_eq!(shift.states(&process).await, expected, "the next one waits");
    shift.spend(&id, 2.0).await;
    shift.end_sweeps(SweepState::Complete).await;
    coordinator.look_after_schedules().await.unwrap();
    let history = shift.history(&process).await;
    assert_eq!(history[1].spent.unwrap().dollars(), 2.0);
    assert_eq!(history[0].state, TickState::Running);
}

#[tokio::test]
async fn a_schedule_whose_data_has_gone_refuses_its_nights_with_the_reason() {
    let shift = NightShift::on_disk("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    shift.schedule(&process, json!({})).await;
    std::fs::remove_dir_all(shift.stage.blob_folder().join("content")).unwrap();
    shift.pass(60);
    // As a coordinator that was just started has it: nothing is in memory.
    let process = shift.stage.process();
    process.coordinator.look_after_schedules().await.unwrap();
    let tick = shift.history(&process).await.remove(0);
    assert_eq!(tick.state, TickState::Refused);
    assert!(tick.reason.as_ref().unwrap().contains("content/"), "{tick:?}");
}

#[tokio::test]
async fn a_night_whose_store_is_away_is_tried_for_half_an_hour_however_late_it_is() {
    let shift = NightShift::on_disk("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    shift.schedule(&process, json!({ "cron": "@daily", "catch_up": "last" })).await;
    // The bucket's folder is a file for a while; and the tick was hours ago.
    let (content, aside) = (shift.stage.blob_folder().join("content"), shift.stage.blob_folder().join("aside"));
    std::fs::rename(&content, &aside).unwrap();
    std::fs::create_dir(&content).unwrap();
    for name in std::fs::read_dir(&aside).unwrap().map(|entry| entry.unwrap().file_name()) {
        // Reading a folder as a file fails for another reason than that it is not there.
        std::os::unix::fs::symlink(content.join("loop"), content.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(content.join("loop"), content.join("loop")).unwrap();
    shift.pass(30 * 3600);
    let process = shift.stage.process();
    let look = async || process.coordinator.look_after_schedules().await.unwrap();
    for _ in 0..3 {
        look().await;
        shift.pass(60);
    }
    assert_eq!(shift.states(&process).await, ["2026-11-24T00:00:00Z due"]);
    shift.pass(31 * 60);
    look().await;
    assert_eq!(shift.states(&process).await, ["2026-11-24T00:00:00Z refused"]);
}

#[tokio::test]
async fn a_schedule_of_before_there_were_bounds_of_specs_has_its_nights_and_is_refused_when_it_is_written_again() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let mut request = shift.request(json!({})).await;
    request.submission.spec.endpoints.values_mut().for_each(|endpoint| endpoint.timeouts.total_ms = 100 * 3_600_000);
    let refused = process.coordinator.put_schedule(request.clone(), None, None).await.unwrap_err().to_string();
    assert!(refused.starts_with("endpoints.sim.timeouts.total_ms: must be at most"), "{refused}");
    let refused = process.coordinator.submit(request.submission.clone(), None).await.unwrap_err().to_string();
    assert!(refused.starts_with("endpoints.sim.timeouts.total_ms: must be at most"), "{refused}");
    // As the version before has written it.
    let submission = shift.stage.blobs().put_content(json_bytes(&request.submission).into()).await.unwrap();
    let document = json!({ "spec": request.schedule, "submission": submission }).to_string();
    shift.keep("nightly", document, None).await;
    shift.pass(60);
    process.coordinator.look_after_schedules().await.unwrap();
    assert_eq!(shift.states(&process).await, ["2026-11-23T00:01:00Z running"]);
}
