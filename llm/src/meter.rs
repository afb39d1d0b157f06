//! Accounting of calls that are still in progress.

use std::fmt;

use jiff::Timestamp;
use regatta_proto::{Money, Try};

/// Observes each try of a call before the call is over, so that the cost of a call is known even if its process dies.
///
/// Called in the middle of a call, so it must not block.
pub trait Meter: fmt::Debug + Send + Sync {
    /// The try that is sent next has waited for an endpoint that is up, money and a permit.
    fn waited(&self, since: Timestamp, until: Timestamp);

    /// A try is about to be sent, and costs at most this much; `None` if the price is unknown. Waiting for permits or money costs nothing.
    fn sent(&self, at_most: Option<Money>);

    /// The try that was sent last has failed. Successful tries are not reported here: the call's result has their cost.
    fn failed(&self, failed: &Try);
}
