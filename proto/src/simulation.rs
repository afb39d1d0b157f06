//! Behaviour of a simulated endpoint.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Price, read_yaml};

/// Latency, limits, faults, prices and batches of a simulated endpoint. Every draw derives from `seed` and the request, so a run can be
/// repeated.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Simulation {
    /// Seed of answers, latencies and faults.
    pub seed: u64,
    /// Distribution of the time to answer.
    pub latency: Latency,
    /// Probabilities of faults.
    pub faults: Faults,
    /// Most requests in any sliding minute; further ones are answered with 429. Unlimited if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Most prompt and generated tokens in any sliding minute, counted when a request arrives, including its answer; further requests are
    /// answered with 429. Unlimited if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
    /// Most requests in progress at once; further ones are answered with 429. Unlimited if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Sends the remaining limits per minute with every answer, in the headers of OpenAI and Anthropic.
    #[serde(skip_serializing_if = "is_false")]
    pub rate_limit_headers: bool,
    /// Prices that the endpoint bills, by the name of the model. Models that are not listed have no price.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// Sends the cost of every answer, in dollars, as OpenRouter does (`usage.cost`).
    #[serde(skip_serializing_if = "is_false")]
    pub report_cost: bool,
    /// Part of a chat's prompt tokens, in 0..=1, that is reported as read from the cache; rounded down to a whole token.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_fraction: f64,
    /// Processing of batches.
    #[serde(skip_serializing_if = "SimulatedBatches::is_default")]
    pub batch: SimulatedBatches,
}

/// Log-normal latency; all zero means an immediate answer.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Latency {
    /// Median, in milliseconds.
    pub median_ms: f64,
    /// Ratio of the 84th percentile to the median; 1 (or 0) is a constant latency.
    pub spread: f64,
    /// Additional time for each generated token, in milliseconds; in a streamed answer, the pause before each token but the first.
    pub per_token_ms: f64,
    /// Median time to the first token of a streamed answer, in milliseconds, with the same spread; `median_ms` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<f64>,
}

/// Probabilities, each in 0..=1, of the faults of one request; their sum must not exceed 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// 429 without Retry-After.
    pub rate_limited: f64,
    /// 429 with `Retry-After: 1`.
    pub rate_limited_with_retry_after: f64,
    /// 500.
    pub server_error: f64,
    /// The connection is closed without an answer.
    pub dropped: f64,
    /// The body, streamed or not, and the connection break off.
    pub truncated: f64,
    /// The first byte is sent after `slow_ms`.
    pub slow: f64,
    /// Delay of a slow first byte, in milliseconds.
    pub slow_ms: u64,
    /// A 200 whose body is not JSON.
    pub garbage: f64,
    /// A 200 with an error object.
    pub error_in_200: f64,
    /// A streamed answer ends with an error event after its first half. Has no effect on answers that are not streamed.
    #[serde(skip_serializing_if = "is_zero")]
    pub stream_error: f64,
    /// A streamed answer ends after its first half: regularly for HTTP, but without its last events. Has no effect on answers that are not
    /// streamed.
    #[serde(skip_serializing_if = "is_zero")]
    pub stream_cut: f64,
    /// The body is sent slowly, a byte at a time, and never ends; only the client can end it.
    #[serde(skip_serializing_if = "is_zero")]
    pub slow_loris: f64,
    /// 503, or 529 in Anthropic's format: the endpoint is overloaded.
    #[serde(skip_serializing_if = "is_zero")]
    pub overloaded: f64,
}

/// Processing of batches by a simulated endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SimulatedBatches {
    /// Time from the creation of a batch to its end, in milliseconds.
    pub delay_ms: u64,
    /// Probability, in 0..=1, that a request of a batch fails.
    pub failed: f64,
    /// Probability, in 0..=1, that a request of a batch expires; together with `failed` at most 1.
    pub expired: f64,
}

impl Default for SimulatedBatches {
    fn default() -> Self {
        Self { delay_ms: 200, failed: 0.0, expired: 0.0 }
    }
}

impl SimulatedBatches {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

const fn is_false(flag: &bool) -> bool {
    !*flag
}

fn is_zero(figure: &f64) -> bool {
    *figure == 0.0
}

impl Faults {
    /// Every probability with its field name.
    #[must_use]
    pub const fn probabilities(&self) -> [(&'static str, f64); 12] {
        [
            ("rate_limited", self.rate_limited),
            ("rate_limited_with_retry_after", self.rate_limited_with_retry_after),
            ("server_error", self.server_error),
            ("dropped", self.dropped),
            ("truncated", self.truncated),
            ("slow", self.slow),
            ("garbage", self.garbage),
            ("error_in_200", self.error_in_200),
            ("stream_error", self.stream_error),
            ("stream_cut", self.stream_cut),
            ("slow_loris", self.slow_loris),
            ("overloaded", self.overloaded),
        ]
    }
}

impl Simulation {
    /// Parses a simulation as written in specs and for `--simulation`.
    ///
    /// # Errors
    /// With line and column, when the text is no YAML of a simulation.
    pub fn from_yaml(text: &str) -> Result<Self, String> {
        read_yaml(text)
    }

