//! Rules by which the counts of a key are final.

/// Rule by which the counts were determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    /// The prediction lacks the key.
    KeyMissingInPredicted,
    /// The gold lacks the key.
    KeyMissingInActual,
    /// One side has no values that the other lacks.
    ExactComparison,
    /// A value is not of the declared type.
    TypeMismatch,
    /// The key is an enumeration, where different words are different values.
    EnumExactComparison,
    /// A value does not match the declared pattern.
    PatternMismatch,
    /// Only a judge can decide.
    Judge,
}

impl Reason {
    /// Name in the golden files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::KeyMissingInPredicted => "key_missing_in_predicted",
            Self::KeyMissingInActual => "key_missing_in_actual",
            Self::ExactComparison => "exact_comparison",
            Self::TypeMismatch => "type_mismatch",
            Self::EnumExactComparison => "enum_exact_comparison",
            Self::PatternMismatch => "pattern_mismatch",
            Self::Judge => "judge",
        }
    }
}
