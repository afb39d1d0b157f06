use regatta_benchmarks::Persona;
use regatta_proto::{ChatRequest, ChatRole, Finish, Reply, SessionSeed, ToolCall};

use super::outcome::{Divergence, Outcome, Seen};
use super::session::{CALLS_MAX, Session};
use crate::data::{Data, Scenario, shared};
use crate::simulate;

/// Runs a session in which `answer` replies to each request, given the matched step or `None`.
fn run(
    data: &Data,
    scenario: &Scenario,
    mut answer: impl FnMut(&ChatRequest, Option<u32>) -> Reply,
) -> (Outcome, Vec<ChatRequest>) {
    let (mut replies, mut requests) = (Vec::<Reply>::new(), Vec::new());
    loop {
        let session = Session::replay(data, scenario, &replies);
        let Some(request) = session.request() else { return (session.outcome(), requests) };
        replies.push(answer(&request, session.step()));
        requests.push(request);
        assert!(replies.len() <= CALLS_MAX);
    }
}

fn simulated(data: &Data, scenario: &Scenario, persona: Persona) -> Outcome {
    let answer = |_: &ChatRequest, step: Option<u32>| {
        step.map_or(Reply::said(""), |step| simulate::reply(data, scenario, step, persona, SessionSeed(7)))
    };
    run(data, scenario, answer).0
}

#[test]
fn the_gold_itself_reaches_almost_every_step_of_the_official_data() {
    let Some(data) = shared::official() else { return };
    let (mut steps, mut reached, mut as_in_gold, mut extra, mut whole) = (0, 0, 0, 0, 0);
    for scenario in &data.scenarios {
        let outcome = simulated(data, scenario, Persona::Oracle);
        let here = outcome.steps.iter().filter(|step| step.reply.is_some()).count();
        assert!(!outcome.is_bounded, "{}", scenario.name());
        steps += outcome.steps.len();
        reached += here;
        extra += outcome.extra_calls;
        as_in_gold += outcome.steps.iter().filter(|step| step.seen == Seen::AsInGold).count();
        whole += usize::from(outcome.first_divergence().is_none());
        if std::env::var_os("SHOW_UNREACHED").is_some() && here < outcome.steps.len() {
            eprintln!("{} {}", scenario.name(), outcome.entry());
        }
    }
    eprintln!(
        "{steps} steps, {reached} reached, {as_in_gold} as in the gold, {extra} calls beside, {whole} scenarios whole"
    );
    assert_eq!(steps, 2503);
    assert!(reached * 100 > steps * 95, "{reached} of {steps}");
}

#[test]
fn early_errors_change_later_steps_and_every_session_ends() {
    let Some(data) = shared::official() else { return };
    let (mut diverged, mut changed) = (0, 0);
    for scenario in data.scenarios.iter().step_by(20) {
        let outcome = simulated(data, scenario, Persona::Noisy(0.4));
        diverged += usize::from(outcome.first_divergence().is_some());
        changed += outcome.changed().len();
        assert_eq!(outcome, simulated(data, scenario, Persona::Noisy(0.4)), "a session is a function of its replies");
    }
    assert!(diverged > 10 && changed > 10, "{diverged} {changed}");
}

#[test]
fn a_model_that_says_nothing_leaves_every_decision_unreached() {
    let data = shared::miniature();
    for scenario in &data.scenarios {
        let (outcome, _) = run(data, scenario, |_, _| Reply::of_text(None, Finish::Stop));
        let decisions: Vec<_> = outcome.steps.iter().filter(|step| !scenario.planning.contains(&step.step)).collect();
        assert!(decisions.iter().all(|step| step.seen == Seen::NotReached), "{}", scenario.name());
        let first = outcome.first_divergence().map(|first| first.divergence);
        assert_eq!(first, Some(Some(Divergence::Plan)), "{}", scenario.name());
    }
}

#[test]
fn a_model_that_plans_and_calls_without_end_is_stopped() {
    let data = shared::miniature();
    let scenario = &data.scenarios[0];
    let agent = scenario.decisions[0].agent.clone();
    let steps: Vec<_> = (0..200).map(|_| serde_json::json!({"agent_id": agent, "refined_query": "again"})).collect();
    let plan = serde_json::json!({"workflow_1": {"steps": steps}}).to_string();
    let (outcome, requests) = run(data, scenario, |request, _| {
        if request.tools.is_empty() {
            Reply::said(plan.as_str())
        } else {
            let call = ToolCall { id: "1".into(), name: "nothing".into(), arguments: "[".into() };
            Reply::calling(None, vec![call])
        }
    });
    assert!(outcome.is_bounded && requests.len() == CALLS_MAX && outcome.extra_calls > 0);
    let last = requests.last().unwrap().messages.iter().rev().find(|message| message.role == ChatRole::Assistant);
    assert_eq!(&*last.unwrap().content, "{\"status\": \"error\", \"message\": \"no such tool\"}");
}
