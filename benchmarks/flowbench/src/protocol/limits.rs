//! When a conversation is stopped that the user does not end.

use super::agent_call::TRIES_MAX;

/// Two policies; results must say which was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    /// Limits of the released code (docs/benchmarks/flowbench.md §3.5): 40 messages, 10 calls, 5 calls a user turn, tested only before a
    /// user turn, and with every consequence: an unknown tool or a fifth call in a row can end the session with an exception.
    Code,
    /// Limits of the paper (docs/benchmarks/flowbench.md §3.8): so many messages of the agent. An unknown tool is answered by an error.
    Paper {
        /// At least 1.
        agent_turns_max: u32,
    },
}

impl Limits {
    /// No user turn begins when there are more messages than this.
    pub(super) const MESSAGES_MAX: usize = 40;
    /// No user turn begins after so many calls.
    pub(super) const CALLS_MAX: u32 = 10;
    /// The agent is not asked again after so many calls in one user turn.
    pub(super) const CALLS_IN_TURN_MAX: u32 = 5;

    /// Agent turns of the paper in the single-scenario setting.
    pub(crate) const SINGLE_TURNS_MAX: u32 = 15;
    /// Agent turns of the paper in the cross-scenario setting.
    pub(crate) const CROSS_TURNS_MAX: u32 = 20;

    /// How often one request is sent before the call has failed, as an answer without text or a call without name. Transport has
    /// tries of its own, elsewhere. The paper does not say; three are a chance to recover that costs no fortune, where ten calls
    /// of twenty tries each would be paid for every message of a model that writes malformed calls.
    pub(super) const fn tries_max(self) -> u8 {
        match self {
            Self::Code => TRIES_MAX,
            Self::Paper { .. } => 3,
        }
    }
}
