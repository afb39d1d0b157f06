//! Requests for an utterance: one to a simulated server, or one or two to an external service.

use jiff::civil::Date;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::said::{Said, first_object};
use super::{Slot, currency};
use crate::servers::{SERVERS, Server};

/// Characters that are escaped in a value of a URL: all but those that official logs have unescaped there. No unescaped character ends the
/// pattern for URLs early.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// Longest symbol of a stock.
const SYMBOL_BYTES_MAX: usize = 8;

/// Place of the smart home.
const HOME: &str = "new york";

/// The requests that an utterance needs.
#[derive(Debug, Clone)]
pub(super) enum Plan {
    /// A simulated server.
    Local { server: &'static Server, intent: String, slots: Vec<Slot> },
    /// Position of the place, and the forecast for it.
    Weather { place: String },
    /// News.
    News { keywords: String, date: Option<String> },
    /// A search for the symbol, and its prices.
    Stock { name: String },
    /// An exchange rate, by codes.
    Currency { from: String, to: String },
    /// A search.
    Search { query: String },
    /// None: it is small talk, or nobody knows a server for it.
    Nothing,
}

/// A request that is to be made.
pub(super) struct Call {
    address: String,
    parameters: Vec<Slot>,
    is_local: bool,
}

impl Call {
    /// As one URL.
    pub(super) fn url(&self) -> String {
        let parameters =
            self.parameters.iter().map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, ESCAPED)));
        format!("{}?{}", self.address, parameters.collect::<Vec<_>>().join("&"))
    }

    /// As URL and body: a simulated server gets its parameters in the body, other services in the URL.
    pub(super) fn posted(&self) -> (String, String) {
        if !self.is_local {
            return (self.url(), "{}".to_owned());
        }
        let body = self.parameters.iter().map(|(name, value)| (name.clone(), Value::String(value.clone())));
        let body: Map<String, Value> = body.collect();
        (self.address.clone(), Value::Object(body).to_string())
    }
}

/// Form of requests to the external services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Forecasts by the hour, rates by freecurrencyapi: AutoGen, and others that GET.
    Get,
    /// Forecasts by the day, rates by amdoren: AgentLite.
    Post,
}

impl Plan {
    /// Requests for `said`, whose resolved slots are `slots`, by the member that was asked `text`. The service is chosen by the words that
    /// official code knows them by, in the order of docs/benchmarks/autoslurp.md §7.4.
    pub(super) fn of(said: &Said, slots: &[Slot], text: &str) -> Self {
        let intent = said.intent.as_str();
        let value = |name: &str| slots.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        if intent.contains("weather") {
            return Self::Weather { place: value("place_name").unwrap_or_else(|| HOME.to_owned()) };
        }
        if intent.contains("news_query") {
            // What is no day the service would refuse.
            let date = value("date").filter(|date| date.parse::<Date>().is_ok());
            return Self::News { keywords: keywords(slots), date };
        }
        if intent.contains("stock") {
            return Self::Stock { name: value("business_name").unwrap_or_else(|| text.to_owned()) };
        }
        if intent.contains("currency") {
            let (from, to) = currency::codes(slots);
            return Self::Currency { from, to };
        }
        if intent.contains("general") {
            return Self::Nothing;
        }
        if intent.contains("qa") {
            return Self::Search { query: text.to_owned() };
        }
        match server_for(said) {
            Some(server) => Self::Local { server, intent: intent.to_owned(), slots: distinct(slots) },
            None => Self::Nothing,
        }
    }

