//! Time that never goes back.

use serde::{Deserialize, Serialize};

/// A clock that is set back by more than this, in milliseconds, will not catch up soon.
const STEP_MS: u64 = 60_000;

/// Turns a clock that may be set back (the database server's, after a correction or a fail-over) into one that never is. It stands still
/// until a small step is made up for, so that a clock that trembles does not run ahead; after a big step it goes on from where it was, or
/// what was granted before would count for as long as the step was wide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Steady {
    last_ms: u64,
    /// By how much this clock is ahead of the one it is read from.
    ahead_ms: u64,
}

impl Steady {
    /// The moment when the other clock says `clock_ms`, in milliseconds.
    pub(super) fn read(&mut self, clock_ms: u64) -> u64 {
        let now = clock_ms.saturating_add(self.ahead_ms);
        if now.saturating_add(STEP_MS) < self.last_ms {
            self.ahead_ms += self.last_ms - now;
        }
        self.last_ms = self.last_ms.max(now);
        self.last_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_trembles_stands_still_meanwhile() {
        let mut steady = Steady::default();
        assert_eq!(
            [1000, 1500, 1400, 1499, 1600, 1300, 1700].map(|clock| steady.read(clock)),
            [1000, 1500, 1500, 1500, 1600, 1600, 1700]
        );
    }

    #[test]
    fn a_clock_that_is_set_back_goes_on_from_where_it_was() {
        let mut steady = Steady::default();
        assert_eq!(
            [100_000, 5_000, 5_700, 6_000].map(|clock| steady.read(clock)),
            [100_000, 100_000, 100_700, 101_000]
        );
    }
}
