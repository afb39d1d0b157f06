//! Token meters, normalised once per wire format.

use std::ops::AddAssign;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Reply;

/// Tokens of one or several calls. `cached_input`, `cache_write` and `cache_write_1h` are disjoint parts of `input`; `reasoning` is
/// part of `output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Usage {
    /// Prompt tokens, all of them.
    pub input: u64,
    /// Prompt tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_input: u64,
    /// Prompt tokens written to the provider's cache, for its usual five minutes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Prompt tokens written to the provider's cache for an hour.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_1h: u64,
    /// Generated tokens, reasoning included.
    pub output: u64,
    /// Generated tokens that were reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

const fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Usage {
    /// Prompt tokens neither read from a cache nor written to one.
    #[must_use]
    pub const fn plain_input(&self) -> u64 {
        self.input
            .saturating_sub(self.cached_input)
            .saturating_sub(self.cache_write)
            .saturating_sub(self.cache_write_1h)
    }

    /// `true` if an answer of `reply` can have billed it: no prompt is of zero tokens, and nothing is said with none. Gateways that do not
    /// know send zeros (LiteLLM's streams of Gemini).
    #[must_use]
    pub fn can_be_of(&self, reply: &Reply) -> bool {
        self.input > 0 && (self.output > 0 || reply.answer_bytes() == 0)
    }

    /// Prompt and generated tokens together: what limits per minute count.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.cached_input += other.cached_input;
        self.cache_write += other.cache_write;
        self.cache_write_1h += other.cache_write_1h;
        self.output += other.output;
        self.reasoning += other.reasoning;
    }
}
