//! Billing of the endpoint.

use jiff::Timestamp;
use regatta_proto::{Circumstances, Money};
use regatta_serving::Stamp;

use crate::bill::Bill;
use crate::draft::Draft;
use crate::endpoint::Endpoint;

/// The `system_fingerprint` of all chat completions.
const FINGERPRINT: &str = "regatta-simulated";

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
