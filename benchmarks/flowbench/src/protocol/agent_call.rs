//! One call of a model with its tries (docs/benchmarks/flowbench.md §3.4).

use super::reading::{Output, read};

/// Number of times that the released code sends one request before the call has failed.
pub(super) const TRIES_MAX: u8 = 20;

/// Greatest number of calls of the agent for one message.
pub(super) const CALLS_MAX: u8 = 10;

/// Number of failed tries of the current call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tries(u8);

impl Tries {
    /// Counts a failed try; returns `true` if it was the last of `tries_max`.
    pub(super) fn fail(&mut self, tries_max: u8) -> bool {
        self.0 = self.0.saturating_add(1);
        self.0 >= tries_max
    }
}

/// Result of a try of the agent's call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The same request must be sent again.
    Again,
    /// The call has succeeded with this output.
    Output(Output),
    /// The last try has failed.
    Failed,
}

impl Attempt {
    /// Evaluates the reply to a try of the agent's call; `None` is a try without a reply. A reply that calls a tool
    /// without a name counts as one.
    pub(super) fn of(reply: Option<&str>, tries: &mut Tries, tries_max: u8) -> Self {
        match reply.map(read) {
            Some(Ok(output)) => Self::Output(output),
            _ if tries.fail(tries_max) => Self::Failed,
            _ => Self::Again,
        }
    }
}
