//! Money and time of the sessions of two runs.

use std::collections::BTreeMap;

use regatta_proto::{ItemId, Level};
use regatta_scorer::{Difference, mean_difference};
use serde::Serialize;

use crate::ended_run::Took;

/// Spending of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Money.
    Dollars,
    /// Time in model calls.
    Seconds,
    /// Tokens that models answered.
    OutputTokens,
}

impl Quantity {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Dollars => "dollars",
            Self::Seconds => "seconds",
            Self::OutputTokens => "output_tokens",
        }
    }
}

/// A quantity over the sessions of each run, and its paired difference.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Numbers {
    pub(crate) a: Distribution,
    pub(crate) b: Distribution,
    /// Mean difference over the items and trials that have a score in both.
    pub(crate) difference: Difference,
}

/// Distribution of a number over single sessions with a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Distribution {
    pub(crate) mean: f64,
    /// Half of the sessions took no more.
    pub(crate) p50: f64,
    /// Nineteen of twenty took no more.
    pub(crate) p95: f64,
}

impl Numbers {
    /// `None` where a session of either run does not know the quantity, or there is none in both.
    pub(crate) fn new(
        quantity: Quantity,
        groups: &BTreeMap<ItemId, String>,
        a: &BTreeMap<(ItemId, u16), Took>,
        b: &BTreeMap<(ItemId, u16), Took>,
        seed: u64,
        level: Level,
    ) -> Option<Self> {
        let (a, b) = (known(quantity, a)?, known(quantity, b)?);
        let difference = mean_difference(groups, &b, &a, seed, level)?;
        Some(Self { a: distribution(&a)?, b: distribution(&b)?, difference })
    }
}

impl Numbers {
    /// The same of so many sessions together.
    pub(crate) fn times(&self, count: f64) -> Self {
        let of =
            |one: Distribution| Distribution { mean: one.mean * count, p50: one.p50 * count, p95: one.p95 * count };
        let difference = Difference {
            value: self.difference.value * count,
            low: self.difference.low.map(|low| low * count),
            high: self.difference.high.map(|high| high * count),
            ..self.difference
        };
        Self { a: of(self.a), b: of(self.b), difference }
    }
}

/// `None` where one is unknown: a mean over the others would be too low.
fn known(quantity: Quantity, took: &BTreeMap<(ItemId, u16), Took>) -> Option<BTreeMap<(ItemId, u16), f64>> {
    let of = |(session, took): (&(ItemId, u16), &Took)| {
        let value = match quantity {
            Quantity::Dollars => took.dollars?,
            Quantity::Seconds => took.seconds,
            Quantity::OutputTokens => took.output_tokens?,
        };
        Some((session.clone(), value))
    };
    took.iter().map(of).collect()
}

fn distribution(sessions: &BTreeMap<(ItemId, u16), f64>) -> Option<Distribution> {
    let mut values: Vec<f64> = sessions.values().copied().collect();
    values.sort_by(f64::total_cmp);
    let at_least = |share: f64| values.get(((values.len() as f64 * share).ceil() as usize).max(1) - 1).copied();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some(Distribution { mean, p50: at_least(0.5)?, p95: at_least(0.95)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(seconds: &[f64]) -> BTreeMap<(ItemId, u16), Took> {
        let of = |(at, seconds): (usize, &f64)| {
            ((format!("i{at:02}").parse().unwrap(), 0), Took { dollars: None, seconds: *seconds, output_tokens: None })
        };
        seconds.iter().enumerate().map(of).collect()
    }

    #[test]
    fn percentiles_are_of_sessions_and_the_difference_is_paired() {
        let slow: Vec<f64> = (1..=20).map(f64::from).collect();
        let fast: Vec<f64> = slow.iter().map(|seconds| seconds - 0.5).collect();
        let found =
            Numbers::new(Quantity::Seconds, &BTreeMap::new(), &took(&slow), &took(&fast), 1, Level::USUAL).unwrap();
        assert_eq!(found.a, Distribution { mean: 10.5, p50: 10.0, p95: 19.0 });
        assert!((found.difference.value + 0.5).abs() < 1e-12 && found.difference.n == 20);
    }

    #[test]
    fn an_unknown_price_makes_the_money_unknown() {
        assert!(
            Numbers::new(Quantity::Dollars, &BTreeMap::new(), &took(&[1.0]), &took(&[1.0]), 1, Level::USUAL).is_none()
        );
    }
}
