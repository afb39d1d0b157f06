//! Reads for people who look at sweeps: counted and paged in the store, so that their size does not grow with a sweep's.

use futures::future::BoxFuture;
use regatta_proto::{CellIndex, CostSum, Evaluator, Flag, Flags, ItemId, ItemIndex, Outcome, SweepId};

#[cfg(feature = "faults")]
use super::away;
use super::{AttemptRow, Ledger, LedgerError, SessionRow, each};

/// Most items that a query finds at once: more than a benchmark has, and few enough to be held.
pub const ITEMS_FOUND_MAX: u32 = 1_000_000;

/// Sessions of one cell that ended in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndingCount {
    /// The cell.
    pub cell: CellIndex,
    /// The way; never [`Outcome::Measured`].
    pub outcome: Outcome,
    /// How many.
    pub sessions: u64,
}

/// Sessions of one cell with the same flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagCount {
    /// The cell.
    pub cell: CellIndex,
    /// At least one.
    pub flags: Flags,
    /// How many.
    pub sessions: u64,
}

/// A flat value of an evaluator ([`regatta_proto::Evaluator`]), as `official` `f1_chain`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScoreValue {
    /// Scoring rule.
    pub evaluator: Evaluator,
    /// Name of the value.
    pub name: String,
}

/// How a session stands, as a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was measured, and is scored.
    Measured,
    /// The model made it impossible.
    ModelFailure,
    /// It says nothing about the model.
    NotMeasured,
    /// It waits for verdicts.
    Awaiting,
}

impl Standing {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Measured, Self::ModelFailure, Self::NotMeasured, Self::Awaiting];

    /// The word of files and SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::ModelFailure => "model_failure",
            Self::NotMeasured => "not_measured",
            Self::Awaiting => "awaiting",
        }
    }
}

/// The order of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ItemOrder {
    /// As in the data set.
    #[default]
    Position,
    /// The largest difference between two sessions of the item first.
    Disagreement,
    /// The lowest mean first.
    Lowest,
    /// The highest mean first.
    Highest,
}

/// Items wanted: those with a session that has everything that is asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ItemQuery {
    /// Cells whose sessions are looked at.
    pub cells: Vec<CellIndex>,
    /// The value that `score` and `order` are about.
    pub value: Option<ScoreValue>,
    /// How the session stands.
    pub standing: Option<Standing>,
    /// Its cause, as `timeout`.
    pub cause: Option<String>,
    /// A flag that it has.
    pub flag: Option<Flag>,
    /// Lowest and highest value.
    pub score: (Option<f64>, Option<f64>),
    /// A part of the item's id or task, in whatever case; empty for all.
    pub text: String,
    /// The order.
    pub order: ItemOrder,
    /// Items to leave out at the beginning.
    pub offset: u64,
    /// Most items; at most [`ITEMS_FOUND_MAX`].
    pub limit: u32,
}

/// One page of the items that a query wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ItemPage {
    /// All items that it wants; 0 also for a page behind the last.
    pub total: u64,
    /// Those of the page, in order.
    pub items: Vec<ItemIndex>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedSession {
    /// The cell.
    pub cell: CellIndex,
    /// The item.
    pub item: ItemIndex,
    /// The benchmark's id of the item.
    pub item_id: ItemId,
    /// The benchmark's task of the item.
    pub task: String,
    /// `true` while it waits for verdicts.
    pub is_awaiting: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// The value asked for, where it has it.
    pub score: Option<f64>,
    /// Flags of the model's answers.
    pub flags: Flags,
}

/// A recorded session, settled or not.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    /// The session with the attempt that counts.
    pub row: SessionRow,
    /// `true` while it waits for verdicts.
    pub is_awaiting: bool,
}

/// Attempts that ended on one day (UTC).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaySpending {
    /// The cell.
    pub cell: CellIndex,
    /// Days since 1970-01-01.
    pub day: i64,
    /// Attempts.
    pub attempts: u64,
    /// Money of them, as far as known.
    pub cost: CostSum,
}

/// The mean of a value over a cell's sessions that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct CellMean {
    /// The cell.
    pub cell: CellIndex,
    /// Sessions that have the value.
    pub sessions: u64,
    /// Their mean.
    pub mean: f64,
}

/// Looking.
impl Ledger {
    /// Sessions that were not measured or that the model made impossible, counted by cell and cause.
    ///
    /// # Errors
    /// When the store fails.
    pub fn endings<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<EndingCount>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.endings(sweep)) })
    }

    /// Sessions with flags, counted by cell and flags.
    ///
    /// # Errors
    /// When the store fails.
    pub fn flag_counts<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<FlagCount>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.flag_counts(sweep)) })
    }

    /// A page of the items that have a recorded session as `query` wants it.
    ///
    /// # Errors
    /// When the store fails.
    pub fn find_items<'a>(
        &'a self,
        sweep: &'a SweepId,
        query: &'a ItemQuery,
    ) -> BoxFuture<'a, Result<ItemPage, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.find_items(sweep, query)) })
    }

    /// The recorded sessions of `items` in `cells`, by item and cell, with `value` of each.
    ///
    /// # Errors
    /// When the store fails.
    pub fn listed_sessions<'a>(
        &'a self,
        sweep: &'a SweepId,
        cells: &'a [CellIndex],
        items: &'a [ItemIndex],
        value: Option<&'a ScoreValue>,
    ) -> BoxFuture<'a, Result<Vec<ListedSession>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.listed_sessions(sweep, cells, Some(items), value)) })
    }

    /// All recorded sessions of `cells`, by item and cell, with `value` of each. As large as the cells are.
    ///
    /// # Errors
    /// When the store fails.
    pub fn sessions_of_cells<'a>(
        &'a self,
        sweep: &'a SweepId,
        cells: &'a [CellIndex],
        value: Option<&'a ScoreValue>,
    ) -> BoxFuture<'a, Result<Vec<ListedSession>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.listed_sessions(sweep, cells, None, value)) })
    }

    /// The recorded session of `item` in `cell`, settled or not.
    ///
    /// # Errors
    /// When the store fails.
    pub fn session<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> BoxFuture<'a, Result<Option<SessionView>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.session(sweep, cell, item)) })
    }

    /// The attempts at one session, by number and id.
    ///
    /// # Errors
    /// When the store fails.
    pub fn session_attempts<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> BoxFuture<'a, Result<Vec<AttemptRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.session_attempts(sweep, cell, item)) })
    }

    /// Money of a sweep's attempts by cell and the day on which they ended, oldest day first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn spending_by_day<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<DaySpending>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.spending_by_day(sweep)) })
    }

    /// Means of `value` over the settled sessions of each of `cells`; cells without such sessions are left out.
    ///
    /// # Errors
    /// When the store fails.
    pub fn cell_means<'a>(
        &'a self,
        sweep: &'a SweepId,
        cells: &'a [CellIndex],
        value: &'a ScoreValue,
    ) -> BoxFuture<'a, Result<Vec<CellMean>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.cell_means(sweep, cells, value)) })
    }
}
