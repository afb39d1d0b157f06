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
