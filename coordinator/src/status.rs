//! State of a sweep, for people and programs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use regatta_backends::{AccountState, CellProgress, SweepCost, SweepRow};
use regatta_catalog::DecidedSoFar;
use regatta_proto::{Cell, CostSum, EndpointName, Money, OwnerName, SweepId, SweepState, Usage};
use serde::{Deserialize, Serialize};

use crate::Forecast;
use crate::forecast::Foretold;

/// A sweep and its cells.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SweepStatus {
    /// Id of the sweep.
    pub id: SweepId,
    /// State of the sweep.
    pub state: SweepState,
    /// Time of submission.
    pub created_at: Timestamp,
    /// Time of the end; `None` until then.
    pub ended_at: Option<Timestamp>,
    /// Budget, and the money spent of it; `None` for a sweep without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetStatus>,
    /// Known and possible cost.
    #[serde(default)]
    pub cost: SweepCost,
    /// Forecast of the final cost; `None` once no session is left to run or to judge, while too few have a known cost or a score of a paid
    /// judge, where a call or what is left to run has an unknown price, and where later rounds may follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Lower end of the final cost, at the sweep's level, while nobody can tell what a model or a judge will take of what is left; `None`
    /// beside a forecast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Money>,
    /// Of a cancelled sweep: `true` once its report is written, which waits for what was reported before. `None` of others, and of older coordinators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_report: Option<bool>,
    /// Rounds and sequences of a sweep with a question, without the points of earlier rounds; `None` of others, of one that has ended, and of
    /// older coordinators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<DecidedSoFar>,
    /// Cells, in the order of the grid.
    pub cells: Vec<CellStatus>,
    /// Owner, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerName>,
    /// `true` if it runs and is paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_paused: bool,
    /// Calls at once of each endpoint that somebody has lowered below those of the spec.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub concurrency: BTreeMap<EndpointName, u32>,
}

/// A budget and the use that was made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetStatus {
    /// Most that may be spent.
    pub cap: Money,
    /// Spent.
    pub spent: Money,
    /// On top, what failed tries may have cost without the provider telling, and what workers that died may have had under way.
    pub maybe_spent: Money,
    /// Reserved for calls that run or wait.
    pub reserved: Money,
    /// The rest.
    pub left: Money,
}

impl From<AccountState> for BudgetStatus {
    fn from(account: AccountState) -> Self {
        Self {
            cap: account.cap,
            spent: account.spent,
            maybe_spent: account.maybe_spent + account.lost,
            reserved: account.reserved,
            left: account.left,
        }
    }
}

/// One cell and its counts of sessions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CellStatus {
    /// The cell.
    pub cell: Cell,
    /// Number of sessions in the cell.
    pub items: u64,
    /// Sessions given to workers.
    pub dispatched: u64,
    /// Sessions that have ended.
    pub recorded: u64,
    /// Sessions that are scored, or never will be.
    pub settled: u64,
    /// Sessions measured.
    pub measured: u64,
    /// Sessions the model made impossible.
    pub model_failures: u64,
    /// Sessions that say nothing about the model.
    pub not_measured: u64,
    /// Tokens.
    pub usage: Usage,
    /// Money of the attempts that count.
    pub cost: CostSum,
    /// Money of the attempts that do not.
    pub wasted: CostSum,
}

impl SweepStatus {
    pub(crate) fn new(
        row: SweepRow,
        cells: &[Cell],
        progress: Vec<CellProgress>,
        budget: Option<BudgetStatus>,
        cost: SweepCost,
        foretold: Option<Foretold>,
    ) -> Self {
        let cells = cells
            .iter()
            .zip(progress)
            .map(|(cell, progress)| CellStatus {
                cell: cell.clone(),
                items: progress.items,
                dispatched: progress.dispatched,
                recorded: progress.recorded,
                settled: progress.settled,
                measured: progress.measured,
                model_failures: progress.model_failures,
                not_measured: progress.not_measured,
                usage: progress.usage,
                // The ledger's sum holds the wasted part.
                cost: CostSum {
                    known: Money(progress.cost.known.0.saturating_sub(progress.wasted.known.0)),
                    unknown_calls: progress.cost.unknown_calls.saturating_sub(progress.wasted.unknown_calls),
                },
                wasted: progress.wasted,
            })
            .collect();
        let foretold = foretold.map(|foretold| foretold.once_spent(cost.known.known));
        let has_report = (row.state == SweepState::Cancelled).then(|| row.tabulated == Some(row.generation));
        Self {
            has_report,
            id: row.id,
            state: row.state,
            created_at: row.created_at,
            ended_at: row.ended_at,
            budget,
            cost,
            forecast: foretold.and_then(Foretold::whole),
            at_least: foretold.and_then(Foretold::at_least),
            deciding: None,
            cells,
            owner: row.owner,
            is_paused: row.is_paused && row.state == SweepState::Running,
            concurrency: row.concurrency,
        }
    }

    /// Sum of a count over all cells.
    pub fn total(&self, count: impl Fn(&CellStatus) -> u64) -> u64 {
        self.cells.iter().map(count).sum()
    }

    /// Tokens over all cells.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.cells.iter().fold(Usage::default(), |mut sum, cell| {
            sum += cell.usage;
            sum
        })
    }

    /// Money over all cells, that of wasted attempts included and that of judges not.
    #[must_use]
    pub fn sessions_cost(&self) -> CostSum {
        self.cells.iter().fold(CostSum::default(), |mut sum, cell| {
            sum += cell.cost;
            sum += cell.wasted;
            sum
        })
    }
}
