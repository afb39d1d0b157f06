//! Seeds derive from (sweep seed, benchmark, setting, trial, item). They do not depend on the worker, so a session is the same wherever it
//! runs, nor on the model, so all models get the same draws of everything outside of them.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BenchmarkName, Digest, ItemId, ModelRef, Role, Setting, Trial};

/// The seed of one session, stable across machines, attempts and versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(transparent)]
pub struct SessionSeed(pub u64);

impl SessionSeed {
    /// Derives the seed. Items are identified by id, not by position, so a selection of items keeps each item's seed. `model` is set only
    /// for locks of the first version, whose sweeps continue with the seeds that they began with.
    #[must_use]
    pub fn derive(
        sweep_seed: u64,
        benchmark: &BenchmarkName,
        setting: &Setting,
        model: Option<&ModelRef>,
        trial: Trial,
        item: &ItemId,
    ) -> Self {
        let (sweep_seed, trial) = (sweep_seed.to_le_bytes(), trial.0.to_le_bytes());
        let [benchmark, setting, item] = [benchmark.as_str(), setting.as_str(), item.as_str()].map(str::as_bytes);
        let digest = match model.map(ToString::to_string) {
            Some(model) => {
                let purpose = b"regatta/session-seed/1".as_slice();
                Digest::of_parts([purpose, &sweep_seed, benchmark, setting, model.as_bytes(), &trial, item])
            }
            None => {
                let purpose = b"regatta/session-seed/2".as_slice();
                Digest::of_parts([purpose, &sweep_seed, benchmark, setting, &trial, item])
            }
        };
        Self::of_digest(&digest)
    }

    /// The seed of `role`'s answer to the `repeat`-th identical request in the session, counted from 0. The agent's first one is the
    /// session's own seed.
    #[must_use]
    pub fn of_part(self, role: Role, repeat: u32) -> Self {
        if role == Role::Agent && repeat == 0 {
            return self;
        }
        let part = role.as_str().as_bytes();
        let digest =
            Digest::of_parts([b"regatta/part-seed/1".as_slice(), &self.0.to_le_bytes(), part, &repeat.to_le_bytes()]);
        Self::of_digest(&digest)
    }

    /// The seed that derives from a digest.
    #[must_use]
    pub fn of_digest(digest: &Digest) -> Self {
        let mut first = [0; 8];
        first.copy_from_slice(&digest.bytes()[..8]);
        // 63 bits, because every provider accepts a signed 64-bit seed.
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
            None,
            Trial(trial),
            &item.parse().unwrap(),
        )
    }

    #[test]
    fn the_seed_of_a_session_never_changes_between_versions() {
        insta::assert_snapshot!(seed(0, "os_92").0);
    }

    /// The value that the first version computed; a sweep that it began must keep its seeds.
    #[test]
    fn the_seeds_of_locks_of_the_first_version_stay_theirs() {
        let [benchmark, setting] = ["worfbench", "zero-shot"];
        let model: ModelRef = "sim/oracle".parse().unwrap();
        let (benchmark, setting) = (benchmark.parse().unwrap(), setting.parse().unwrap());
        let seed = SessionSeed::derive(7, &benchmark, &setting, Some(&model), Trial(0), &"os_92".parse().unwrap());
        assert_eq!(seed.0, 6256178771089625648);
    }

    #[test]
    fn every_part_and_every_repetition_has_a_seed_of_its_own() {
        let whole = seed(0, "os_92");
        let parts = [Role::Agent, Role::User, Role::Environment, Role::Judge];
        let seeds: std::collections::HashSet<_> =
            parts.iter().flat_map(|role| (0..3).map(|repeat| whole.of_part(*role, repeat))).collect();
        assert_eq!((seeds.len(), whole.of_part(Role::Agent, 0)), (12, whole));
    }

    #[test]
    fn trials_and_items_have_seeds_of_their_own() {
        assert_ne!(seed(0, "os_92"), seed(1, "os_92"));
        assert_ne!(seed(0, "os_92"), seed(0, "os_95"));
    }
}
