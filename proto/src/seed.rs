//! Seeds derive from (sweep seed, cell, item, trial), never from a worker, so that a session is the same wherever it runs.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BenchmarkName, Digest, ItemId, ModelRef, Setting, Trial};

/// The seed of one session, stable across machines, attempts and versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SessionSeed(pub u64);

impl SessionSeed {
    /// Derives the seed. Items are named by id, not by position, so a selection of items keeps each item's seed.
    #[must_use]
    pub fn derive(
        sweep_seed: u64,
        benchmark: &BenchmarkName,
        setting: &Setting,
        model: &ModelRef,
        trial: Trial,
        item: &ItemId,
    ) -> Self {
        let digest = Digest::of_parts([
            b"regatta/session-seed/1".as_slice(),
            &sweep_seed.to_le_bytes(),
            benchmark.as_str().as_bytes(),
            setting.as_str().as_bytes(),
            model.to_string().as_bytes(),
            &trial.0.to_le_bytes(),
            item.as_str().as_bytes(),
        ]);
        let mut first = [0; 8];
        first.copy_from_slice(&digest.bytes()[..8]);
        // 63 bits: every provider takes a signed 64-bit seed.
        Self(u64::from_le_bytes(first) >> 1)
    }
}

/// A generator whose stream depends only on `seed` and `purpose`, so that two uses of one seed stay independent.
#[must_use]
pub fn rng(seed: u64, purpose: &str) -> ChaCha8Rng {
    ChaCha8Rng::from_seed(*Digest::of_parts([seed.to_le_bytes().as_slice(), purpose.as_bytes()]).bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(trial: u16, item: &str) -> SessionSeed {
        SessionSeed::derive(
            7,
            &"worfbench".parse().unwrap(),
            &"zero-shot".parse().unwrap(),
            &"sim/oracle".parse().unwrap(),
            Trial(trial),
            &item.parse().unwrap(),
        )
    }

    #[test]
    fn the_seed_of_a_session_never_changes_between_versions() {
        insta::assert_snapshot!(seed(0, "os_92").0);
    }

    #[test]
    fn trials_and_items_have_seeds_of_their_own() {
        assert_ne!(seed(0, "os_92"), seed(1, "os_92"));
        assert_ne!(seed(0, "os_92"), seed(0, "os_95"));
    }
}
