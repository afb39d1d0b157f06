//! Known and possible cost of a sweep: the one place in which the books of attempts, of judges and of accounts are put together.
//! Reports, `status`, `doctor` and the nights of schedules all tell of this.

use regatta_proto::{CostSum, Money};
use serde::{Deserialize, Serialize};

use super::{CellProgress, SweepRow};

/// Money of a sweep, that of its judges included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SweepCost {
    /// Cost of all calls that anybody has told of.
    pub known: CostSum,
    /// Most that can have been billed, `known` included, but for calls without a known price: what failed tries may have cost, and what
    /// processes that are under way, or died, may have sent without telling. In nano-dollars.
    pub at_most: Money,
}

impl SweepCost {
    /// The cost of a sweep of which `judged` went to judges. `granted` is what its account has allowed to be spent in all; `None` where it
    /// has no account, because nothing has a price.
    #[must_use]
    pub fn of(progress: &[CellProgress], judged: CostSum, granted: Option<Money>) -> Self {
        let mut known = judged;
        progress.iter().for_each(|cell| known += cell.cost);
        let doubtful: Money = progress.iter().map(|cell| cell.maybe_spent).sum();
        // Attempts are told of more often than accounts, and a call may have cost more than its worst case.
        Self { known, at_most: (known.known + doubtful).max(granted.unwrap_or(Money::ZERO)) }
    }

    /// The cost of a sweep that has ended, with what its account had granted then.
    #[must_use]
    pub fn ended(row: &SweepRow, progress: &[CellProgress], judged: CostSum) -> Self {
        Self::of(progress, judged, row.granted)
    }

    /// Money that may have been billed on top of what is known.
    #[must_use]
    pub fn in_doubt(&self) -> Money {
        Money(self.at_most.0.saturating_sub(self.known.known.0))
    }
}
