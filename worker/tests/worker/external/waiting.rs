//! Sessions that wait for their agent's place, and agents that have not enough time.

use std::time::Duration;

use regatta_proto::{Cause, ExternalAgent, Outcome, Report, Simulation};

use super::office::{Office, python, story};
use crate::stage::within;

/// Runs until there is a file `go`, and asks once then; makes a file for each start.
fn one_at_a_time() -> ExternalAgent {
    let agent = python(
        "open(os.path.join(errand['folder'], 'began-' + errand['task']), 'w').close()\n\
         while not os.path.exists(os.path.join(errand['folder'], 'go')): time.sleep(0.01)\n\
         ask('a')",
    );
    ExternalAgent { concurrency: 1, ..agent }
}

fn began(office: &Office) -> usize {
    let files = std::fs::read_dir(office.folder.path()).unwrap();
    files.filter(|file| file.as_ref().unwrap().file_name().to_str().unwrap().starts_with("began-")).count()
}

#[tokio::test]
async fn a_session_whose_sweep_is_cancelled_while_it_waits_does_not_start() {
    let office = Office::with(2, one_at_a_time(), Simulation::default(), |_| {}).await;
    let stage = &office.stage;
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    // One has its place, and the other is no longer dropped for having come too late.
    within(async {
        while began(&office) == 0 || worker.metrics.in_flight.get() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    stage.tell(vec![stage.route.clone()], vec![stage.sweep.id.clone()]).await;
    // A cancelled sweep's new jobs are dropped as soon as the worker knows.
    let mut probe = stage.job(0, 0);
    probe.attempt = 5;
    within(async {
        while worker.ended("dropped") == 0 {
            stage.publish([probe.clone()]).await;
            tokio::task::yield_now().await;
        }
    })
    .await;
    std::fs::write(office.folder.path().join("go"), "").unwrap();
    assert_eq!(reports.outcome().await.outcome, Outcome::Measured);
    worker.leave().await;
    assert_eq!(began(&office), 1);
    assert!(reports.rest(&stage.queue).await.is_empty());
}

#[tokio::test]
async fn a_session_that_has_waited_too_long_is_handed_over_before_it_starts() {
    let agent = ExternalAgent { startup_s: 30, deadline_s: 60, ..one_at_a_time() };
    let office = Office::with(2, agent, Simulation::default(), |_| {}).await;
    let stage = &office.stage;
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |config| config.hand_over_after = Duration::from_millis(90_200)).await;
    let Report::HandedOver { key, .. } = reports.result().await else { panic!("not handed over") };
    std::fs::write(office.folder.path().join("go"), "").unwrap();
    let mut outcomes = Vec::new();
    while outcomes.len() < 2 {
        if let Report::Session(outcome) = reports.result().await {
            outcomes.push(*outcome);
        }
    }
    worker.leave().await;
    let waited = outcomes.iter().find(|outcome| outcome.key == key).unwrap();
    assert_eq!((&waited.outcome, story(&waited.transcript).len()), (&Outcome::Measured, 3), "it was started once");
}

#[tokio::test]
async fn an_agent_that_may_take_as_long_as_a_worker_keeps_sessions_is_not_started() {
    let office = Office::of(python("")).await;
    office.stage.publish([office.stage.job(0, 0)]).await;
    let mut reports = office.stage.reports().await;
    let worker = office.stage.start("w", |config| config.hand_over_after = Duration::from_secs(360)).await;
    let outcome = reports.outcome().await;
    worker.leave().await;
    assert_eq!(outcome.outcome, Outcome::NotMeasured { cause: Cause::AgentLost });
    assert!(outcome.transcript.events.is_empty());
}