    /// The request after those that were answered with `answers`.
    pub(super) fn next(&self, answers: &[&str], form: Form) -> Option<Call> {
        match (self, answers) {
            (Self::Local { server, intent, slots }, []) => {
                let parameters = std::iter::once(("intent".to_owned(), intent.clone())).chain(slots.iter().cloned());
                let address = format!("http://127.0.0.1:{}{}", server.port, server.path);
                Some(Call { address, parameters: parameters.collect(), is_local: true })
            }
            (Self::Weather { place }, []) => Some(service(
                "https://geocoding-api.open-meteo.com/v1/search",
                &[("name", place), ("count", "10"), ("language", "en"), ("format", "json")],
            )),
            (Self::Weather { .. }, [geocoded]) => {
                let (latitude, longitude) = position(geocoded)?;
                let mut parameters = vec![("latitude", latitude.as_str()), ("longitude", longitude.as_str())];
                match form {
                    Form::Get => parameters.extend([("hourly", "temperature_2m"), ("models", "gfs_seamless")]),
                    Form::Post => parameters.push(("daily", "temperature_2m_max")),
                }
                Some(service("https://api.open-meteo.com/v1/forecast", &parameters))
            }
            (Self::News { keywords, date }, []) => {
                let mut parameters = vec![("access_key", "KEY"), ("keywords", keywords.as_str())];
                parameters.extend(date.as_deref().map(|date| ("date", date)));
                parameters.push(("sort", "published_desc"));
                Some(service("http://api.mediastack.com/v1/news", &parameters))
            }
            (Self::Stock { name }, []) => Some(search(&format!("{name} stock symbol"))),
            (Self::Stock { name }, [found]) => Some(service(
                "http://api.marketstack.com/v1/eod",
                &[("access_key", "KEY"), ("symbols", &symbol(name, found)), ("limit", "5")],
            )),
            (Self::Currency { from, to }, []) => Some(match form {
                Form::Get => service(
                    "https://api.freecurrencyapi.com/v1/latest",
                    &[("apikey", "KEY"), ("base_currency", from), ("currencies", to)],
                ),
                Form::Post => service(
                    "https://www.amdoren.com/api/currency.php",
                    &[("api_key", "KEY"), ("from", from), ("to", to), ("amount", "1")],
                ),
            }),
            (Self::Search { query }, []) => Some(search(query)),
            _ => None,
        }
    }
}

/// Each name once, with what was said last.
fn distinct(slots: &[Slot]) -> Vec<Slot> {
    let mut distinct: Vec<Slot> = Vec::new();
    for (name, value) in slots {
        match distinct.iter_mut().find(|(known, _)| known == name) {
            Some((_, before)) => value.clone_into(before),
            None => distinct.push((name.clone(), value.clone())),
        }
    }
    distinct
}

fn service(address: &str, parameters: &[(&str, &str)]) -> Call {
    let parameters = parameters.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Call { address: address.to_owned(), parameters, is_local: false }
}

fn search(query: &str) -> Call {
    service("http://api.serpstack.com/search", &[("access_key", "KEY"), ("query", query)])
}

/// Topic of a request for news; `news` without one.
fn keywords(slots: &[Slot]) -> String {
    const TOLD: [&str; 4] = ["news_topic", "media_type", "place_name", "person"];
    let words: Vec<&str> =
        slots.iter().filter(|(name, _)| TOLD.contains(&name.as_str())).map(|(_, value)| value.as_str()).collect();
    if words.is_empty() { "news".to_owned() } else { words.join(" ") }
}

/// The symbol that the search found, or the one that one would guess: the first letters of the name.
fn symbol(name: &str, found: &str) -> String {
    let is_symbol = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_uppercase() || c == b'.');
    let body = first_object(found);
    let found = body.as_ref().and_then(|body| body.pointer("/answer_box/answer")).and_then(Value::as_str);
    if let Some(symbol) = found.filter(|text| text.len() <= SYMBOL_BYTES_MAX && is_symbol(text)) {
        return symbol.to_owned();
    }
    let letters: String = name.chars().filter(char::is_ascii_alphabetic).take(4).collect();
    if letters.is_empty() { "SPX".to_owned() } else { letters.to_ascii_uppercase() }
}

/// Latitude and longitude of the first place in a geocoding answer.
fn position(answer: &str) -> Option<(String, String)> {
    let body = first_object(answer)?;
    let place = body.get("results")?.get(0)?;
    let number = |key: &str| place.get(key).filter(|value| value.is_number()).map(Value::to_string);
    Some((number("latitude")?, number("longitude")?))
}

/// The server for what was said: that which knows the intent, or one of several; else that of the domain, or that whose intents begin alike. It
/// may be one that does not know the intent; then it says so.
pub(super) fn server_for(said: &Said) -> Option<&'static Server> {
    let knows = |intent: &str| SERVERS.iter().find(|server| server.intent(intent).is_some());
    let called = |name: &str| SERVERS.iter().find(|server| server.name == name);
    let first = said.intent.split('_').next().unwrap_or_default();
    let alike = match first {
        "audio" => "iot",
        "playlists" => "music",
        other => other,
    };
    knows(&said.intent)
        .or_else(|| said.intent.split([',', ';']).find_map(knows))
        .or_else(|| called(&said.domain))
        .or_else(|| called(alike))
}
