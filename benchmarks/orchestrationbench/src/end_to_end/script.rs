//! What of a scenario is given: the user's words, turn by turn, and what the gold does after them.

use std::collections::BTreeSet;
use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRole};

use crate::data::{Scenario, Speaker, Suffix};

/// One turn: what is told, and the gold's steps until the user speaks again.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// What the user says, and what the gold's main agent says where nobody is asked.
    pub(super) told: Vec<ChatMessage>,
    /// The gold's planning step.
    pub(super) plan: Option<u32>,
    /// The gold's decision steps of agents that exist, ascending.
    pub(super) decisions: Vec<u32>,
    /// What the gold's main agent says otherwise than in plans.
    words: Vec<Arc<str>>,
}

impl Turn {
    /// Whether the gold asks anybody.
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

/// The turns of a scenario. What comes before the user's first words is a turn without them.
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
                    // The data have one a turn; of more, the first is asked for.
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
