//! Counts repetitions of each request, so that a retry draws another fate.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;
use regatta_proto::Digest;

/// Most requests to remember. A retry follows within minutes, so only recent ones matter; a forgotten request starts at zero.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(65_536).unwrap();

/// Counts by request, bounded.
#[derive(Debug)]
pub(crate) struct Seen(Mutex<LruCache<Digest, u32>>);

impl Seen {
    pub(crate) fn new() -> Self {
        Self::with_capacity(CAPACITY)
    }

    fn with_capacity(capacity: NonZeroUsize) -> Self {
        // Grown on demand, because most endpoints get far fewer requests than the capacity.
        let mut cache = LruCache::unbounded();
        cache.resize(capacity);
        Self(Mutex::new(cache))
    }

    /// Returns the number of earlier occurrences of `request`, and counts this one.
    pub(crate) fn count(&self, request: Digest) -> u32 {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = cache.get_or_insert_mut(request, || 0);
        let before = *count;
        *count = count.saturating_add(1);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_counted_on_its_own() {
        let seen = Seen::new();
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        assert_eq!([seen.count(a), seen.count(a), seen.count(b), seen.count(a)], [0, 1, 0, 2]);
    }

    #[test]
    fn the_request_unseen_for_longest_is_forgotten_first() {
        let seen = Seen::with_capacity(NonZeroUsize::new(2).unwrap());
        let [a, b, c] = [b"a", b"b", b"c"].map(|text| Digest::of(text));
        seen.count(a);
        seen.count(b);
        seen.count(a);
        seen.count(c);
        assert_eq!([seen.count(a), seen.count(b)], [2, 0]);
    }
}
