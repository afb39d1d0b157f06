//! Processes that are killed or stopped with calls in flight: an endpoint with books of its own is the referee.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use regatta_tests::referee::{CONCURRENCY, Referee, WORST_CASE};
use regatta_tests::regatta::{finish, regatta};
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

const SESSIONS: u64 = 40;

/// Money as a report tells it: known cost, and most that it can have been, in nano-dollars.
fn told(directory: &Path) -> (u64, u64) {
    let summary: Value =
        serde_json::from_str(&std::fs::read_to_string(directory.join("summary.json")).unwrap()).unwrap();
    let known = summary["spending"]["cost"]["known"].as_u64().unwrap();
    let of_attempts = known
        + summary["spending"]["maybe_spent"].as_u64().unwrap()
        + summary["spending"]["lost_calls_at_most"].as_u64().unwrap();
    (known, summary["at_most"].as_u64().unwrap_or(of_attempts))
}

/// The report holds what was billed between what is known and what it can have cost at most, and that is not much more than was in flight.
fn is_between(directory: &Path, referee: &Referee) {
    let ((known, at_most), billed) = (told(directory), referee.billed());
    assert!(known <= billed && billed <= at_most, "known {known}, billed {billed}, at most {at_most}");
    assert!(referee.calls() > SESSIONS, "nothing was in flight");
    // A lease is renewed with what was under way of late, and as much again.
    assert!(at_most - known <= 3 * CONCURRENCY * WORST_CASE, "known {known}, at most {at_most}");
}

#[tokio::test]
async fn what_a_killed_run_had_in_flight_is_in_what_it_cost_at_most() {
    for budget in ["", "budget_usd: 1\n"] {
        let folder = tempfile::tempdir().unwrap();
        let (referee, directory) = (Referee::start(10, Duration::ZERO).await.unwrap(), folder.path().join("run"));
        let spec = referee.spec(folder.path(), "killed", SESSIONS, budget).unwrap();
        let mut command = regatta().unwrap();
        command.arg("run").arg(&spec).arg("--output").arg(&directory);
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // At the very moment in which the last of them is sent nothing has been told of it.
        referee.has_read(10 + CONCURRENCY).await;
        run.kill().await.unwrap();
        referee.answer_all();
        let mut command = regatta().unwrap();
        command.arg("doctor").arg(&directory);
        let said = String::from_utf8(finish(command).await.unwrap().stdout).unwrap();
        assert!(said.contains(", at most $"), "{said}");
        let mut command = regatta().unwrap();
        command.arg("run").arg(&spec).arg("--output").arg(&directory);
        let output = finish(command).await.unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        is_between(&directory, &referee);
        let report = std::fs::read_to_string(directory.join("report.md")).unwrap();
        assert!(report.contains(", in all at most $"), "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn report_account_and_status_say_the_same_of_what_a_killed_worker_had_in_flight() {
    let deployment = Deployment::new().await.unwrap();
    let referee = Referee::start(10, Duration::ZERO).await.unwrap();
    let spec = referee.spec(deployment.folder.path(), &unique_name("killed"), SESSIONS, "").unwrap();
    let _roles = [deployment.start("coordinator").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let killed = deployment.start("worker").await.unwrap();
    let id = deployment.submit(&spec).await.unwrap();
    referee.has_read(10 + CONCURRENCY).await;
    killed.kill().await.unwrap();
    referee.answer_all();
    let _another = deployment.start("worker").await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    is_between(&directory, &referee);
    let status = deployment.status(&id).await.unwrap();
    let said = (status["cost"]["known"]["known"].as_u64().unwrap(), status["cost"]["at_most"].as_u64().unwrap());
    assert_eq!(said, told(&directory));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stood_still_goes_on_with_its_calls_and_pays_for_none_twice() {
    let deployment = Deployment::new().await.unwrap();
    let referee = Referee::start(u64::MAX, Duration::from_millis(100)).await.unwrap();
    let spec = referee.spec(deployment.folder.path(), &unique_name("stopped"), SESSIONS, "").unwrap();
    let _roles = [deployment.start("coordinator").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let workers = [deployment.start("worker").await.unwrap(), deployment.start("worker").await.unwrap()];
    let id = deployment.submit(&spec).await.unwrap();
    referee.has_read(10).await;
    workers[0].signal("STOP").await.unwrap();
    // The other goes on meanwhile, with its own sessions; those of the one that stands still stay its own.
    tokio::time::timeout(Duration::from_secs(2), deployment.wait_for(&id, SESSIONS)).await.unwrap_or(Ok(())).unwrap();
    workers[0].signal("CONT").await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    assert_eq!(referee.calls(), SESSIONS, "one call a session");
    let most = referee.most_at_once();
    assert!(most <= CONCURRENCY, "its slots were others' meanwhile, and {most} calls were under way at once");
    assert_eq!(told(&directory), (referee.billed(), referee.billed()));
}
