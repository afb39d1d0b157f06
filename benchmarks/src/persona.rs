//! Simulated models.

/// Behaviour of a simulated model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Persona {
    /// Answers with the gold.
    Oracle,
    /// Answers with the gold, perturbed with this probability (0..=1). The seed of the session decides which answers are.
    Noisy(f64),
}
