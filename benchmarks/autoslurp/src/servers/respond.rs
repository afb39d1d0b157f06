//! Answers of a simulated server (docs/benchmarks/autoslurp.md §2.4).

use regatta_benchmarks::ToolAnswer;
use regatta_pycompat::{Json, Object, decimal_digit, parse};

use super::dumps::Dumps;
use super::query::parameters;
use super::server::{Format, OK, Rule, Server};

/// Greatest depth of Flask's JSON when it is read and when it is written, on CPython 3.11: the recursion limit of 1000 less the frames that
/// are there already. Deeper JSON is an internal error.
const READ_DEPTH_MAX: usize = 978;
/// See [`READ_DEPTH_MAX`].
const WRITTEN_DEPTH_MAX: usize = 975;
/// Depth of the values of slots in an answer.
const SLOT_DEPTH: usize = 4;
/// Depth of the intent in an answer.
const INTENT_DEPTH: usize = 3;

/// Methods that a server has.
const ALLOW: &str = "GET, HEAD, OPTIONS, POST";

/// Answer of `server` at its path.
pub(super) fn respond(server: &Server, method: &str, query: &str, body: &[u8]) -> ToolAnswer {
    match method {
        "GET" => json(get(server, query)),
        "HEAD" => json(Some(String::new())),
        "OPTIONS" => ToolAnswer { allow: Some(ALLOW), ..page(200, "") },
        "POST" => json(post(server, &String::from_utf8_lossy(body))),
        _ => ToolAnswer { allow: Some(ALLOW), ..page(405, "this server has no such method") },
    }
}

/// A page for people, as Flask has them for what is no answer of a server.
pub(super) fn page(status: u16, text: &str) -> ToolAnswer {
    let body = if text.is_empty() {
        String::new()
    } else {
        format!("<!doctype html>\n<title>{status}</title>\n<p>{text}</p>\n")
    };
    ToolAnswer { status, content_type: "text/html; charset=utf-8", allow: None, body: body.into_bytes() }
}

/// An answer, or an internal error when there is none.
fn json(answer: Option<String>) -> ToolAnswer {
    match answer {
        Some(text) => {
            ToolAnswer { status: 200, content_type: "application/json", allow: None, body: text.into_bytes() }
        }
        None => page(500, "the server failed on this request"),
    }
}

fn get(server: &Server, query: &str) -> Option<String> {
    let mut given = Object::default();
    for (name, value) in parameters(query) {
        // The first value of a name counts.
        if given.get(&name).is_none() {
            given.insert(name, Json::String(value));
        }
    }
    if given.get("intent").is_none() {
        given.insert("intent".to_owned(), Json::String(String::new()));
    }
    answer(server, &given, "")
}

fn post(server: &Server, body: &str) -> Option<String> {
    if body.is_empty() {
        return Some("{\"code\":\"FAIL\",\"msg\":\"fail, missing parameters\"}\n".to_owned());
    }
    let value = parse(body).filter(|value| is_within(value, READ_DEPTH_MAX))?;
    let has_intent = match &value {
        Json::Object(given) => given.get("intent").is_some(),
        // What `in` means for these; an intent cannot be taken out of them.
        Json::List(values) => values.iter().any(|value| value.as_str() == Some("intent")),
        Json::String(text) => text.contains("intent"),
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) => return None,
    };
    if !has_intent {
        return Some("{\"code\":\"FAIL\",\"msg\":\"fail, missing parameters: intent\"}\n".to_owned());
    }
    answer(server, value.as_object()?, body)
}

/// The answer to a request that has an intent; nothing when the server fails on a value. `source` is what the values were read from.
fn answer(server: &Server, given: &Object, source: &str) -> Option<String> {
    let intent = given.get("intent")?;
    let present = server.slots.iter().filter(|slot| given.get(slot.name).is_some());
    let mut slots: Vec<(&str, &Json)> = Vec::new();
    let mut complaint = None;
    for slot in present {
        let value = given.get(slot.value_of).unwrap_or(&Json::Null);
        slots.push((slot.name, value));
        if let Some(format) = slot.format
            && !format.fits(value.as_str()?)
        {
            // The last one that does not fit counts.
            complaint = Some(format.complaint());
        }
    }
    let has = |name: &&str| slots.iter().any(|(slot, _)| slot == name);
    // The outer one: whether the intent is known; the inner one: whether it has an answer of its own.
    let by_intent = intent.as_str().and_then(|name| server.intent(name)).map(|intent| match intent.rule {
        Rule::Always(answer) => Some(answer),
        Rule::AsChecked => None,
        Rule::UnlessAny(question, answer) => {
            if slots.is_empty() {
                Some(question)
            } else {
                answer
            }
        }
        Rule::UnlessOneOf(names, question, answer) => Some(if names.iter().any(has) { answer } else { question }),
        Rule::UnlessAllOf(names, question, answer) => Some(if names.iter().all(has) { answer } else { question }),
    });
    let by_intent = by_intent.unwrap_or(Some(server.unknown_intent));
    let response = if server.checks_first { by_intent.or(complaint) } else { complaint.or(by_intent) };
    let fits = |value: &Json, depth: usize| is_within(value, WRITTEN_DEPTH_MAX - depth);
    if !fits(intent, INTENT_DEPTH) || !slots.iter().all(|(_, value)| fits(value, SLOT_DEPTH)) {
        return None;
    }
    slots.sort_by_key(|(name, _)| *name);
    let mut out = Dumps::new(source);
    out.raw("{\"code\":\"SUCCESS\",\"data\":{\"query\":{\"intent\":");
    out.value(intent);
    out.raw(",\"slots\":");
    out.entries(&slots);
    out.raw("},\"response\":");
    out.text(response.unwrap_or(OK));
    out.raw("},\"msg\":");
    out.text(server.message);
    out.raw("}\n");
    Some(out.into_text())
}

/// True if arrays and objects are nested no deeper than `depth`.
fn is_within(value: &Json, depth: usize) -> bool {
    match value {
        Json::List(values) => depth > 0 && values.iter().all(|value| is_within(value, depth - 1)),
        Json::Object(object) => depth > 0 && object.iter().all(|(_, value)| is_within(value, depth - 1)),
        _ => true,
    }
}

impl Format {
    /// True if the value begins as the server checks. `\d` is a decimal digit of any script; the rest of the value is not checked.
    fn fits(self, value: &str) -> bool {
        match self {
            Self::Time => after(value, "dd:dd").is_some(),
            Self::Date => after(value, "202d-dd-dd").is_some(),
            Self::DateTime => {
                let mut rest = value;
                while let Some(after) = after(rest, "202d-dd-dd ") {
                    rest = after;
                }
                // A date cannot be a time too, so there is nothing to go back to.
                after(rest, "dd:dd").is_some()
            }
        }
    }
}

/// Rest of the value after a beginning of this form, in which `d` is any decimal digit; `None` if it begins otherwise.
fn after<'v>(value: &'v str, form: &str) -> Option<&'v str> {
    let mut characters = value.chars();
    for expected in form.chars() {
        let c = characters.next()?;
        let fits = if expected == 'd' { decimal_digit(c).is_some() } else { c == expected };
        if !fits {
            return None;
        }
    }
    Some(characters.as_str())
}
