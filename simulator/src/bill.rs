//! Bills of answers, and their sums.

use regatta_proto::{Money, Usage};
use serde::{Deserialize, Serialize};

/// Usage and cost of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bill {
    pub(crate) usage: Usage,
    /// `None` if the model has no price.
    pub(crate) cost: Option<Money>,
}

/// Billed money in nano-dollars: the sum over answers, each priced and rounded by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BilledNanodollars {
    /// Cost of whole answers.
    pub delivered: Money,
    /// Cost of answers that were generated but did not reach a client as a whole.
    pub lost: Money,
}
