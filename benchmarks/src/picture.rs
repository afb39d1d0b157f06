//! Pictures of sessions.

/// A picture of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Title of a few words.
    pub title: String,
    /// A self-contained SVG element in which all texts of models and data sets are escaped.
    pub svg: String,
    /// A text rendering for terminals.
    pub text: String,
}
