//! Identity of this process: its worker id, its random numbers, its environment.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use rand::TryRngCore;
use rand::rngs::OsRng;
use regatta_proto::{Digest, WorkerId};

/// A number that no other process has; for worker ids and for the jitter of back-off, never for results.
pub(crate) fn random_seed() -> u64 {
    // Without a source of randomness the process id still tells two workers of one machine apart.
    OsRng.try_next_u64().unwrap_or_else(|_| u64::from(std::process::id()))
}

/// A worker id from a random number.
pub(crate) fn worker_id(seed: u64) -> anyhow::Result<WorkerId> {
    WorkerId::new(format!("w{}", Digest::of(&seed.to_le_bytes()).short())).context("failed to name the worker")
}

/// The process environment, where keys come from.
pub(crate) fn variables() -> Arc<BTreeMap<String, String>> {
    Arc::new(std::env::vars().collect())
}
