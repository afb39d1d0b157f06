//! Samples: what the model is given, and what is right.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regatta_benchmarks::source_location::kind_of;
use regatta_proto::ItemId;
use regatta_pycompat::repr_float;
use serde_json::{Map, Number, Value, json};

use super::records::Record;
use super::{Fields, InspectField, InspectFields, InspectOptions, counts, listed};
use crate::data::{DEPTH_MAX, RECORD_BYTES_MAX, is_deeper};

/// Numbers without a fraction from here on may have digits that were not read; Python writes larger ones with an exponent.
const EXACT_BELOW: f64 = 1e16;

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
    /// The sample as a line of the benchmark's data.
    ///
    /// # Errors
    /// When it is longer than a benchmark's records may be.
    pub(super) fn line(&self, has_messages: bool) -> Result<String, String> {
        let line = self.record(has_messages).to_string();
        if line.len() > RECORD_BYTES_MAX {
            return Err(format!(
                "{} makes a record of {} bytes, at most {RECORD_BYTES_MAX} are read; shorten it",
                self.place,
                line.len()
            ));
        }
        Ok(line)
    }

    fn record(&self, has_messages: bool) -> Value {
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

/// Parts of samples that are not carried over, by name, with the number of samples that have them.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    /// Fields that a person has left out.
    left_out: BTreeMap<String, usize>,
    /// Fields of messages and of their parts.
    of_messages: BTreeMap<String, usize>,
    /// Metadata with numbers of which not every digit is read.
    rounded: BTreeMap<String, usize>,
}

impl Dropped {
    /// Adds those of another sample.
    pub(super) fn add(&mut self, other: Self) {
        let Self { left_out, of_messages, rounded } = other;
        for (all, more) in
            [(&mut self.left_out, left_out), (&mut self.of_messages, of_messages), (&mut self.rounded, rounded)]
        {
            for (name, count) in more {
                *all.entry(name).or_insert(0) += count;
            }
        }
    }

    /// Says what they are.
    pub(super) fn note(&self, notes: &mut Vec<String>) {
        if !self.left_out.is_empty() {
            notes.push(format!("left out of samples, as you said: {}", counts(&self.left_out)));
        }
        if !self.of_messages.is_empty() {
            notes.push(format!("not carried over from messages of samples: {}", counts(&self.of_messages)));
        }
        if !self.rounded.is_empty() {
            notes.push(format!(
                "metadata with numbers that are rounded, because they have more digits than are read: {}; write them as texts",
                counts(&self.rounded)
            ));
        }
    }
}

/// The samples of a data set; notes say which of its fields are not read.
pub(super) fn of_records(
    records: &[Record],
    options: &InspectOptions,
    notes: &mut Vec<String>,
) -> Result<Vec<Sample>, String> {
    let names = &options.fields;
    check_named(records, names)?;
    let (mut dropped, mut unread) = (Dropped::default(), BTreeMap::new());
    let mut samples = Vec::new();
    for record in records {
        samples.push(sample(&record.place, &record.fields, names, options, &mut dropped)?);
        for name in record.fields.keys().filter(|name| !is_read(name, names)) {
            *unread.entry(name.clone()).or_insert(0) += 1;
        }
    }
    dropped.note(notes);
    if !unread.is_empty() {
        notes.push(format!("fields that are not read: {}; --metadata NAME keeps one", counts(&unread)));
    }
    Ok(samples)
}

/// Refuses a name that a person has given, and that no record has: what it was meant for would be missing without a word.
fn check_named(records: &[Record], names: &InspectFields) -> Result<(), String> {
    let Some(first) = records.first() else { return Ok(()) };
    let InspectFields { input, target, choices, id, metadata, sandbox, files, setup } = names;
    let usual = InspectFields::default();
    let fields = [
        (input, &usual.input),
        (target, &usual.target),
        (choices, &usual.choices),
        (id, &usual.id),
        (sandbox, &usual.sandbox),
        (files, &usual.files),
        (setup, &usual.setup),
    ];
    let given = fields.into_iter().filter(|(name, usual)| name != usual).map(|(name, _)| name);
    for name in given.chain(metadata) {
        if !records.iter().any(|record| record.fields.contains_key(name)) {
            return Err(format!(
                "no record has the field {name:?}, which you name; {} has {}",
                first.place,
                known(&first.fields)
            ));
        }
    }
    Ok(())
}

fn is_read(name: &str, names: &InspectFields) -> bool {
    let InspectFields { input, target, choices, id, metadata, sandbox, files, setup } = names;
    [input, target, choices, id, sandbox, files, setup].iter().any(|known| *known == name)
        || metadata.iter().any(|known| known == name)
        || (metadata.is_empty() && name == "metadata")
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
            return Err(format!("{}: the id is that of {earlier} too; give each sample its own", sample.place));
        }
    }
    Ok(())
}

