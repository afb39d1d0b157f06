//! How a simulated endpoint behaves.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Price;

/// Latency, limits, faults, prices and batches of a simulated endpoint. Every draw derives from `seed` and the request, so a run can
/// be repeated.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Simulation {
    /// Seed of answers, latencies and faults.
    pub seed: u64,
    /// Time to answer.
    pub latency: Latency,
    /// What goes wrong, and how often.
    pub faults: Faults,
    /// Requests in any sliding minute; beyond it the answer is 429. Unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Prompt and generated tokens in any sliding minute, counted when a request arrives, with the answer it will get; beyond it the
    /// answer is 429. Unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
    /// Requests worked on at once; beyond it the answer is 429. Unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Tell with every answer what is left of the limits per minute, in the headers that OpenAI and Anthropic have for it.
    #[serde(skip_serializing_if = "is_false")]
    pub rate_limit_headers: bool,
    /// What the endpoint bills for each model, by the model's name. Models that are not listed have no price.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// Tell with every answer what it costs, in dollars, as OpenRouter does (`usage.cost`).
    #[serde(skip_serializing_if = "is_false")]
    pub report_cost: bool,
    /// Share of the prompt tokens of a chat, in 0..=1, that is reported as read from the cache; rounded down to a whole token.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_fraction: f64,
    /// How batches are worked off.
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
    /// Added for each generated token, in milliseconds. Of a streamed answer, the pause before each token but the first.
    pub per_token_ms: f64,
    /// Median time to the first token of a streamed answer, in milliseconds, with the same spread; `median_ms` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<f64>,
}

/// Probabilities, each in 0..=1, of the faults of one request; their sum may not exceed 1.
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
    /// The body breaks off, streamed or not, and the connection with it.
    pub truncated: f64,
    /// The first byte comes after `slow_ms`.
    pub slow: f64,
    /// Delay of a slow first byte, in milliseconds.
    pub slow_ms: u64,
    /// A 200 whose body is not JSON.
    pub garbage: f64,
    /// A 200 that holds an error object.
    pub error_in_200: f64,
    /// A streamed answer ends in an error event after its first half. Answers that are not streamed are given as if nothing had been
    /// drawn.
    #[serde(skip_serializing_if = "is_zero")]
    pub stream_error: f64,
    /// A streamed answer just ends after its first half: in good order as far as HTTP can tell, but without its last events. Answers
    /// that are not streamed are given as if nothing had been drawn.
    #[serde(skip_serializing_if = "is_zero")]
    pub stream_cut: f64,
    /// The body trickles, a byte at a time, and never ends; only the client can end it.
    #[serde(skip_serializing_if = "is_zero")]
    pub slow_loris: f64,
    /// 503, or 529 in Anthropic's format: the endpoint has too much to do.
    #[serde(skip_serializing_if = "is_zero")]
    pub overloaded: f64,
}

/// How a simulated endpoint works batches off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SimulatedBatches {
    /// From the creation of a batch to its end, in milliseconds.
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
    /// Reads a simulation as specs and `--simulation` write it.
    ///
    /// # Errors
    /// With line and column, when the text is not the YAML of a simulation.
    pub fn from_yaml(text: &str) -> Result<Self, serde_yaml_ng::Error> {
        serde_yaml_ng::from_str(text)
    }

    /// Checks every figure.
    ///
    /// # Errors
    /// With the field that cannot be and what is wrong with it.
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
    // Decimal fractions that add up to one in the spec may exceed it by rounding.
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
