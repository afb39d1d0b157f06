//! Billing of the endpoint.

use jiff::Timestamp;
use regatta_proto::{Circumstances, Money, Usage};
use regatta_serving::Stamp;
use serde::{Deserialize, Serialize};

use crate::draft::Draft;
use crate::endpoint::Endpoint;

/// The `system_fingerprint` of all chat completions.
const FINGERPRINT: &str = "regatta-simulated";

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

impl Endpoint {
    /// The bill of an answer that began at the time `at`. `variant` is its service tier, if that has a price of its own.
    pub(crate) fn bill(&self, draft: &Draft, variant: Option<&str>, at: Timestamp) -> Bill {
        let usage = draft.usage;
        let price = self.simulation.prices.get(&draft.model);
        let cost = price.and_then(|price| price.cost(&usage, &Circumstances { variant, at: Some(at) }));
        Bill { usage, cost }
    }

    /// The stamp of an answer that costs `bill`.
    pub(crate) fn stamp(&self, id: String, bill: Bill) -> Stamp {
        let cost = bill.cost.filter(|_| self.simulation.report_cost);
        Stamp { id, created: self.created, cost: cost.map(Money::dollars), fingerprint: Some(FINGERPRINT) }
    }
}
