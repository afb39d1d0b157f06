//! Spending of one sweep on one model within the last minute, by the time of the grants.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{MARGIN_MS, Unit, VALID_MS};

/// Grants of so many milliseconds are kept as one: short, because a grant counts until the end of its bucket has grown old.
pub(super) const BUCKET_MS: u64 = 250;

/// Number of buckets during which a grant counts, its own included. A request may be sent until `VALID_MS` later and arrive `MARGIN_MS`
/// after that, so it shares a minute of the endpoint with every grant made less than this many buckets later.
const COUNTED: u64 = 1 + (60_000 + VALID_MS + MARGIN_MS).div_ceil(BUCKET_MS);

/// Longest time for which a grant counts, in milliseconds.
pub(super) const COUNTED_MS: u64 = COUNTED * BUCKET_MS;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bucket {
    number: u64,
    requests: u64,
    tokens: u64,
}

/// Buckets in order of time, and their sums.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<u64>", from = "Vec<u64>")]
pub(super) struct Spent {
    buckets: VecDeque<Bucket>,
    requests: u64,
    tokens: u64,
}

/// Number of the bucket that `now_ms` falls into.
pub(super) const fn bucket(now_ms: u64) -> u64 {
    now_ms / BUCKET_MS
}

impl Spent {
    /// Total of the grants that still count.
    pub(super) const fn total(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Requests => self.requests,
            Unit::Tokens => self.tokens,
        }
    }

    /// Total of the grants in the bucket `from` and later.
    pub(super) fn since(&self, from: u64, unit: Unit) -> u64 {
        let newest = self.buckets.iter().rev().take_while(|bucket| bucket.number >= from);
        newest.map(|bucket| if unit == Unit::Requests { bucket.requests } else { bucket.tokens }).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Forgets what no longer counts in the bucket `now`.
    pub(super) fn forget(&mut self, now: u64) {
        while let Some(oldest) = self.buckets.front().filter(|oldest| oldest.number + COUNTED <= now) {
            self.requests -= oldest.requests;
            self.tokens = self.tokens.saturating_sub(oldest.tokens);
            self.buckets.pop_front();
        }
    }

    /// When the next of it is forgotten, in milliseconds.
    pub(super) fn next_forgotten_ms(&self, unit: Unit) -> Option<u64> {
        let oldest = self.buckets.iter().find(|bucket| match unit {
            Unit::Requests => bucket.requests > 0,
            Unit::Tokens => bucket.tokens > 0,
        });
        oldest.map(|oldest| (oldest.number + COUNTED) * BUCKET_MS)
    }

    /// Counts what is granted in the bucket `now`.
    pub(super) fn add(&mut self, now: u64, requests: u64, tokens: u64) {
        if requests == 0 && tokens == 0 {
            return;
        }
        self.requests += requests;
        self.tokens = self.tokens.saturating_add(tokens);
        match self.buckets.back_mut() {
            Some(newest) if newest.number >= now => {
                newest.requests += requests;
                newest.tokens = newest.tokens.saturating_add(tokens);
            }
            _ => self.buckets.push_back(Bucket { number: now, requests, tokens }),
        }
    }

    /// Takes back what was granted in the bucket `number` and never sent, as far as it still counts.
    pub(super) fn give_back(&mut self, number: u64, requests: u64, tokens: u64) {
        let Some(bucket) = self.buckets.iter_mut().find(|bucket| bucket.number == number) else { return };
        let (requests, tokens) = (requests.min(bucket.requests), tokens.min(bucket.tokens));
        bucket.requests -= requests;
        bucket.tokens -= tokens;
        self.requests -= requests;
        self.tokens = self.tokens.saturating_sub(tokens);
        self.drop_empty();
    }

    /// Takes back tokens that calls did not need. Nobody says which calls, so they are taken to have ended in the order of their grants:
    /// the `in_flight` newest requests are still under way, and the correction is of those just before them. Taken from newer ones,
    /// it would make room for a grant that shares a minute with calls that did need their tokens; taken from the oldest ones, what is left
    /// would be new and block the window long after the calls themselves have grown old.
    pub(super) fn take_back(&mut self, tokens: u64, in_flight: u64) {
        let (mut skip, mut left) = (in_flight, tokens);
        for bucket in self.buckets.iter_mut().rev() {
            if left == 0 {
                break;
            }
            let skipped = skip.min(bucket.requests);
            skip -= skipped;
            let ended = bucket.requests - skipped;
            // A bucket without requests holds corrections alone.
            let of_ended = match bucket.requests {
                0 => bucket.tokens,
                requests => scaled(bucket.tokens, ended, requests),
            };
            let taken = left.min(of_ended);
            bucket.tokens -= taken;
            self.tokens = self.tokens.saturating_sub(taken);
            left -= taken;
        }
        self.drop_empty();
    }

    fn drop_empty(&mut self) {
        self.buckets.retain(|bucket| bucket.requests > 0 || bucket.tokens > 0);
    }
}

