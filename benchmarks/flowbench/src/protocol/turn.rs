//! Inference of one turn: up to ten calls of the agent until an output contains a thought
//! (docs/benchmarks/flowbench.md §3.4).

use regatta_proto::Role;

use super::agent_call::{Attempt, CALLS_MAX, TRIES_MAX, Tries};
use super::{Exchange, Unexpected};

/// Next step of the inference of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnStep<'a> {
    /// Ask the agent, with the same request each time.
    Ask,
    /// The turn is over with this text.
    Predicted(&'a str),
    /// The first call failed in all tries; the released code ends with an `UnboundLocalError`.
    Lost,
}

impl TurnStep<'_> {
    /// Returns the exception of the released code in this situation.
    pub(crate) const fn official_error(&self) -> Option<&'static str> {
        match self {
            Self::Lost => Some("UnboundLocalError"),
            Self::Ask | Self::Predicted(_) => None,
        }
    }
}

/// State of one turn, a function of the replies so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TurnInference {
    calls: u8,
    tries: Tries,
    /// Output of the latest successful call.
    latest: Option<String>,
    over: bool,
}

impl TurnInference {
    /// Replays `exchanges` in order.
    ///
    /// # Errors
    /// If an exchange is not with the agent, or comes after the end of the turn.
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

    /// Adds the reply to [`TurnStep::Ask`]; replies after the end are ignored.
    pub(crate) fn push(&mut self, reply: Option<&str>) {
        if self.over {
            return;
        }
        match Attempt::of(reply, &mut self.tries, TRIES_MAX) {
            Attempt::Again => return,
            Attempt::Output(output) => self.latest = Some(output.content),
            // The output of the call before is checked again, and rejected again.
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

    /// Returns the next step.
    pub(crate) fn step(&self) -> TurnStep<'_> {
        match &self.latest {
            _ if !self.over => TurnStep::Ask,
            Some(text) => TurnStep::Predicted(text),
            None => TurnStep::Lost,
        }
    }
}
