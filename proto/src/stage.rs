//! States of a sweep.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of a sweep. `running` → `tabulating` → one of three ends, or `running` → `cancelled`; `resume` leads from an end back to
/// `running`, and so does a repair that plans sessions again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SweepState {
    /// Jobs are dispatched, and outcomes arrive.
    Running,
    /// Every session is settled; tables and reports are being written.
    Tabulating,
    /// Every session was measured.
    Complete,
    /// The budget was used up before all sessions were measured.
    StoppedByBudget,
    /// A person cancelled it.
    Cancelled,
    /// Some sessions were not measured; `resume` tries them again.
    Incomplete,
}

impl SweepState {
    /// All states, in the order in which they follow each other.
    pub const ALL: [Self; 6] =
        [Self::Running, Self::Tabulating, Self::Complete, Self::StoppedByBudget, Self::Cancelled, Self::Incomplete];

    /// Name in SQL, files and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Tabulating => "tabulating",
            Self::Complete => "complete",
            Self::StoppedByBudget => "stopped_by_budget",
            Self::Cancelled => "cancelled",
            Self::Incomplete => "incomplete",
        }
    }

    /// `true` if `to` may follow; the ledger refuses every other change.
    #[must_use]
    pub const fn may_become(self, to: Self) -> bool {
        match self {
            Self::Running => matches!(to, Self::Tabulating | Self::Cancelled),
            Self::Tabulating => matches!(to, Self::Complete | Self::StoppedByBudget | Self::Incomplete),
            Self::Complete | Self::StoppedByBudget | Self::Cancelled | Self::Incomplete => matches!(to, Self::Running),
        }
    }

    /// `true` if nothing happens any more unless the sweep is resumed.
    #[must_use]
    pub const fn is_end(self) -> bool {
        !matches!(self, Self::Running | Self::Tabulating)
    }

    /// The exit code of a process for this end: 0 complete, 3 stopped by budget, 4 incomplete or cancelled (all but 0 can be resumed).
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Complete => 0,
            Self::StoppedByBudget => 3,
            Self::Running | Self::Tabulating | Self::Cancelled | Self::Incomplete => 4,
        }
    }
}

impl fmt::Display for SweepState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
impl FromStr for SweepState {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| format!("unknown sweep state {text:?}"))
    }
}
