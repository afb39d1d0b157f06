//! Events that end a session before its agent does.

use axum::Router;
use axum::http::StatusCode;
use regatta_proto::{Cause, ExternalAgent, Faults, Filtered, Money, Outcome, Simulation, SweepLock};

use super::office::{CALL_AT_MOST, Office, output, python, story};

fn retry_never(lock: &mut SweepLock) {
    for endpoint in lock.endpoints.values_mut() {
        endpoint.retries.attempts = 1;
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_is_never_the_agents_failure_whatever_it_makes_of_it() {
    let broken = Simulation { faults: Faults { server_error: 1.0, ..Faults::default() }, ..Simulation::default() };
    for agent in ["print(ask('a'))", "ask('a'); time.sleep(1000)", "ask('a'); sys.exit(1)"] {
        let office = Office::with(1, python(agent), broken.clone(), retry_never).await;
        let outcome = office.outcome().await;
        assert_eq!(outcome.outcome, Outcome::NotMeasured { cause: Cause::EndpointUnavailable }, "{agent}");
        assert_eq!(
            story(&outcome.transcript),
            ["attempt 1 starts mine", "fails: server", "ends: Interrupted"],
            "{agent}"
        );
    }
}

#[tokio::test]
async fn a_budget_that_is_used_up_ends_it_and_what_was_paid_is_known() {
    let agent = python("for text in 'abc': print(ask(text))\ntime.sleep(1000)");
    let office = Office::with(1, agent, Simulation::default(), |lock| lock.budget_usd = Some(1.0)).await;
    office.fund(CALL_AT_MOST).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, Outcome::NotMeasured { cause: Cause::Budget });
    assert_eq!(
        story(&outcome.transcript),
        ["attempt 1 starts mine", "attempt 1 asks a", "fails: budget", "ends: Interrupted"]
    );
    let cost = outcome.transcript.totals_of(1).cost;
    assert!(Money::ZERO < cost.known);
    assert_eq!(office.spent().await, cost.known);
}

#[tokio::test]
async fn calls_beyond_the_limit_are_refused_and_the_agent_goes_on() {
    let agent = ExternalAgent { calls_max: 2, ..python("print([ask(text)[:7] for text in 'abcd'][2:])") };
    let office = Office::of(agent).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert_eq!(output(&outcome.transcript), "['refused', 'refused']\n");
    assert_eq!(story(&outcome.transcript)[3..5], ["fails: rate_limited", "fails: rate_limited"]);
    assert_eq!(office.server.counters().total_answered(), 2);
}

/// An address that refuses every request with a 400 of this code.
async fn refusing(code: &'static str) -> String {
    let refuse = move || async move {
        let error = format!(r#"{{"error": {{"message": "no", "type": "invalid_request_error", "code": "{code}"}}}}"#);
        (StatusCode::BAD_REQUEST, [("content-type", "application/json")], error)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(refuse)).await });
    url
}

#[tokio::test]
async fn a_call_that_its_model_made_impossible_is_the_agents_to_live_with() {
    let url = refusing("context_length_exceeded").await;
    let office = Office::with(1, python("print(ask('a')); print('I gave up')"), Simulation::default(), |lock| {
        lock.endpoints.values_mut().for_each(|endpoint| endpoint.base_url = Some(url.clone()));
    })
    .await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert_eq!(story(&outcome.transcript), ["attempt 1 starts mine", "fails: context_length", "ends: Exited(0)"]);
    assert_eq!(output(&outcome.transcript), "refused 400\nI gave up\n");
}

#[tokio::test]
async fn a_filter_ends_an_agent_where_filtered_sessions_are_missing_and_is_its_to_live_with_where_they_are_wrong() {
    let url = refusing("content_policy_violation").await;
    let outcome = async |filtered| {
        let agent = python("print(ask('a')); print('I gave up')");
        let office = Office::with(1, agent, Simulation::default(), |lock| {
            lock.filtered = filtered;
            lock.endpoints.values_mut().for_each(|endpoint| endpoint.base_url = Some(url.clone()));
        })
        .await;
        office.outcome().await
    };
    let wrong = outcome(Filtered::Wrong).await;
    assert_eq!(wrong.outcome, Outcome::Measured);
    assert_eq!(story(&wrong.transcript), ["attempt 1 starts mine", "fails: content_filter", "ends: Exited(0)"]);
    assert_eq!(output(&wrong.transcript), "refused 400\nI gave up\n");
    let missing = outcome(Filtered::Missing).await;
    assert_eq!(missing.outcome, Outcome::NotMeasured { cause: Cause::ContentFilter });
    assert_eq!(story(&missing.transcript), ["attempt 1 starts mine", "fails: content_filter", "ends: Interrupted"]);
}
