//! What a scorer has settled: everything that it had been given by some time. Another one that is asked whether all reports are recorded cannot
//! know what this one still has in hand.

use std::time::Duration;

use tokio::time::Instant;

use crate::scorer::Scorer;

/// Pause between two notes of a scorer that has nothing to do.
const NOTED_EVERY: Duration = Duration::from_secs(2);
/// Shortest pause between two notes.
const NOTED_AT_MOST_EVERY: Duration = Duration::from_millis(500);

/// Reports come in the order in which they were given, so what was given by some time is settled when as many have been settled since as may be
/// given and not settled.
#[derive(Debug)]
pub(crate) struct Settled {
    in_hand_at_most: usize,
    /// All that was given by then is settled when `left` more are.
    by: Instant,
    left: usize,
    noted: Option<Instant>,
}

impl Settled {
    /// Nothing was given yet, and never are more than `in_hand_at_most` in hand.
    pub(crate) fn new(in_hand_at_most: usize) -> Self {
        Self { in_hand_at_most, by: Instant::now(), left: 0, noted: None }
    }

    /// The next time to note that nothing is in hand, if it is so then.
    pub(crate) fn idle_note_at(&self) -> Instant {
        self.noted.map_or_else(Instant::now, |noted| noted + NOTED_EVERY)
    }

    /// Nothing is in hand. Everything is settled that was given by the time that is returned.
    fn nothing_is_left(&mut self) -> Instant {
        let by = Instant::now();
        (self.by, self.left) = (by, self.in_hand_at_most);
        by
    }

    /// `count` reports are settled. Everything is that was given by the time that is returned.
    fn settle(&mut self, count: usize) -> Option<Instant> {
        self.left = self.left.saturating_sub(count);
        if self.left > 0 {
            return None;
        }
        let by = std::mem::replace(&mut self.by, Instant::now());
        self.left = self.in_hand_at_most;
        Some(by)
    }
}

impl Scorer {
    pub(crate) async fn note_idle(&self, settled: &mut Settled) {
        let by = settled.nothing_is_left();
        self.note(settled, by).await;
    }

    pub(crate) async fn note_settled(&self, settled: &mut Settled, count: usize) {
        if let Some(by) = settled.settle(count)
            && settled.noted.is_none_or(|noted| noted.elapsed() >= NOTED_AT_MOST_EVERY)
        {
            self.note(settled, by).await;
        }
    }

    async fn note(&self, settled: &mut Settled, by: Instant) {
        if let Err(error) = self.ledger.note_settled(&self.name, by.elapsed()).await {
            tracing::debug!(%error, "nobody knows what this scorer has settled");
        }
        settled.noted = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_given_is_settled_when_as_many_are_as_may_be_in_hand() {
        let begun = Instant::now();
        let mut settled = Settled::new(10);
        assert_eq!(settled.nothing_is_left(), begun);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(settled.settle(9), None, "ten may have been given by then");
        let later = Instant::now();
        assert_eq!(settled.settle(4), Some(begun));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!((settled.settle(5), settled.settle(5)), (None, Some(later)));
        assert_eq!(settled.nothing_is_left(), Instant::now());
    }
}
