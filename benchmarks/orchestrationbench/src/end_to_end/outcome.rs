//! Outcome of a session, by step of the gold.

use serde_json::{Value, json};

/// Way in which a call diverged from the gold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Divergence {
    /// The plan asks other agents, or asks them in another order, or there is no plan.
    Plan,
    /// A rejection or plain text where a call is right, or the reverse.
    Decision,
    /// A call did not get the result that is recorded for its step.
    Result,
    /// No model was asked at the step.
    NotReached,
}

impl Divergence {
    /// Name in result files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Decision => "decision",
            Self::Result => "result",
            Self::NotReached => "not_reached",
        }
    }
}

/// Input of the model at a step, compared with the gold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Seen {
    /// The same results of tools, in the same turn as in the gold.
    AsInGold,
    /// Other results of tools, or fewer.
    OtherResults,
    /// It was asked in another turn.
    OtherTurn,
    /// The step was not asked.
    NotReached,
}

impl Seen {
    /// Name in result files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AsInGold => "as_in_gold",
            Self::OtherResults => "other_results",
            Self::OtherTurn => "other_turn",
            Self::NotReached => "not_reached",
        }
    }
}

/// Outcome of one step of the gold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepOutcome {
    /// Number of the step.
    pub(crate) step: u32,
    /// Position, among the agent's replies, of the one that is matched with the step; `None` if no call was.
    pub(crate) reply: Option<usize>,
    /// Input of the model, compared with the gold.
    pub(crate) seen: Seen,
    /// Divergence of the reply from the gold, if it diverged.
    pub(crate) divergence: Option<Divergence>,
}

/// Outcome of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Every step of the gold at which the stepwise mode asks a model, ascending.
    pub(crate) steps: Vec<StepOutcome>,
    /// Number of calls without a step.
    pub(crate) extra_calls: usize,
    /// The session was ended by the limit on calls.
    pub(crate) is_bounded: bool,
}

impl Outcome {
    /// Returns the first step, in the order of calls, that diverged; if none did, the first that was not reached.
    pub(crate) fn first_divergence(&self) -> Option<StepOutcome> {
        let told = self.steps.iter().filter(|step| step.divergence.is_some() && step.reply.is_some());
        let unreached = || self.steps.iter().find(|step| step.reply.is_none());
        told.min_by_key(|step| step.reply).or_else(unreached).copied()
    }

    /// Returns the steps after the first divergence that were not asked as in the gold.
    pub(crate) fn changed(&self) -> Vec<StepOutcome> {
        let Some(first) = self.first_divergence() else { return Vec::new() };
        let is_changed = |step: &&StepOutcome| step.step > first.step && step.seen != Seen::AsInGold;
        self.steps.iter().filter(is_changed).copied().collect()
    }

    /// Serialises the outcome for results: `first_divergent` with step and kind, `changed` with each later step and
    /// how it was asked, and counts.
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
