//! Each rule by itself.

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

mod gold {
    use super::*;

    fn slots(field: &str) -> Vec<(String, String)> {
        slots::gold(field)
    }

    fn pair(name: &str, value: &str) -> Slot {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn blanks_around_colons_do_not_matter() {
        assert_eq!(
            slots("['date : today', 'time: ten am','person:ann']"),
            [pair("date", "today"), pair("time", "ten am"), pair("person", "ann")]
        );
    }

    #[test]
    fn what_is_no_python_list_is_read_all_the_same() {
        assert_eq!(slots("[content:knock knock']"), [pair("content", "knock knock")]);
        assert_eq!(slots("[''content:where am i']"), [pair("content", "where am i")]);
        assert_eq!(slots("['descriptor':'satellite radio']"), [pair("descriptor", "satellite radio")]);
        assert_eq!(slots(r#"["content : i'm on leave"]"#), [pair("content", "i'm on leave")]);
        assert_eq!(slots("['content: I'm on leave']"), [pair("content", "I'm on leave")]);
    }

    #[test]
    fn two_lists_and_two_slots_in_one_text_are_two_slots() {
        assert_eq!(
            slots("['music_genre : jazz'],['music_genre:disco']"),
            [pair("music_genre", "jazz"), pair("music_genre", "disco")]
        );
        assert_eq!(
            slots("['setting: archive, descriptor: read messages']"),
            [pair("setting", "archive"), pair("descriptor", "read messages")]
        );
    }

    #[test]
    fn what_has_no_name_is_nothing() {
        assert!(slots("[]").is_empty() && slots("").is_empty() && slots("['red']").is_empty());
        assert_eq!(slots("['time : 10:30']"), [pair("time", "10:30")], "a number is no name");
    }
}

mod words {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn texts_are_compared_by_words_in_one_form() {
        assert_eq!(tokens("The DAVID-Bowie’s  list"), ["david", "bowies", "list"]);
        assert_eq!(tokens("ﬁne １２ café"), ["fine", "12", "café"]);
    }

    #[test]
    fn leading_articles_go_but_never_the_last_word() {
        assert_eq!(tokens("the my list"), ["list"]);
        assert_eq!(tokens("the a"), ["a"]);
        assert_eq!(tokens("play the list"), ["play", "the", "list"]);
        assert!(tokens(" .,! ").is_empty());
    }

    #[test]
    fn clocks_are_read_as_people_say_them() {
        let same = |a: &str, b: &str| {
            let (a, b) = (moment::Clock::said(a), moment::Clock::said(b));
            a.zip(b).is_some_and(|(a, b)| a.same_face(b))
        };
        for (said, written) in [
            ("nine am", "09:00"),
            ("9", "21:00"),
            ("three thirty pm", "15:30"),
            ("three thirty pm", "3:30 am"),
            ("six forty five", "06:45"),
            ("two oh five p. m.", "14:05"),
            ("twelve pm", "00:00"),
            ("ten fifteen", "10:15"),
        ] {
            assert!(same(said, written), "{said}");
        }
        assert!(!same("two thirty pm", "02:00"));
        for vague in
            ["an hour", "one hour before", "in future", "four hundred", "fifteen minutes", "noontime", "", "am"]
        {
            assert_eq!(moment::Clock::said(vague), None, "{vague}");
        }
        assert_eq!(moment::Clock::requested("2025-05-28 10:00"), moment::Clock::said("ten"));
        assert_eq!(moment::Clock::requested("soon"), None);
    }

    #[test]
    fn words_for_days_are_those_of_the_official_resolver() {
        let span = |said: &str, today: Date| moment::days(said, today).map(|(a, b)| (a.to_string(), b.to_string()));
        let days = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(span("this week", WEDNESDAY), days("2025-05-26", "2025-06-01"));
        assert_eq!(span("last week", WEDNESDAY), days("2025-05-19", "2025-05-25"));
        assert_eq!(span("this weekend", WEDNESDAY), days("2025-05-31", "2025-06-01"));
        assert_eq!(span("sunday", WEDNESDAY), days("2025-06-01", "2025-06-01"));
        assert_eq!(span("august fifteenth", WEDNESDAY), days("2025-08-15", "2025-08-15"));
        assert_eq!(span("this week", SUNDAY), days("2025-06-02", "2025-06-08"), "to it a Sunday begins the week");
        assert_eq!(span("last week", SUNDAY), days("2025-05-26", "2025-06-01"));
        assert_eq!(span("sunday", SUNDAY), days("2025-06-08", "2025-06-08"));
        assert_eq!(span("Today", WEDNESDAY), None, "letters count");
        assert_eq!(span("next friday", WEDNESDAY), None);
        assert_eq!(span("tomorrow", Date::MAX), days("9999-12-31", "9999-12-31"));
    }
}

mod servers_of_ours {
    use super::*;

    #[test]
    fn nobody_asked_and_nobody_answered_are_told_apart() {
        let gold = utterance("lists_query", "[]");
        let elsewhere = exchange("http://api.serpstack.com/search?query=x", 200, "{}");
        assert_eq!(local(&gold, vec![elsewhere]), found("no_request", &[]));
        let broken = exchange("http://127.0.0.1:3008/lists", 500, "<html>");
        assert_eq!(local(&gold, vec![broken]), found("no_success", &[]));
        let failed =
            exchange("http://127.0.0.1:3008/lists", 200, r#"{"code":"FAIL","msg":"fail, missing parameters"}"#);
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
        assert!(
            calendar("['to_person:ann', 'person : ann']", json!({ "person": "Ann" })).is_empty(),
            "one is unreachable"
        );
        assert!(
            calendar("['time : nine am', 'time2 : ten']", json!({ "from_time": "09:00", "to_time": "10:00" }))
                .is_empty()
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
        assert!(
            today("['date : today']", json!({})).is_empty() && today("[]", json!({ "date": "2025-05-28" })).is_empty()
        );
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
}

mod services {
    use super::*;

    const FORECAST: &str = r#"{"latitude":40.71,"hourly":{"temperature_2m":[7.3]}}"#;

    fn external(intent: &str, url: &str, response: &str, said: Option<&str>) -> String {
        let run =
            Run { requests: vec![exchange(url, 200, response)], final_text: said.map(str::to_owned), ..Run::default() };
        reason(&score(&utterance(intent, "[]"), WEDNESDAY, &run)).0
    }

    #[test]
    fn every_intent_has_a_service_of_its_own() {
        let said = Some("the number is 7.3 about boston");
        for (intent, url, response) in [
            ("weather_query", "https://api.open-meteo.com/v1/forecast?latitude=1", FORECAST),
            ("news_query", "http://api.mediastack.com/v1/news?keywords=x", r#"{"data":[{"title":"boston"}]}"#),
            ("qa_stock", "http://api.marketstack.com/v1/eod?symbols=X", r#"{"data":[{"open":7.3}]}"#),
            ("qa_currency", "https://api.freecurrencyapi.com/v1/latest", r#"{"data":{"GBP":7.3}}"#),
            ("qa_currency", "https://www.amdoren.com/api/currency.php", r#"{"error":0,"amount":7.3}"#),
            ("qa_factoid", "http://api.serpstack.com/search?query=x", r#"{"organic_results":[{"title":"boston"}]}"#),
            ("qa_maths", "http://api.serpstack.com/search?query=x", r#"{"answer_box":{"answer":"boston"}}"#),
        ] {
            assert_eq!(external(intent, url, response, said), "ok", "{intent}");
        }
    }

    #[test]
    fn errors_and_answers_of_others_are_no_answers() {
        let said = Some("the number is 7.3 about boston");
        for (intent, url, response) in [
            (
                "weather_query",
                "https://geocoding-api.open-meteo.com/v1/search?name=x",
                r#"{"results":[{"latitude":1}]}"#,
            ),
            ("weather_query", "https://api.open-meteo.com/v1/forecast", r#"{"error":true,"reason":"x"}"#),
            ("news_query", "http://api.mediastack.com/v1/news", r#"{"data":[]}"#),
            ("qa_currency", "https://www.amdoren.com/api/currency.php", r#"{"error":110,"amount":0}"#),
            ("qa_currency", "http://api.serpstack.com/search?query=freecurrencyapi", r#"{"data":{"GBP":7.3}}"#),
            ("qa_factoid", "http://api.serpstack.com/search", r#"{"success":false,"error":{"code":101}}"#),
            ("qa_factoid", "http://api.serpstack.com/search", "not json"),
        ] {
            assert_eq!(external(intent, url, response, said), "no_service_answer", "{intent} {response}");
        }
        assert_eq!(external("qa_factoid", "http://127.0.0.1:3002/calendar?intent=x", "{}", said), "no_request");
    }

    #[test]
    fn the_person_must_be_told_something_that_the_service_said() {
        let weather = |said| external("weather_query", "https://api.open-meteo.com/v1/forecast", FORECAST, said);
        assert_eq!(weather(Some("It is 7.3 degrees.")), "ok");
        assert_eq!(weather(Some("It is nice outside.")), "not_grounded");
        assert_eq!(weather(Some("It is 95 degrees.")), "not_grounded");
        assert_eq!(weather(Some("warm 7.3")), "ok", "a point is between two words");
        assert_eq!(weather(Some("See https://api.open-meteo.com/v1/forecast?latitude=7.3")), "no_final");
        assert_eq!(weather(None), "no_final");
        let search = |said| {
            let found = r#"{"organic_results":[{"title":"Boston is the capital of Massachusetts"}]}"#;
            external("qa_factoid", "http://api.serpstack.com/search", found, Some(said))
        };
        assert_eq!(search("The capital? It is Boston!"), "ok");
        assert_eq!(search("the answer is for you"), "not_grounded", "common words say nothing");
    }

    #[test]
    fn talk_needs_no_service() {
        let talk = |said: Option<&str>| {
            let run = Run { final_text: said.map(str::to_owned), ..Run::default() };
            reason(&score(&utterance("general_quirky", "[]"), WEDNESDAY, &run)).0
        };
        assert_eq!([talk(Some("Fine!")), talk(Some(" https://x.y/z ")), talk(None)], ["ok", "no_final", "no_final"]);
    }
}

mod intents {
    use super::*;

    fn accuracy(intent: &str, slots: &str, said: &str) -> (Option<String>, bool, bool) {
        let detail = score(&utterance(intent, slots), WEDNESDAY, &run(Vec::new(), said)).detail;
        let agent = &detail["intent_agent"];
        let truth = |name: &str| agent[name].as_bool().unwrap();
        (agent["pred_intent"].as_str().map(str::to_owned), truth("strict"), truth("ignore_slot_names"))
    }

    #[test]
    fn an_intent_is_read_from_text_and_from_json() {
        let right = (Some("calendar_set".to_owned()), true, true);
        for said in [
            "domain:calendar, iid:7, intent:calendar_set, time:two pm,person:Ann",
            "domain:calendar\nintent:calendar_set\nperson : ann\ntime : two pm",
            r#"{"domain": "calendar", "intent": "calendar_set", "slots": {"person": "ann", "time": "two pm"}}"#,
            "```json\n{\"intent\": \"calendar_set\", \"slots\": {\"time\": \"two pm\", \"person\": \"ann\"}}\n```",
            r#"{"intent": "calendar_set", "domain": "calendar", "time": "two pm", "person": "ann"}"#,
            r#"{"intent": "calendar_set", "slots": "none", "time": "two pm", "person": "ann"}"#,
        ] {
            assert_eq!(accuracy("calendar_set", "['time : two pm', 'person : ann']", said), right, "{said}");
        }
    }

    #[test]
    fn wrong_names_are_right_values_and_a_wrong_intent_is_all_wrong() {
        let gold = "['date : tomorrow', 'event_name : meeting']";
        let accuracy = |said: &str| accuracy("calendar_set", gold, said);
        let (_, strict, values) = accuracy("intent:calendar_set,day:tomorrow,event:meeting");
        assert_eq!((strict, values), (false, true));
        let (_, strict, values) = accuracy("intent:calendar_query,date:tomorrow,event_name:meeting");
        assert_eq!((strict, values), (false, false));
        let (_, strict, values) = accuracy("intent:calendar_set,date:tomorrow");
        assert_eq!((strict, values), (false, false));
        assert_eq!(accuracy("this is small talk"), (None, false, false));
        assert_eq!(accuracy(r#"{"slots": {}}"#), (None, false, false));
    }

    #[test]
    fn an_intent_without_slots_is_right_where_the_gold_has_none() {
        assert!(accuracy("play_music", "[]", r#"{"intent": "play_music"}"#).1);
        assert!(accuracy("play_radio", "[]", "domain:radio\nintent:play_radio,").1);
    }
}

mod blame {
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
        assert_eq!(
            blamed(&gold, vec![format], "intent:calendar_set,date:today"),
            Vec::<&str>::new(),
            "it was not named"
        );
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
        assert_eq!(
            blamed(&gold, vec![searched.clone()], "intent:qa_currency"),
            Vec::<&str>::new(),
            "not where that leads"
        );
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
