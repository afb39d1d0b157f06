//! Input of the official scripts.

use jiff::civil::Date;

use crate::data::Utterance;

/// Input of a script for one item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// Name of the item in questions to judges.
    pub(crate) item: &'a str,
    /// Row of the data set.
    pub(crate) utterance: &'a Utterance,
    /// The day for which words like today are resolved, and which judges are told.
    pub(crate) today: Date,
    /// Log that the session printed.
    pub(crate) log: &'a str,
}
