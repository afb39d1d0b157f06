//! Known and possible cost of a sweep: the one place that combines the records of attempts, judges and accounts. Reports, `status`,
//! `doctor` and schedules all use it.

use regatta_proto::{CostSum, Money};
use serde::{Deserialize, Serialize};

use super::{CellProgress, SweepRow};

/// Cost of a sweep, including its judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SweepCost {
    /// Cost of all calls that were reported.
    pub known: CostSum,
    /// Upper bound of the bill, including `known`, except for calls without a known price: adds the possible cost of failed tries, and of
    /// unreported calls by processes that are running or have died.
    pub at_most: Money,
}

impl SweepCost {
    /// The cost of a sweep whose judges cost `judged`. `granted` is the total that its account has allowed to be spent; `None` if it has no
    /// account, because nothing has a price.
    #[must_use]
    pub fn of(progress: &[CellProgress], judged: CostSum, granted: Option<Money>) -> Self {
        let mut known = judged;
        progress.iter().for_each(|cell| known += cell.cost);
        let doubtful: Money = progress.iter().map(|cell| cell.maybe_spent).sum();
        // Attempts report more often than accounts do, and a call may have cost more than its worst case.
        Self { known, at_most: (known.known + doubtful).max(granted.unwrap_or(Money::ZERO)) }
    }

    /// The cost of a sweep that has ended, with the total that its account had granted by then.
    #[must_use]
    pub fn ended(row: &SweepRow, progress: &[CellProgress], judged: CostSum) -> Self {
        Self::of(progress, judged, row.granted)
    }

    /// Money that may have been billed in addition to the known cost.
    #[must_use]
    pub fn in_doubt(&self) -> Money {
        Money(self.at_most.0.saturating_sub(self.known.known.0))
    }
}
