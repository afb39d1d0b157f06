//! Time that never goes back.

use serde::{Deserialize, Serialize};

/// Turns a clock that may be set back (the database server's, after a correction or a fail-over) into one that goes on from where it
/// was, at the same pace. Otherwise what was granted before the step would count for as long as the step was wide.
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
        if now < self.last_ms {
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
    fn a_clock_that_is_set_back_goes_on_from_where_it_was() {
        let mut steady = Steady::default();
        assert_eq!([1000, 1500, 400, 900, 1200].map(|clock| steady.read(clock)), [1000, 1500, 1500, 2000, 2300]);
    }
}
