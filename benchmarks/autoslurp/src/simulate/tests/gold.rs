//! Texts and requests for a row, also of members that have heard others.

use super::super::plan::Plan;
use super::super::{Gold, Heard};
use super::{TEST, TEST_1K, TODAY, TRAIN, TRAIN_5K, all, official, row};

#[test]
fn the_intent_agent_says_values_as_spoken_and_a_comma_also_where_no_slot_is() {
    let gold = Gold::of(&row("calendar_set", "['date : tomorrow', 'event_name : meeting']"), TODAY);
    assert_eq!(gold.intent_text(), "domain:calendar,intent:calendar_set,date:tomorrow,event_name:meeting");
    assert_eq!(Gold::of(&row("lists_query", "[]"), TODAY).intent_text(), "domain:lists,intent:lists_query,");
}

#[test]
fn the_time_agent_is_needed_for_days_and_times_and_says_them_in_figures() {
    let gold = Gold::of(&row("alarm_set", "['time : six', 'timeofday : morning']"), TODAY);
    assert!(gold.needs_time() && !gold.needs_date() && !gold.needs_location());
    assert_eq!(gold.time_text(), "time:06:00 am");
    let gold = Gold::of(&row("recommendation_events", "['date : today','place_name:my city']"), TODAY);
    assert!(gold.needs_time() && gold.needs_date() && gold.needs_location());
    assert_eq!(
        (gold.time_text(), gold.location_text()),
        ("date:2025-05-28".to_owned(), "place_name:new york".to_owned())
    );
    let gold = Gold::of(&row("iot_hue_lightdim", "['house_place:kitchen']"), TODAY);
    assert!(!gold.needs_time() && !gold.needs_location());
}