    /// Checks every figure.
    ///
    /// # Errors
    /// The invalid field and the problem.
    pub fn check(&self) -> Result<(), (String, String)> {
        check_probabilities("faults", &self.faults.probabilities())?;
        let SimulatedBatches { delay_ms: _, failed, expired } = self.batch;
        check_probabilities("batch", &[("failed", failed), ("expired", expired)])?;
        let Latency { median_ms, spread, per_token_ms, first_token_ms } = self.latency;
        let figures = [
            ("median_ms", median_ms),
            ("spread", spread),
            ("per_token_ms", per_token_ms),
            ("first_token_ms", first_token_ms.unwrap_or(0.0)),
        ];
        if let Some((name, figure)) = figures.into_iter().find(|(_, figure)| !(0.0..1e9).contains(figure)) {
            return Err((format!("latency.{name}"), format!("must be a number from 0 to below 1e9, is {figure}")));
        }
        let limits = [
            ("requests_per_minute", self.requests_per_minute.map(u64::from)),
            ("tokens_per_minute", self.tokens_per_minute),
            ("concurrency", self.concurrency.map(u64::from)),
        ];
        if let Some((name, _)) = limits.into_iter().find(|(_, limit)| *limit == Some(0)) {
            return Err((name.into(), "must be at least 1; leave it out for no limit".into()));
        }
        if self.rate_limit_headers && self.requests_per_minute.is_none() && self.tokens_per_minute.is_none() {
            return Err((
                "rate_limit_headers".into(),
                "needs requests_per_minute or tokens_per_minute to tell of".into(),
            ));
        }
        if let Some((model, _)) = self.prices.iter().find(|(_, price)| !price.is_sane()) {
            let problem = "must consist of dollars from 0 to below 1e6, in one level of variants";
            return Err((format!("prices.{model}"), problem.into()));
        }
        if self.report_cost && self.prices.is_empty() {
            return Err(("report_cost".into(), "needs prices to tell of".into()));
        }
        if !(0.0..=1.0).contains(&self.cached_fraction) {
            let problem = format!("must be a share between 0 and 1, is {}", self.cached_fraction);
            return Err(("cached_fraction".into(), problem));
        }
        Ok(())
    }
}

fn check_probabilities(group: &str, probabilities: &[(&str, f64)]) -> Result<(), (String, String)> {
    if let Some((name, p)) = probabilities.iter().find(|(_, p)| !(0.0..=1.0).contains(p)) {
        return Err((format!("{group}.{name}"), format!("must be a probability between 0 and 1, is {p}")));
    }
    // Decimal fractions with the sum 1 in the spec may exceed it by rounding.
    if probabilities.iter().map(|(_, p)| p).sum::<f64>() > 1.0 + 1e-9 {
        return Err((group.into(), "holds probabilities that add up to more than 1".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(yaml: &str) -> String {
        let simulation: Simulation = serde_yaml_ng::from_str(yaml).unwrap();
        let (field, problem) = simulation.check().expect_err(yaml);
        format!("{field} {problem}")
    }

    #[test]
    fn a_setting_that_cannot_be_is_named_with_what_is_wrong() {
        insta::assert_snapshot!(
            [
                "faults: { slow: -0.1 }",
                "faults: { slow: 0.75, overloaded: 0.5 }",
                "faults: { slow_loris: .nan }",
                "latency: { median_ms: .inf }",
                "latency: { first_token_ms: -1 }",
                "requests_per_minute: 0",
                "tokens_per_minute: 0",
                "concurrency: 0",
                "rate_limit_headers: true",
                "prices: { oracle: { input_per_mtok: -1, output_per_mtok: 1 } }",
                "report_cost: true",
                "cached_fraction: 1.5",
                "batch: { failed: 2 }",
                "batch: { failed: 0.6, expired: 0.6 }",
            ]
            .map(problem)
            .join("\n")
        );
    }

    #[test]
    fn every_setting_is_read_and_decimal_fractions_may_add_up_to_one() {
        let yaml = "
            seed: 1
            latency: { median_ms: 100, spread: 1.5, per_token_ms: 5, first_token_ms: 20 }
            faults: { slow: 0.4, dropped: 0.1, garbage: 0.2, stream_error: 0.1, stream_cut: 0.1, slow_loris: 0.05, overloaded: 0.05 }
            requests_per_minute: 600
            tokens_per_minute: 100000
            concurrency: 8
            rate_limit_headers: true
            prices: { oracle: { input_per_mtok: 1, output_per_mtok: 2, variants: { batch: { input_per_mtok: 0.5, output_per_mtok: 1 } } } }
            report_cost: true
            cached_fraction: 0.5
            batch: { delay_ms: 50, failed: 0.1, expired: 0.1 }";
        let simulation: Simulation = serde_yaml_ng::from_str(yaml).unwrap();
        assert_eq!(simulation.check(), Ok(()));
    }

    #[test]
    fn what_is_not_set_is_not_written_so_that_old_documents_keep_their_bytes() {
        let written = serde_json::to_string(&Simulation::default()).unwrap();
        assert_eq!(
            written,
            r#"{"seed":0,"latency":{"median_ms":0.0,"spread":0.0,"per_token_ms":0.0},"faults":{"rate_limited":0.0,"rate_limited_with_retry_after":0.0,"server_error":0.0,"dropped":0.0,"truncated":0.0,"slow":0.0,"slow_ms":0,"garbage":0.0,"error_in_200":0.0}}"#
        );
    }
}
