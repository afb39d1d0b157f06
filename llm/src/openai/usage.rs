//! Token meters of an answer.

use regatta_proto::Usage;
use serde_json::Value;

/// No call bills more; a figure beyond it is a defect of the endpoint and would spoil every sum.
const TOKENS_MAX: u64 = 1 << 40;

/// Reads a `usage` object. The second value says whether the meters that cost money were there: where they were not, the cost of the
/// call is unknown, not zero.
pub(crate) fn read(usage: &Value) -> (Usage, bool) {
    let meter = |path: &str| usage.pointer(path).and_then(tokens);
    let (input, output) = (meter("/prompt_tokens"), meter("/completion_tokens"));
    let read = Usage {
        input: input.unwrap_or(0),
        cached_input: meter("/prompt_tokens_details/cached_tokens").unwrap_or(0),
        output: output.unwrap_or(0),
        reasoning: meter("/completion_tokens_details/reasoning_tokens").unwrap_or(0),
        ..Usage::default()
    };
    (read, input.is_some() && output.is_some())
}

/// Gateways in dynamic languages send whole floats now and then.
fn tokens(value: &Value) -> Option<u64> {
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
        assert_eq!(read(&usage), (Usage { input: 10, cached_input: 4, output: 5, reasoning: 3, ..Usage::default() }, true));
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
            json!({"prompt_tokens": 10, "completion_tokens": 1e300}),
        ] {
            let (read, known) = read(&usage);
            assert!(!known && read.output == 0, "{usage}");
        }
        assert!(read(&json!({"prompt_tokens": 10.0, "completion_tokens": 5.0})).1);
    }
}
