//! Conditions under which a run goes: `policy.yaml`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use regatta_benchmarks::Unit;
use regatta_proto::{BenchmarkName, COVERAGE_MIN, Evaluator, read_yaml};
use serde::{Deserialize, Deserializer, de};

/// The document. Unknown keys are refused: a limit with a typo would never hold anything up.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "I: Deserialize<'de>"))]
pub(crate) struct Policy<I = Increase> {
    /// Probability of a false alarm, and of letting something worse pass; below one half.
    #[serde(default = "five_percent")]
    pub(crate) alpha: f64,
    /// By name of the metric.
    pub(crate) metrics: BTreeMap<String, MetricPolicy>,
    /// Part of the sessions that must have a score, and of the baseline's items that must be in the run, 0..=1.
    #[serde(default = "coverage_min")]
    pub(crate) coverage_min: f64,
    /// Most that a session may cost above the baseline's, in percent.
    #[serde(default)]
    pub(crate) cost_max_increase: Option<I>,
    /// Most that a session may cost, in dollars.
    #[serde(default)]
    pub(crate) cost_max_usd: Option<f64>,
    /// Most that the 95th percentile of the sessions' latency may exceed the baseline's, in percent.
    #[serde(default)]
    pub(crate) latency_p95_max_increase: Option<I>,
    /// Largest 95th percentile of the sessions' latency, in seconds.
    #[serde(default)]
    pub(crate) latency_p95_max_s: Option<f64>,
    /// Control of errors over many runs of the gate; each counts by itself when absent.
    #[serde(default)]
    pub(crate) nights: Option<Nights>,
}

/// A metric that may not get worse by more than a margin.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MetricPolicy {
    pub(crate) margin: Margin,
    /// Only of this benchmark.
    #[serde(default)]
    pub(crate) benchmark: Option<BenchmarkName>,
    /// Scoring rule; the benchmark's default one when absent.
    #[serde(default)]
    pub(crate) evaluator: Option<Evaluator>,
}

/// Margin by which a metric may be worse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Margin {
    /// Percentage points of a share, as `2pp`.
    Points(f64),
    /// In the metric's own scale, as `0.02`.
    Plain(f64),
}

/// A relative increase, as `10%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Increase(pub(crate) f64);

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nights {
    pub(crate) method: Method,
    /// File that keeps the nights; relative to the policy's folder unless it begins with a slash. Schedules keep them themselves.
    #[serde(default)]
    pub(crate) ledger: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Method {
    /// The k-th night spends alpha · 6 / (π² k²).
    AlphaSpending,
}

const fn five_percent() -> f64 {
    0.05
}

const fn coverage_min() -> f64 {
    COVERAGE_MIN
}

impl Policy {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let failed = || format!("failed to read the policy {}", path.display());
        Self::parse(&std::fs::read_to_string(path).with_context(failed)?).with_context(failed)
    }

    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let policy: Policy<Scalar> = read_yaml(text).map_err(anyhow::Error::msg)?;
        let at = |key: &str| place(text, key);
        let increase = |key: &str, written: Option<Scalar>| -> anyhow::Result<Option<Increase>> {
            let Some(Scalar { text, .. }) = written else { return Ok(None) };
            match text.strip_suffix('%').map(|number| positive(&text, number)) {
                Some(Ok(percent)) => Ok(Some(Increase(percent / 100.0))),
                Some(Err(error)) => bail!("{key}: {error}{}", at(key)),
                None => bail!("{key}: {text:?} is no increase; write it as 10%{}", at(key)),
            }
        };
        if !(policy.alpha > 0.0 && policy.alpha < 0.5) {
            bail!("alpha is {}; it must be above 0 and below 0.5{}", policy.alpha, at("alpha"));
        }
        if policy.metrics.is_empty() {
            bail!(
                "metrics is empty; name one with its margin, as `metrics: {{ success: {{ margin: 2pp }} }}`{}",
                at("metrics")
            );
        }
        if !(0.0..=1.0).contains(&policy.coverage_min) {
            let coverage = policy.coverage_min;
            bail!("coverage_min is {coverage}; it is a share between 0 and 1{}", at("coverage_min"));
        }
        let limits = [("cost_max_usd", policy.cost_max_usd), ("latency_p95_max_s", policy.latency_p95_max_s)];
        for (name, limit) in limits {
            if let Some(limit) = limit.filter(|limit| !(*limit >= 0.0 && limit.is_finite())) {
                bail!("{name} is {limit}; it must be a number that is not negative{}", at(name));
            }
        }
        Ok(Self {
            alpha: policy.alpha,
            metrics: policy.metrics,
            coverage_min: policy.coverage_min,
            cost_max_increase: increase("cost_max_increase", policy.cost_max_increase)?,
            cost_max_usd: policy.cost_max_usd,
            latency_p95_max_increase: increase("latency_p95_max_increase", policy.latency_p95_max_increase)?,
            latency_p95_max_s: policy.latency_p95_max_s,
            nights: policy.nights,
        })
    }
}

/// ` at line 3`, where a line of its own begins with `key`.
fn place(text: &str, key: &str) -> String {
    let is_key = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    text.lines().position(is_key).map_or_else(String::new, |at| format!(" at line {}", at + 1))
}

