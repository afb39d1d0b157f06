//! Speed at which sessions are scored. Mostly that takes no time, but programs of others take as long as they please, and until a report is recorded
//! what was paid for is in no store.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Sessions of the first batch, of whose benchmark nothing is known.
const FIRST: usize = 32;
/// Time in which a batch is to be scored: so long, at most, a scorer that is told to leave does not look.
const BATCH_TIME: Duration = Duration::from_secs(1);
/// Time after which a scorer lets others have its thread, and whoever ends it do so.
const TURN: Duration = Duration::from_millis(10);

/// Time that scoring has taken since it was last asked for.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch(Mutex<Duration>);

impl Stopwatch {
    fn add(&self, time: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += time;
    }

    /// The time so far; it counts from zero again.
    pub(crate) fn take(&self) -> Duration {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Number of reports that are recorded at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchSize {
    now: usize,
    most: usize,
}

impl BatchSize {
    pub(crate) fn up_to(most: usize) -> Self {
        Self { now: FIRST.min(most), most }
    }

    pub(crate) const fn now(self) -> usize {
        self.now
    }

    /// The next batch has as many as [`BATCH_TIME`] is enough for if each takes as long as those of a batch of `reports`, which took `scoring`;
    /// and no more than twice as many as this one.
    pub(crate) fn adapt(&mut self, reports: usize, scoring: Duration) {
        let each = scoring.as_nanos() / (reports.max(1) as u128);
        let fits = BATCH_TIME.as_nanos().checked_div(each).unwrap_or(u128::MAX);
        let most = self.most.min(self.now * 2);
        self.now = usize::try_from(fits).unwrap_or(usize::MAX).clamp(1, most.max(1));
    }
}

/// Sessions that are scored one after the other.
pub(crate) struct Turns<'s> {
    stopwatch: &'s Stopwatch,
    since: Instant,
}

impl<'s> Turns<'s> {
    pub(crate) fn begin(stopwatch: &'s Stopwatch) -> Self {
        Self { stopwatch, since: Instant::now() }
    }

    /// Scores one of them. Afterwards the task may be ended.
    pub(crate) async fn score<T>(&mut self, score: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let scored = score();
        self.stopwatch.add(began.elapsed());
        if self.since.elapsed() >= TURN {
            tokio::task::yield_now().await;
            self.since = Instant::now();
        }
        scored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of the first batches if scoring one report takes `each`.
    fn sizes(each: Duration) -> Vec<usize> {
        let mut size = BatchSize::up_to(512);
        let mut sizes = Vec::new();
        for _ in 0..6 {
            sizes.push(size.now());
            size.adapt(size.now(), each * size.now() as u32);
        }
        sizes
    }

    #[test]
    fn batches_grow_to_the_largest_where_scoring_takes_no_time() {
        assert_eq!(sizes(Duration::ZERO), [32, 64, 128, 256, 512, 512]);
    }

    #[test]
    fn batches_are_scored_in_about_a_second() {
        assert_eq!(sizes(Duration::from_millis(10)), [32, 64, 100, 100, 100, 100]);
        assert_eq!(sizes(Duration::from_millis(100)), [32, 10, 10, 10, 10, 10]);
    }

    #[test]
    fn a_batch_has_a_report_however_long_one_takes() {
        assert_eq!(sizes(Duration::from_secs(60)), [32, 1, 1, 1, 1, 1]);
        let mut none = BatchSize::up_to(0);
        none.adapt(0, Duration::ZERO);
        assert_eq!(none.now(), 1);
    }

    /// Scores a session, or blocks its thread for as long as that takes.
    fn slowly() {
        let began = std::time::Instant::now();
        while began.elapsed() < 2 * TURN {
            std::hint::spin_loop();
        }
    }

    #[tokio::test]
    async fn a_task_that_scores_slowly_ends_between_two_sessions() {
        let scoring = tokio::spawn(async {
            let stopwatch = Stopwatch::default();
            let mut turns = Turns::begin(&stopwatch);
            loop {
                turns.score(slowly).await;
            }
        });
        tokio::task::yield_now().await;
        scoring.abort();
        assert!(scoring.await.is_err_and(|error| error.is_cancelled()));
    }
}
