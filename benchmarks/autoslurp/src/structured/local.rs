//! Items of the simulated servers (docs/benchmarks/autoslurp.md §7.3).

use jiff::civil::Date;
use regatta_proto::Exchange;
use regatta_pycompat::{self as python, Json, Object};
use serde_json::{Value, json};

use super::compare::compare;
use super::reason::Reason;
use super::slots::{Slot, text};
use super::{Decisive, Judged};
use crate::run::Run;
use crate::servers::{DATE_FORMAT, SERVERS, TIME_FORMAT, server_of};

/// Judgement of a local item by its requests.
pub(super) fn judge(intent: &str, gold: &[Slot], today: Date, run: &Run) -> Judged {
    let Some(decisive) = run.requests.iter().rev().find_map(success) else {
        let is_asked = run.requests.iter().any(|request| server_of(&request.url).is_some());
        let reason = if is_asked { Reason::NoSuccess } else { Reason::NoRequest };
        return Judged { reason, ..Judged::default() };
    };
    let comparison = compare(gold, &decisive.slots, decisive.server, is_one_of("datetime_query", intent), today);
    let said = decisive.response.as_str();
    let reason = if SERVERS.iter().any(|server| server.unknown_intent == said) {
        Reason::UnsupportedIntent
    } else if said == DATE_FORMAT || said == TIME_FORMAT {
        Reason::FormatError
    } else if !decisive.intent.as_str().is_some_and(|echoed| is_one_of(echoed, intent)) {
        Reason::WrongIntent
    } else if !comparison.errors.is_empty() {
        Reason::Slots
    } else {
        Reason::Ok
    };
    Judged { reason, decisive: Some(decisive), comparison }
}

/// True if `intent` is one of those that the gold joins by commas or semicolons.
pub(super) fn is_one_of(intent: &str, gold: &str) -> bool {
    gold.split([',', ';']).any(|one| one.trim() == intent)
}

/// The answer of a simulated server that did what it was asked, or said that it did.
pub(super) fn success(exchange: &Exchange) -> Option<Decisive> {
    let server = server_of(&exchange.url).filter(|_| exchange.status == 200)?;
    let answer = python::parse(&exchange.response)?.into_object()?;
    if answer.get("code").and_then(Json::as_str) != Some("SUCCESS") {
        return None;
    }
    let data = answer.get("data").and_then(Json::as_object);
    let query = data.and_then(|data| data.get("query")).and_then(Json::as_object);
    let slots = query.and_then(|query| query.get("slots")).and_then(Json::as_object);
    Some(Decisive {
        server,
        intent: query.and_then(|query| query.get("intent")).map_or(Value::Null, shown),
        slots: slots.into_iter().flat_map(Object::iter).map(|(name, value)| (name.to_owned(), text(value))).collect(),
        response: data.and_then(|data| data.get("response")).map(text).unwrap_or_default(),
    })
}

/// A value for golden files.
fn shown(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(truth) => json!(truth),
        Json::Float(float) => json!(float),
        Json::Int(int) => int.decimal().parse::<i64>().map_or_else(|_| json!(int.decimal()), Value::from),
        _ => json!(text(value)),
    }
}
