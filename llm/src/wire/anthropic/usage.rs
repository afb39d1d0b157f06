//! Token counts of an answer. Anthropic's `input_tokens` does not include tokens read from the cache or written to it; the sum of the three
//! is the prompt.

use regatta_proto::Usage;
use serde_json::Value;

use crate::wire::openai::usage::{possible, tokens};
use crate::wire::trouble::Bill;

/// Reads a `usage` object. The second value is `true` if all counts that cost money are present, and the parts are within
/// their wholes.
pub(super) fn read(usage: &Value) -> (Usage, bool) {
    let meter = |path: &str| usage.pointer(path).and_then(tokens);
    let (plain, output) = (meter("/input_tokens"), meter("/output_tokens"));
    let cached_input = meter("/cache_read_input_tokens").unwrap_or(0);
    let hour = meter("/cache_creation/ephemeral_1h_input_tokens").unwrap_or(0);
    let minutes = meter("/cache_creation/ephemeral_5m_input_tokens").unwrap_or(0);
    // The sum is billed; the parts only determine the price.
    let written = meter("/cache_creation_input_tokens").unwrap_or(minutes + hour);
    let told = Usage {
        input: plain.unwrap_or(0) + cached_input + written,
        cached_input,
        cache_write: written.saturating_sub(hour),
        cache_write_1h: hour,
        output: output.unwrap_or(0),
        reasoning: meter("/output_tokens_details/thinking_tokens").unwrap_or(0),
        unmetered_calls: 0,
    };
    let (read, is_possible) = possible(told, hour.saturating_add(minutes) <= written);
    (read, is_possible && plain.is_some() && output.is_some())
}

/// Usage and tier of a body or event.
pub(super) const BILL: Bill = Bill { usage: |body| billed(metered(body)?), tier: |body| tier(metered(body)?) };

fn metered(body: &Value) -> Option<&Value> {
    body.get("usage").or_else(|| body.pointer("/message/usage"))
}

/// Tokens in the `usage` object of an unusable answer; `None` if a count that costs money is missing.
pub(super) fn billed(usage: &Value) -> Option<Usage> {
    let (usage, is_known) = read(usage);
    (is_known && usage.input > 0).then_some(usage)
}

/// The variant with a price of its own, of the two in a `usage` object: the speed, unless it is the standard one, or the tier.
pub(super) fn tier(usage: &Value) -> Option<&str> {
    let text = |name: &str| usage.get(name).and_then(Value::as_str);
    text("speed").filter(|speed| *speed != "standard").or_else(|| text("service_tier"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regatta_proto::{Circumstances, Money, Price};
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unusable_answer_with_a_prompt_of_zero_tokens_was_not_counted() {
        assert_eq!(billed(&json!({"input_tokens": 0, "output_tokens": 0})), None);
        let read = json!({"input_tokens": 0, "cache_read_input_tokens": 9, "output_tokens": 0});
        assert_eq!(billed(&read), Some(Usage { input: 9, cached_input: 9, ..Usage::default() }));
    }

    #[test]
    fn a_speed_of_its_own_price_is_told_before_the_tier_and_everybodys_is_not() {
        let told = |usage: Value| tier(&usage).map(str::to_owned);
        assert_eq!(told(json!({"speed": "fast", "service_tier": "standard"})).as_deref(), Some("fast"));
        assert_eq!(told(json!({"speed": "standard", "service_tier": "priority"})).as_deref(), Some("priority"));
        assert_eq!(told(json!({"speed": "standard"})), None);
    }

    #[test]
    fn the_prompt_is_the_sum_of_what_was_read_written_and_neither() {
        let usage = json!({
            "input_tokens": 21, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 3000,
            "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 300},
            "output_tokens": 40, "output_tokens_details": {"thinking_tokens": 30}, "service_tier": "standard"
        });
        let expected = Usage {
            input: 3521,
            cached_input: 3000,
            cache_write: 200,
            cache_write_1h: 300,
            output: 40,
            reasoning: 30,
            unmetered_calls: 0,
        };
        assert_eq!(read(&usage), (expected, true));
        assert_eq!(expected.plain_input(), 21);
    }

    #[test]
    fn cached_tokens_are_charged_once() {
        let usage = json!({
            "input_tokens": 1_000_000, "cache_creation_input_tokens": 1_000_000, "cache_read_input_tokens": 1_000_000,
            "output_tokens": 1_000_000
        });
        let price =
            Price { cached_input_per_mtok: Some(0.3), cache_write_per_mtok: Some(3.75), ..Price::per_mtok(3.0, 15.0) };
        let cost = price.cost(&read(&usage).0, &Circumstances::default());
        assert_eq!(cost, Some(Money(22_050_000_000)));
    }

    #[test]
    fn writes_without_a_breakdown_are_those_of_five_minutes() {
        let (usage, _) = read(&json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 7}));
        assert_eq!((usage.input, usage.cache_write, usage.cache_write_1h), (8, 7, 0));
    }

    #[test]
    fn missing_or_absurd_meters_are_unknown() {
        for usage in [json!(null), json!({"input_tokens": 1}), json!({"input_tokens": 1, "output_tokens": -1})] {
            assert!(!read(&usage).1, "{usage}");
        }
    }

    #[test]
    fn parts_beyond_their_whole_make_the_usage_unknown() {
        for more in [
            json!({"output_tokens_details": {"thinking_tokens": 6}}),
            json!({"cache_creation_input_tokens": 2, "cache_creation": {"ephemeral_1h_input_tokens": 3}}),
            json!({"cache_creation_input_tokens": 2, "cache_creation": {"ephemeral_5m_input_tokens": 3}}),
            json!({"cache_creation_input_tokens": 2, "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2}}),
        ] {
            let mut usage = json!({"input_tokens": 10, "output_tokens": 5});
            more.as_object().unwrap().iter().for_each(|(name, value)| usage[name] = value.clone());
            let (found, is_known) = read(&usage);
            assert_eq!(
                (is_known, found.reasoning, found.cache_write_1h, billed(&usage)),
                (false, 0, 0, None),
                "{usage}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_parts_of_a_prompt_never_exceed_it(
            plain in any::<u64>(), read_ in any::<u64>(), written in any::<Option<u64>>(),
            minutes in any::<u64>(), hour in any::<u64>(),
        ) {
            let (usage, _) = read(&json!({
                "input_tokens": plain, "cache_read_input_tokens": read_, "cache_creation_input_tokens": written,
                "cache_creation": {"ephemeral_5m_input_tokens": minutes, "ephemeral_1h_input_tokens": hour},
                "output_tokens": 1
            }));
            prop_assert!(usage.cached_input + usage.cache_write + usage.cache_write_1h <= usage.input);
        }
    }
}
