//! Decisions of a script before it asks anybody (docs/benchmarks/autoslurp.md §5.1).

use super::evidence::{has_one, intent, response};
use super::rules::Rules;
use crate::data::is_external;

/// Decision about an item before any final judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate<'c> {
    /// It is wrong, with what is printed.
    Wrong(&'static str),
    /// A line without a word is printed, then the final judge is asked.
    Neutral,
    /// The slot judge is asked about this answer of a server, then the final judge.
    Slots(&'c str),
    /// Only the final judge is asked.
    Open,
}

/// Evidence found in a log, and the decision that follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Examined<'c> {
    /// Predicted intent as the script reads it; `None` if it finds none.
    pub(super) intent: Option<&'c str>,
    /// Answer of a server; `None` if the script finds none.
    pub(super) response: Option<&'c str>,
    /// Decision that follows.
    pub(super) gate: Gate<'c>,
}

/// Examines what a script reads of a log, for an item whose gold is external or local.
pub(super) fn examine<'c>(rules: &Rules, content: &'c str, gold_is_external: bool) -> Examined<'c> {
    let intent = intent(rules.shape, content);
    let response = response(rules.last_response, content);
    let gate = match (intent, response) {
        (None, _) if has_one(rules.fallback_tokens, content) => Gate::Open,
        (None, _) => Gate::Wrong(rules.no_evidence),
        (Some(intent), _) if is_external(intent) => external(rules, content, gold_is_external),
        (Some(_), None) => Gate::Wrong(rules.no_response),
        (Some(_), Some(response)) => Gate::Slots(response),
    };
    Examined { intent, response, gate }
}

/// An external intent was predicted.
fn external<'c>(rules: &Rules, content: &str, gold_is_external: bool) -> Gate<'c> {
    if !gold_is_external {
        return if rules.classes_must_agree { Gate::Wrong(rules.other_class) } else { Gate::Neutral };
    }
    match rules.external_tokens {
        Some(tokens) if !has_one(tokens, content) => Gate::Wrong(rules.no_evidence),
        _ => Gate::Neutral,
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::Script;

    use super::*;

    const ANSWER: &str = r#"{"code":"SUCCESS","data":{},"msg":"success"}"#;

    fn gate(script: Option<Script>, content: &str, gold_is_external: bool) -> Gate<'_> {
        examine(&Rules::of(script), content, gold_is_external).gate
    }

    #[test]
    fn a_value_that_sounds_external_makes_a_local_item_wrong() {
        let log = format!("http://h/calendar?event_name=general meeting&intent=calendar_set\n\n{ANSWER}");
        assert_eq!(gate(None, &log, false), Gate::Wrong("the result is wrong. intent error."));
        let log = format!("http://h/calendar?intent=calendar_set&event_name=general%20meeting\n\n{ANSWER}");
        assert_eq!(gate(None, &log, false), Gate::Wrong("the result is wrong. intent error."));
        let log = format!("http://h/calendar?intent=calendar_set&event_name=a%20general%20meeting\n\n{ANSWER}");
        assert_eq!(gate(None, &log, false), Gate::Slots(ANSWER), "what follows the percent sign is not looked at");
    }

    #[test]
    fn an_external_prediction_needs_an_answer_only_in_the_copies_of_langgraph() {
        assert_eq!(gate(Some(Script::Agentlite), "intent:qa_stock,", true), Gate::Neutral);
        assert_eq!(
            gate(Some(Script::Langgraph), "intent:qa_stock,", true),
            Gate::Wrong("the result is wrong. no server response.")
        );
        assert_eq!(gate(Some(Script::LanggraphDeepseek), "\"intent\":\"qa_stock\", \"latitude\"", true), Gate::Neutral);
        assert_eq!(
            gate(Some(Script::Langgraph), "intent:qa_stock, \"latitude\"", true),
            Gate::Wrong("the result is wrong. no server response.")
        );
    }

    #[test]
    fn the_copies_of_camelai_let_an_external_prediction_for_a_local_item_pass() {
        assert_eq!(gate(Some(Script::Camelai), "intent:qa_stock,", false), Gate::Neutral);
        assert_eq!(gate(Some(Script::CamelaiDeepseek), "intent:qa_stock", false), Gate::Neutral);
    }

    #[test]
    fn without_an_intent_any_answer_or_chat_leads_to_the_final_judge() {
        assert_eq!(gate(None, "general_quirky", false), Gate::Open);
        assert_eq!(gate(None, "\"amount\": 1", true), Gate::Open);
        assert_eq!(
            gate(Some(Script::Camelai), "\"amount\": 1", true),
            Gate::Wrong("the result is wrong. no server response.")
        );
        assert_eq!(gate(None, ANSWER, true), Gate::Open, "an answer of a simulated server has data, too");
    }

    #[test]
    fn an_intent_without_an_answer_is_wrong_with_words_that_differ() {
        assert_eq!(gate(None, "http://h?intent=a", false), Gate::Wrong("the result is wrong, no server response"));
        assert_eq!(gate(Some(Script::Camelai), "intent:a,", false), Gate::Wrong("the result is wrong"));
        assert_eq!(gate(Some(Script::CamelaiDeepseek), "intent:a", false), Gate::Wrong("the result is <Wrong>"));
    }
}
