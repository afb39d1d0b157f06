//! Wrong versions of the pieces. Each mistake is visible in the result.

use jiff::civil::Date;
use jiff::{Span, ToSpan as _};

use super::Slot;
use super::mistakes::Slip;
use super::plan::{Plan, server_for};
use super::said::Said;
use crate::servers::SERVERS;

/// Intents of other people's services, with the domains that the data has them in.
const SERVICES: [(&str, &str); 6] = [
    ("weather", "weather_query"),
    ("news", "news_query"),
    ("qa", "qa_factoid"),
    ("currency", "qa_currency"),
    ("stock", "qa_stock"),
    ("qa", "general_quirky"),
];

/// Another intent, one slot less, another value, or another name for a slot.
pub(super) fn said(gold: &Said, slip: Slip) -> Said {
    let mut said = gold.clone();
    let ways = if gold.slots.is_empty() { 2 } else { 5 };
    let which = slip.then(ways);
    let nth = which.way(gold.slots.len());
    match slip.way(ways) {
        0 => said.intent = sibling(gold, which),
        1 => (said.domain, said.intent) = stranger(gold, which),
        2 => drop(said.slots.remove(nth)),
        3 => change(&mut said.slots, nth, |(_, value)| *value = other(value)),
        _ => change(&mut said.slots, nth, |(name, _)| *name = format!("other_{name}")),
    }
    said
}

fn change(slots: &mut [Slot], nth: usize, how: impl FnOnce(&mut Slot)) {
    if let Some(slot) = slots.get_mut(nth) {
        how(slot);
    }
}

/// A value that has the words of neither this value nor most others.
fn other(value: &str) -> String {
    let other = if value == "something else" { "another thing" } else { "something else" };
    other.to_owned()
}

/// Another intent of the same server, or of another service where it has no other.
fn sibling(gold: &Said, slip: Slip) -> String {
    let own = server_for(gold).filter(|_| !crate::data::is_external(&gold.intent));
    let others: Vec<&str> = own
        .map(|server| server.intents.iter().map(|intent| intent.name).filter(|&name| name != gold.intent).collect())
        .unwrap_or_default();
    match others.get(slip.way(others.len())) {
        Some(intent) => (*intent).to_owned(),
        None => stranger(gold, slip).1,
    }
}

/// Domain and intent of elsewhere.
fn stranger(gold: &Said, slip: Slip) -> (String, String) {
    let local = SERVERS.iter().filter_map(|server| Some((server.name, server.intents.first()?.name)));
    let all: Vec<(&str, &str)> =
        local.chain(SERVICES).filter(|&(domain, intent)| domain != gold.domain && intent != gold.intent).collect();
    let (domain, intent) = all.get(slip.way(all.len())).copied().unwrap_or(("qa", "qa_factoid"));
    (domain.to_owned(), intent.to_owned())
}

/// The day after, the hour after, or words where a time belongs.
pub(super) fn times(gold: &[Slot], slip: Slip) -> Vec<Slot> {
    let mut times = gold.to_vec();
    let nth = slip.then(2).way(times.len());
    change(&mut times, nth, |(_, value)| {
        *value = match slip.way(2) {
            0 => later(value),
            _ => "some time soon".to_owned(),
        };
    });
    times
}

fn later(value: &str) -> String {
    let day: Span = 1.day();
    if let Some(Ok(next)) = value.parse::<Date>().ok().map(|date| date.checked_add(day)) {
        return next.to_string();
    }
    let hour = value.split_once(':').and_then(|(hour, rest)| Some((hour.parse::<u8>().ok()?, rest)));
    match hour {
        Some((hour, rest)) => format!("{:02}:{rest}", hour.wrapping_add(1) % 24),
        None => "23:59".to_owned(),
    }
}

/// Another place.
pub(super) fn places(gold: &[Slot], slip: Slip) -> Vec<Slot> {
    const PLACES: [&str; 3] = ["boston", "lisbon", "nairobi"];
    let mut places = gold.to_vec();
    let nth = slip.then(2).way(places.len());
    change(&mut places, nth, |(_, value)| {
        let others: Vec<&str> = PLACES.into_iter().filter(|place| place != value).collect();
        *value = others.get(slip.way(2)).copied().unwrap_or_default().to_owned();
    });
    places
}

/// Another server or service, another intent, a slot less, another value, another name for a slot, or no request at all.
pub(super) fn plan(gold: Plan, slip: Slip) -> Option<Plan> {
    let Plan::Local { server, mut intent, mut slots } = gold else { return service(gold, slip) };
    let ways = if slots.is_empty() { 3 } else { 6 };
    let which = slip.then(ways);
    let nth = which.way(slots.len());
    let mut server = server;
    match slip.way(ways) {
        0 => return None,
        1 => {
            let others: Vec<_> = SERVERS.iter().filter(|other| other.port != server.port).collect();
            server = others.get(which.way(others.len())).copied()?;
        }
        2 => intent.push_str("_now"),
        3 => drop(slots.remove(nth)),
        4 => change(&mut slots, nth, |(_, value)| *value = other(value)),
        _ => change(&mut slots, nth, |(name, _)| *name = format!("other_{name}")),
    }
    Some(Plan::Local { server, intent, slots })
}

/// For a service: another one, or none. Small talk needs no request, and there is nothing that could be wrong about it.
fn service(gold: Plan, slip: Slip) -> Option<Plan> {
    match (gold, slip.way(2)) {
        (Plan::Nothing, _) => Some(Plan::Nothing),
        (_, 0) => None,
        (Plan::Search { query }, _) => Some(Plan::News { keywords: query, date: None }),
        (Plan::Weather { place: query } | Plan::Stock { name: query } | Plan::News { keywords: query, .. }, _) => {
            Some(Plan::Search { query })
        }
        (Plan::Currency { from, .. }, _) => Some(Plan::Search { query: from }),
        (local @ Plan::Local { .. }, _) => Some(local),
    }
}

/// A reply that helps nobody.
pub(super) fn answer(slip: Slip) -> String {
    const ANSWERS: [&str; 3] = ["Done.", "Let me look into it.", "Hmm."];
    ANSWERS.get(slip.way(ANSWERS.len())).copied().unwrap_or_default().to_owned()
}
