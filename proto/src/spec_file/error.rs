//! An invalid spec.

/// An invalid spec, with the position of the problem and its solution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The file is not YAML, or a field is unknown or has a wrong type; the text has line and column.
    #[error("{0}")]
    Yaml(String),
    /// A `${…}` is not closed or is not a name.
    #[error("line {line}: {problem}; write ${{NAME}}, ${{NAME:-default}}, or $$ for a dollar sign")]
    Substitution {
        /// Line in the file.
        line: usize,
        /// The problem, as a clause.
        problem: String,
    },
    /// An environment variable is not set.
    #[error("line {line}: the environment variable {name} is not set; set it, or write ${{{name}:-default}}")]
    UnsetVariable {
        /// Line in the file.
        line: usize,
        /// Name of the variable.
        name: String,
    },
    /// A field has an invalid value.
    #[error("{field}: {problem}")]
    Field {
        /// Path of the field, such as `endpoints.sim.limits.concurrency`.
        field: String,
        /// The problem and its solution.
        problem: String,
    },
}
