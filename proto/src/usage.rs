//! Token counts in a common form for all wire formats.

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
    /// All prompt tokens.
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
    /// Generated tokens, including reasoning.
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

    /// `true` if an answer with `reply` can have this usage: no prompt has zero tokens, and no text is generated with zero tokens. Gateways
    /// that do not know the usage send zeros (LiteLLM's streams of Gemini).
    #[must_use]
    pub fn can_be_of(&self, reply: &Reply) -> bool {
        self.input > 0 && (self.output > 0 || reply.answer_bytes() == 0)
    }

    /// Sum of prompt and generated tokens, which limits per minute count.
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
