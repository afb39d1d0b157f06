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
        ("weather_query", "https://geocoding-api.open-meteo.com/v1/search?name=x", r#"{"results":[{"latitude":1}]}"#),
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
