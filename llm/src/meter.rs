//! Accounting of a call while it is under way.

use std::fmt;

use regatta_proto::{Money, Try};

/// Hears of each try of a call before the call is over, so that the money of one whose process dies is still known.
///
/// Told in the middle of a call, so it must not block.
pub trait Meter: fmt::Debug + Send + Sync {
    /// A try is sent, which costs this much at most; `None` when the price is unknown. Waiting for permits or money costs nothing.
    fn sent(&self, at_most: Option<Money>);

    /// The try that was sent last has failed. An answered one is not told: the call that comes back says what it cost.
    fn failed(&self, failed: &Try);
}