/// The sample that `fields` describe under `names`, with what of it is not carried over.
pub(super) fn sample(
    place: &str,
    fields: &Fields,
    names: &InspectFields,
    options: &InspectOptions,
    dropped: &mut Dropped,
) -> Result<Sample, String> {
    let id = id(fields.get(&names.id)).map_err(|problem| format!("{place}, {}: {problem}", names.id))?;
    let place = id.as_ref().map_or_else(|| place.to_owned(), |id| format!("{place} ({id:?})"));
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
        *dropped.left_out.entry(field.as_str().to_owned()).or_insert(0) += 1;
    }
    let input = fields.get(&names.input).filter(|value| is_there(value));
    let input = input.ok_or_else(|| at(&names.input, format!("is missing; fields: {}", known(fields))))?;
    let mut of_messages = BTreeSet::new();
    let (before, input) = conversation(input, &mut of_messages).map_err(|problem| at(&names.input, problem))?;
    for name in of_messages {
        *dropped.of_messages.entry(name).or_insert(0) += 1;
    }
    let target = fields.get(&names.target).map_or(Ok(Vec::new()), texts);
    let target = target.map_err(|problem| at(&names.target, problem))?;
    let choices = fields.get(&names.choices).map_or(Ok(Vec::new()), choices);
    let choices = choices.map_err(|problem| at(&names.choices, problem))?;
    let metadata = metadata(fields, names).map_err(|problem| at("metadata", problem))?;
    for (name, value) in &metadata {
        if is_deeper(value, DEPTH_MAX - 1) {
            return Err(at("metadata", format!("{name:?} is nested deeper than the {DEPTH_MAX} levels that are read")));
        }
        if has_rounded(value) {
            *dropped.rounded.entry(name.clone()).or_insert(0) += 1;
        }
    }
    Ok(Sample { place, id, before, input, choices, target, metadata, more: Map::new() })
}

/// The id of a sample that has one.
fn id(value: Option<&Value>) -> Result<Option<String>, String> {
    let id = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(id)) if id.is_empty() => return Ok(None),
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) if id.is_i64() || id.is_u64() => id.to_string(),
        Some(Value::Number(id)) => {
            return Err(format!("must be a text or a whole number of 64 bits, is {id}; write it as a text"));
        }
        Some(other) => return Err(format!("must be a text or a whole number, is {}", kind_of(other))),
    };
    ItemId::new(&id).map_err(|error| format!("{error}; give the sample another id"))?;
    Ok(Some(id))
}

/// `true` if a number in `value` has more digits than are read.
fn has_rounded(value: &Value) -> bool {
    match value {
        Value::Number(number) => is_rounded(number),
        Value::Array(values) => values.iter().any(has_rounded),
        Value::Object(fields) => fields.values().any(has_rounded),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// `true` of a number of which digits may be lost: whole numbers of more than 64 bits are read as the nearest float.
fn is_rounded(number: &Number) -> bool {
    number.is_f64() && number.as_f64().is_none_or(|float| float.abs() >= EXACT_BELOW)
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
    if fields.is_empty() { "none".to_owned() } else { listed(&fields.keys().collect::<Vec<&String>>()) }
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
///
/// # Errors
/// When it is none, or a number of which not every digit was read.
pub(super) fn scalar(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) if is_rounded(number) => {
            Err(format!("is or holds the number {number}, of which not every digit is read; write it as a text"))
        }
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => Ok(repr_float(float)),
            None => Ok(number.to_string()),
        },
        Value::Bool(true) => Ok("True".to_owned()),
        Value::Bool(false) => Ok("False".to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(format!("is or holds {}", kind_of(value))),
    }
}

/// A text or several. An empty one alone is none; in a list it is refused, since to Inspect it is a choice with its letter, or a target that is
/// part of every reply.
fn texts(value: &Value) -> Result<Vec<String>, String> {
    let one = |value: &Value| scalar(value).map_err(|problem| format!("must be a text or a list of texts, {problem}"));
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(values) => full(values.iter().map(one).collect::<Result<Vec<String>, String>>()?),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Object(_) => {
            let text = one(value)?;
            Ok(if text.trim().is_empty() { Vec::new() } else { vec![text] })
        }
    }
}

/// Refuses texts of which one is empty.
fn full(texts: Vec<String>) -> Result<Vec<String>, String> {
    if texts.iter().any(|text| text.trim().is_empty()) {
        return Err("holds an empty text; write what it is, or take it out of the list".to_owned());
    }
    Ok(texts)
}

/// Choices as a list, or as one text with commas, or spaces, between them.
fn choices(value: &Value) -> Result<Vec<String>, String> {
    let Value::String(text) = value else { return texts(value) };
    let parts: Vec<&str> =
        if text.contains(',') { text.split(',').collect() } else { text.split_whitespace().collect() };
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    full(parts.iter().map(|part| part.trim().to_owned()).collect())
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

/// The messages before the last one, and its text. Fields of messages that are not carried over are put into `unread`.
fn conversation(input: &Value, unread: &mut BTreeSet<String>) -> Result<(Vec<Message>, String), String> {
    let list = match input {
        Value::String(text) => return Ok((Vec::new(), text.clone())),
        Value::Array(list) => list,
        other => return Err(format!("must be a text or a list of messages, is {}", kind_of(other))),
    };
    let mut messages = Vec::new();
    for (number, message) in (1..).zip(list) {
        messages.push(self::message(message, unread).map_err(|problem| format!("message {number} {problem}"))?);
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

fn message(message: &Value, unread: &mut BTreeSet<String>) -> Result<Message, String> {
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
        return Err("calls tools, which has no counterpart; write what it says as a text".to_owned());
    }
    see_others(message, &["role", "content"], unread);
    let content = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().map(|part| self::part(part, unread)).collect::<Result<Vec<String>, String>>()?;
            texts.join("\n")
        }
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

fn part(part: &Value, unread: &mut BTreeSet<String>) -> Result<String, String> {
    match (part.get("type").and_then(Value::as_str), part.get("text").and_then(Value::as_str)) {
        (Some("text"), Some(text)) => {
            see_others(part, &["type", "text"], unread);
            Ok(text.to_owned())
        }
        (kind, _) => Err(format!("has a part of type {}; only texts have a counterpart", kind.unwrap_or("none"))),
    }
}

/// Puts names of fields that are none of `read`, and hold something, into `unread`.
fn see_others(object: &Value, read: &[&str], unread: &mut BTreeSet<String>) {
    for (name, value) in object.as_object().into_iter().flatten() {
        if !read.contains(&name.as_str()) && is_there(value) {
            unread.insert(name.clone());
        }
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
