//! A simulated judge of the official evaluators (docs/benchmarks/autoslurp.md §8). It reads nothing but the message, as a real judge does,
//! and allows what judges are told to allow; which day it is, and whose copy of the evaluator asks, stands elsewhere.

use std::collections::BTreeSet;

use regatta_benchmarks::Persona;
use regatta_proto::SessionSeed;
use serde_json::Value;

use super::mistakes::Mistakes;
use super::said::first_object;
use super::{Slot, resolved};
use crate::servers::{DATE_FORMAT, SERVERS, TIME_FORMAT};

/// Beginning of an answer of a simulated server.
const SUCCESS: &str = "{\"code\":\"SUCCESS\"";
/// Words of which answers of other services hold at least one.
const SERVICE_WORDS: [&str; 4] = ["\"results\"", "\"data\"", "\"success\"", "\"amount\""];
/// Minutes after which a clock without am and pm shows the same again.
const HALF_A_DAY: u32 = 12 * 60;
/// Most answers that are read, from the last one on: each may be as long as the log.
const ANSWERS_MAX: usize = 16;

/// Reply of a judge of this `persona` to the user message `prompt`; `None` when it is neither of the two judgements.
pub(crate) fn reply(prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
    let is_right = slots_are_right(prompt).or_else(|| task_is_finished(prompt))?;
    let is_right = is_right != Mistakes::of(persona, seed, &format!("judge/{prompt}")).happens();
    // Both ways of counting look for words anywhere in the text, and for those of the wrong ones first.
    Some(if is_right { "<Right>: it agrees." } else { "<Wrong>: it does not agree." }.to_owned())
}

/// The judgement of slots.
fn slots_are_right(prompt: &str) -> Option<bool> {
    let (gold, result) = prompt.strip_prefix("The golden slot is :{")?.split_once("}. The result is ")?;
    let Some(body) = first_object(result) else { return Some(false) };
    let asks_time = body.pointer("/data/query/intent").and_then(Value::as_str) == Some("datetime_query");
    let echoed = body.pointer("/data/query/slots").and_then(Value::as_object).into_iter().flatten();
    let mut echoed: Vec<Slot> = echoed
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .filter(|slot| !may_be_ignored(slot))
        .collect();
    let dates_do_not_matter = |name: &str| asks_time && name == "date";
    for slot in resolved::spoken(gold).iter().filter(|slot| !may_be_ignored(slot)) {
        match echoed.iter().position(|other| is_same(slot, other)) {
            Some(at) => drop(echoed.remove(at)),
            None if dates_do_not_matter(&slot.0) => {}
            None => return Some(false),
        }
    }
    Some(echoed.iter().all(|(name, _)| dates_do_not_matter(name)))
}

fn may_be_ignored((name, value): &Slot) -> bool {
    let value = words(value);
    match name.as_str() {
        "event_name" | "list_name" => true,
        "descriptor" => value == ["all"],
        "query" => value == ["song", "name"],
        _ => false,
    }
}

fn is_same((name, value): &Slot, (other_name, other_value): &Slot) -> bool {
    if kind(name) != kind(other_name) {
        return false;
    }
    let (one, other) = (words(value), words(other_value));
    let is_time = name.contains("time") && !name.starts_with("time_zone");
    if is_time && let (Some(one), Some(other)) = (minutes(value), minutes(other_value)) {
        return one % HALF_A_DAY == other % HALF_A_DAY;
    }
    // A place may be completed with its state or country.
    one == other || (name.contains("place_name") && !one.is_empty() && one.iter().all(|word| other.contains(word)))
}

/// Names that are told apart by nobody are one kind.
fn kind(name: &str) -> &str {
    if matches!(name, "to_person" | "from_person") { "person" } else { name }
}

/// Minutes of the first time like `10:00`.
fn minutes(text: &str) -> Option<u32> {
    let (before, after) = text.split_once(':')?;
    let hour = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    let minute = after.get(..2).filter(|minute| minute.bytes().all(|c| c.is_ascii_digit()))?;
    Some(hour.parse::<u32>().ok().filter(|&hour| hour < 24)? * 60 + minute.parse::<u32>().ok()?)
}

fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace('\'', "");
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The judgement of the whole.
fn task_is_finished(prompt: &str) -> Option<bool> {
    let (_, rest) = prompt.strip_prefix("the task is ")?.split_once(". The annotation is ")?;
    let log = rest.strip_suffix("\nyour answer is :")?.split_once('\n')?.1;
    let answers: Vec<&str> = log.match_indices(SUCCESS).map(|(at, _)| &log[at..]).collect();
    if answers.is_empty() {
        return Some(service_was_told(log) || was_small_talk(log));
    }
    // The last one that is there whole.
    let said = answers.iter().rev().take(ANSWERS_MAX).find_map(|answer| first_object(answer)).and_then(|body| {
        let response = body.pointer("/data/response").and_then(Value::as_str);
        response.map(str::to_owned)
    });
    Some(!said.is_some_and(|said| is_refusal(&said)))
}

fn is_refusal(response: &str) -> bool {
    SERVERS.iter().any(|server| server.unknown_intent == response) || [TIME_FORMAT, DATE_FORMAT].contains(&response)
}

/// True if a service answered, and the text after its last answer repeats something of it.
fn service_was_told(log: &str) -> bool {
    let lines: Vec<&str> = log.lines().collect();
    let is_answer = |line: &&str| SERVICE_WORDS.iter().any(|word| line.contains(word));
    let Some(last) = lines.iter().rposition(is_answer) else { return false };
    let bodies: Vec<Value> =
        lines.iter().filter(|line| is_answer(line)).filter_map(|line| first_object(line)).collect();
    let mut told = BTreeSet::new();
    bodies.iter().for_each(|body| collect(body, &mut told));
    let after = lines.iter().skip(last + 1).flat_map(|line| telling(line));
    let mut after = after.peekable();
    if told.is_empty() { after.peek().is_some() } else { after.any(|word| told.contains(&word)) }
}

/// Every telling word of the values in `body`. A parsed body is not nested deeply.
fn collect(body: &Value, told: &mut BTreeSet<String>) {
    match body {
        Value::Object(object) => {
            told.extend(
                object.keys().filter(|key| key.bytes().all(|c| c.is_ascii_uppercase())).map(|key| key.to_lowercase()),
            );
            object.values().for_each(|value| collect(value, told));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, told)),
        Value::String(text) => told.extend(telling(text)),
        Value::Number(number) => told.extend(telling(&number.to_string())),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Words that say something by themselves: long ones, and numbers.
fn telling(text: &str) -> impl Iterator<Item = String> {
    let words =
        text.split(|c: char| !c.is_alphanumeric() && c != '.').map(|word| word.trim_matches('.').to_lowercase());
    words
        .filter(|word| word.chars().count() > 3 || word.bytes().any(|c| c.is_ascii_digit()))
        .collect::<Vec<_>>()
        .into_iter()
}

/// True if it was small talk, and there was a sentence in reply.
fn was_small_talk(log: &str) -> bool {
    let Some(at) = log.rfind("general_") else { return false };
    let sentences = log[at..].split_inclusive(['.', '!', '?']).filter(|text| text.ends_with(['.', '!', '?']));
    // A sentence begins after what the framework prints around it.
    let lengths = sentences.map(|text| text.rsplit(['\n', '\'', '"', ':']).next().map_or(0, |text| words(text).len()));
    lengths.max().is_some_and(|length| length > 3)
}
