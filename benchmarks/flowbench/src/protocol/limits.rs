//! Limits of a conversation that the user does not end.

use super::agent_call::TRIES_MAX;

/// Policy of the limits; results must name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    /// Limits of the released code (docs/benchmarks/flowbench.md §3.5): 40 messages, 10 calls, 5 calls in a user
    /// turn, tested only before a user turn, with the same side effects: an unknown tool or a fifth call in a row can
    /// end the session with an exception.
    Code,
    /// Limits of the paper (docs/benchmarks/flowbench.md §3.8): a number of agent messages. An unknown tool is
    /// answered with an error.
    Paper {
        /// Greatest number of agent messages, at least 1.
        agent_turns_max: u32,
    },
}

impl Limits {
    /// No user turn begins after more messages than this.
    pub(super) const MESSAGES_MAX: usize = 40;
    /// No user turn begins after this many calls.
    pub(super) const CALLS_MAX: u32 = 10;
    /// The agent is not asked again after this many calls in one user turn.
    pub(super) const CALLS_IN_TURN_MAX: u32 = 5;

    /// The paper's limit on agent turns in the single-scenario setting.
    pub(crate) const SINGLE_TURNS_MAX: u32 = 15;
    /// The paper's limit on agent turns in the cross-scenario setting.
    pub(crate) const CROSS_TURNS_MAX: u32 = 20;

    /// Number of times that one request is sent before the call has failed, because of answers without text or calls
    /// without a name; transport errors are retried elsewhere. The paper gives no number. Three allow a model to
    /// recover at an acceptable price, where ten calls of twenty tries each would be paid for every message of a
    /// model that writes malformed calls.
    pub(super) const fn tries_max(self) -> u8 {
        match self {
            Self::Code => TRIES_MAX,
            Self::Paper { .. } => 3,
        }
    }
}
