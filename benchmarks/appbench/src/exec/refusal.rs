//! Refusals of calls in the simulated world.

/// Reason why a call is not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Refusal {
    /// The text is no call.
    #[error("this is no call of an API")]
    Unparseable,
    /// The phone has no such app.
    #[error("the phone has no such app")]
    UnknownApp,
    /// The API belongs to other apps: one app may not use those of another.
    #[error("the API belongs to another app")]
    Permission,
    /// No app has such an API.
    #[error("no app has such an API")]
    UnknownApi,
    /// The calls before have used up what one plan or session may move: a limit of ours, far beyond any sensible plan.
    #[error("what one session may move is used up")]
    Exhausted,
}

impl Refusal {
    /// As in the golden files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unparseable => "unparseable",
            Self::UnknownApp => "unknown_app",
            Self::Permission => "permission",
            Self::UnknownApi => "unknown_api",
            Self::Exhausted => "exhausted",
        }
    }
}
