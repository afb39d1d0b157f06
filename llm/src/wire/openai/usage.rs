//! Token counts and costs of an answer, wherever servers of this format report them.

use regatta_proto::{Money, Usage};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::wire::trouble::Bill;

/// Largest believable count, of a hundred times the longest contexts; a larger one is a defect of the endpoint and would spoil every sum. With
/// 2^40 of an expensive model some hundred calls came to more money than a column of the ledger holds, and the sweep to no end.
const TOKENS_MAX: u64 = 1 << 30;

/// Prompt tokens read from a cache: OpenAI and most others, DeepSeek, LiteLLM, Together.
const CACHED: [&str; 4] =
    ["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens", "/cache_read_input_tokens", "/cached_tokens"];
/// Prompt tokens written to a cache: OpenRouter, LiteLLM.
const WRITTEN: [&str; 3] = [
    "/prompt_tokens_details/cache_write_tokens",
    "/cache_creation_input_tokens",
    "/prompt_tokens_details/cache_creation_tokens",
];
/// Prompt tokens that were written to a cache for an hour: LiteLLM.
const WRITTEN_1H: [&str; 2] = [
    "/prompt_tokens_details/cache_creation_token_details/ephemeral_1h_input_tokens",
    "/cache_creation/ephemeral_1h_input_tokens",
];
/// Prompt tokens that were written to a cache for five minutes: LiteLLM.
const WRITTEN_5M: [&str; 2] = [
    "/prompt_tokens_details/cache_creation_token_details/ephemeral_5m_input_tokens",
    "/cache_creation/ephemeral_5m_input_tokens",
];
/// Generated tokens that were reasoning: OpenAI and most others, SGLang.
const REASONING: [&str; 2] = ["/completion_tokens_details/reasoning_tokens", "/reasoning_tokens"];

/// Reads a `usage` object. The second value is `true` if all counts that cost money are present, and the parts are within their wholes,
/// which add up to the total; otherwise the cost of the call is unknown, not zero.
pub(crate) fn read(usage: &Value) -> (Usage, bool) {
    let is_there = |path: &str| usage.pointer(path).and_then(tokens).is_some();
    let (read, is_possible) = counted(usage);
    (read, is_possible && is_there("/prompt_tokens") && is_there("/completion_tokens"))
}

/// Reads the counts of a `usage` object, 0 where they are missing. The second value is `true` if the parts are within their wholes, and these
/// add up to the total.
pub(crate) fn counted(usage: &Value) -> (Usage, bool) {
    let meter = |path: &str| usage.pointer(path).and_then(tokens);
    let told_at = |paths: &[&str]| paths.iter().find_map(|path| meter(path));
    let first = |paths: &[&str]| told_at(paths).unwrap_or(0);
    let (input, mut output) = (meter("/prompt_tokens").unwrap_or(0), meter("/completion_tokens").unwrap_or(0));
    let reasoning = first(&REASONING);
    // Some servers (xAI) do not include reasoning in the generated tokens, which the total reveals.
    if reasoning > 0 && meter("/total_tokens") == Some(input + output + reasoning) {
        output += reasoning;
    }
    let (cached_input, cache_write_1h) = (first(&CACHED), first(&WRITTEN_1H));
    let parts = cache_write_1h.saturating_add(first(&WRITTEN_5M));
    let written = told_at(&WRITTEN).unwrap_or(parts);
    let cache_write = written.saturating_sub(cache_write_1h);
    let told = Usage { input, cached_input, cache_write, cache_write_1h, output, reasoning, unmetered_calls: 0 };
    possible(told, parts <= written && adds_up(&told, meter("/total_tokens")))
}

/// `true` if `total`, where it is told, is the sum of both wholes.
pub(crate) fn adds_up(told: &Usage, total: Option<u64>) -> bool {
    total.is_none_or(|total| total == told.input.saturating_add(told.output))
}

/// `told` and `true` if its parts are within their wholes and `others` says so of what it does not hold. Else the wholes alone, as
/// those of an unmetered call, and `false`: of counts that contradict each other nobody knows which one is wrong.
pub(crate) fn possible(told: Usage, others: bool) -> (Usage, bool) {
    let of_input = told.cached_input.saturating_add(told.cache_write).saturating_add(told.cache_write_1h);
    if others && of_input <= told.input && told.reasoning <= told.output {
        return (told, true);
    }
    (Usage { input: told.input, output: told.output, ..Usage::default() }.of_unmetered_call(), false)
}

/// Usage and tier of a whole body, or of an event of a stream.
pub(crate) const BILL: Bill = Bill {
    usage: |body| body.get("usage").and_then(billed),
    tier: |body| body.get("service_tier").and_then(Value::as_str),
};

/// Tokens in the `usage` object of an unusable answer; `None` if a count that costs money is missing, or the prompt was not counted.
pub(super) fn billed(usage: &Value) -> Option<Usage> {
    let (usage, is_known) = read(usage);
    (is_known && usage.input > 0).then_some(usage)
}

/// The cost in dollars that OpenRouter and similar gateways report. With the caller's own key at the provider, `cost` is the gateway's fee
/// alone, and the provider's part is reported separately or not at all.
pub(crate) fn cost(usage: &Value) -> Option<Money> {
    let dollars = |path: &str| usage.pointer(path).and_then(Value::as_f64).and_then(Money::from_dollars);
    let cost = dollars("/cost")?;
    if usage.get("is_byok").and_then(Value::as_bool) != Some(true) {
        return Some(cost);
    }
    dollars("/cost_details/upstream_inference_cost").map(|upstream| cost + upstream)
}

