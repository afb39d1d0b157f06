//! Ids that formats of others want and that runs do not have: digests, so that the same run has the same.

/// The first `bytes` bytes (at most 32) of a digest of `parts`, in hexadecimal.
pub(crate) fn derived(bytes: usize, parts: &[&str]) -> String {
    let mut text = hex::encode(regatta_traces::derived(parts));
    text.truncate(bytes * 2);
    text
}
