//! Failure of a program to answer a call.

/// A call that the program did not answer. It says nothing about any model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{about}: {why}")]
pub struct Failure {
    /// Name of the called function, with the item where there is one.
    pub about: String,
    /// Reason, as a clause that follows the call's name.
    pub why: String,
    /// Last bytes that the program wrote to standard error.
    pub errors: String,
}

impl Failure {
    /// Returns the message followed by the program's standard error.
    #[must_use]
    pub fn in_full(&self) -> String {
        if self.errors.trim().is_empty() { self.to_string() } else { format!("{self}\n{}", self.errors.trim_end()) }
    }
}
