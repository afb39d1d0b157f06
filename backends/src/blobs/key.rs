//! Rules for keys: those that every store accepts, and that name nothing outside of it.

use super::BlobError;

/// Longest key in bytes; leaves room for a prefix within the 1,024 bytes of S3.
const KEY_BYTES_MAX: usize = 700;
/// Longest part of a key in bytes, the limit of file systems.
const PART_BYTES_MAX: usize = 255;

/// Checks the key of an object: parts of text joined by `/`.
pub(super) fn check_key(key: &str) -> Result<(), BlobError> {
    fault(key).map_or(Ok(()), |reason| Err(BlobError::BadKey { key: key.to_owned(), reason }))
}

/// Checks a prefix of keys: the same as a key, but its last part may be incomplete or empty.
pub(super) fn check_prefix(prefix: &str) -> Result<(), BlobError> {
    let whole = prefix.strip_suffix('/').unwrap_or(prefix);
    if whole.is_empty() && prefix.is_empty() { Ok(()) } else { check_key(whole) }
}

pub(super) fn fault(key: &str) -> Option<&'static str> {
    if key.len() > KEY_BYTES_MAX {
        return Some("it is longer than 700 bytes");
    }
    if key.chars().any(|c| c.is_control() || c == '\\') {
        return Some("it contains a control character or a backslash");
    }
    for part in key.split('/') {
        if part.is_empty() {
            return Some("it is empty, or begins or ends with '/', or contains '//'");
        }
        if part.starts_with('.') {
            return Some("one of its parts begins with '.'");
        }
        if part.len() > PART_BYTES_MAX {
            return Some("one of its parts is longer than 255 bytes");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::{Component, Path};

    proptest! {
        #[test]
        fn no_accepted_key_leads_out_of_its_folder(key in "[a-z./\\\\:]{0,12}") {
            if check_key(&key).is_ok() {
                prop_assert!(Path::new(&key).components().all(|part| matches!(part, Component::Normal(_))), "{key:?}");
                let joined = Path::new("root").join(&key);
                prop_assert_eq!(joined.to_string_lossy(), format!("root/{key}"));
            }
        }
    }

    #[test]
    fn a_prefix_may_end_within_a_part_or_after_one_or_be_empty() {
        assert!(["", "a", "a/", "a/b"].into_iter().all(|prefix| check_prefix(prefix).is_ok()));
        assert!(["/", "/a", "a//", "../", "a/../"].into_iter().all(|prefix| check_prefix(prefix).is_err()));
    }
}
