//! Items of other people's services (docs/benchmarks/autoslurp.md §7.4).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regatta_proto::Exchange;
use regatta_pycompat::{self as python, Json, Object};
use regex::Regex;

use super::Judged;
use super::reason::Reason;
use super::tokens::tokens;
use crate::data::is_external;
use crate::run::Run;
use crate::servers::server_of;

/// Words that every text has.
const COMMON: [&str; 9] = ["a", "an", "the", "of", "in", "is", "for", "and", "to"];
/// An answer to a person has at least so many words.
const FINAL_WORDS_MIN: usize = 3;

static URL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"https?://\S+").ok());
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[0-9]+(?:\.[0-9]+)?").ok());

/// A service that somebody else offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Weather,
    News,
    Stock,
    Currency,
    /// None: it is only talk.
    Talk,
    Search,
}

impl Service {
    /// The service that an intent needs; in this order, so that `qa_stock` and `qa_currency` are not searched for.
    pub(super) fn of(intent: &str) -> Option<Self> {
        const WORDS: [(&str, Service); 6] = [
            ("weather", Service::Weather),
            ("news_query", Service::News),
            ("stock", Service::Stock),
            ("currency", Service::Currency),
            ("general", Service::Talk),
            ("qa", Service::Search),
        ];
        WORDS.into_iter().find(|(word, _)| intent.contains(word)).map(|(_, service)| service)
    }

    /// True if a request to `url` is one to the service. The part after the question mark does not count: it is the agent's words.
    pub(super) fn is_asked_at(self, url: &str) -> bool {
        let place = url.split(['?', '#']).next().unwrap_or_default();
        match self {
            Self::Weather => place.contains("open-meteo") && place.contains("forecast"),
            Self::News => place.contains("mediastack"),
            Self::Stock => place.contains("marketstack"),
            Self::Currency => place.contains("freecurrencyapi") || place.contains("amdoren"),
            Self::Talk => false,
            Self::Search => place.contains("serpstack"),
        }
    }

    /// True if an answer holds the value that was asked for.
    fn is_answer(self, url: &str, answer: &Object) -> bool {
        let has = |key: &str| answer.get(key).is_some_and(is_something);
        match self {
            Self::Weather => answer.get("latitude").is_some(),
            Self::News | Self::Stock => has("data"),
            Self::Currency if url.contains("amdoren") => answer.get("amount").is_some() && !has("error"),
            Self::Currency => has("data"),
            Self::Talk => false,
            Self::Search => has("organic_results") || has("answer_box"),
        }
    }
}

/// True if an intent is only talk, for which no service is needed.
pub(super) fn is_talk(intent: &str) -> bool {
    is_external(intent) && Service::of(intent) == Some(Service::Talk)
}

/// Judgement of an external item by its requests and its final answer.
pub(super) fn judge(intent: &str, run: &Run) -> Judged {
    Judged { reason: reason(Service::of(intent).unwrap_or(Service::Search), run), ..Judged::default() }
}

fn reason(service: Service, run: &Run) -> Reason {
    let said = run.final_text.as_deref().unwrap_or_default();
    let said = URL.as_ref().map_or_else(|| said.into(), |url| url.replace_all(said, ""));
    if service == Service::Talk {
        return if said.trim().is_empty() { Reason::NoFinal } else { Reason::Ok };
    }
    let Some(answer) = run.requests.iter().rev().find(|request| is_answered(service, request)) else {
        let is_asked = run.requests.iter().any(|request| server_of(&request.url).is_none());
        return if is_asked { Reason::NoServiceAnswer } else { Reason::NoRequest };
    };
    let words = tokens(&said);
    if words.len() < FINAL_WORDS_MIN {
        return Reason::NoFinal;
    }
    let is_grounded = match service {
        Service::Weather | Service::Stock | Service::Currency => {
            NUMBER.as_ref().is_some_and(|number| number.find_iter(&said).any(|n| answer.response.contains(n.as_str())))
        }
        Service::News | Service::Search | Service::Talk => {
            let of_answer: BTreeSet<String> = tokens(&answer.response).into_iter().collect();
            words.iter().any(|word| !COMMON.contains(&word.as_str()) && of_answer.contains(word))
        }
    };
    if is_grounded { Reason::Ok } else { Reason::NotGrounded }
}

fn is_answered(service: Service, request: &Exchange) -> bool {
    request.status == 200
        && service.is_asked_at(&request.url)
        && python::parse(&request.response)
            .and_then(Json::into_object)
            .is_some_and(|answer| service.is_answer(&request.url, &answer))
}

/// Truth of a value in Python.
pub(super) fn is_something(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(truth) => *truth,
        Json::Int(int) => int.decimal() != "0",
        Json::Float(float) => *float != 0.0,
        Json::String(text) => !text.is_empty(),
        Json::List(values) => !values.is_empty(),
        Json::Object(object) => !object.is_empty(),
    }
}
