use super::*;

#[test]
fn nobody_asked_and_nobody_answered_are_told_apart() {
    let gold = utterance("lists_query", "[]");
    let elsewhere = exchange("http://api.serpstack.com/search?query=x", 200, "{}");
    assert_eq!(local(&gold, vec![elsewhere]), found("no_request", &[]));
    let broken = exchange("http://127.0.0.1:3008/lists", 500, "<html>");
    assert_eq!(local(&gold, vec![broken]), found("no_success", &[]));
    let failed = exchange("http://127.0.0.1:3008/lists", 200, r#"{"code":"FAIL","msg":"fail, missing parameters"}"#);
    assert_eq!(local(&gold, vec![failed]), found("no_success", &[]));
}

#[test]
fn the_last_success_decides() {
    let gold = utterance("lists_query", "[]");
    let wrong = || answer("3008/lists", "lists_remove", json!({}), "do you want to delete all the lists?");
    let right = || answer("3008/lists", "lists_query", json!({}), "all the lists are listed here. list 1: ....");
    let broken = || exchange("http://127.0.0.1:3008/lists", 500, "");
    assert_eq!(local(&gold, vec![wrong(), right(), broken()]), found("ok", &[]));
    assert_eq!(local(&gold, vec![right(), wrong()]), found("wrong_intent", &[]));
}

#[test]
fn what_a_server_says_comes_before_what_was_asked() {
    let gold = utterance("calendar_set", "['date : today']");
    let said = |said: &str| local(&gold, vec![answer("3002/calendar", "other", json!({ "date": "10:00" }), said)]);
    assert_eq!(said("not supporting intent"), found("unsupported_intent", &["value:date"]));
    assert_eq!(said("date format not right"), found("format_error", &["value:date"]));
    assert_eq!(said("operated successfully"), found("wrong_intent", &["value:date"]));
}

#[test]
fn a_question_for_more_is_an_answer() {
    let asked = answer("3002/calendar", "calendar_set", json!({}), "what time do you want to set the event?");
    assert_eq!(local(&utterance("calendar_set", "[]"), vec![asked]), found("ok", &[]));
}

#[test]
fn one_of_several_gold_intents_is_enough() {
    let gold = utterance("music_likeness,music_dislikeness", "[]");
    let done = answer("3009/music", "music_likeness", json!({}), "operated successfully");
    assert_eq!(local(&gold, vec![done]), found("ok", &[]));
    let gold = utterance("play_music;music_likeness", "[]");
    let done = answer("3009/music", "play_music", json!({}), "operated successfully");
    assert_eq!(local(&gold, vec![done]), found("ok", &[]));
}

/// Errors of the slots that the calendar echoes.
fn calendar(gold: &str, echoed: Value) -> Vec<String> {
    local(&utterance("calendar_set", gold), vec![answer("3002/calendar", "calendar_set", echoed, "done")]).1
}

#[test]
fn slots_are_missing_wrong_or_too_many() {
    let errors = calendar("['relation:boss', 'person : ann']", json!({ "descriptor": "new", "relation": "mom" }));
    assert_eq!(errors, ["value:relation", "missing:person", "extra:descriptor"]);
}

#[test]
fn names_that_mean_the_same_stand_for_each_other() {
    assert!(calendar("['to_person:ann', 'person : ann']", json!({ "person": "Ann" })).is_empty(), "one is unreachable");
    assert!(
        calendar("['time : nine am', 'time2 : ten']", json!({ "from_time": "09:00", "to_time": "10:00" })).is_empty()
    );
    let email = |gold: &str, echoed: Value| {
        local(&utterance("email_query", gold), vec![answer("3005/email", "email_query", echoed, "done")]).1
    };
    assert!(email("['from_person : ann']", json!({ "to_person": "ann" })).is_empty());
    assert_eq!(
        email("['from_relation : mom']", json!({ "relation": "mom" })),
        ["missing:from_relation", "extra:relation"]
    );
    assert_eq!(
        email("['person : ann', 'to_person : bob']", json!({ "to_person": "bob", "from_person": "ann" })),
        ["value:person", "value:to_person"],
        "gold slots choose in their order"
    );
}

#[test]
fn some_slots_do_not_matter() {
    assert!(calendar("['event_name : dinner', 'descriptor:all']", json!({})).is_empty());
    assert!(calendar("[]", json!({ "event_name": "dinner", "descriptor": "All" })).is_empty());
    assert_eq!(calendar("['descriptor:default']", json!({})), ["missing:descriptor"]);
    let today = |gold: &str, echoed: Value| {
        local(&utterance("datetime_query", gold), vec![answer("3004/datetime", "datetime_query", echoed, "done")]).1
    };
    assert!(today("['date : today']", json!({})).is_empty() && today("[]", json!({ "date": "2025-05-28" })).is_empty());
    assert_eq!(today("[]", json!({ "date": "2025-05-29" })), ["extra:date"]);
    assert_eq!(calendar("['date : today']", json!({})), ["missing:date"], "only where the date is asked for");
}

#[test]
fn what_the_server_does_not_take_is_listed_and_no_error() {
    let done = answer("3000/alarm", "alarm_query", json!({}), "done");
    let scored = score(&utterance("alarm_query", "['date : today']"), WEDNESDAY, &run(vec![done], ""));
    assert_eq!(scored.detail["unreachable_slots"], json!(["date"]));
    assert_eq!(scored.detail["pass"], json!(true));
}

#[test]
fn a_part_of_the_day_holds_the_times_of_a_request() {
    let evening = |echoed: Value| calendar("['timeofday : tonight']", echoed);
    assert!(evening(json!({ "time": "20:00" })).is_empty());
    assert!(evening(json!({})).is_empty(), "a time may be left to the server");
    assert_eq!(evening(json!({ "time": "09:00" })), ["value:timeofday"]);
    assert!(calendar("['timeofday : afternoon']", json!({ "from_time": "12:00", "to_time": "17:00" })).is_empty());
    assert!(calendar("['timeofday : noon']", json!({ "time": "20:00" })).is_empty(), "not every word is known");
    assert!(
        calendar("['time : six', 'timeofday : evening']", json!({ "time": "06:00" })).is_empty(),
        "the time counts"
    );
}

#[test]
fn places_may_be_completed_and_other_texts_may_not() {
    let taxi = |gold: &str, echoed: Value| {
        let done = answer("3018/transport", "transport_taxi", echoed, "done");
        score(&utterance("transport_taxi", gold), WEDNESDAY, &run(vec![done], ""))
    };
    assert_eq!(reason(&taxi("['to_place_name : boston']", json!({ "to_place_name": "Boston, MA, USA" }))).0, "ok");
    let longer = taxi("['transport_type : yellow cab']", json!({ "transport_type": "yellow cab please" }));
    assert_eq!(reason(&longer), found("slots", &["value:transport_type"]));
    assert_eq!(longer.detail["pass_lenient"], json!(true));
    let other = taxi("['transport_type : yellow cab']", json!({ "transport_type": "a red cab please" }));
    assert_eq!(other.detail["errors_lenient"], json!(["value:transport_type"]));
}

#[test]
fn values_that_are_no_texts_are_wrong_and_nothing_worse() {
    let errors = calendar("['person : ann', 'relation : 5']", json!({ "person": null, "relation": 5 }));
    assert_eq!(errors, ["value:person"]);
    let odd = exchange("http://127.0.0.1:3002/calendar", 200, r#"{"code":"SUCCESS","data":[1],"msg":null}"#);
    assert_eq!(local(&utterance("calendar_set", "[]"), vec![odd]), found("wrong_intent", &[]));
}
