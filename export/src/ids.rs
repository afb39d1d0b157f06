//! Ids that formats of others want and that runs do not have: digests, so that the same run has the same.

use sha2::{Digest as _, Sha256};

/// The first `bytes` bytes (at most 32) of a digest of `parts`, in hexadecimal.
pub(crate) fn derived(bytes: usize, parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        // With their lengths, so that no two lists of parts are one text.
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    let mut text = hex::encode(digest.finalize());
    text.truncate(bytes * 2);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_each_time_and_differ_by_where_parts_begin() {
        assert_eq!(derived(8, &["a", "b"]), derived(8, &["a", "b"]));
        assert_eq!(derived(8, &["a", "b"]).len(), 16);
        assert_ne!(derived(8, &["ab", ""]), derived(8, &["a", "b"]));
    }
}
