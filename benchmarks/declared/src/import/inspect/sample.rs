//! Samples: what the model is given, and what is right.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regatta_benchmarks::source_location::kind_of;
use serde_json::{Map, Value, json};

use super::records::Record;
use super::{Fields, InspectField, InspectFields, InspectOptions, counts};

/// A sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    /// Where it is, for errors.
    pub(super) place: String,
    pub(super) id: Option<String>,
    /// Messages before the last one.
    pub(super) before: Vec<Message>,
    /// Text of the last message, which is the user's.
    pub(super) input: String,
    pub(super) choices: Vec<String>,
    /// Right answers; none where the sample says none.
    pub(super) target: Vec<String>,
    pub(super) metadata: Fields,
    /// Columns that a scorer needs in a form of its own.
    pub(super) more: Fields,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) role: &'static str,
    content: String,
}

impl Sample {
    /// The sample as a record of the benchmark.
    pub(super) fn record(&self, has_messages: bool) -> Value {
        let mut record = Map::new();
        if let Some(id) = &self.id {
            record.insert("id".to_owned(), json!(id));
        }
        if has_messages {
            let messages: Vec<Value> =
                self.before.iter().map(|one| json!({ "role": one.role, "content": one.content })).collect();
            record.insert("messages".to_owned(), Value::Array(messages));
        }
        record.insert("input".to_owned(), json!(self.input));
        if !self.choices.is_empty() {
            record.insert("choices".to_owned(), json!(self.choices));
        }
        record.insert("target".to_owned(), json!(self.target));
        record.extend(self.more.clone());
        if !self.metadata.is_empty() {
            record.insert("metadata".to_owned(), Value::Object(self.metadata.clone()));
        }
        Value::Object(record)
    }

    /// `true` if another epoch of the sample has the same in it.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        (&self.before, &self.input, &self.choices, &self.target)
            == (&other.before, &other.input, &other.choices, &other.target)
    }
}

/// The samples of a data set; notes say which of its fields are not read.
pub(super) fn of_records(
    records: &[Record],
    options: &InspectOptions,
    notes: &mut Vec<String>,
) -> Result<Vec<Sample>, String> {
    let names = &options.fields;
    let (mut left_out, mut unread) = (BTreeMap::new(), BTreeMap::new());
    let mut samples = Vec::new();
    for record in records {
        samples.push(sample(&record.place, &record.fields, names, options, &mut left_out)?);
        for name in record.fields.keys().filter(|name| !is_read(name, names)) {
            *unread.entry(name.clone()).or_insert(0) += 1;
        }
    }
    note_left_out(&left_out, notes);
    if !unread.is_empty() {
        notes.push(format!("fields that are not read: {}; --metadata NAME keeps one", counts(&unread)));
    }
    Ok(samples)
}

fn is_read(name: &str, names: &InspectFields) -> bool {
    let InspectFields { input, target, choices, id, metadata, sandbox, files, setup } = names;
    [input, target, choices, id, sandbox, files, setup].iter().any(|known| *known == name)
        || metadata.iter().any(|known| known == name)
        || (metadata.is_empty() && name == "metadata")
}

/// Says how many samples have lost fields that a person has named.
pub(super) fn note_left_out(left_out: &BTreeMap<String, usize>, notes: &mut Vec<String>) {
    if !left_out.is_empty() {
        notes.push(format!("left out of samples, as you said: {}", counts(left_out)));
    }
}

/// Refuses samples of which two have one id, or only some have one.
pub(super) fn check_ids(samples: &[Sample]) -> Result<(), String> {
    let mut seen: HashMap<&str, &str> = HashMap::new();
    let with_id = samples.iter().filter(|sample| sample.id.is_some()).count();
    for sample in samples {
        let Some(id) = &sample.id else {
            if with_id > 0 {
                return Err(format!(
                    "{} has no id, and others have one; give each its own, or none to any",
                    sample.place
                ));
            }
            continue;
        };
        if let Some(earlier) = seen.insert(id, &sample.place) {
            return Err(format!("{}: the id {id:?} is that of {earlier} too; give each sample its own", sample.place));
        }
    }
    Ok(())
}

/// The sample that `fields` describe under `names`; fields that are left out are counted.
pub(super) fn sample(
    place: &str,
    fields: &Fields,
    names: &InspectFields,
    options: &InspectOptions,
    left_out: &mut BTreeMap<String, usize>,
) -> Result<Sample, String> {
    let at = |field: &str, problem: String| format!("{place}, {field}: {problem}");
    for (field, name) in [
        (InspectField::Sandbox, &names.sandbox),
        (InspectField::Files, &names.files),
        (InspectField::Setup, &names.setup),
    ] {
        if !fields.get(name).is_some_and(is_there) {
            continue;
        }
        if !options.leave_out.contains(&field) {
            return Err(at(name, sandboxed(field)));
        }
        *left_out.entry(field.as_str().to_owned()).or_insert(0) += 1;
    }
    let input = fields.get(&names.input).filter(|value| is_there(value));
    let input = input.ok_or_else(|| at(&names.input, format!("is missing; fields: {}", known(fields))))?;
    let (before, input) = conversation(input).map_err(|problem| at(&names.input, problem))?;
    let target = fields.get(&names.target).map_or(Ok(Vec::new()), texts);
    let target = target.map_err(|problem| at(&names.target, problem))?;
    let choices = fields.get(&names.choices).map_or(Ok(Vec::new()), choices);
    let choices = choices.map_err(|problem| at(&names.choices, problem))?;
    let id = match fields.get(&names.id) {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) if id.is_empty() => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(Value::Number(id)) if id.is_i64() || id.is_u64() => Some(id.to_string()),
        Some(other) => return Err(at(&names.id, format!("must be a text or a whole number, is {}", kind_of(other)))),
    };
    let metadata = metadata(fields, names).map_err(|problem| at("metadata", problem))?;
    Ok(Sample { place: place.to_owned(), id, before, input, choices, target, metadata, more: Map::new() })
}

