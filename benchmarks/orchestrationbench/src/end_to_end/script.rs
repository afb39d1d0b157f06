//! The fixed part of a scenario, turn by turn: the user's messages and the steps of the gold.

use std::collections::BTreeSet;
use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRole};

use crate::data::{Scenario, Speaker, Suffix};

/// One turn: the user's messages, and the gold's steps up to the next ones.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Messages of the user, and of the gold's main agent in turns in which no model is asked.
    pub(super) told: Vec<ChatMessage>,
    /// The gold's planning step.
    pub(super) plan: Option<u32>,
    /// The gold's decision steps of agents that exist, ascending.
    pub(super) decisions: Vec<u32>,
    /// Messages of the gold's main agent that are not plans.
    words: Vec<Arc<str>>,
}

impl Turn {
    /// Returns `true` if the gold asks a model in this turn.
    pub(super) const fn is_answered(&self) -> bool {
        self.plan.is_some() || !self.decisions.is_empty()
    }

    fn close(mut self) -> Self {
        if !self.is_answered() {
            let words = self.words.drain(..).map(|words| ChatMessage::new(ChatRole::Assistant, words));
            self.told.extend(words);
        }
        self
    }
}

/// Returns the turns of a scenario. Steps before the user's first message form a turn of their own.
pub(super) fn turns(scenario: &Scenario) -> Vec<Turn> {
    let asked: BTreeSet<u32> = scenario.decisions.iter().filter(|one| one.is_asked).map(|one| one.step).collect();
    let (mut turns, mut turn) = (Vec::new(), Turn::default());
    for ((step, suffix), entry) in &scenario.labels {
        let text = entry.content.text();
        match (suffix, entry.speaker, text) {
            (Suffix::Message, Speaker::User, Some(text)) => {
                if turn.is_answered() || !turn.words.is_empty() {
                    turns.push(std::mem::take(&mut turn).close());
                }
                turn.told.push(ChatMessage::new(ChatRole::User, Arc::clone(text)));
            }
            (Suffix::Message, Speaker::Assistant, Some(text)) => {
                if scenario.planning.contains(step) {
                    // The official data have one plan in a turn; if there are more, the first is asked for.
                    turn.plan = turn.plan.or(Some(*step));
                } else if asked.contains(step) {
                    turn.decisions.push(*step);
                } else if entry.agent.is_none() {
                    turn.words.push(Arc::clone(text));
                }
            }
            _ => {}
        }
    }
    turns.push(turn.close());
    turns
}
