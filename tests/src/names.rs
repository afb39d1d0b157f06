//! Names that nobody else uses.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A name of lower-case letters, digits and underscores that no other call, process or machine returns: `{prefix}_{16 hex digits}`.
///
/// Use it to prefix queues and keys where tests share a service.
#[must_use]
pub fn unique_name(prefix: &str) -> String {
    format!("{prefix}_{:016x}", random_number())
}

/// The standard library seeds each state from the operating system; names and ports need no reproducibility.
pub(crate) fn random_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_are_valid_in_every_service() {
        let names: std::collections::HashSet<String> = (0..1000).map(|_| unique_name("jobs")).collect();
        assert_eq!(names.len(), 1000);
        assert!(
            names.iter().all(|name| name.len() <= 63 && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()))
        );
    }
}
