//! Requests to submit, resume and steer sweeps, and their answers.

use std::collections::BTreeMap;
use std::str::FromStr;

use regatta_proto::{BenchmarkName, Digest, EndpointName, Money, Snapshot, SweepId, SweepSpec};
use serde::{Deserialize, Serialize};

/// A spec with the manifests of its data. The files themselves are uploaded before, by content.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The spec, with every `${VAR}` substituted.
    pub spec: SweepSpec,
    /// Files of each benchmark.
    pub data: BTreeMap<BenchmarkName, Snapshot>,
    /// Verdict file of each endpoint of kind `recorded`.
    #[serde(default)]
    pub recorded: BTreeMap<EndpointName, Digest>,
}

impl Submission {
    /// Digests of its files, one that is listed several times as often.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &Digest> {
        let files = self.data.values().flat_map(|snapshot| &snapshot.files).map(|file| &file.digest);
        files.chain(self.recorded.values())
    }
}

/// The sweep that a submission became. Submitting the same spec over the same data again gives the same sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// Id of the sweep.
    pub id: SweepId,
    /// True if the submission created it, false if the same sweep was there before.
    pub created: bool,
    /// Number of sessions in the sweep.
    pub sessions: u64,
}

/// Change of a sweep's budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetChange {
    /// Sets the budget to this amount.
    To(Money),
    /// Raises the budget by this amount.
    By(Money),
}

impl BudgetChange {
    /// The new budget, from the one so far.
    #[must_use]
    pub fn apply(self, budget: Money) -> Money {
        match self {
            Self::To(money) => money,
            Self::By(more) => budget + more,
        }
    }
}

impl FromStr for BudgetChange {
    type Err = String;
    /// Dollars: `80` is to 80, `+50` is by 50.
    fn from_str(text: &str) -> Result<Self, String> {
        let (text, change): (&str, fn(Money) -> Self) = match text.strip_prefix('+') {
            Some(more) => (more, Self::By),
            None => (text, Self::To),
        };
        let dollars: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of dollars; write 80 or +50"))?;
        match Money::from_dollars(dollars) {
            Some(money) if money > Money::ZERO => Ok(change(money)),
            _ => Err(format!("{text} is not a positive number of dollars")),
        }
    }
}

/// Changes that a resume makes to a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Resumption {
    /// Change of the budget; `None` leaves it as it is.
    pub budget: Option<BudgetChange>,
}

/// Change of the calls at once of a running sweep at one of its endpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConcurrencyChange {
    /// Name of the endpoint in the spec.
    pub endpoint: EndpointName,
    /// Most calls at once, at most those of the spec; `None` gives these back.
    #[serde(default)]
    pub calls: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_raised_to_an_amount_or_by_one() {
        let change = |text: &str| text.parse::<BudgetChange>();
        assert_eq!(change("80").unwrap().apply(Money(5)), Money(80_000_000_000));
        assert_eq!(change("+0.5").unwrap().apply(Money(5)), Money(500_000_005));
        for bad in ["", "+", "-3", "0", "ten", "+inf", "NaN"] {
            assert!(change(bad).is_err(), "{bad}");
        }
    }
}