#[test]
fn a_request_has_the_intent_first_and_the_slots_as_they_are_resolved() {
    let gold = Gold::of(&row("alarm_set", "['time : six', 'timeofday : morning']"), TODAY);
    assert_eq!(gold.next_url(&[]).unwrap(), "http://127.0.0.1:3000/alarm?intent=alarm_set&time=06:00%20am");
    assert_eq!(
        gold.next_post(&[]).unwrap(),
        ("http://127.0.0.1:3000/alarm".to_owned(), r#"{"intent":"alarm_set","time":"06:00 am"}"#.to_owned())
    );
    assert_eq!(gold.next_url(&["{}"]), None);
}

#[test]
fn what_stands_for_something_in_a_url_is_escaped() {
    let gold = Gold::of(&row("play_music", "[\"song_name : let's go & stay 100% #1\"]"), TODAY);
    let url = gold.next_url(&[]).unwrap();
    assert_eq!(
        url,
        "http://127.0.0.1:3009/music?intent=play_music&song_name=let%27s%20go%20%26%20stay%20100%25%20%231"
    );
}

#[test]
fn the_weather_takes_two_requests_the_second_with_what_the_first_said() {
    let gold = Gold::of(&row("weather_query", "['place_name : new jersey']"), TODAY);
    let first = gold.next_url(&[]).unwrap();
    assert_eq!(
        first,
        "https://geocoding-api.open-meteo.com/v1/search?name=new%20jersey&count=10&language=en&format=json"
    );
    let geocoded =
        r#"server response {"results":[{"name":"new jersey","latitude":17.51,"longitude":-106.0}]} and so on"#;
    assert_eq!(
        gold.next_url(&[geocoded]).unwrap(),
        "https://api.open-meteo.com/v1/forecast?latitude=17.51&longitude=-106.0&hourly=temperature_2m&models=gfs_seamless"
    );
    let forecast = r#"{"latitude":17.51,"hourly":{"time":["2025-05-28T00:00"],"temperature_2m":[7.3]}}"#;
    assert_eq!(gold.next_url(&[geocoded, forecast]), None);
    assert_eq!(gold.answer(&[geocoded, forecast]), "The temperature in new jersey is 7.3 degrees.");
    assert_eq!(gold.next_url(&[r#"{"generationtime_ms":1}"#]), None, "no such place");
}

#[test]
fn who_heard_the_gold_does_as_the_gold_says() {
    let official = [TEST, TEST_1K, TRAIN, TRAIN_5K].into_iter().filter_map(official).flatten();
    for row in all().iter().chain(&official.collect::<Vec<_>>()) {
        let gold = Gold::of(row, TODAY);
        let intent = format!("iid:{}, {}", row.iid, gold.intent_text());
        let (time, location) = (gold.time_text(), gold.location_text());
        let heard = Heard { intent: Some(&intent), time: Some(&time), location: Some(&location) };
        assert_eq!(gold.clone().heard(&heard), gold, "{row:?}");
    }
}

#[test]
fn who_heard_something_else_does_something_else() {
    let gold = || Gold::of(&row("calendar_remove", "['event_name : haircut', 'date : today']"), TODAY);
    let url = |heard: Heard<'_>| gold().heard(&heard).next_url(&[]).unwrap();
    let intent = |output| url(Heard { intent: Some(output), ..Heard::default() });
    let queried = "http://127.0.0.1:3002/calendar?intent=calendar_query&date=2025-05-29";
    assert_eq!(intent("domain:calendar, iid:1, intent:calendar_query, slots: date:tomorrow"), queried);
    assert_eq!(intent("{\"intent\": \"calendar_query\", \"slots\": {\"date\": \"tomorrow\"}}"), queried);
    assert_eq!(intent("I do not know."), gold().next_url(&[]).unwrap());
    let later = url(Heard { time: Some("The slots are\ndate:2025-06-07"), ..Heard::default() });
    assert_eq!(later, "http://127.0.0.1:3002/calendar?intent=calendar_remove&event_name=haircut&date=2025-06-07");
}

#[test]
fn a_name_that_repeats_is_requested_once_with_what_was_said_last() {
    let gold = Gold::of(&row("play_podcasts", "['player_setting: download', 'player_setting:play']"), TODAY);
    assert!(gold.intent_text().ends_with("player_setting:download,player_setting:play"));
    assert_eq!(gold.next_url(&[]).unwrap(), "http://127.0.0.1:3011/podcasts?intent=play_podcasts&player_setting=play");
}

#[test]
fn the_price_of_a_stock_is_asked_for_by_the_symbol_that_was_found() {
    let gold = Gold::of(&row("qa_stock", "['business_name : north light']"), TODAY);
    let url = |found: &str| gold.next_url(&[found]).unwrap();
    let with = |symbol: &str| format!("http://api.marketstack.com/v1/eod?access_key=KEY&symbols={symbol}&limit=5");
    assert_eq!(url(r#"{"answer_box":{"answer":"NLGT"}}"#), with("NLGT"));
    assert_eq!(url(r#"{"answer_box":{"answer":"a company of the north"}}"#), with("NORT"), "a guess");
    assert_eq!(url("not found"), with("NORT"));
}

#[test]
fn news_of_what_is_no_day_are_news_of_any_day() {
    let url = |date: &str| Gold::of(&row("news_query", date), TODAY).next_url(&[]).unwrap();
    assert!(url("['date : today']").contains("&date=2025-05-28&"));
    assert!(!url("['date : the day of the fair']").contains("date="));
}

#[test]
fn an_intent_without_a_server_is_sent_to_the_one_of_its_domain() {
    let local = |intent: &str| match Plan::of(&Gold::of(&row(intent, "[]"), TODAY).said(), &[], "") {
        Plan::Local { server, .. } => server.name,
        other => panic!("{other:?}"),
    };
    assert_eq!(local("iot_hue_lightother"), "iot");
    assert_eq!(local("playlists_remove"), "music");
    assert_eq!(local("play_music;music_likeness"), "music");
    assert_eq!(local("lists_query,cooking_recipe"), "lists");
}
