//! Endings of a conversation.

/// The end of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The user ended it.
    Finished,
    /// A limit stopped it.
    Stopped(Limit),
    /// It was aborted. The released code loses such a session; here it counts as failed.
    Failed(Failure),
}

impl Ending {
    /// Returns the failure, if the conversation was aborted.
    pub(crate) const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Finished | Self::Stopped(_) => None,
        }
    }
}

/// The limit that stopped a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Number of messages, in the policy of the released code.
    Messages,
    /// Number of tool calls, in the policy of the released code.
    Calls,
    /// Number of agent messages, in the policy of the paper.
    AgentTurns,
}

/// Reason why a conversation was aborted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The agent gave no readable output in all its calls, or in the last one.
    NoAgentOutput,
    /// The agent called a tool that does not exist.
    UnknownTool(String),
    /// The agent used up its calls in one user turn without a reply to the user.
    NeverReplied,
    /// The user simulator gave no reply in all tries.
    NoUserReply,
    /// The user simulator repeatedly ended the conversation before it had begun.
    UserNeverBegan,
    /// The tool simulator gave no reply in all tries.
    NoToolReply,
    /// The tool simulator wrote no JSON in all tries.
    ToolWroteNoJson {
        /// `true` if that was the last call of a user turn, after which the user simulator would have been asked.
        ends_turn: bool,
    },
}

impl Failure {
    /// Returns the exception of the released code in this situation; `None` where that code loops for ever.
    pub(crate) const fn official_error(&self) -> Option<&'static str> {
        match self {
            Self::NoAgentOutput | Self::ToolWroteNoJson { ends_turn: false } => Some("AttributeError"),
            Self::ToolWroteNoJson { ends_turn: true } => Some("TypeError"),
            Self::UnknownTool(_) => Some("KeyError"),
            Self::NeverReplied => Some("AssertionError"),
            Self::NoUserReply | Self::NoToolReply => Some("ValueError"),
            Self::UserNeverBegan => None,
        }
    }

    /// Returns `true` if the agent under test caused the failure, and not the user or tool simulator.
    pub(crate) const fn is_agents(&self) -> bool {
        match self {
            Self::NoAgentOutput | Self::UnknownTool(_) | Self::NeverReplied => true,
            Self::NoUserReply | Self::UserNeverBegan | Self::NoToolReply | Self::ToolWroteNoJson { .. } => false,
        }
    }

    /// Returns the reason as a word for details and reports.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::NoAgentOutput => "no_agent_output",
            Self::UnknownTool(_) => "unknown_tool",
            Self::NeverReplied => "never_replied",
            Self::NoUserReply => "no_user_reply",
            Self::UserNeverBegan => "user_never_began",
            Self::NoToolReply => "no_tool_reply",
            Self::ToolWroteNoJson { .. } => "tool_wrote_no_json",
        }
    }
}
