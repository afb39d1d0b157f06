use regatta_proto::{Filtered, Outcome};
use serde_json::json;

use super::*;

#[test]
fn the_table_has_one_row_for_each_class_in_its_place() {
    for (place, row) in TABLE.iter().enumerate() {
        assert_eq!(row.class as usize, place, "{:?}", row.class);
        assert_eq!(rule(row.class), row);
    }
    // The last class; a further one without a row would be out of the table's bounds.
    assert_eq!(ErrorClass::CacheMiss as usize + 1, TABLE.len());
}

#[test]
fn outcomes_are_those_of_the_table() {
    for row in &TABLE {
        let outcome = Outcome::of_failure(row.class, Filtered::Wrong);
        assert_eq!(outcome.cause(), Some(row.cause), "{:?}", row.class);
        let is_model_failure = matches!(outcome, Outcome::ModelFailure { .. });
        let counts_against_model = matches!(row.fault, Fault::Model | Fault::Filter);
        assert_eq!(counts_against_model, is_model_failure, "only the model's fault is its failure: {:?}", row.class);
    }
}

#[test]
fn the_words_of_the_table_are_those_of_transcripts() {
    for row in &TABLE {
        assert_eq!(serde_json::to_value(row.class).unwrap(), row.word);
        assert!(row.meaning.ends_with('.'), "{}", row.meaning);
    }
}

#[test]
fn only_what_is_tried_again_can_be_poison_or_hold_the_endpoint() {
    for row in TABLE.iter().filter(|row| row.counts_as_poison || row.holds_endpoint) {
        assert!(row.retried, "{:?}", row.class);
    }
}

#[test]
fn the_table_reads_as_documented() {
    let mark = |yes: bool| if yes { "x" } else { "-" };
    let lines: Vec<String> = TABLE
        .iter()
        .map(|row| {
            let marks = [row.retried, row.holds_endpoint, row.counts_as_poison, row.maybe_billed, row.keeps_request];
            let marks = marks.map(mark).join(" ");
            format!("{:<15} {marks} {:<8?} {}", row.word, row.fault, row.cause)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

fn class(status: u16, error: serde_json::Value) -> ErrorClass {
    let info = ErrorInfo::find(&json!({ "error": error }), true);
    event_of_status(status, info.as_ref()).class()
}

#[test]
fn what_a_provider_says_goes_before_its_status() {
    use ErrorClass::*;
    for (status, error, expected) in [
        (429, json!({"code": "insufficient_quota", "message": "You exceeded your current quota"}), Quota),
        (
            429,
            json!({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota"}),
            RateLimited,
        ),
        (400, json!({"type": "invalid_request_error", "message": "Your credit balance is too low to go on"}), Quota),
        (400, json!({"code": "billing_hard_limit_reached", "message": "m"}), Quota),
        (402, json!({"message": "m"}), Quota),
        (400, json!({"code": "content_filter", "message": "m"}), ContentFilter),
        (
            400,
            json!({"code": null, "innererror": {"code": "ResponsibleAIPolicyViolation"}, "message": "m"}),
            ContentFilter,
        ),
        (403, json!({"code": 403, "message": "The model needs moderation and your input was flagged"}), ContentFilter),
        (400, json!({"code": "context_length_exceeded", "message": "m"}), ContextLength),
        (400, json!({"type": "rate_limit_error", "message": "m"}), BadRequest),
        (500, json!({"code": "content_filter", "message": "m"}), Server),
        (529, json!({"type": "overloaded_error", "message": "m"}), Server),
    ] {
        assert_eq!(class(status, error.clone()), expected, "{status} {error}");
    }
}

#[test]
fn an_error_inside_a_200_is_read_by_its_words_then_by_its_number() {
    use ErrorClass::*;
    for (error, expected) in [
        (json!({"code": 400, "message": "blocked by content filtering policy"}), ContentFilter),
        (json!({"code": 402, "message": "m"}), Quota),
        (json!({"code": 503, "type": "rate_limit", "message": "m"}), Server),
        (json!({"status": "RESOURCE_EXHAUSTED", "message": "m"}), RateLimited),
        (json!({"type": "overloaded_error", "message": "m"}), Server),
        (json!({"type": "permission_error", "message": "m"}), Auth),
        (json!({"type": "no word known", "message": "m"}), Server),
        (json!("try again"), Server),
    ] {
        let info = ErrorInfo::find(&json!({ "error": error }), false).unwrap();
        assert_eq!(event_of_error_in_200(&info).class(), expected, "{error}");
    }
}
