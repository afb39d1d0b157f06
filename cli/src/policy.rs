//! The policy file of this process.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use regatta_worker::{Policy, PolicyFile};

use crate::exit::bad_configuration;

/// Largest policy file read, in bytes.
const POLICY_BYTES_MAX: u64 = 1 << 20;

/// The policy of a person's own machine, where who writes specs owns the keys, with what `file` adds.
pub(crate) fn of_person(file: Option<&Path>) -> anyhow::Result<Arc<Policy>> {
    with_file(Policy::trusting(), file).map(Arc::new)
}

/// `base` with what `file` adds.
pub(crate) fn with_file(base: Policy, file: Option<&Path>) -> anyhow::Result<Policy> {
    let Some(path) = file else { return Ok(base) };
    let read = || -> anyhow::Result<PolicyFile> {
        let size = std::fs::metadata(path)?.len();
        anyhow::ensure!(size <= POLICY_BYTES_MAX, "it has {size} bytes, at most {POLICY_BYTES_MAX} are read");
        PolicyFile::from_yaml(&std::fs::read_to_string(path)?).map_err(anyhow::Error::msg)
    };
    let file = read().with_context(|| format!("failed to read the policy {}", path.display()));
    file.map(|file| base.with(file)).map_err(bad_configuration)
}
