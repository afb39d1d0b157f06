//! When a simulated model errs.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use regatta_benchmarks::Persona;
use regatta_proto::{SessionSeed, rng};

/// How often a persona errs, with the draws for one of its replies: the same question of one session is answered alike.
pub(super) struct Mistakes {
    probability: f64,
    draws: ChaCha8Rng,
}

impl Mistakes {
    pub(super) fn of(persona: Persona, seed: SessionSeed, purpose: &str) -> Self {
        let probability = match persona {
            Persona::Oracle => 0.0,
            Persona::Noisy(probability) => probability,
        };
        Self { probability, draws: rng(seed.0, purpose) }
    }

    /// Whether it errs here, `share` being how much rarer this mistake is than others. Never for the oracle.
    pub(super) fn happens(&mut self, share: f64) -> bool {
        // A comparison with a draw from 0..1 is never true for 0 and never panics, whatever the number.
        self.draws.random::<f64>() < self.probability * share
    }

    /// One of so many things.
    pub(super) fn pick(&mut self, of: usize) -> usize {
        self.draws.random_range(0..of.max(1))
    }

    /// One of these.
    pub(super) fn one_of<'o, T>(&mut self, of: &'o [T]) -> Option<&'o T> {
        of.get(self.pick(of.len()))
    }
}
