//! Token counts of an answer. `promptTokenCount` includes tokens read from the cache; reasoning, and the prompts of the provider's own
//! tools, are counted separately. Counts of zero are left out.

use regatta_proto::Usage;
use serde_json::Value;

use crate::wire::openai::usage::{adds_up, possible, tokens};
use crate::wire::trouble::Bill;

/// Reads a `usageMetadata` object. The second value is `true` if all counts that cost money are present and add up to the total, and no
/// more was read from the cache than there was.
pub(super) fn read(usage: &Value) -> (Usage, bool) {
    let meter = |name: &str| usage.get(name).and_then(tokens);
    let prompt = meter("promptTokenCount");
    let input = prompt.unwrap_or(0) + meter("toolUsePromptTokenCount").unwrap_or(0);
    let reasoning = meter("thoughtsTokenCount").unwrap_or(0);
    let told = Usage {
        input,
        cached_input: meter("cachedContentTokenCount").unwrap_or(0),
        output: meter("candidatesTokenCount").unwrap_or(0) + reasoning,
        reasoning,
        ..Usage::default()
    };
    let (read, is_possible) = possible(told, adds_up(&told, meter("totalTokenCount")));
    (read, is_possible && prompt.is_some())
}

/// Usage and tier of a body or event.
pub(super) const BILL: Bill =
    Bill { usage: |body| billed(body.get("usageMetadata")?), tier: |body| tier(body.get("usageMetadata")?) };

/// Tokens in the `usageMetadata` object of an unusable answer; `None` if the prompt was not counted.
pub(super) fn billed(usage: &Value) -> Option<Usage> {
    let (usage, is_known) = read(usage);
    (is_known && usage.input > 0).then_some(usage)
}

/// The service tier, in capitals; prices ignore the case.
pub(super) fn tier(usage: &Value) -> Option<&str> {
    usage.get("serviceTier").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use regatta_proto::{Circumstances, Money, Price};
    use serde_json::json;

    use super::*;

    #[test]
    fn thoughts_are_output_and_the_providers_tools_input() {
        let usage = json!({
            "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 20, "thoughtsTokenCount": 35,
            "toolUsePromptTokenCount": 7, "totalTokenCount": 162
        });
        let (read, is_known) = read(&usage);
        assert_eq!(read, Usage { input: 107, cached_input: 60, output: 55, reasoning: 35, ..Usage::default() });
        assert!(is_known);
        assert_eq!(read.total(), 162);
    }

    #[test]
    fn cached_tokens_are_charged_once() {
        let usage = json!({"promptTokenCount": 2_000_000, "cachedContentTokenCount": 1_000_000, "candidatesTokenCount": 1_000_000});
        let price = Price { cached_input_per_mtok: Some(0.125), ..Price::per_mtok(1.25, 10.0) };
        assert_eq!(price.cost(&read(&usage).0, &Circumstances::default()), Some(Money(11_375_000_000)));
    }

    #[test]
    fn an_unusable_answer_with_a_prompt_of_zero_tokens_was_not_counted() {
        assert_eq!(billed(&json!({"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0})), None);
        assert_eq!(billed(&json!({"promptTokenCount": 9})), Some(Usage { input: 9, ..Usage::default() }));
    }

    #[test]
    fn more_read_from_the_cache_than_there_was_makes_the_usage_unknown() {
        let usage = json!({"promptTokenCount": 10, "cachedContentTokenCount": 50, "candidatesTokenCount": 5});
        let wholes = Usage { input: 10, output: 5, ..Usage::default() }.of_unmetered_call();
        assert_eq!((read(&usage), billed(&usage)), ((wholes, false), None));
        let usage = json!({"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 99});
        assert_eq!((read(&usage), billed(&usage)), ((wholes, false), None), "a total that is another sum");
    }

    #[test]
    fn a_blocked_prompt_has_no_candidates_to_count() {
        assert_eq!(read(&json!({"promptTokenCount": 9})), (Usage { input: 9, ..Usage::default() }, true));
        assert!(!read(&json!({"candidatesTokenCount": 9})).1);
        assert!(!read(&json!({"promptTokenCount": -1})).1);
    }
}
