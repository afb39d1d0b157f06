//! Simulated models.

/// Behaviour of a simulated model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Persona {
    /// Answers with the gold.
    Oracle,
    /// Answers with the gold, perturbed with this probability (0..=1). The seed of the session decides which answers are.
    Noisy(f64),
}

impl Persona {
    /// Probability with which it makes a mistake, 0..=1.
    #[must_use]
    pub const fn error_probability(self) -> f64 {
        match self {
            Self::Oracle => 0.0,
            Self::Noisy(probability) => probability,
        }
    }
}
