//! A cache of slow queries to the store.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;
use tokio::time::{Duration, Instant};

/// Most answers in the cache.
const KEPT: NonZeroUsize = NonZeroUsize::new(16).unwrap();
/// Multiple of an answer's time of computation for which it is shown while a run goes on, so that viewers do not keep the store busy.
const EFFORT: u32 = 20;

struct Kept<V> {
    fingerprint: String,
    until: Instant,
    value: V,
}

/// Answers by question.
pub(crate) struct Remembered<V>(Mutex<LruCache<String, Kept<V>>>);

impl<V> Default for Remembered<V> {
    fn default() -> Self {
        Self::of_at_most(KEPT)
    }
}

impl<V> Remembered<V> {
    /// A cache of at most `kept` answers, for answers that are large.
    pub(crate) fn of_at_most(kept: NonZeroUsize) -> Self {
        Self(Mutex::new(LruCache::new(kept)))
    }
}

impl<V: Clone> Remembered<V> {
    /// Returns the answer to `question`. Calls `make` unless the cache has an answer that was computed for the same state of the run, which
    /// `fingerprint` identifies, or recently.
    pub(crate) async fn get<E>(
        &self,
        question: String,
        fingerprint: &str,
        make: impl Future<Output = Result<V, E>>,
    ) -> Result<V, E> {
        let begun = Instant::now();
        let kept = |all: &mut LruCache<String, Kept<V>>| {
            let kept = all.get(&question)?;
            (kept.fingerprint == fingerprint || begun < kept.until).then(|| kept.value.clone())
        };
        if let Some(value) = kept(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(value);
        }
        let value = make.await?;
        let took: Duration = begun.elapsed();
        let until = Instant::now() + took * EFFORT;
        let kept = Kept { fingerprint: fingerprint.to_owned(), until, value: value.clone() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(question, kept);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn asked(of: &Remembered<u32>, fingerprint: &str, took_s: u64, value: u32) -> u32 {
        let make = async {
            tokio::time::advance(Duration::from_secs(took_s)).await;
            Ok::<_, ()>(value)
        };
        of.get("question".to_owned(), fingerprint, make).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_holds_while_nothing_changes_and_for_a_time_that_is_worth_it() {
        let remembered = Remembered::default();
        assert_eq!(asked(&remembered, "one", 1, 1).await, 1);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(asked(&remembered, "one", 1, 2).await, 1, "nothing has changed");
        assert_eq!(asked(&remembered, "two", 1, 3).await, 3);
        assert_eq!(asked(&remembered, "three", 1, 4).await, 3, "that was a moment ago");
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(asked(&remembered, "four", 1, 5).await, 5);
    }
}
