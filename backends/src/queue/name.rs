//! Rules for names of queues.

use super::QueueError;

/// Longest name in bytes. A broker allows 255, which leaves room for the prefix and our own parts.
const NAME_BYTES_MAX: usize = 200;

/// Checks a job queue's name or a prefix; both implementations accept the same names.
pub(super) fn check_name(name: &str) -> Result<(), QueueError> {
    let refused = |reason| Err(QueueError::BadName { name: name.to_owned(), reason });
    if name.is_empty() {
        return refused("it is empty");
    }
    if name.len() > NAME_BYTES_MAX {
        return refused("it is longer than 200 bytes");
    }
    if name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return refused("it contains white space or control characters");
    }
    Ok(())
}