/// The cost in dollars that LiteLLM reports in a header of whole answers, but not of streamed ones.
pub(crate) fn cost_in(headers: &HeaderMap) -> Option<Money> {
    let dollars: f64 = headers.get("x-litellm-response-cost")?.to_str().ok()?.trim().parse().ok()?;
    Money::from_dollars(dollars)
}

/// Reads a count; gateways in dynamic languages sometimes send floats.
pub(crate) fn tokens(value: &Value) -> Option<u64> {
    let whole =
        |number: f64| (number >= 0.0 && number.fract() == 0.0 && number < TOKENS_MAX as f64).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(whole)).filter(|count| *count < TOKENS_MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_meter_has_its_place() {
        let usage = json!({
            "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 3}
        });
        let expected = Usage { input: 10, cached_input: 4, output: 5, reasoning: 3, ..Usage::default() };
        assert_eq!(read(&usage), (expected, true));
    }

    #[test]
    fn deepseek_tells_hits_of_the_cache_under_its_own_name() {
        let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 4});
        assert_eq!(read(&usage).0, Usage { input: 10, cached_input: 6, output: 5, ..Usage::default() });
    }

    #[test]
    fn tokens_written_to_a_cache_are_told_apart_by_how_long_they_stay() {
        let usage = json!({
            "prompt_tokens": 100, "completion_tokens": 5, "cache_creation_input_tokens": 50, "cache_read_input_tokens": 20,
            "prompt_tokens_details": {
                "cached_tokens": 20, "cache_creation_tokens": 50,
                "cache_creation_token_details": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30}
            }
        });
        let expected =
            Usage { input: 100, cached_input: 20, cache_write: 20, cache_write_1h: 30, output: 5, ..Usage::default() };
        assert_eq!(read(&usage).0, expected);
        let parts_alone = json!({
            "prompt_tokens": 100, "completion_tokens": 5, "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30},
        });
        assert_eq!(read(&parts_alone), (Usage { cached_input: 0, ..expected }, true));
    }

    #[test]
    fn reasoning_that_the_generated_tokens_leave_out_is_added() {
        let details = json!({"reasoning_tokens": 30});
        let apart = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45, "completion_tokens_details": details});
        let within = json!({"prompt_tokens": 10, "completion_tokens": 35, "total_tokens": 45, "completion_tokens_details": details});
        assert_eq!(read(&apart).0, Usage { input: 10, output: 35, reasoning: 30, ..Usage::default() });
        assert_eq!(read(&within), read(&apart));
    }

    #[test]
    fn parts_beyond_their_whole_make_the_usage_unknown() {
        for (more, details) in [
            (json!({"prompt_tokens_details": {"cached_tokens": 11}}), "more read from the cache than there was"),
            (json!({"prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 3}}), "more read and written"),
            (
                json!({"cache_creation_input_tokens": 2, "cache_creation": {"ephemeral_1h_input_tokens": 3}}),
                "for an hour",
            ),
            (
                json!({"cache_creation_input_tokens": 2, "cache_creation": {"ephemeral_5m_input_tokens": 3}}),
                "for five minutes",
            ),
            (json!({"completion_tokens_details": {"reasoning_tokens": 6}}), "more thought than generated"),
            (json!({"total_tokens": 999_999}), "more in all than in both wholes"),
            (json!({"total_tokens": 14}), "less"),
        ] {
            let mut usage = json!({"prompt_tokens": 10, "completion_tokens": 5});
            more.as_object().unwrap().iter().for_each(|(name, value)| usage[name] = value.clone());
            let wholes = Usage { input: 10, output: 5, ..Usage::default() }.of_unmetered_call();
            assert_eq!((read(&usage), billed(&usage)), ((wholes, false), None), "{details}");
        }
    }

    #[test]
    fn a_cost_in_dollars_is_money_unless_only_the_gateways_fee_is_told() {
        for (usage, expected) in [
            (json!({"cost": 0.00123}), Some(Money(1_230_000))),
            (json!({"cost": 0, "is_byok": false, "cost_details": {"upstream_inference_cost": null}}), Some(Money(0))),
            (
                json!({"cost": 0.00005, "is_byok": true, "cost_details": {"upstream_inference_cost": 0.001}}),
                Some(Money(1_050_000)),
            ),
            (json!({"cost": 0.00005, "is_byok": true}), None),
            (json!({"cost": -1}), None),
            (json!({"cost": {"total": 1}}), None),
            (json!({}), None),
        ] {
            assert_eq!(cost(&usage), expected, "{usage}");
        }
    }

    #[test]
    fn missing_or_absurd_meters_are_unknown() {
        for usage in [
            json!(null),
            json!({}),
            json!({"prompt_tokens": 10}),
            json!({"prompt_tokens": 10, "completion_tokens": null}),
            json!({"prompt_tokens": 10, "completion_tokens": -1}),
            json!({"prompt_tokens": 10, "completion_tokens": 1.5}),
            json!({"prompt_tokens": 10, "completion_tokens": u64::MAX}),
            json!({"prompt_tokens": 10, "completion_tokens": 1_u64 << 30}),
            json!({"prompt_tokens": 10, "completion_tokens": 1_073_741_824.0}),
            json!({"prompt_tokens": 10, "completion_tokens": 1e300}),
        ] {
            let (read, known) = read(&usage);
            assert!(!known && read.output == 0, "{usage}");
        }
        assert!(read(&json!({"prompt_tokens": 10.0, "completion_tokens": 5.0})).1);
    }
}