/// `amount` × `part` / `whole`, rounded down.
fn scaled(amount: u64, part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(amount) * u128::from(part) / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

/// As one flat list of numbers, the time as the distance to the bucket before: a minute of grants is some two kilobytes of JSON.
impl From<Spent> for Vec<u64> {
    fn from(spent: Spent) -> Self {
        let mut before = 0;
        let mut flat = Self::with_capacity(spent.buckets.len() * 3);
        for bucket in spent.buckets {
            flat.extend([bucket.number - before, bucket.requests, bucket.tokens]);
            before = bucket.number;
        }
        flat
    }
}

impl From<Vec<u64>> for Spent {
    fn from(flat: Vec<u64>) -> Self {
        let mut spent = Self::default();
        let mut number: u64 = 0;
        for bucket in flat.chunks_exact(3) {
            number = number.saturating_add(bucket[0]);
            spent.add(number, bucket[1], bucket[2]);
        }
        spent
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(grants: &[(u64, u64, u64)]) -> Spent {
        let mut spent = Spent::default();
        grants.iter().for_each(|(number, requests, tokens)| spent.add(*number, *requests, *tokens));
        spent
    }

    #[test]
    fn a_grant_counts_for_a_minute_and_as_long_as_it_may_be_under_way() {
        let mut spent = of(&[(1000, 2, 50)]);
        let freed_at = spent.next_forgotten_ms(Unit::Requests).unwrap();
        assert_eq!(freed_at - (1000 + 1) * BUCKET_MS, 61_500);
        spent.forget(bucket(freed_at - 1));
        assert_eq!((spent.total(Unit::Requests), spent.total(Unit::Tokens)), (2, 50));
        spent.forget(bucket(freed_at));
        assert!(spent.is_empty());
        assert_eq!((spent.total(Unit::Requests), spent.total(Unit::Tokens)), (0, 0));
    }

    #[test]
    fn what_was_not_sent_is_free_at_once() {
        let mut spent = of(&[(1, 5, 500), (2, 5, 500)]);
        spent.give_back(1, 2, 200);
        assert_eq!(spent, of(&[(1, 3, 300), (2, 5, 500)]));
        spent.give_back(2, 100, 100_000);
        assert_eq!(spent, of(&[(1, 3, 300)]), "never more than there is");
        spent.give_back(7, 1, 1);
        assert_eq!(spent, of(&[(1, 3, 300)]));
    }

    #[test]
    fn corrections_are_of_the_calls_that_ended_last() {
        let mut spent = of(&[(1, 2, 200), (2, 2, 200), (3, 2, 200)]);
        spent.take_back(50, 2);
        assert_eq!(spent, of(&[(1, 2, 200), (2, 2, 150), (3, 2, 200)]));
        spent.take_back(50, 3);
        assert_eq!(spent, of(&[(1, 2, 200), (2, 2, 100), (3, 2, 200)]), "half of the second bucket is under way");
        spent.take_back(1000, 5);
        assert_eq!(spent, of(&[(1, 2, 100), (2, 2, 100), (3, 2, 200)]), "calls under way keep what they were granted");
    }

    proptest! {
        #[test]
        fn sums_are_the_sums_of_the_buckets(steps in prop::collection::vec((0_u64..4, 0_u64..400, 0_u64..9, 0_u64..900), 1..60)) {
            let mut spent = Spent::default();
            let mut now = 0;
            for (what, later, requests, tokens) in steps {
                now += later;
                match what {
                    0 | 1 => spent.add(now, requests, tokens),
                    2 => spent.give_back(now.saturating_sub(later), requests, tokens),
                    _ => spent.take_back(tokens, requests),
                }
                spent.forget(now);
                prop_assert_eq!(spent.requests, spent.buckets.iter().map(|bucket| bucket.requests).sum::<u64>());
                prop_assert_eq!(spent.tokens, spent.buckets.iter().map(|bucket| bucket.tokens).sum::<u64>());
                prop_assert!(spent.buckets.len() as u64 <= COUNTED);
                prop_assert_eq!(Spent::from(Vec::from(spent.clone())), spent.clone());
            }
        }
    }
}
