//! Drawings of requests.

use super::*;

/// Presence, label and detail of each node.
fn drawn(utterance: &Utterance, requests: Vec<Exchange>) -> Vec<String> {
    let drawing = drawing(utterance, WEDNESDAY, &run(requests, ""));
    let nodes = drawing.map(|drawing| drawing.nodes).unwrap_or_default();
    nodes.iter().map(|node| format!("{} {} | {}", node.presence.as_str(), node.label, node.detail)).collect()
}

#[test]
fn the_request_that_did_what_was_asked_is_matched_and_those_before_it_are_extra() {
    let failed = exchange("http://127.0.0.1:3008/lists?intent=nonsense", 500, "");
    let right = answer("3008/lists", "lists_query", json!({}), "here they are");
    assert_eq!(
        drawn(&utterance("lists_query", "[]"), vec![failed, right]),
        ["extra 1. 500: GET 127.0.0.1:3008/lists?intent=nonsense | ", "matched 2. lists_query() | lists_query()"]
    );
}

#[test]
fn a_request_with_another_intent_or_other_slots_is_changed_and_has_the_gold_beside_it() {
    let gold = utterance("calendar_set", "['date : today']");
    let other = answer("3002/calendar", "calendar_remove", json!({ "date": "2025-05-28" }), "done");
    let shown = drawn(&gold, vec![other]);
    assert_eq!(shown, ["changed 1. calendar_remove(date: 2025-05-28) | calendar_set(date: today)"]);
}

#[test]
fn what_was_never_requested_is_missing_and_talk_needs_no_request() {
    assert_eq!(drawn(&utterance("lists_query", "[]"), Vec::new()), ["missing lists_query() | "]);
    assert_eq!(drawn(&utterance("general_joke", "[]"), Vec::new()), Vec::<String>::new());
    let asked = exchange("https://nowhere.example/joke", 0, "");
    assert_eq!(
        drawn(&utterance("general_joke", "[]"), vec![asked]),
        ["extra 1. no answer: GET nowhere.example/joke | "]
    );
}

#[test]
fn a_request_to_the_service_that_an_intent_needs_stands_for_it() {
    let asked = exchange("https://api.open-meteo.com/v1/forecast?latitude=1", 500, "");
    let shown = drawn(&utterance("weather_query", "[]"), vec![asked]);
    assert!(shown[0].starts_with("changed 1. 500: GET api.open-meteo.com/v1/forecast"), "{shown:?}");
    assert!(shown[0].ends_with("| a request for weather_query"), "{shown:?}");
}

#[test]
fn of_very_many_requests_the_last_are_drawn() {
    let many = (0..80).map(|_| exchange("http://127.0.0.1:3008/lists", 404, "")).collect();
    let shown = drawn(&utterance("lists_query", "[]"), many);
    assert_eq!(shown.len(), 51, "and the gold");
    assert!(shown[0].starts_with("extra 31. 404: "), "{}", shown[0]);
}
