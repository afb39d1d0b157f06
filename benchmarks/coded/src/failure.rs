//! Why a program did not answer.

/// A call that a program did not answer. It says nothing about any model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{about}: {why}")]
pub struct Failure {
    /// The call and its item.
    pub about: String,
    /// What went wrong.
    pub why: String,
    /// The end of what the program wrote to standard error.
    pub errors: String,
}

impl Failure {
    /// All of it, for people.
    #[must_use]
    pub fn in_full(&self) -> String {
        if self.errors.trim().is_empty() { self.to_string() } else { format!("{self}\n{}", self.errors.trim_end()) }
    }
}
