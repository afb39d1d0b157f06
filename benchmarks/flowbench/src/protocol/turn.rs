//! Inference of one turn: up to ten calls of the agent until a thought is among what it says (docs/benchmarks/flowbench.md §3.4).

use regatta_proto::Role;

use super::agent_call::{Attempt, CALLS_MAX, TRIES_MAX, Tries};
use super::{Exchange, Unexpected};

/// What the inference of a turn does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnStep<'a> {
    /// Ask the agent, with the same request each time.
    Ask,
    /// The turn is this text.
    Predicted(&'a str),
    /// The first call failed for good; the released code ends with an `UnboundLocalError`.
    Lost,
}

impl TurnStep<'_> {
    /// The exception that leaves the released code here.
    pub(crate) const fn official_error(&self) -> Option<&'static str> {
        match self {
            Self::Lost => Some("UnboundLocalError"),
            Self::Ask | Self::Predicted(_) => None,
        }
    }
}

/// The state of one turn, a function of the replies so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TurnInference {
    calls: u8,
    tries: Tries,
    /// The output of the latest call that did not fail.
    latest: Option<String>,
    over: bool,
}

impl TurnInference {
    /// The state after `exchanges`, in order.
    ///
    /// # Errors
    /// When one of them is not with the agent, or comes when the turn is over.
    pub(crate) fn replay<'a>(exchanges: impl IntoIterator<Item = Exchange<'a>>) -> Result<Self, Unexpected> {
        let mut turn = Self::default();
        for (at, Exchange { role, reply }) in exchanges.into_iter().enumerate() {
            let expected = (!turn.over).then_some(Role::Agent);
            if expected != Some(role) {
                return Err(Unexpected { at, expected, got: role });
            }
            turn.push(reply);
        }
        Ok(turn)
    }

    /// Takes the reply to [`TurnStep::Ask`]; one beyond the end is ignored.
    pub(crate) fn push(&mut self, reply: Option<&str>) {
        if self.over {
            return;
        }
        match Attempt::of(reply, &mut self.tries, TRIES_MAX) {
            Attempt::Again => return,
            Attempt::Output(output) => self.latest = Some(output.content),
            // What the call before said is looked at again, and refused again.
            Attempt::Failed => {}
        }
        self.tries = Tries::default();
        self.calls += 1;
        let Some(latest) = &mut self.latest else {
            self.over = true;
            return;
        };
        self.over = latest.contains("Thought:");
        if !self.over && self.calls >= CALLS_MAX {
            latest.insert_str(0, "Thought: None\n");
            self.over = true;
        }
    }

    /// What comes next.
    pub(crate) fn step(&self) -> TurnStep<'_> {
        match &self.latest {
            _ if !self.over => TurnStep::Ask,
            Some(text) => TurnStep::Predicted(text),
            None => TurnStep::Lost,
        }
    }
}
