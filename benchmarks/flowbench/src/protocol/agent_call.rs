//! One call of a model with its tries (docs/benchmarks/flowbench.md §3.4).

use super::reading::{Output, read};

/// How often the released code sends one request before the call has failed.
pub(super) const TRIES_MAX: u8 = 20;

/// How many calls the agent gets for one message.
pub(super) const CALLS_MAX: u8 = 10;

/// Failed tries of the call under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tries(u8);

impl Tries {
    /// Counts a failed try; `true` when it was the last of `tries_max`.
    pub(super) fn fail(&mut self, tries_max: u8) -> bool {
        self.0 = self.0.saturating_add(1);
        self.0 >= tries_max
    }
}

/// What a try of the agent's call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The same request must be sent again.
    Again,
    /// The call has its output.
    Output(Output),
    /// That was the last try.
    Failed,
}

impl Attempt {
    /// Takes the reply to a try of the agent's call; `None` is a try without reply. A call without a name counts as such.
    pub(super) fn of(reply: Option<&str>, tries: &mut Tries, tries_max: u8) -> Self {
        match reply.map(read) {
            Some(Ok(output)) => Self::Output(output),
            _ if tries.fail(tries_max) => Self::Failed,
            _ => Self::Again,
        }
    }
}
