//! The servers against what the official ones answered, and against whatever else may come.

use std::path::PathBuf;

use jiff::civil::{Date, date};
use proptest::prelude::*;
use regatta_pycompat::Json;
use serde_json::{Value, json};

use super::services::Service;
use super::*;

const TODAY: Date = date(2025, 5, 28);

fn golden() -> Option<PathBuf> {
    Some(regatta_benchmark_testing::shared("autoslurp")?.join("golden/servers"))
}

fn ask(method: &str, url: &str, body: Option<&[u8]>) -> ToolAnswer {
    answer(&ToolRequest { method: method.to_owned(), url: url.to_owned(), body: body.map(<[u8]>::to_vec) }, TODAY)
}

fn get(url: &str) -> (u16, Value) {
    let answer = ask("GET", url, None);
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or(Value::Null))
}

#[test]
fn every_recorded_request_is_answered_as_the_official_server_answered_it() {
    let Some(folder) = golden() else { return };
    let mut compared = 0;
    for server in &SERVERS {
        let lines = std::fs::read_to_string(folder.join(format!("{}.jsonl", server.name))).unwrap();
        for line in lines.lines() {
            // As Python wrote it: some recorded answers hold `NaN`.
            let case = regatta_pycompat::parse(line).and_then(Json::into_object).unwrap();
            let given = |name: &str| case.get(name).and_then(Json::as_str);
            let text = |name: &str| given(name).unwrap_or_default();
            let number = |name: &str| match case.get(name) {
                Some(Json::Int(int)) => int.decimal().parse::<u16>().unwrap(),
                other => panic!("{name}: {other:?}"),
            };
            // On its own port, and on one that serves all.
            for port in [number("port"), 40_000] {
                let question = if text("query").is_empty() { "" } else { "?" };
                let url = format!("http://127.0.0.1:{port}{}{question}{}", text("path"), text("query"));
                let answer = ask(text("method"), &url, given("body").map(str::as_bytes));
                assert_eq!(answer.status, number("status"), "{}", text("id"));
                assert_eq!(answer.content_type, text("response_content_type"), "{}", text("id"));
                if answer.status == 200 {
                    assert_eq!(String::from_utf8(answer.body).unwrap(), text("response_raw"), "{}", text("id"));
                }
                let allow = match case.get("allow") {
                    Some(Json::List(methods)) => {
                        Some(methods.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(", "))
                    }
                    _ => None,
                };
                assert_eq!(answer.allow.map(str::to_owned), allow, "{}", text("id"));
            }
            compared += 1;
        }
    }
    assert!(compared > 3000, "{compared}");
}

#[test]
fn the_table_is_the_contract() {
    let Some(folder) = golden() else { return };
    let contract: Value = serde_json::from_slice(&std::fs::read(folder.join("CONTRACT.json")).unwrap()).unwrap();
    assert_eq!(contract["servers"].as_object().unwrap().len(), SERVERS.len());
    for server in &SERVERS {
        let expected = &contract["servers"][server.name];
        let slots: Vec<&str> = server.slots.iter().map(|slot| slot.name).collect();
        let intents: Vec<&String> = expected["intents"].as_object().unwrap().keys().collect();
        assert_eq!(expected["slots"], json!(slots));
        assert_eq!(server.intents.iter().map(|intent| intent.name).collect::<Vec<_>>(), intents);
        assert_eq!((&expected["port"], &expected["path"]), (&json!(server.port), &json!(server.path)));
        assert_eq!(expected["unknown_intent"], server.unknown_intent);
    }
    assert!(SERVERS.windows(2).all(|pair| pair[0].port < pair[1].port));
}

