//! Turns at what takes memory or disk, of which nobody has all.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Turns that all requests share, of which one asker has so many at most: whoever takes long leaves others theirs. Clones share them.
#[derive(Debug, Clone)]
pub struct SharedTurns<K> {
    all: Arc<Semaphore>,
    of_one: usize,
    askers: Arc<Mutex<HashMap<K, Arc<Semaphore>>>>,
}

/// A turn. It is given back when this is dropped.
#[derive(Debug)]
pub struct Turn {
    _of_all: OwnedSemaphorePermit,
    _of_one: OwnedSemaphorePermit,
}

impl<K: Eq + Hash> SharedTurns<K> {
    /// `all` turns, of which one asker has at most `of_one`.
    #[must_use]
    pub fn new(all: usize, of_one: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), of_one, askers: Arc::new(Mutex::new(HashMap::new())) }
    }

    /// A turn of `asker`; `None` if there is none within `wait`.
    pub async fn take(&self, asker: K, wait: Duration) -> Option<Turn> {
        let own = self.of(asker);
        let both = async {
            // The own one first: what waits for others of the same asker stands in nobody's way.
            let of_one = own.acquire_owned().await.ok()?;
            let of_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some(Turn { _of_all: of_all, _of_one: of_one })
        };
        timeout(wait, both).await.ok().flatten()
    }

    /// A turn of `asker`; `None` if there is none now.
    #[must_use]
    pub fn take_now(&self, asker: K) -> Option<Turn> {
        let of_one = self.of(asker).try_acquire_owned().ok()?;
        let of_all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(Turn { _of_all: of_all, _of_one: of_one })
    }

    /// Turns that nobody has.
    #[must_use]
    pub fn free(&self) -> usize {
        self.all.available_permits()
    }

    fn of(&self, asker: K) -> Arc<Semaphore> {
        let mut askers = self.askers.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has no turn and waits for none is forgotten.
        askers.retain(|_, own| Arc::strong_count(own) > 1);
        Arc::clone(askers.entry(asker).or_insert_with(|| Arc::new(Semaphore::new(self.of_one))))
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;
    use tokio::time::{Instant, sleep};

    use super::*;

    const WAIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn whoever_keeps_all_turns_that_one_may_have_leaves_others_theirs() {
        let turns = SharedTurns::new(4, 3);
        let mut kept = Vec::new();
        for _ in 0..3 {
            kept.push(turns.take("slow", WAIT).await.unwrap());
        }
        let begun = Instant::now();
        assert!(turns.take("slow", WAIT).await.is_none());
        assert_eq!(begun.elapsed(), WAIT);
        let other = turns.take("other", WAIT).await;
        assert_eq!((other.is_some(), begun.elapsed(), turns.free()), (true, WAIT, 0));
        assert!(turns.take("third", WAIT).await.is_none(), "all are taken");
        drop(other);
        drop(kept.pop());
        assert!(turns.take("slow", WAIT).await.is_some());
        drop(kept);
        assert_eq!(turns.free(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_asks_for_many_turns_is_not_ahead_of_another_who_asks_for_one() {
        let turns = SharedTurns::new(1, 1);
        let first = turns.take("many", WAIT).await;
        let (told, mut order) = unbounded_channel();
        for asker in ["many", "many", "many", "one"] {
            let (turns, told) = (turns.clone(), told.clone());
            tokio::spawn(async move {
                let turn = turns.take(asker, WAIT).await;
                told.send((asker, turn.is_some())).unwrap();
            });
        }
        // Passes once all of them wait.
        sleep(Duration::from_secs(1)).await;
        drop(first);
        assert_eq!(order.recv().await, Some(("one", true)));
        assert_eq!(order.recv().await, Some(("many", true)));
    }

    #[test]
    fn whoever_does_not_wait_has_a_turn_at_once_or_none() {
        let turns = SharedTurns::new(2, 1);
        let first = turns.take_now("first");
        assert!(first.is_some() && turns.take_now("first").is_none(), "one has its share");
        let second = turns.take_now("second");
        assert!(second.is_some() && turns.take_now("third").is_none(), "all are taken");
        drop(first);
        assert!(turns.take_now("third").is_some());
    }

    #[tokio::test]
    async fn an_asker_without_turns_is_forgotten() {
        let turns = SharedTurns::new(4, 3);
        let kept = turns.take(1, WAIT).await;
        drop(turns.take(2, WAIT).await);
        let _third = turns.take(3, WAIT).await;
        let known = |turns: &SharedTurns<i32>| {
            let mut known: Vec<i32> = turns.askers.lock().unwrap().keys().copied().collect();
            known.sort_unstable();
            known
        };
        assert_eq!(known(&turns), [1, 3]);
        drop(kept);
        let _fourth = turns.take(4, WAIT).await;
        assert_eq!(known(&turns), [3, 4]);
    }
}
