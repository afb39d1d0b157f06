//! Token counts of an answer. Like Anthropic's, `inputTokens` does not include tokens read from the cache or written to it.

use regatta_proto::Usage;
use serde_json::Value;

use crate::wire::openai::usage::{possible, tokens};

/// Reads a `usage` object. The second value is `true` if all counts that cost money are present, and the parts of what was written are no
/// more than that.
pub(super) fn read(usage: &Value) -> (Usage, bool) {
    let meter = |name: &str| usage.get(name).and_then(tokens);
    let (plain, output) = (meter("inputTokens"), meter("outputTokens"));
    let cached_input = meter("cacheReadInputTokens").unwrap_or(0);
    let details = usage.get("cacheDetails").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of_ttl = |wanted: &dyn Fn(Option<&str>) -> bool| {
        let those = details.iter().filter(|detail| wanted(detail.get("ttl").and_then(Value::as_str)));
        those.filter_map(|detail| detail.get("inputTokens").and_then(tokens)).fold(0, u64::saturating_add)
    };
    let (hour, parts) = (of_ttl(&|ttl| ttl == Some("1h")), of_ttl(&|_| true));
    let written = meter("cacheWriteInputTokens").unwrap_or(parts);
    let told = Usage {
        input: plain.unwrap_or(0).saturating_add(cached_input).saturating_add(written),
        cached_input,
        cache_write: written.saturating_sub(hour),
        cache_write_1h: hour,
        output: output.unwrap_or(0),
        // Converse counts reasoning as output, and does not report it separately.
        reasoning: 0,
        unmetered_calls: 0,
    };
    let (read, is_possible) = possible(told, parts <= written);
    (read, is_possible && plain.is_some() && output.is_some())
}

#[cfg(test)]
mod tests {
    use regatta_proto::{Circumstances, Money, Price};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_prompt_is_the_sum_of_what_was_read_written_and_neither() {
        let usage = json!({
            "inputTokens": 21, "outputTokens": 40, "totalTokens": 3561, "cacheReadInputTokens": 3000,
            "cacheWriteInputTokens": 500,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 300}, {"ttl": "5m", "inputTokens": 200}]
        });
        let expected = Usage {
            input: 3521,
            cached_input: 3000,
            cache_write: 200,
            cache_write_1h: 300,
            output: 40,
            reasoning: 0,
            unmetered_calls: 0,
        };
        assert_eq!(read(&usage), (expected, true));
        assert_eq!(expected.total(), 3561);
    }

    #[test]
    fn cached_tokens_are_charged_once() {
        let usage = json!({"inputTokens": 1_000_000, "outputTokens": 0, "cacheReadInputTokens": 1_000_000});
        let price = Price { cached_input_per_mtok: Some(0.3), ..Price::per_mtok(3.0, 15.0) };
        assert_eq!(price.cost(&read(&usage).0, &Circumstances::default()), Some(Money(3_300_000_000)));
    }

    #[test]
    fn more_written_for_a_time_than_was_written_makes_the_usage_unknown() {
        let of = |ttl: &str, tokens: u64| json!({"ttl": ttl, "inputTokens": tokens});
        for details in [json!([of("1h", 3)]), json!([of("5m", 3)]), json!([of("1h", 2), of("5m", 1)])] {
            let usage =
                json!({"inputTokens": 10, "outputTokens": 5, "cacheWriteInputTokens": 2, "cacheDetails": details});
            assert!(!read(&usage).1, "{usage}");
        }
    }

    #[test]
    fn missing_or_absurd_meters_are_unknown() {
        for usage in [json!(null), json!({"inputTokens": 1}), json!({"inputTokens": 1, "outputTokens": -1})] {
            assert!(!read(&usage).1, "{usage}");
        }
    }
}
