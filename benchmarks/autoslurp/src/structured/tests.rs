//! Each rule by itself.

mod blame;
mod gold;
mod intents;
mod requests;
mod servers_of_ours;
mod services;
mod words;

use std::collections::BTreeSet;

use jiff::civil::date;
use proptest::prelude::*;
use regatta_proto::{Exchange, MemberName};

use super::*;

const WEDNESDAY: Date = date(2025, 5, 28);
const SUNDAY: Date = date(2025, 6, 1);

fn utterance(intent: &str, slots: &str) -> Utterance {
    let [iid, text, domain] = ["7", "do it", "some"].map(str::to_owned);
    Utterance { iid, text, intent: intent.to_owned(), slots: slots.to_owned(), domain }
}

fn exchange(url: &str, status: u16, response: &str) -> Exchange {
    Exchange { method: "GET".into(), url: url.into(), body: None, status, response: response.into() }
}

/// Exchange with the server at `place`, for example `3002/calendar`.
fn answer(place: &str, intent: &str, slots: Value, said: &str) -> Exchange {
    let echo = json!({ "intent": intent, "slots": slots });
    let response = json!({ "code": "SUCCESS", "data": { "query": echo, "response": said }, "msg": "success" });
    exchange(&format!("http://127.0.0.1:{place}?intent={intent}"), 200, &response.to_string())
}

fn run(requests: Vec<Exchange>, said: &str) -> Run {
    Run {
        requests,
        final_text: Some("it is all done now".to_owned()),
        intent_output: Some(said.to_owned()),
        ..Run::default()
    }
}

/// The reason, and what is wrong with the slots.
fn local(utterance: &Utterance, requests: Vec<Exchange>) -> (String, Vec<String>) {
    reason(&score(utterance, WEDNESDAY, &run(requests, "")))
}

fn reason(score: &Score) -> (String, Vec<String>) {
    let errors = score.detail["errors"].as_array().unwrap().iter().map(|error| error.as_str().unwrap().to_owned());
    (score.detail["reason"].as_str().unwrap().to_owned(), errors.collect())
}

fn found(reason: &str, errors: &[&str]) -> (String, Vec<String>) {
    (reason.to_owned(), errors.iter().map(|error| (*error).to_owned()).collect())
}

/// Names of the causes of a failure.
fn causes(score: &Score) -> Vec<&'static str> {
    CAUSES.into_iter().filter(|cause| score.values[&format!("{}{cause}", value::FAIL)] > 0.0).collect()
}

#[test]
fn a_session_that_a_model_made_impossible_is_all_wrong() {
    for intent in ["calendar_set", "qa_stock", "general_joke"] {
        let failed = failure(&utterance(intent, "[]"));
        let of_reason = |name: &String| name.starts_with(value::REASON);
        let ones: Vec<&String> =
            failed.values.iter().filter(|(name, v)| **v > 0.0 && !of_reason(name)).map(|(name, _)| name).collect();
        assert_eq!(ones, [value::FAIL_NONE, value::FAILED]);
        assert_eq!(failed.detail["pass"], json!(false));
    }
}

#[test]
fn an_aggregate_needs_flat_values_alone() {
    let gold = utterance("lists_query", "[]");
    let right =
        score(&gold, WEDNESDAY, &run(vec![answer("3008/lists", "lists_query", json!({}), "x")], "intent:lists_query"));
    let mut wrong = failure(&utterance("qa_stock", "[]"));
    wrong.detail = Value::Null;
    let table = tabulate([("lists", &right), ("", &wrong), ("lists", &wrong)]);
    let intents = |n: u32, share: f64| json!({ "n": n, "strict": share, "ignore_slot_names": share });
    assert_eq!(
        table.aggregate,
        json!({
            "items": 3, "passes": 1, "success_rate": 1.0 / 3.0, "success_rate_lenient": 1.0 / 3.0,
            "reasons": { "ok": 1, "no_request": 2 },
            "intent_by_domain": { "": intents(1, 0.0), "lists": intents(2, 0.5) },
        })
    );
    assert_eq!(table.columns[0].1, Some(1.0 / 3.0));
    assert_eq!(tabulate([]).columns[0].1, None);
}