#[test]
fn prompts_leave_out_what_the_specification_lists() {
    let intents: Vec<&str> =
        SERVERS.iter().flat_map(|server| server.intents).filter(|it| !it.in_prompts).map(|it| it.name).collect();
    assert_eq!(intents.len(), 7, "{intents:?}");
    let slots = |server: &Server| server.slots.iter().filter(|slot| !slot.in_prompts).count();
    let counts: Vec<(&str, usize)> =
        SERVERS.iter().map(|server| (server.name, slots(server))).filter(|(_, n)| *n > 0).collect();
    let expected =
        [("alarm", 1), ("calendar", 1), ("datetime", 1), ("email", 1), ("lists", 1), ("takeaway", 1), ("news", 5)];
    assert_eq!(counts, expected);
}

#[test]
fn the_last_value_that_does_not_fit_decides_what_is_said() {
    let said = |url: &str| get(url).1["data"]["response"].clone();
    assert_eq!(said("http://x:3002/calendar?intent=calendar_set&date=today&time=noon"), TIME_FORMAT);
    assert_eq!(said("http://x:3005/email?intent=email_query&date=today&time=noon"), DATE_FORMAT);
    assert_eq!(said("http://x:3002/calendar?intent=nothing&date=today"), DATE_FORMAT);
    assert_eq!(said("http://x:3013/radio?intent=nothing&time=noon"), "unsupported intent.");
    assert_eq!(said("http://x:3013/radio?intent=radio_query&time=noon"), TIME_FORMAT);
}

#[test]
fn formats_are_prefixes_and_digits_are_of_any_script() {
    let said =
        |slot: &str| get(&format!("http://x:3002/calendar?intent=calendar_query&{slot}")).1["data"]["response"].clone();
    for slot in [
        "time=99:99",
        "time=10:00xyz",
        "time=2025-05-28%202026-01-01%2010:00",
        "date=2029-99-99",
        "time=%D9%A1%D9%A2:%D9%A3%D9%A4",
    ] {
        assert!(said(slot).as_str().unwrap().starts_with("find 1 result"), "{slot}");
    }
    for slot in [
        "time=9:00",
        "time=%2010:00",
        "time=2025-05-28T10:00",
        "time=2025-05-28%20",
        "date=2015-01-01",
        "date=",
        "time=",
    ] {
        assert!(said(slot).as_str().unwrap().ends_with("format not right"), "{slot}");
    }
}

