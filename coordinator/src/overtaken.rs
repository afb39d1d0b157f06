//! Jobs that others have overtaken in their queue.
//!
//! A queue gives its jobs out in the order in which they were published, and what a worker hands back, or is cut off with, before all others.
//! So once a job has been given out that was published later, an earlier one has been given out too; and if its worker was cut off with it, the
//! broker has noticed after a while, so that of what is given out after that, it is the first. Of a job that was overtaken twice, with that time
//! in between, either a worker tells, or nobody has it.
//!
//! That holds for jobs of which nobody has ever told. A worker that has told of one may have put it at the end of the queue when it left; such a
//! job counts as published when nobody had told of it for that time, and then a single pass is enough.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Passes that are remembered. Where an earlier one is forgotten, what it overtook counts as overtaken by the next.
const PASSES_KEPT: usize = 1_024;

/// A moment at which jobs of a queue were found to have been given out.
#[derive(Debug, Clone, Copy)]
struct Pass {
    /// Everything that was published before was given out.
    published: Instant,
    /// It was given out by then.
    by: Instant,
}

/// Jobs that have been given out of one queue, as far as it was looked at.
#[derive(Debug, Default)]
pub(crate) struct Overtaken {
    passes: VecDeque<Pass>,
}

impl Overtaken {
    /// Jobs that were published by then are known to have been given out.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.passes.back().map(|last| last.published)
    }

    /// A look that ended at `now`: what was published at `given` has been given out.
    pub(crate) fn looked(&mut self, now: Instant, given: Option<Instant>) {
        if let Some(published) = given.filter(|published| self.until().is_none_or(|until| *published > until)) {
            if self.passes.len() == PASSES_KEPT {
                self.passes.pop_front();
            }
            self.passes.push_back(Pass { published, by: now });
        }
    }

    /// True if a job that was published then has been given out.
    pub(crate) fn is_given(&self, published: Instant) -> bool {
        self.given_by(published).is_some()
    }

    /// True if a job that was published then was overtaken, and once more by one that was published when `long_enough` had passed since that was
    /// seen. When that one was given out is not known: what workers tell may wait for scorers for minutes.
    pub(crate) fn is_overtaken(&self, published: Instant, long_enough: Duration) -> bool {
        let again = self.until();
        self.given_by(published).zip(again).is_some_and(|(by, again)| again >= by + long_enough)
    }

    fn given_by(&self, published: Instant) -> Option<Instant> {
        self.passes.get(self.passes.partition_point(|pass| pass.published <= published)).map(|pass| pass.by)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    const WHILE: Duration = Duration::from_secs(75);

    #[test]
    fn a_job_is_overtaken_by_two_that_were_published_later_and_with_a_while_in_between() {
        let start = Instant::now();
        let mut queue = Overtaken::default();
        queue.looked(at(start, 10), Some(at(start, 2)));
        assert!(queue.is_given(at(start, 1)) && !queue.is_given(at(start, 2)), "those of one time have no order");
        queue.looked(at(start, 200), Some(at(start, 84)));
        assert!(!queue.is_overtaken(at(start, 1), WHILE), "it may have been given out right after it was published");
        queue.looked(at(start, 201), Some(at(start, 85)));
        assert!(queue.is_overtaken(at(start, 1), WHILE));
        assert!(!queue.is_overtaken(at(start, 2), WHILE), "overtaken by 200 for the first time");
    }

    proptest! {
        /// Jobs are published one a second and given out in that order, at any times, and looked at at any times. The one that is watched
        /// is given out with the others, is handed back within the while, and is then given out before all others.
        #[test]
        fn a_job_that_is_handed_back_within_the_while_and_waits_is_never_overtaken(
            watched in 0_u64..20,
            pauses in proptest::collection::vec(0_u64..40, 40),
            looks in proptest::collection::vec(1_u64..30, 1..60),
            back_after in 0_u64..75,
        ) {
            let start = Instant::now();
            // When each job is given out; those behind the watched one wait from when that is back, because nobody takes it.
            let mut given = Vec::new();
            let mut now = 0;
            for (published, pause) in (0_u64..).zip(&pauses) {
                now = (now + pause).max(published + 1);
                given.push((published, now));
            }
            let back_at = given[usize::try_from(watched).unwrap()].1 + back_after;
            let is_given_by = |time: u64| {
                given.iter().filter(move |(_, given)| *given <= time.min(back_at)).map(|(published, _)| *published).max()
            };
            let (mut queue, mut time) = (Overtaken::default(), 0);
            for pause in looks {
                time += pause;
                queue.looked(at(start, time), is_given_by(time).map(|published| at(start, published)));
                prop_assert!(!queue.is_overtaken(at(start, watched), WHILE));
            }
        }
    }
}
