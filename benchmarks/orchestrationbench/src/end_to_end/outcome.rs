//! What a session came to, step by step of the gold.

use serde_json::{Value, json};

/// Where a call led elsewhere than the gold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Divergence {
    /// The plan has other agents to ask, or in another order, or there is no plan.
    Plan,
    /// A rejection or plain text for a call, or the other way round.
    Decision,
    /// A call did not get the result that is recorded for its step.
    Result,
    /// Nobody was asked.
    NotReached,
}

impl Divergence {
    /// Its name in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Decision => "decision",
            Self::Result => "result",
            Self::NotReached => "not_reached",
        }
    }
}

/// What the model saw when it was asked, beside what the gold shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Seen {
    /// The same results of tools, in the same turn.
    AsInGold,
    /// Other results before it, or some of them missing.
    OtherResults,
    /// It was asked in another turn.
    OtherTurn,
    /// It was not asked.
    NotReached,
}

impl Seen {
    /// Its name in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AsInGold => "as_in_gold",
            Self::OtherResults => "other_results",
            Self::OtherTurn => "other_turn",
            Self::NotReached => "not_reached",
        }
    }
}

/// A step of the gold in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepOutcome {
    /// The step.
    pub(crate) step: u32,
    /// Position, among the agent's replies, of the one that stands for it.
    pub(crate) reply: Option<usize>,
    /// What the model saw.
    pub(crate) seen: Seen,
    /// Where its reply led elsewhere.
    pub(crate) divergence: Option<Divergence>,
}

/// What a session came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Every step of the gold at which a model would be asked step by step, ascending.
    pub(crate) steps: Vec<StepOutcome>,
    /// How many calls stand for no step.
    pub(crate) extra_calls: usize,
    /// Whether the session was cut short.
    pub(crate) is_bounded: bool,
}

impl Outcome {
    /// The first step, in the order of the calls, that led elsewhere; without one, the first that nobody was asked at.
    pub(crate) fn first_divergence(&self) -> Option<StepOutcome> {
        let told = self.steps.iter().filter(|step| step.divergence.is_some() && step.reply.is_some());
        let unreached = || self.steps.iter().find(|step| step.reply.is_none());
        told.min_by_key(|step| step.reply).or_else(unreached).copied()
    }

    /// The steps after the first divergence that were not asked as in the gold.
    pub(crate) fn changed(&self) -> Vec<StepOutcome> {
        let Some(first) = self.first_divergence() else { return Vec::new() };
        let is_changed = |step: &&StepOutcome| step.step > first.step && step.seen != Seen::AsInGold;
        self.steps.iter().filter(is_changed).copied().collect()
    }

    /// For results: `first_divergent` with its step and kind, `changed` with each later step and how it was asked, and counts.
    pub(crate) fn entry(&self) -> Value {
        let first = self.first_divergence().map(|first| {
            let kind = first.divergence.unwrap_or(Divergence::NotReached);
            json!({ "step": first.step, "kind": kind.name() })
        });
        let changed = self.changed();
        let changed: Vec<Value> =
            changed.iter().map(|step| json!({ "step": step.step, "seen": step.seen.name() })).collect();
        json!({
            "first_divergent": first,
            "changed": changed,
            "steps": self.steps.len(),
            "reached": self.steps.iter().filter(|step| step.reply.is_some()).count(),
            "extra_calls": self.extra_calls,
            "bounded": self.is_bounded,
        })
    }
}
