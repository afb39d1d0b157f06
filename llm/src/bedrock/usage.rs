//! Token counts of an answer. Like Anthropic's, `inputTokens` does not include tokens read from the cache or written to it.

use regatta_proto::Usage;
use serde_json::Value;

use crate::wire::openai::usage::{possible, tokens};

/// Reads a `usage` object. The second value is `true` if all counts that cost money are present, and no more was written for
/// an hour than was written.
pub(super) fn read(usage: &Value) -> (Usage, bool) {
    let meter = |name: &str| usage.get(name).and_then(tokens);
    let (plain, output) = (meter("inputTokens"), meter("outputTokens"));
    let cached_input = meter("cacheReadInputTokens").unwrap_or(0);
    let details = usage.get("cacheDetails").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let hour = details.iter().filter(|detail| detail.get("ttl").and_then(Value::as_str) == Some("1h"));
    let hour: u64 = hour.filter_map(|detail| detail.get("inputTokens").and_then(tokens)).fold(0, u64::saturating_add);
    let written = meter("cacheWriteInputTokens").unwrap_or(0);
    let told = Usage {
        input: plain.unwrap_or(0) + cached_input + written,
        cached_input,
        cache_write: written.saturating_sub(hour),
        cache_write_1h: hour,
        output: output.unwrap_or(0),
        // Converse counts reasoning as output, and does not report it separately.
        reasoning: 0,
        unmetered_calls: 0,
    };
    let (read, is_possible) = possible(told, hour <= written);
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
    fn more_written_for_an_hour_than_was_written_makes_the_usage_unknown() {
        let details = json!([{"ttl": "1h", "inputTokens": 3}]);
        let usage = json!({"inputTokens": 10, "outputTokens": 5, "cacheWriteInputTokens": 2, "cacheDetails": details});
        assert!(!read(&usage).1);
    }

    #[test]
    fn missing_or_absurd_meters_are_unknown() {
        for usage in [json!(null), json!({"inputTokens": 1}), json!({"inputTokens": 1, "outputTokens": -1})] {
            assert!(!read(&usage).1, "{usage}");
        }
    }
}
