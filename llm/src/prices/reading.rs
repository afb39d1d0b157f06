//! Where and when the prices of a table were read.

use std::collections::BTreeSet;
use std::fmt;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// One reading of a source, with the models whose prices are from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Name of the source, such as `LiteLLM`.
    pub source: String,
    /// File or address that was read.
    pub at: String,
    /// The day, in UTC.
    pub on: Date,
    /// The models, by their names in the table.
    pub models: BTreeSet<String>,
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, on {}", self.source, self.at, self.on)
    }
}