/// Texts with many of the words that rules look for.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        ".{0,12}",
        Just("intent:".to_owned()),
        Just("calendar_set".to_owned()),
        Just(",time:nine am".to_owned()),
        Just("\"slots\":{".to_owned()),
        Just("}".to_owned()),
        Just("{\"intent\":\"qa_stock\"".to_owned()),
        Just("['date : today',".to_owned()),
        Just("99:99".to_owned()),
        Just("http://127.0.0.1:3002/calendar?".to_owned()),
        Just("https://api.open-meteo.com/v1/forecast".to_owned()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

#[test]
fn what_nobody_knows_of_an_intent_agent_is_no_wrong_intent() {
    let gold = utterance("alarm_query", "[]");
    let stranger = score(&gold, WEDNESDAY, &Run::default());
    assert!(!stranger.values.contains_key(value::INTENT_STRICT) && !stranger.values.contains_key(value::INTENT_VALUES));
    let silent = Run { members: Some(BTreeSet::new()), ..Run::default() };
    assert_eq!(score(&gold, WEDNESDAY, &silent).values[value::INTENT_STRICT], 0.0);
    let table = tabulate([("alarm", &stranger)]);
    assert_eq!(table.columns[2], ("Intent accuracy".to_owned(), None));
}

fn any_exchange() -> impl Strategy<Value = Exchange> {
    let echoed = (any_text(), any_text(), any_text()).prop_map(|(intent, slot, said)| {
        let slots = json!({ "time": slot, "date": "2025-05-28", "person": null });
        answer("3002/calendar", "calendar_set", json!({ "time": intent, "slots": slots }), &said)
    });
    let other = (any_text(), prop_oneof![Just(200_u16), Just(0), Just(500)], any_text())
        .prop_map(|(url, status, response)| exchange(&url, status, &response));
    prop_oneof![echoed, other]
}

proptest! {
    #[test]
    fn whatever_happens_values_agree_with_each_other(
        intent in prop_oneof![Just("calendar_set".to_owned()), Just("qa_stock".to_owned()), Just("general_x".to_owned()), any_text()],
        slots in any_text(),
        requests in prop::collection::vec(any_exchange(), 0..4),
        final_text in prop::option::of(any_text()),
        intent_output in prop::option::of(any_text()),
        hit_limit: bool,
    ) {
        let gold = utterance(&intent, &slots);
        let members = Some(BTreeSet::new());
        let run = Run { requests, final_text, intent_output, hit_limit, members, ..Run::default() };
        let scored = score(&gold, WEDNESDAY, &run);
        let is = |name: &str| scored.values[name] > 0.0;
        prop_assert!(!is(value::SUCCESS) || is(value::LENIENT));
        prop_assert!(!is(value::INTENT_STRICT) || is(value::INTENT_VALUES));
        prop_assert!(is(value::SUCCESS) != is(value::FAILED));
        let blamed = !causes(&scored).is_empty();
        prop_assert_eq!(is(value::FAILED), blamed != is(value::FAIL_NONE));
        let reasons = scored.values.iter().filter(|(name, v)| name.starts_with(value::REASON) && **v > 0.0).count();
        prop_assert_eq!(reasons, 1);
        let names = |score: &Score| score.values.keys().cloned().collect::<BTreeSet<_>>();
        prop_assert_eq!(names(&scored), names(&failure(&gold)));
        prop_assert_eq!(&scored, &score(&gold, WEDNESDAY, &run));
    }

    #[test]
    fn any_text_is_read_as_something(text in any_text(), other in any_text()) {
        for slot in slots::gold(&text) {
            prop_assert!(!slot.0.is_empty() && text.contains(&slot.1));
        }
        intent::read(&text);
        moment::days(&text, Date::MIN);
        moment::is_in_part_of_day(&text, &other);
        prop_assert!(tokens::jaccard(&tokens::tokens(&text), &tokens::tokens(&text)) >= 1.0);
        let similarity = tokens::jaccard(&tokens::tokens(&text), &tokens::tokens(&other));
        prop_assert!((0.0..=1.0).contains(&similarity));
    }
}
