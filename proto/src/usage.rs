//! Token counts in a common form for all wire formats.

use std::ops::AddAssign;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Reply;

/// Tokens of one or several calls; a lower bound if `unmetered_calls` is not zero. `cached_input`, `cache_write` and `cache_write_1h` are disjoint parts of `input`; `reasoning` is
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
    /// Answered calls whose tokens the endpoint did not tell, or told as what no answer can have. The counts hold at most a part of theirs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unmetered_calls: u64,
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
        self.unmetered_calls == 0 && self.input > 0 && (self.output > 0 || reply.answer_bytes() == 0)
    }

    /// The usage of one call whose tokens are unknown, with what was told of them.
    #[must_use]
    pub const fn of_unmetered_call(self) -> Self {
        Self { unmetered_calls: 1, ..self }
    }

    /// The usage of an answer with `reply`, as it counts in sums: that of an unmetered call, unless such an answer can have it.
    #[must_use]
    pub fn of_answer(self, reply: &Reply) -> Self {
        if self.can_be_of(reply) { self } else { self.of_unmetered_call() }
    }

    /// The usage if it is complete, for readers that cannot take a lower bound.
    #[must_use]
    pub fn complete(self) -> Option<Self> {
        Some(self).filter(|usage| usage.unmetered_calls == 0)
    }

    /// The usage of an attempt by the two fields of its line in `attempts.jsonl`: complete, or else what is known of it.
    #[must_use]
    pub fn of_fields(complete: Option<Self>, known: Option<Self>) -> Self {
        complete.or(known).unwrap_or_else(|| Self::default().of_unmetered_call())
    }

    /// `count` of this usage for a reader: written by `format`, and as a lower bound if the usage is not complete.
    #[must_use]
    pub fn shown(&self, count: u64, format: impl Fn(u64) -> String) -> String {
        match (count, self.unmetered_calls) {
            (_, 0) => format(count),
            (0, _) => "unknown".to_owned(),
            (_, _) => format!("≥ {}", format(count)),
        }
    }

    /// Sum of prompt and generated tokens, which limits per minute count.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Transcripts and lines of attempts may be of others: a count that no sum holds stays the most that there is.
impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached_input = self.cached_input.saturating_add(other.cached_input);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_1h = self.cache_write_1h.saturating_add(other.cache_write_1h);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.unmetered_calls = self.unmetered_calls.saturating_add(other.unmetered_calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Finish;

    #[test]
    fn tokens_that_no_answer_can_have_are_unknown_and_not_0() {
        let text = Reply::of_text(Some("yes"), Finish::Stop);
        let told = Usage { input: 10, output: 1, ..Usage::default() };
        let mut sum = told.of_answer(&text);
        assert_eq!((sum.complete(), sum.shown(sum.input, |count| count.to_string())), (Some(told), "10".to_owned()));
        sum += Usage::default().of_answer(&text);
        assert_eq!((sum.complete(), sum.unmetered_calls), (None, 1));
        assert_eq!(sum.shown(sum.input, |count| count.to_string()), "≥ 10");
        let nothing = Usage::default().of_answer(&text);
        assert_eq!(nothing.shown(nothing.output, |count| count.to_string()), "unknown");
    }

    #[test]
    fn counts_of_others_that_no_sum_holds_do_not_begin_anew() {
        let most = Usage {
            input: u64::MAX,
            cached_input: u64::MAX,
            cache_write: u64::MAX,
            cache_write_1h: u64::MAX,
            output: u64::MAX,
            reasoning: u64::MAX,
            unmetered_calls: u64::MAX,
        };
        let mut sum = most;
        sum += most;
        assert_eq!(sum, most);
    }
}