impl Margin {
    /// In the scale of a metric of `unit` whose values lie in `range`, which has no end where it is `None`.
    ///
    /// # Errors
    /// When points mean nothing, or nothing could be worse by so much.
    pub(crate) fn of(self, unit: Unit, range: (Option<f64>, Option<f64>)) -> anyhow::Result<f64> {
        if let (Self::Plain(margin), (Some(low), Some(high))) = (self, range)
            && margin >= high - low
        {
            let is_share = matches!(unit, Unit::Plain | Unit::Percent);
            let points = if is_share { format!("; percentage points are written {margin}pp") } else { String::new() };
            bail!("values of {low} to {high} cannot differ by more than {margin}{points}")
        }
        match (self, unit) {
            (Self::Plain(margin), _) => Ok(margin),
            (Self::Points(points), Unit::Plain | Unit::Percent) => Ok(points / 100.0),
            (Self::Points(points), Unit::OutOfTen | Unit::Turns | Unit::Money) => {
                bail!(
                    "a margin in percentage points ({points}pp) fits shares alone; give a number in the metric's own scale"
                )
            }
        }
    }
}

fn positive(text: &str, number: &str) -> Result<f64, String> {
    match number.trim().parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err(format!("{text:?} has no number that is not negative")),
    }
}

impl<'de> Deserialize<'de> for Margin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Scalar { text, is_number } = Scalar::deserialize(deserializer)?;
        match (text.strip_suffix("pp"), is_number) {
            (Some(points), _) => positive(&text, points).map(Self::Points),
            (None, true) => positive(&text, &text).map(Self::Plain),
            (None, false) => Err(format!("{text:?} is no margin; write percentage points as 2pp, or a plain number")),
        }
        .map_err(de::Error::custom)
    }
}

/// A text, or a number as text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scalar {
    text: String,
    is_number: bool,
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl de::Visitor<'_> for Reading {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a text")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar { text: text.to_owned(), is_number: false })
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar { text: number.to_string(), is_number: true })
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar { text: number.to_string(), is_number: true })
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar { text: number.to_string(), is_number: true })
            }
        }
        deserializer.deserialize_any(Reading)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile::nearly_text;

    #[test]
    fn a_metric_with_two_margins_is_refused() {
        let error = Policy::parse("metrics:\n  success: { margin: 5pp }\n  success: { margin: 1pp }\n").unwrap_err();
        assert!(error.to_string().contains("duplicate entry with key \"success\""), "{error}");
    }

    const EVERYTHING: &str = "alpha: 0.01
metrics:
  success: { margin: 2pp }
  turns: { margin: 0.5, benchmark: flowbench, evaluator: paper }
coverage_min: 0.98
cost_max_increase: 10%
cost_max_usd: 0.02
latency_p95_max_increase: 25%
latency_p95_max_s: 30
nights: { method: alpha_spending, ledger: nights.json }
";

    #[test]
    fn a_policy_with_everything_is_read() {
        let policy = Policy::parse(EVERYTHING).unwrap();
        assert_eq!(policy.metrics["success"].margin.of(Unit::Percent, (Some(0.0), Some(1.0))).unwrap(), 0.02);
        assert_eq!(policy.metrics["turns"].margin, Margin::Plain(0.5));
        assert_eq!((policy.cost_max_increase, policy.alpha), (Some(Increase(0.1)), 0.01));
    }

    #[test]
    fn what_is_wrong_with_a_policy_is_said_with_its_line() {
        let refused = |text: &str| format!("{:#}", Policy::parse(text).unwrap_err());
        let errors = [
            refused("metrics:\n  success: { margn: 2pp }"),
            refused("metrics:\n  success: { margin: 2% }"),
            refused("metrics:\n  success: { margin: -1 }"),
            refused("metrics: { success: { margin: 2pp } }\ncost_max_increase: 0.1"),
            refused("metrics: { success: { margin: 2pp } }\nnights: { method: e-process, ledger: n.json }"),
            refused("metrics: { success: { margin: 2pp } }\nalpha: 5"),
            refused("metrics: {}"),
            refused("metrics: { success: { margin: 2pp } }\ncoverage_min: 98"),
        ];
        insta::assert_snapshot!(errors.join("\n"));
    }

    proptest! {
        #[test]
        fn a_policy_is_read_with_limits_that_hold_or_refused(text in nearly_text(EVERYTHING)) {
            if let Ok(policy) = Policy::parse(&text) {
                prop_assert!(policy.alpha > 0.0 && policy.alpha < 0.5 && !policy.metrics.is_empty(), "{}", text);
                for metric in policy.metrics.values() {
                    let (Margin::Points(margin) | Margin::Plain(margin)) = metric.margin;
                    prop_assert!(margin >= 0.0 && margin.is_finite(), "{}", text);
                }
                for increase in [policy.cost_max_increase, policy.latency_p95_max_increase].into_iter().flatten() {
                    prop_assert!(increase.0 >= 0.0 && increase.0.is_finite(), "{}", text);
                }
            }
        }
    }

    #[test]
    fn points_are_of_shares_alone() {
        assert!(Margin::Points(2.0).of(Unit::Turns, (Some(0.0), None)).is_err());
        assert_eq!(Margin::Plain(2.0).of(Unit::Turns, (Some(0.0), None)).unwrap(), 2.0);
    }
}
