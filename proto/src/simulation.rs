//! How a simulated endpoint behaves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Latency, limits and faults of a simulated endpoint. Every draw derives from `seed` and the request, so a run can be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Simulation {
    /// Seed of latencies and faults.
    pub seed: u64,
    /// Time to answer.
    pub latency: Latency,
    /// What goes wrong, and how often.
    pub faults: Faults,
    /// Requests in any sliding minute; beyond it the answer is 429. Unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
}

/// Log-normal latency; all zero means an immediate answer.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Latency {
    /// Median, in milliseconds.
    pub median_ms: f64,
    /// Ratio of the 84th percentile to the median; 1 (or 0) is a constant latency.
    pub spread: f64,
    /// Added for each generated token, in milliseconds.
    pub per_token_ms: f64,
}

/// Probabilities, each in 0..=1, of the faults of one request; their sum may not exceed 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// The body breaks off.
    pub truncated: f64,
    /// The first byte comes after `slow_ms`.
    pub slow: f64,
    /// Delay of a slow first byte, in milliseconds.
    pub slow_ms: u64,
    /// A 200 whose body is not JSON.
    pub garbage: f64,
    /// A 200 that holds an error object.
    pub error_in_200: f64,
}

impl Faults {
    /// Every probability with its field name.
    #[must_use]
    pub const fn probabilities(&self) -> [(&'static str, f64); 8] {
        [
            ("rate_limited", self.rate_limited),
            ("rate_limited_with_retry_after", self.rate_limited_with_retry_after),
            ("server_error", self.server_error),
            ("dropped", self.dropped),
            ("truncated", self.truncated),
            ("slow", self.slow),
            ("garbage", self.garbage),
            ("error_in_200", self.error_in_200),
        ]
    }
}

impl Simulation {
    /// Checks every figure.
    ///
    /// # Errors
    /// With the field that cannot be and what is wrong with it.
    pub fn check(&self) -> Result<(), (String, String)> {
        let probabilities = self.faults.probabilities();
        if let Some((name, p)) = probabilities.iter().find(|(_, p)| !(0.0..=1.0).contains(p)) {
            return Err((format!("faults.{name}"), format!("must be a probability between 0 and 1, is {p}")));
        }
        if probabilities.iter().map(|(_, p)| p).sum::<f64>() > 1.0 + 1e-9 {
            return Err(("faults".into(), "the probabilities add up to more than 1".into()));
        }
        let Latency { median_ms, spread, per_token_ms } = self.latency;
        if [median_ms, spread, per_token_ms].iter().any(|figure| !(0.0..1e9).contains(figure)) {
            return Err(("latency".into(), "must be non-negative numbers".into()));
        }
        Ok(())
    }
}
