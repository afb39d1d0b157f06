//! Reads for viewers of sweeps: counted and paged in the store, so that their size does not grow with that of a sweep.

use regatta_proto::{CellIndex, CostSum, Evaluator, Flag, Flags, ItemId, ItemIndex, Outcome};

use super::SessionRow;

/// Most items that a query finds: more than any benchmark has, and few enough for memory.
pub const ITEMS_FOUND_MAX: u32 = 1_000_000;

/// Number of sessions of one cell with the same outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndingCount {
    /// The cell.
    pub cell: CellIndex,
    /// The outcome; never [`Outcome::Measured`].
    pub outcome: Outcome,
    /// Number of sessions.
    pub sessions: u64,
}

/// Number of sessions of one cell with the same flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagCount {
    /// The cell.
    pub cell: CellIndex,
    /// The flags, at least one.
    pub flags: Flags,
    /// Number of sessions.
    pub sessions: u64,
}

/// A single value of an evaluator ([`regatta_proto::Evaluator`]), such as `f1_chain` of `official`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScoreValue {
    /// Scoring rule.
    pub evaluator: Evaluator,
    /// Name of the value.
    pub name: String,
}

/// Status of a session, as a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was measured, and is scored.
    Measured,
    /// A model failure, which counts as wrong.
    ModelFailure,
    /// Not measured, so that it tells nothing about the model.
    NotMeasured,
    /// Waiting for verdicts.
    Awaiting,
}

impl Standing {
    /// All statuses.
    pub const ALL: [Self; 4] = [Self::Measured, Self::ModelFailure, Self::NotMeasured, Self::Awaiting];

    /// Name in files and SQL.
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

/// Order of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ItemOrder {
    /// Order of the data set.
    #[default]
    Position,
    /// The largest difference between two sessions of the item first.
    Disagreement,
    /// The lowest mean first.
    Lowest,
    /// The highest mean first.
    Highest,
}

/// A query for items: those with at least one session that meets all conditions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ItemQuery {
    /// Cells whose sessions are searched.
    pub cells: Vec<CellIndex>,
    /// The value that `score` and `order` use.
    pub value: Option<ScoreValue>,
    /// Status of the session.
    pub standing: Option<Standing>,
    /// Cause of the outcome, such as `timeout`.
    pub cause: Option<String>,
    /// A flag of the session.
    pub flag: Option<Flag>,
    /// Lowest and highest value, both included.
    pub score: (Option<f64>, Option<f64>),
    /// A substring of the item's id or task, ignoring case; empty for all.
    pub text: String,
    /// The order.
    pub order: ItemOrder,
    /// Items to skip at the beginning.
    pub offset: u64,
    /// Most items; at most [`ITEMS_FOUND_MAX`].
    pub limit: u32,
}

/// A page of the items that a query finds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ItemPage {
    /// Number of all items found; 0 also for a page after the last.
    pub total: u64,
    /// The items of the page, in order.
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
    /// Outcome of the session.
    pub outcome: Outcome,
    /// The requested value; `None` if the session lacks it.
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

/// Attempts of a cell that ended on one day (UTC).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaySpending {
    /// The cell.
    pub cell: CellIndex,
    /// Days since 1970-01-01.
    pub day: i64,
    /// Number of attempts.
    pub attempts: u64,
    /// Cost of these attempts, as far as known.
    pub cost: CostSum,
}

/// Time that the attempts of a cell took, as far as they told their end: lost ones are left out, of which nobody knows how long they ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptTimes {
    /// The cell.
    pub cell: CellIndex,
    /// Number of attempts.
    pub attempts: u64,
    /// Microseconds from their starts to their ends.
    pub lasted_us: u64,
    /// Microseconds of calls that were answered, of all roles, but not from the response cache.
    pub answering_us: u64,
}

/// Mean of a value over a cell's sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct CellMean {
    /// The cell.
    pub cell: CellIndex,
    /// Sessions that have the value.
    pub sessions: u64,
    /// Mean of these values.
    pub mean: f64,
    /// Mean of the squares of their deviations from the mean.
    pub variance: f64,
}

/// Mean of a value over the sessions of one item.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemMean {
    /// The item.
    pub item: ItemIndex,
    /// The benchmark's id of the item.
    pub item_id: ItemId,
    /// Mean over the sessions that have the value; `None` if none of them has.
    pub mean: Option<f64>,
}
