//! Mistakes of a persona: their probability and their kind.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use regatta_benchmarks::Persona;
use regatta_proto::{SessionSeed, rng};

/// Draws for one piece of what is said in a session: asked again, the same comes out.
pub(super) struct Mistakes {
    probability: f64,
    draws: ChaCha8Rng,
}

impl Mistakes {
    pub(super) fn of(persona: Persona, seed: SessionSeed, purpose: &str) -> Self {
        Self { probability: persona.error_probability(), draws: rng(seed.0, &format!("autoslurp/{purpose}")) }
    }

    /// True if it errs here. Never for the oracle: no draw is less than 0.
    pub(super) fn happens(&mut self) -> bool {
        self.draws.random::<f64>() < self.probability
    }

    /// Kind of the mistake; `None` if it does not err.
    pub(super) fn slip(mut self) -> Option<Slip> {
        self.happens().then(|| Slip(self.draws.random_range(0..Slip::WAYS)))
    }
}

/// A mistake that was made; the number selects one of those that are possible there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slip(u32);

impl Slip {
    /// Divisible by every number of ways up to six, so that all are as frequent.
    const WAYS: u32 = 60 * 60;

    /// One of `ways` ways, 0 where there is none.
    pub(super) const fn way(self, ways: usize) -> usize {
        // The conversions cannot lose anything: the number is small.
        if ways == 0 { 0 } else { self.0 as usize % ways }
    }

    /// Another draw for what remains to be chosen after `way` of `ways`.
    pub(super) const fn then(self, ways: usize) -> Self {
        Self(if ways == 0 { 0 } else { self.0 / ways as u32 })
    }
}

/// Mistakes by piece; `None` for a right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Slips {
    pub(super) intent: Option<Slip>,
    pub(super) time: Option<Slip>,
    pub(super) location: Option<Slip>,
    pub(super) request: Option<Slip>,
    pub(super) answer: Option<Slip>,
}

impl Slips {
    /// Each piece by draws of its own.
    pub(super) fn of(persona: Persona, seed: SessionSeed) -> Self {
        let slip = |piece: &str| Mistakes::of(persona, seed, piece).slip();
        Self {
            intent: slip("intent"),
            time: slip("time"),
            location: slip("location"),
            request: slip("request"),
            answer: slip("answer"),
        }
    }
}
