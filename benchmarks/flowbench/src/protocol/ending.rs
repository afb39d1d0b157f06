//! How a conversation ends.

/// The end of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The user was done.
    Finished,
    /// A limit stopped it.
    Stopped(Limit),
    /// It broke off. The released code loses such a session; here it counts as failed.
    Failed(Failure),
}

impl Ending {
    /// Why it broke off, if it did.
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
    /// Messages, of the code's policy.
    Messages,
    /// Calls of tools, of the code's policy.
    Calls,
    /// Messages of the agent, of the paper's policy.
    AgentTurns,
}

/// Why a conversation broke off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The agent gave no readable output in all its calls, or not in the last of them.
    NoAgentOutput,
    /// The agent called a tool that does not exist.
    UnknownTool(String),
    /// The agent used up its calls of one user turn and never spoke to the user.
    NeverReplied,
    /// Whoever plays the user gave no reply in all tries.
    NoUserReply,
    /// Whoever plays the user was done before it began, again and again.
    UserNeverBegan,
    /// Whoever plays the tools gave no reply in all tries.
    NoToolReply,
    /// Whoever plays the tools wrote no JSON in all tries.
    ToolWroteNoJson {
        /// `true` if that was the last call of a user turn, so that whoever plays the user would have come next.
        ends_turn: bool,
    },
}

impl Failure {
    /// The exception that leaves the released code here; `None` where that never ends.
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

    /// Whether the agent under test is to blame, rather than who plays the user or the tools.
    pub(crate) const fn is_agents(&self) -> bool {
        match self {
            Self::NoAgentOutput | Self::UnknownTool(_) | Self::NeverReplied => true,
            Self::NoUserReply | Self::UserNeverBegan | Self::NoToolReply | Self::ToolWroteNoJson { .. } => false,
        }
    }

    /// The reason in a word, for details and reports.
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
