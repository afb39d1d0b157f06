//! Slots of the gold against those that a server echoes (docs/benchmarks/autoslurp.md §7.3).

use jiff::civil::Date;

use super::moment::{Clock, day, days, is_in_part_of_day};
use super::slots::Slot;
use super::tokens::{jaccard, tokens};
use crate::servers::Server;

/// Slots that hold a time of the clock.
pub(super) const TIMES: [&str; 4] = ["time", "from_time", "to_time", "time2"];
/// A part of the day.
pub(super) const PART_OF_DAY: &str = "timeofday";
/// Slots of persons, which stand for each other.
const PERSONS: [&str; 3] = ["person", "to_person", "from_person"];

/// Errors in the slots of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Comparison {
    /// Errors as `missing:date`, `value:time` or `extra:person`: first those of slots of the gold, in its order, then slots that it does not have.
    pub(super) errors: Vec<String>,
    /// Errors that remain when texts are compared leniently.
    pub(super) lenient: Vec<String>,
    /// Slots of the gold that the server does not take.
    pub(super) unreachable: Vec<String>,
}

/// Compares the slots of the `gold` with those that `server` has `echoed`.
pub(super) fn compare(
    gold: &[Slot],
    echoed: &[Slot],
    server: &Server,
    is_datetime_query: bool,
    today: Date,
) -> Comparison {
    let is_ignored = |(name, value): &Slot| match name.as_str() {
        "event_name" | "list_name" | "iid" => true,
        "descriptor" => tokens(value) == ["all"],
        "query" => tokens(value) == ["song", "name"],
        "date" => is_datetime_query && (value.trim() == "today" || value.trim() == today.to_string()),
        _ => false,
    };
    let takes_times = server.accepts("time") || server.accepts("from_time");
    let has_time = gold.iter().any(|(name, _)| TIMES.contains(&name.as_str()));
    let mut left: Vec<&Slot> = echoed.iter().filter(|slot| !is_ignored(slot)).collect();
    let mut found = Comparison::default();
    for slot in gold {
        let (name, said) = slot;
        if name == PART_OF_DAY && (takes_times || !server.accepts(PART_OF_DAY)) {
            if takes_times && !has_time {
                let is_start = |name: &str| matches!(name, "time" | "from_time" | PART_OF_DAY);
                let is_time = |name: &str| TIMES.contains(&name) || name == PART_OF_DAY;
                let is_right = left.iter().all(|(name, value)| !is_start(name) || is_in_part_of_day(said, value));
                left.retain(|(name, _)| !is_time(name));
                if !is_right {
                    found.wrong("value", name);
                }
            }
            continue;
        }
        if !server.accepts(name) {
            found.unreachable.push(name.clone());
            continue;
        }
        if is_ignored(slot) {
            continue;
        }
        let counterpart = counterparts(name).find_map(|name| left.iter().position(|(echoed, _)| echoed == name));
        let Some(at) = counterpart else {
            found.wrong("missing", name);
            continue;
        };
        let (_, value) = left.remove(at);
        match agreement(name, said, value, today) {
            Agreement::Equal => {}
            Agreement::Similar => found.errors.push(format!("value:{name}")),
            Agreement::Different => found.wrong("value", name),
        }
    }
    for (name, _) in left {
        found.wrong("extra", name);
    }
    found
}

impl Comparison {
    /// Adds an error that counts however texts are compared.
    fn wrong(&mut self, what: &str, slot: &str) {
        let error = format!("{what}:{slot}");
        self.errors.push(error.clone());
        self.lenient.push(error);
    }
}

/// Names that an echoed slot may have for the gold's `name`, best first.
pub(super) fn counterparts(name: &str) -> impl Iterator<Item = &str> {
    let others: &[&str] = match name {
        "time" => &["from_time"],
        "time2" => &["to_time"],
        _ if PERSONS.contains(&name) => &PERSONS,
        _ => &[],
    };
    std::iter::once(name).chain(others.iter().copied())
}

/// Agreement of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agreement {
    Equal,
    /// At least half of their words are common.
    Similar,
    Different,
}

/// Agreement of the value that was `requested` with the one that was `said`.
pub(super) fn agreement(name: &str, said: &str, requested: &str, today: Date) -> Agreement {
    let exactly = |truth: bool| if truth { Agreement::Equal } else { Agreement::Different };
    if name == "date" {
        let days = days(said, today);
        return exactly(days.is_none_or(|(first, last)| day(requested).is_some_and(|day| first <= day && day <= last)));
    }
    if TIMES.contains(&name) {
        let same = |said: Clock| Clock::requested(requested).is_some_and(|requested| said.same_face(requested));
        return exactly(Clock::said(said).is_none_or(same));
    }
    let (said, requested) = (tokens(said), tokens(requested));
    let is_completed = name.contains("place_name") && said.iter().all(|token| requested.contains(token));
    if is_completed || said == requested {
        Agreement::Equal
    } else if jaccard(&said, &requested) >= 0.5 {
        Agreement::Similar
    } else {
        Agreement::Different
    }
}
