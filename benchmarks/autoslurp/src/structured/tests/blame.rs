use super::*;

fn blamed(utterance: &Utterance, requests: Vec<Exchange>, said: &str) -> Vec<&'static str> {
    causes(&score(utterance, WEDNESDAY, &run(requests, said)))
}

#[test]
fn a_wrong_intent_that_was_requested_is_the_intent_agents() {
    let gold = utterance("calendar_set", "['date : today']");
    let asked = answer("3002/calendar", "calendar_query", json!({ "date": "2025-05-28" }), "done");
    assert_eq!(blamed(&gold, vec![asked], "intent:calendar_query,date:today"), ["intent"]);
    let searched = exchange("http://api.serpstack.com/search?query=x", 200, r#"{"organic_results":[1]}"#);
    assert_eq!(blamed(&gold, vec![searched], "intent:qa_factoid,date:today"), ["intent"]);
}

#[test]
fn a_slot_that_the_intent_agent_left_out_or_invented_is_its_own() {
    let gold = utterance("calendar_set", "['person : ann']");
    let without = answer("3002/calendar", "calendar_set", json!({}), "done");
    assert_eq!(blamed(&gold, vec![without.clone()], "intent:calendar_set"), ["intent"]);
    assert_eq!(blamed(&gold, vec![without], "intent:calendar_set,person:ann"), ["url"], "it was lost later");
    let more = answer("3002/calendar", "calendar_set", json!({ "person": "ann", "relation": "boss" }), "done");
    assert_eq!(blamed(&gold, vec![more], "intent:calendar_set,person:ann,relation:boss"), ["intent"]);
}

#[test]
fn a_time_that_was_named_and_went_wrong_is_the_time_agents() {
    let gold = utterance("calendar_set", "['time : two thirty pm', 'date : today']");
    let right = "intent:calendar_set,time:two thirty pm,date:today";
    let wrong = answer("3002/calendar", "calendar_set", json!({ "time": "02:00", "date": "2025-05-28" }), "done");
    assert_eq!(blamed(&gold, vec![wrong], right), ["time"]);
    let format = answer(
        "3002/calendar",
        "calendar_set",
        json!({ "time": "two thirty pm", "date": "2025-05-28" }),
        "time format not right",
    );
    assert_eq!(blamed(&gold, vec![format.clone()], right), ["time"]);
    assert_eq!(blamed(&gold, vec![format], "intent:calendar_set,date:today"), Vec::<&str>::new(), "it was not named");
}

#[test]
fn a_place_that_was_named_and_went_wrong_is_the_location_agents() {
    let gold = utterance("recommendation_events", "['place_name : berlin']");
    let wrong = answer("3014/recommendation", "recommendation_events", json!({ "place_name": "new york" }), "done");
    assert_eq!(blamed(&gold, vec![wrong], "intent:recommendation_events,place_name:berlin"), ["location"]);
}

#[test]
fn a_right_intent_sent_elsewhere_is_the_url_agents() {
    let gold = utterance("calendar_set", "[]");
    let elsewhere = answer("3008/lists", "calendar_set", json!({}), "unsupported intent");
    assert_eq!(blamed(&gold, vec![elsewhere], "intent:calendar_set"), ["intent", "url"]);
    let nowhere = exchange("http://127.0.0.1:3002/agenda", 404, "not found");
    assert_eq!(blamed(&gold, vec![nowhere], "intent:calendar_set"), ["url", "function_call"]);
    let gold = utterance("weather_query", "[]");
    let searched = exchange("http://api.serpstack.com/search?query=x", 200, r#"{"organic_results":[1]}"#);
    assert_eq!(blamed(&gold, vec![searched], "intent:weather_query"), ["url"]);
}

#[test]
fn what_the_intent_agent_had_right_counts_piece_by_piece() {
    let gold = utterance("calendar_set", "['person : ann', 'relation : boss']");
    let said = "intent:calendar_set,person:ann";
    let lost = answer("3002/calendar", "calendar_set", json!({}), "done");
    assert_eq!(blamed(&gold, vec![lost], said), ["intent", "url"], "one slot each");
    let elsewhere = answer("3008/lists", "calendar_set", json!({}), "unsupported intent");
    assert_eq!(blamed(&gold, vec![elsewhere], said), ["intent", "url"]);
    let searched = exchange("http://api.serpstack.com/search?query=x", 200, r#"{"organic_results":[1]}"#);
    assert_eq!(
        blamed(&gold, vec![searched.clone()], "intent:weather_query"),
        ["intent"],
        "it led away from our servers"
    );
    let gold = utterance("weather_query", "['date : today']");
    assert_eq!(blamed(&gold, vec![searched.clone()], "intent:qa_factoid"), ["intent"]);
    assert_eq!(blamed(&gold, vec![searched.clone()], "intent:qa_currency"), Vec::<&str>::new(), "not where that leads");
    assert_eq!(blamed(&gold, vec![searched], "intent:weather_query"), ["url"]);
}

#[test]
fn a_request_that_is_not_carried_out_is_a_wrong_call() {
    let gold = utterance("calendar_set", "[]");
    let form = exchange("http://127.0.0.1:3002/calendar", 500, "<html>");
    assert_eq!(blamed(&gold, vec![form], "intent:calendar_set"), ["function_call"]);
    let gold = utterance("qa_factoid", "[]");
    let refused = exchange("http://api.serpstack.com/search", 200, r#"{"success":false,"error":{"code":101}}"#);
    assert_eq!(blamed(&gold, vec![refused], "intent:qa_factoid"), ["function_call"]);
}

#[test]
fn whoever_was_not_asked_is_the_managers() {
    let gold = utterance("calendar_set", "['date : today']");
    assert_eq!(blamed(&gold, Vec::new(), "intent:calendar_set,date:today"), ["manager"]);
    let wrong = answer("3002/calendar", "calendar_set", json!({ "date": "2025-05-28", "person": "ann" }), "done");
    let member = |name: &str| MemberName::new(name).unwrap();
    let mut run = run(vec![wrong], "intent:calendar_set,date:today");
    run.members = Some(["manager", "intent", "request"].map(member).into());
    assert_eq!(causes(&score(&gold, WEDNESDAY, &run)), ["url", "manager"], "there is a date, and no time agent");
    run.members = Some(["manager", "intent", "time", "request"].map(member).into());
    assert_eq!(causes(&score(&gold, WEDNESDAY, &run)), ["url"]);
    run.hit_limit = true;
    assert_eq!(causes(&score(&gold, WEDNESDAY, &run)), ["url", "manager"]);
}

#[test]
fn a_success_is_nobodys_fault_and_a_failure_may_be_nobodys() {
    let gold = utterance("lists_query", "[]");
    let mut run = run(vec![answer("3008/lists", "lists_query", json!({}), "done")], "intent:qa_factoid");
    run.hit_limit = true;
    let scored = score(&gold, WEDNESDAY, &run);
    assert_eq!((causes(&scored).len(), scored.values[value::FAIL_NONE]), (0, 0.0));
    let gold = utterance("general_joke", "[]");
    let silent = Run { intent_output: Some("intent:general_joke".to_owned()), ..Run::default() };
    let scored = score(&gold, WEDNESDAY, &silent);
    assert_eq!((causes(&scored).len(), scored.values[value::FAIL_NONE]), (0, 1.0));
}
