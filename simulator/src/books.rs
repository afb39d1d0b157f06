//! What the endpoint bills.

use jiff::Timestamp;
use regatta_proto::{Circumstances, Money, Usage};
use regatta_serving::Stamp;
use serde::{Deserialize, Serialize};

use crate::draft::Draft;
use crate::routes::Endpoint;

/// What served every answer of chat completions.
const FINGERPRINT: &str = "regatta-simulated";

/// What one answer costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bill {
    pub(crate) usage: Usage,
    /// `None` when the model has no price.
    pub(crate) cost: Option<Money>,
}

/// What was billed, in nano-dollars: the sum over answers, each priced and rounded on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BilledNanodollars {
    /// For whole answers.
    pub delivered: Money,
    /// For answers that were generated but did not reach anybody whole.
    pub lost: Money,
}

impl Endpoint {
    /// The bill of an answer that began `at`; `variant` is how it is served, if that has a price of its own.
    pub(crate) fn bill(&self, draft: &Draft, variant: Option<&str>, at: Timestamp) -> Bill {
        let usage = draft.usage;
        let price = self.simulation.prices.get(&draft.model);
        let cost = price.and_then(|price| price.cost(&usage, &Circumstances { variant, at: Some(at) }));
        Bill { usage, cost }
    }

    /// What is added to an answer that costs `bill`.
    pub(crate) fn stamp(&self, id: String, bill: Bill) -> Stamp {
        let cost = bill.cost.filter(|_| self.simulation.report_cost);
        Stamp { id, created: self.created, cost: cost.map(Money::dollars), fingerprint: Some(FINGERPRINT) }
    }
}
