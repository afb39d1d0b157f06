//! Random mistakes of simulated models.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use regatta_benchmarks::Persona;
use regatta_proto::{SessionSeed, rng};

/// Error rate of a persona, with the random draws for one reply: the same question of a session always gets the same
/// answer.
pub(super) struct Mistakes {
    probability: f64,
    draws: ChaCha8Rng,
}

impl Mistakes {
    pub(super) fn of(persona: Persona, seed: SessionSeed, purpose: &str) -> Self {
        Self { probability: persona.error_probability(), draws: rng(seed.0, purpose) }
    }

    /// Draws if a mistake happens here; `share` scales the persona's probability. Never `true` for the oracle.
    pub(super) fn happens(&mut self, share: f64) -> bool {
        // The comparison is never true for 0 and accepts any number, where a Bernoulli distribution would panic.
        self.draws.random::<f64>() < self.probability * share
    }

    /// Draws a number below `of`.
    pub(super) fn pick(&mut self, of: usize) -> usize {
        self.draws.random_range(0..of.max(1))
    }

    /// Draws one of these.
    pub(super) fn one_of<'o, T>(&mut self, of: &'o [T]) -> Option<&'o T> {
        of.get(self.pick(of.len()))
    }
}