/// The words about a field that needs a sandbox.
pub(super) fn sandboxed(field: InspectField) -> String {
    let name = field.as_str();
    format!(
        "a declared benchmark has no sandbox; leave it out with --leave-out {name} where the answer does not need it, or write a \
         benchmark in code (docs/coded-benchmarks.md)"
    )
}

fn known(fields: &Fields) -> String {
    if fields.is_empty() { "none".to_owned() } else { fields.keys().cloned().collect::<Vec<_>>().join(", ") }
}

/// `false` of what Inspect reads as nothing.
pub(super) fn is_there(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// A scalar as Python writes it.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A text or several; empty ones are none.
fn texts(value: &Value) -> Result<Vec<String>, String> {
    let one = |value: &Value| {
        scalar(value).ok_or_else(|| format!("must be a text or a list of texts, is or holds {}", kind_of(value)))
    };
    let texts = match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values.iter().map(one).collect::<Result<_, _>>()?,
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Object(_) => vec![one(value)?],
    };
    Ok(texts.into_iter().filter(|text| !text.trim().is_empty()).collect())
}

/// Choices as a list, or as one text with commas, or spaces, between them.
fn choices(value: &Value) -> Result<Vec<String>, String> {
    let Value::String(text) = value else { return texts(value) };
    let parts: Vec<&str> =
        if text.contains(',') { text.split(',').collect() } else { text.split_whitespace().collect() };
    Ok(parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).map(str::to_owned).collect())
}

fn metadata(fields: &Fields, names: &InspectFields) -> Result<Fields, String> {
    if !names.metadata.is_empty() {
        let value = |name: &String| (name.clone(), fields.get(name).cloned().unwrap_or(Value::Null));
        return Ok(names.metadata.iter().map(value).collect());
    }
    match fields.get("metadata") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(metadata)) => Ok(metadata.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => {
            serde_json::from_str(text).map_err(|error| format!("must be an object as JSON: {error}"))
        }
        Some(other) => Err(format!("must be an object, is {}", kind_of(other))),
    }
}

/// The messages before the last one, and its text.
fn conversation(input: &Value) -> Result<(Vec<Message>, String), String> {
    let list = match input {
        Value::String(text) => return Ok((Vec::new(), text.clone())),
        Value::Array(list) => list,
        other => return Err(format!("must be a text or a list of messages, is {}", kind_of(other))),
    };
    let mut messages = Vec::new();
    for (number, message) in (1..).zip(list) {
        messages.push(self::message(message).map_err(|problem| format!("message {number} {problem}"))?);
    }
    for (number, pair) in (1..).zip(messages.windows(2)) {
        if let [first, second] = pair
            && first.role == "user"
            && second.role != "assistant"
        {
            return Err(format!(
                "message {number} is the user's and no answer follows, so that the model would be asked there; join it with the next one"
            ));
        }
    }
    match messages.pop() {
        Some(last) if last.role == "user" => Ok((messages, last.content)),
        _ => {
            Err("must end with a message of the user: an answer that the model goes on with has no counterpart"
                .to_owned())
        }
    }
}

fn message(message: &Value) -> Result<Message, String> {
    let role = match message.get("role").and_then(Value::as_str) {
        Some("system") => "system",
        Some("user") => "user",
        Some("assistant") => "assistant",
        Some(other) => {
            return Err(format!("has the role {other:?}, which has no counterpart; known: system, user, assistant"));
        }
        None => return Err("has no role".to_owned()),
    };
    if message.get("tool_calls").is_some_and(is_there) {
        return Err("calls tools, which has no counterpart".to_owned());
    }
    let content = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(part).collect::<Result<Vec<_>, _>>()?.join("\n"),
        Some(other) => {
            return Err(format!("has a content that is {}; it must be a text or a list of parts", kind_of(other)));
        }
        None => return Err("has no content".to_owned()),
    };
    if content.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    Ok(Message { role, content })
}

fn part(part: &Value) -> Result<String, String> {
    match (part.get("type").and_then(Value::as_str), part.get("text").and_then(Value::as_str)) {
        (Some("text"), Some(text)) => Ok(text.to_owned()),
        (kind, _) => Err(format!("has a part of type {}; only texts have a counterpart", kind.unwrap_or("none"))),
    }
}

/// A value of metadata that all samples have, none, or only some: what a template can be filled from.
pub(super) enum Everywhere {
    All,
    None,
    Some(String),
}

/// Looks for the metadata `name` in all samples.
///
/// # Errors
/// When a sample's value is no text or number.
pub(super) fn everywhere(samples: &[Sample], name: &str) -> Result<Everywhere, String> {
    let mut missing = BTreeSet::new();
    for (at, sample) in samples.iter().enumerate() {
        match sample.metadata.get(name) {
            None | Some(Value::Null) => {
                missing.insert(at);
            }
            Some(Value::String(_) | Value::Number(_)) => {}
            Some(other) => {
                return Err(format!(
                    "{}: the metadata {name:?} is {}, and a template can show texts and numbers",
                    sample.place,
                    kind_of(other)
                ));
            }
        }
    }
    match missing.first().and_then(|at| samples.get(*at)) {
        None => Ok(Everywhere::All),
        Some(_) if missing.len() == samples.len() => Ok(Everywhere::None),
        Some(sample) => Ok(Everywhere::Some(sample.place.clone())),
    }
}
