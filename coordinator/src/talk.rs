//! The smallest benchmark of conversations, for tests.

use regatta_benchmarks::{
    Dataset, Evaluation, Item, Metric, Persona, Pictures, Predictions, Scores, Scoring, SelectError, Sessions,
    Simulated, Step, Tables, Verdicts,
};
use regatta_proto::{
    ChatMessage, ChatRequest, ChatRole, Evaluator, ItemIndex, MemberName, Question, Reply, Role, Sampling, SessionSeed,
    Setting, Transcript,
};

/// In `talk` a user speaks with the agent and a judge says how it went; in `alone` nobody does either.
pub(crate) struct Talk;

impl Dataset for Talk {
    fn items(&self) -> &[Item] {
        &[]
    }

    fn select(&self, _: &Setting, _: &[String], _: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        Ok(vec![ItemIndex(0)])
    }
}

impl Sessions for Talk {
    fn roles(&self, setting: &Setting) -> Vec<Role> {
        if setting.as_str() == "talk" { vec![Role::Agent, Role::User] } else { vec![Role::Agent] }
    }

    fn members(&self, setting: &Setting) -> Vec<MemberName> {
        let is_team = setting.as_str().starts_with("team");
        ["lead", "cook"].iter().filter(|_| is_team).filter_map(|name| name.parse().ok()).collect()
    }

    fn next(&self, _: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step {
        let calls = transcript.calls().count();
        match self.roles(setting).get(calls) {
            Some(role) => {
                Step::Ask(*role, ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "go on")], Sampling::default()))
            }
            None => Step::Done,
        }
    }
}

impl Evaluation for Talk {
    fn score(&self, _: ItemIndex, _: &[Evaluator], transcript: &Transcript, _: &dyn Verdicts) -> Scoring {
        match transcript.replies(Role::User).next().and_then(|reply| reply.text.clone()) {
            Some(text) => Scoring::Needs(vec![Question::Judgement {
                kind: "k".to_owned(),
                about: Vec::new(),
                before: Vec::new(),
                prompt: text.to_string(),
                swapped: None,
                accept: Vec::new(),
                replies_max: 1,
            }]),
            None => Scoring::Scored(Scores::new()),
        }
    }

    fn score_failure(&self, _: ItemIndex, _: &[Evaluator]) -> Scores {
        Scores::new()
    }

    fn is_judged(&self, evaluator: Evaluator, value: &str) -> bool {
        value == "done" && evaluator != Evaluator::Exec
    }
}

impl Tables for Talk {
    fn metrics(&self, setting: &Setting, _: Evaluator) -> Vec<Metric> {
        vec![Metric::mean(if setting.as_str() == "talk" { "done" } else { "length" })]
    }
}

impl Predictions for Talk {}

impl Simulated for Talk {
    fn simulate(&self, _: ItemIndex, _: &Setting, role: Role, _: Persona, _: SessionSeed, _: &ChatRequest) -> Reply {
        Reply::said(role.to_string())
    }
}

impl Pictures for Talk {}
