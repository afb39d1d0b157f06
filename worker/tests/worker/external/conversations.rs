//! Sessions in which an agent has two turns.

use regatta_proto::{Cause, ExternalAgent, Outcome, SessionOutcome, Simulation};

use super::office::{Office, output, python, replies, story, talking};

async fn outcome(agent: ExternalAgent) -> SessionOutcome {
    Office::with(1, agent, Simulation::default(), talking).await.outcome().await
}

#[tokio::test]
async fn what_is_asked_again_in_another_turn_is_another_sample() {
    let outcome = outcome(python("print(ask('a'))")).await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    let turn = ["attempt 1 starts mine", "attempt 1 asks a", "ends: Exited(0)"];
    assert_eq!(story(&outcome.transcript), [turn, turn].concat());
    let said = replies(&outcome.transcript);
    assert_ne!(said[0], said[1]);
}

#[tokio::test]
async fn calls_count_over_all_turns() {
    let agent = ExternalAgent { calls_max: 1, ..python("print(ask('a')[:7])") };
    let outcome = outcome(agent).await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert_eq!(output(&outcome.transcript), "refused\n");
}

#[tokio::test]
async fn an_agent_that_fails_is_lost_in_its_first_turn_and_has_said_nothing_in_a_later_one() {
    for failure in ["sys.exit(1)", "pass"] {
        let lost = outcome(python(failure)).await;
        assert_eq!(lost.outcome, Outcome::NotMeasured { cause: Cause::AgentLost }, "{failure}");
        let agent = python(&format!("if first_time('turn'): print(ask('a'))\nelse: {failure}"));
        let outcome = outcome(agent).await;
        assert_eq!(outcome.outcome, Outcome::Measured, "{failure}");
        assert_eq!(output(&outcome.transcript), "", "{failure}");
    }
}