#[test]
fn a_checked_value_that_is_no_text_is_an_internal_error() {
    let post = |body: &str| ask("POST", "http://x:3000/alarm", Some(body.as_bytes())).status;
    assert_eq!(post(r#"{"intent":"alarm_set","time":1}"#), 500);
    assert_eq!(post(r#"{"intent":"alarm_set","descriptor":1}"#), 200);
    assert_eq!(post("\u{feff}{\"intent\":\"alarm_set\"}"), 500);
    assert_eq!(post(r#"["intent"]"#), 500);
    assert_eq!(post(r#"["x"]"#), 200);
    assert_eq!(post("5"), 500);
}

#[test]
fn nesting_fails_where_it_fails_in_python() {
    let post = |slot: &str, depth: usize| {
        let body = format!("{{\"intent\":\"a\",\"{slot}\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        ask("POST", "http://x:3000/alarm", Some(body.as_bytes())).status
    };
    assert_eq!((post("descriptor", 971), post("descriptor", 972)), (200, 500));
    assert_eq!((post("nobody_reads_it", 977), post("nobody_reads_it", 978)), (200, 500));
    assert_eq!(post("descriptor", 300_000), 500);
}

#[test]
fn what_is_too_long_is_not_read() {
    let long = vec![b' '; BODY_BYTES_MAX + 1];
    assert_eq!(ask("POST", "http://x:3000/alarm", Some(&long)).status, 413);
    assert_eq!(ask("POST", "http://x:3000/alarm", Some(&long[1..])).status, 500);
    assert_eq!(ask("GET", &format!("http://x:3000/alarm?{}", "a".repeat(URL_BYTES_MAX)), None).status, 414);
}

/// Official requests to every service, each with the token that evaluators look for in its answer.
const ASKED: [(&str, &str); 9] = [
    ("http://api.serpstack.com/search?access_key = KEY& query = who is that", "\"success\":true"),
    (
        "http://api.mediastack.com/v1/news?access_key=KEY&keywords=tennis&date=2025-05-28&sort=published_desc",
        "\"data\":[{",
    ),
    ("https://geocoding-api.open-meteo.com/v1/search?name=Boston&count=10&language=en&format=json", "\"results\":[{"),
    (
        "https://api.open-meteo.com/v1/forecast?latitude=52.52&longitude=13.41&hourly=temperature_2m&models=gfs_seamless",
        "\"hourly\"",
    ),
    (
        "https://api.open-meteo.com/v1/forecast?latitude=1&longitude=2&daily=temperature_2m_max,temperature_2m_min,sunrise,sunset,uv_index_max,rain_sum,showers_sum,snowfall_sum,wind_speed_10m_max",
        "\"daily\"",
    ),
    ("http://api.marketstack.com/v1/eod?access_key=KEY&symbols=AAPL&limit=5", "\"data\":[{"),
    ("https://api.freecurrencyapi.com/v1/latest?apikey=KEY&base_currency=USD&currencies=GBP", "\"data\":{\"GBP\":0.7"),
    ("https://www.amdoren.com/api/currency.php?api_key=KEY&from=USD&to=GBP&amount=1", "\"amount\":0.7"),
    ("http://api.serpstack.com/search?access_key=KEY&query=apple stock symbol", "\"answer\":\"APPL\""),
];

#[test]
fn every_service_answers_what_prompts_ask_of_it() {
    for (url, token) in ASKED {
        let first = exchange("GET", url, None, TODAY);
        assert_eq!(first.status, 200, "{url}");
        assert!(first.response.contains(token), "{url}: {}", first.response);
        let (_, rest) = url.split_once("//").unwrap();
        let on_one_port = exchange("GET", &format!("http://127.0.0.1:3000/{rest}"), None, TODAY);
        assert_eq!(on_one_port.response, first.response);
        assert_eq!(exchange("POST", url, Some(""), TODAY).response, first.response);
        serde_json::from_str::<Value>(&first.response).unwrap();
    }
}

#[test]
fn what_a_service_requires_and_does_not_get_has_the_shape_of_its_errors() {
    let cases = [
        ("http://api.serpstack.com/search?access_key=KEY", 200, "/success"),
        ("http://api.mediastack.com/v1/news?date=yesterday", 422, "/error/code"),
        ("https://geocoding-api.open-meteo.com/v1/search?count=10", 400, "/reason"),
        ("https://api.open-meteo.com/v1/forecast?latitude=1", 400, "/reason"),
        ("https://api.open-meteo.com/v1/forecast?latitude=1&longitude=200", 400, "/reason"),
        ("https://api.open-meteo.com/v1/forecast?latitude=1&longitude=2&hourly=joy", 400, "/reason"),
        ("http://api.marketstack.com/v1/eod?limit=5", 422, "/error/code"),
        ("https://api.freecurrencyapi.com/v1/latest?currencies=pounds", 422, "/message"),
        ("https://www.amdoren.com/api/currency.php?from=USD", 200, "/error_message"),
    ];
    for (url, status, place) in cases {
        let (got, value) = get(url);
        assert_eq!(got, status, "{url}");
        assert!(
            value.pointer(place).is_some() && value.get("data").is_none() && value.get("amount").is_none(),
            "{url}: {value}"
        );
    }
    assert_eq!(get("http://api.serpstack.com/other").0, 404);
}

#[test]
fn a_forecast_covers_the_days_that_it_is_asked_for() {
    let hourly =
        |rest: &str| get(&format!("https://api.open-meteo.com/v1/forecast?latitude=1&longitude=2&hourly=rain{rest}")).1;
    let times = |rest: &str| hourly(rest)["hourly"]["time"].as_array().map_or(0, Vec::len);
    assert_eq!(
        (times(""), times("&forecast_days=2"), times("&start_date=2025-06-01&end_date=2025-06-03")),
        (168, 48, 72)
    );
    assert_eq!((times("&forecast_days=17"), times("&start_date=2025-06-02&end_date=2025-06-01")), (0, 0));
    assert_eq!(hourly("")["hourly"]["time"][0], "2025-05-28T00:00");
}

#[test]
fn prices_are_of_trading_days_before_today() {
    let data = &get("http://api.marketstack.com/v1/eod?symbols=AAPL,msft&limit=6").1["data"];
    let days: Vec<&str> = data.as_array().unwrap().iter().map(|price| &price["date"].as_str().unwrap()[..10]).collect();
    assert_eq!(days, ["2025-05-27", "2025-05-27", "2025-05-26", "2025-05-26", "2025-05-23", "2025-05-23"]);
    assert_eq!(data[1]["symbol"], "MSFT");
}

#[test]
fn a_place_without_letters_is_found_nowhere() {
    let (status, value) = get("https://geocoding-api.open-meteo.com/v1/search?name=12");
    assert!(status == 200 && value.get("results").is_none());
}

fn urls() -> impl Strategy<Value = String> {
    let places: Vec<String> = SERVERS
        .iter()
        .map(|server| format!("http://127.0.0.1:{}{}", server.port, server.path))
        .chain(Service::ALL.iter().map(|service| format!("https://{}/{}", service.host(), service.path())))
        .chain(["http://localhost".to_owned(), String::new()])
        .collect();
    (proptest::sample::select(places), ".{0,40}").prop_map(|(place, rest)| format!("{place}?{rest}"))
}

/// Parameters that services look at, with values that may be anything.
fn parameter() -> impl Strategy<Value = String> {
    let names = [
        "query",
        "name",
        "count",
        "latitude",
        "longitude",
        "hourly",
        "daily",
        "forecast_days",
        "start_date",
        "end_date",
        "date",
        "limit",
        "offset",
        "symbols",
        "currencies",
        "base_currency",
        "from",
        "to",
        "amount",
        "intent",
        "time",
        "keywords",
    ];
    let values = prop_oneof![
        "[0-9,.-]{0,12}",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}",
        "\\PC{0,10}",
        "-?9999-12-31",
        "(USD|GBP|rain|sunset)"
    ];
    (proptest::sample::select(names.to_vec()), values).prop_map(|(name, value)| format!("{name}={value}"))
}

proptest! {
    #[test]
    fn anything_is_answered(
        method in "GET|HEAD|POST|OPTIONS|PUT|.{0,5}",
        url in urls(),
        parameters in proptest::collection::vec(parameter(), 0..6),
        body in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..60)),
        day in (-9999i16..=9999, 1i8..=12, 1i8..=28),
    ) {
        let url = format!("{url}&{}", parameters.join("&"));
        let today = Date::new(day.0, day.1, day.2).unwrap();
        let request = ToolRequest { method: method.clone(), url: url.clone(), body: body.clone() };
        let first = answer(&request, today);
        prop_assert!((200..=500).contains(&first.status));
        prop_assert_eq!(&first, &answer(&request, today));
        let text = body.map(|body| String::from_utf8_lossy(&body).into_owned());
        let made = exchange(&method, &url, text.as_deref(), today);
        prop_assert!(made.status == 0 || made.status >= 200);
    }

    #[test]
    fn an_answer_to_json_is_json_with_what_was_sent(value in any::<i64>(), text in ".{0,20}") {
        let body = json!({"intent": "play_game", "game_name": {"b": value, "a": [text]}});
        let answer = ask("POST", "http://x:3006/game", Some(body.to_string().as_bytes()));
        prop_assert!(answer.body.is_ascii());
        let echoed: Value = serde_json::from_slice(&answer.body).unwrap();
        prop_assert_eq!(&echoed["data"]["query"]["slots"]["game_name"], &body["game_name"]);
    }
}
