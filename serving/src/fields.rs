//! The fields of a JSON object, taken one at a time, so that none is overlooked.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bytes::Bytes;
use regatta_proto::plain_message;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{ApiError, json_bytes};
use crate::reader::Reader;
use crate::refused::{DISGUISED, is_disguised, why};

/// A JSON object whose values are not parsed yet. Fields without content (`null`, an empty list, an empty object) count as absent.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    /// Path of the object in the request; empty for the request itself.
    path: String,
    entries: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// Names of the fields that were taken out.
    taken: Vec<Cow<'a, str>>,
}

impl<'a> Fields<'a> {
    /// The fields of a request.
    pub(crate) fn of_body(body: &'a [u8]) -> Result<Self, ApiError> {
        let Entries(entries) = serde_json::from_slice(body)
            .map_err(|error| ApiError::bad_request(None, format!("failed to read the request: {error}")))?;
        Ok(Self { path: String::new(), entries, taken: Vec::new() })
    }

    /// The fields of a value that is at `path` of the request.
    pub(crate) fn of(value: &'a RawValue, path: String) -> Result<Self, ApiError> {
        let Entries(entries) = parse(value, &path)?;
        Ok(Self { path, entries, taken: Vec::new() })
    }

    /// Path of the field `name` in the request.
    pub(crate) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Takes the value of `name` out.
    pub(crate) fn raw(&mut self, name: &str) -> Option<&'a RawValue> {
        let place = self.entries.iter().position(|(field, _)| field == name)?;
        let (name, value) = self.entries.swap_remove(place);
        self.taken.push(name);
        (!says_nothing(value)).then_some(value)
    }

    /// The value of `name`, which stays.
    pub(crate) fn peek(&self, name: &str) -> Option<&'a RawValue> {
        self.entries.iter().find(|(field, _)| field == name).map(|(_, value)| *value)
    }

    /// Takes out all that is left.
    pub(crate) fn rest(&mut self) -> Vec<(Cow<'a, str>, &'a RawValue)> {
        std::mem::take(&mut self.entries)
    }

    /// The object with the fields that are left, as they were written, and `value`, a JSON text, as the field `name`.
    pub(crate) fn with(&self, name: &str, value: &str) -> Bytes {
        let mut out = Vec::from(*b"{");
        for (field, written) in &self.entries {
            out.extend_from_slice(&json_bytes(field));
            out.push(b':');
            out.extend_from_slice(written.get().as_bytes());
            out.push(b',');
        }
        out.extend_from_slice(&json_bytes(&name));
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
        out.push(b'}');
        out.into()
    }

    /// Takes the value of `name` and parses it.
    pub(crate) fn take<T: Deserialize<'a>>(&mut self, name: &str) -> Result<Option<T>, ApiError> {
        self.raw(name).map(|value| parse(value, &self.path_of(name))).transpose()
    }

    /// Takes the value of `name` and parses it; an error if it is absent.
    pub(crate) fn need<T: Deserialize<'a>>(&mut self, name: &str) -> Result<T, ApiError> {
        self.take(name)?.ok_or_else(|| self.missing(name))
    }

    /// Takes a text.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<Cow<'a, str>>, ApiError> {
        Ok(self.take::<Text<'a>>(name)?.map(|Text(text)| text))
    }

    /// Takes a text that must be present.
    pub(crate) fn need_text(&mut self, name: &str) -> Result<Cow<'a, str>, ApiError> {
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    /// Takes an object.
    pub(crate) fn object(&mut self, name: &str) -> Result<Option<Fields<'a>>, ApiError> {
        self.raw(name).map(|value| Fields::of(value, self.path_of(name))).transpose()
    }

    /// Takes a list of objects.
    pub(crate) fn objects(&mut self, name: &str) -> Result<Vec<Fields<'a>>, ApiError> {
        let values: Vec<&'a RawValue> = self.take(name)?.unwrap_or_default();
        let path = self.path_of(name);
        values.into_iter().enumerate().map(|(index, value)| Fields::of(value, format!("{path}[{index}]"))).collect()
    }

    /// Takes fields that do not affect the answer.
    pub(crate) fn pass_over(&mut self, names: &[&str]) {
        self.entries.retain(|(field, _)| !names.contains(&field.as_ref()));
    }

    /// Takes a field that is refused for the reason `why`, unless it has one of the `harmless` values, which change nothing.
    pub(crate) fn only(&mut self, name: &str, harmless: &[&str], why: &str, reader: &Reader) -> Result<(), ApiError> {
        match self.raw(name) {
            Some(value) if reader.is_whole() && !harmless.contains(&value.get()) => Err(self.refuse(name, why)),
            _ => Ok(()),
        }
    }

    /// Takes a field that goes to the endpoint as it is, unless it has one of the `harmless` values, which change nothing.
    pub(crate) fn pass_unless(&mut self, name: &str, harmless: &[&str], reader: &mut Reader) {
        if self.raw(name).is_some_and(|value| reader.is_whole() && !harmless.contains(&value.get())) {
            reader.pass_on(&self.path_of(name));
        }
    }

    /// Fields that are left go to the endpoint as they are, with the field of the request that holds them; a whole reading refuses those
    /// with which accounts or transcripts would be untrue.
    pub(crate) fn finish(self, reader: &mut Reader) -> Result<(), ApiError> {
        if !reader.is_whole() || self.entries.is_empty() {
            return Ok(());
        }
        let mut known: BTreeSet<&str> = self.taken.iter().map(|name| &**name).collect();
        for (name, value) in &self.entries {
            // Whoever reads it next may take the other one, be it empty.
            if !known.insert(name) {
                return Err(self.refuse(name, "is said twice; say it once"));
            }
            if says_nothing(value) {
                continue;
            }
            if is_disguised(name) {
                return Err(self.refuse(name, DISGUISED));
            }
            if !self.path.is_empty() {
                reader.pass_on(&self.path);
            } else if let Some(why) = why(name) {
                return Err(self.refuse(name, why));
            } else {
                reader.pass_field(name);
            }
        }
        Ok(())
    }

    /// The values of the fields `names`, parsed; `null` for those that are absent.
    pub(crate) fn values(self, names: &BTreeSet<String>) -> Result<BTreeMap<String, Value>, ApiError> {
        let mut values: BTreeMap<String, Value> = names.iter().map(|name| (name.clone(), Value::Null)).collect();
        for (name, value) in self.entries {
            if let Some(place) = values.get_mut(&*name) {
                *place = shallow(parse(value, &name)?, &name)?;
            }
        }
        Ok(values)
    }

    /// The error that refuses the field `name`.
    pub(crate) fn refuse(&self, name: &str, why: &str) -> ApiError {
        refuse(&self.path_of(name), why)
    }

    fn missing(&self, name: &str) -> ApiError {
        self.refuse(name, "is missing")
    }
}

/// The error that refuses the value at `path`.
pub(crate) fn refuse(path: &str, why: &str) -> ApiError {
    let shown: String = path.chars().take(PATH_SHOWN_MAX).collect();
    let message = format!("`{shown}` {why}");
    ApiError::of_field(shown, message)
}

/// Most characters of a path shown in an error; its names are the client's.
const PATH_SHOWN_MAX: usize = 120;

/// Parses a value that is at `path` of the request.
pub(crate) fn parse<'a, T: Deserialize<'a>>(value: &'a RawValue, path: &str) -> Result<T, ApiError> {
    serde_json::from_str(value.get()).map_err(|error| {
        // The location counts from the start of this value, which would mislead.
        let text = error.to_string();
        let problem = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem);
        refuse(path, &format!("cannot be read: {}", plain_message(problem)))
    })
}

/// Most levels of a value that is kept as it is. Readers of JSON stop at 128, and a transcript puts some around it.
const LEVELS: usize = 64;

/// `value`, which is at `path` of the request, unless a transcript that holds it could not be read again.
pub(crate) fn shallow(value: Value, path: &str) -> Result<Value, ApiError> {
    if is_deeper(&value, LEVELS) {
        return Err(refuse(path, &format!("is nested too deeply; at most {LEVELS} levels are recorded")));
    }
    Ok(value)
}

/// `true` if `value` has more than `levels` lists and objects within each other.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(values) => values.iter().any(|value| is_deeper(value, below)),
        Value::Object(fields) => fields.values().any(|value| is_deeper(value, below)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn says_nothing(value: &RawValue) -> bool {
    let is_hollow = |inner: &str| inner.bytes().all(|byte| byte.is_ascii_whitespace());
    match value.get() {
        "null" => true,
        list if list.starts_with('[') => list.get(1..list.len() - 1).is_some_and(is_hollow),
        object if object.starts_with('{') => object.get(1..object.len() - 1).is_some_and(is_hollow),
        _ => false,
    }
}

/// A text, borrowed where it holds no escapes.
#[derive(Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some((Text(name), value)) = map.next_entry()? {
                    entries.push((name, value));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::ClientFormat;
    use serde_json::json;

    use super::*;
    use crate::Reading;

    fn message<T>(result: Result<T, ApiError>) -> String {
        result.err().map(|error| error.message).unwrap_or_default()
    }

    #[test]
    fn what_is_not_taken_goes_on_by_its_name_and_what_says_nothing_does_not() {
        let body = br#"{"a": 1, "b": null, "c": [ ], "d": {}, "e.\n": {"f": 2}}"#;
        let mut fields = Fields::of_body(body).unwrap();
        assert_eq!(fields.take::<u8>("a").unwrap(), Some(1));
        assert_eq!(fields.take::<u8>("b").unwrap(), None);
        let mut whole = Reader::new(Reading::Whole);
        fields.finish(&mut whole).unwrap();
        let passed = whole.passed(ClientFormat::Chat, body, &[]).unwrap().unwrap();
        assert_eq!(passed.fields, BTreeMap::from([("e.\n".to_owned(), json!({"f": 2}))]));
        let mut gist = Reader::new(Reading::Gist);
        Fields::of_body(body).unwrap().finish(&mut gist).unwrap();
        assert_eq!(gist.passed(ClientFormat::Chat, body, &[]).unwrap(), None);
    }

    #[test]
    fn what_is_left_inside_a_field_has_the_whole_field_go_on() {
        let body = br#"{"list": [{"n": 1, "m": 2}], "other": 3}"#;
        let mut fields = Fields::of_body(body).unwrap();
        let mut reader = Reader::new(Reading::Whole);
        fields.take::<u8>("other").unwrap();
        for mut entry in fields.objects("list").unwrap() {
            entry.take::<u8>("n").unwrap();
            entry.finish(&mut reader).unwrap();
        }
        fields.finish(&mut reader).unwrap();
        let passed = reader.passed(ClientFormat::Chat, body, &[]).unwrap().unwrap();
        assert_eq!(passed.fields, BTreeMap::from([("list".to_owned(), json!([{"n": 1, "m": 2}]))]));
    }

    #[test]
    fn a_value_that_cannot_be_read_is_named_by_its_place() {
        let mut fields = Fields::of_body(br#"{"list": [{"n": 1}, {"n": "x"}]}"#).unwrap();
        let mut list = fields.objects("list").unwrap();
        let wrong = message(list.pop().unwrap().take::<u8>("n"));
        assert_eq!(wrong, "`list[1].n` cannot be read: found the text \"x\", expected a whole number from 0 to 255");
        assert_eq!(message(list.pop().unwrap().need::<u8>("m")), "`list[0].m` is missing");
    }

    #[test]
    fn what_is_said_twice_is_refused() {
        let mut fields = Fields::of_body(br#"{"n": 1, "n": 2}"#).unwrap();
        fields.take::<u8>("n").unwrap();
        assert_eq!(message(fields.finish(&mut Reader::new(Reading::Whole))), "`n` is said twice; say it once");
        for body in [&br#"{"n": 1, "n": 2}"#[..], br#"{"n": 1, "n": null}"#] {
            let fields = Fields::of_body(body).unwrap();
            assert_eq!(message(fields.finish(&mut Reader::new(Reading::Whole))), "`n` is said twice; say it once");
        }
    }

    #[test]
    fn what_is_said_twice_inside_a_field_is_refused_as_well() {
        for second in ["2", "null", "[]"] {
            let body = format!(r#"{{"a": {{"n": 1, "n": {second}, "other": 3}}}}"#);
            let mut fields = Fields::of_body(body.as_bytes()).unwrap();
            let mut inner = fields.object("a").unwrap().unwrap();
            assert_eq!(inner.take::<u8>("n").unwrap(), Some(1));
            let refused = message(inner.finish(&mut Reader::new(Reading::Whole)));
            assert_eq!(refused, "`a.n` is said twice; say it once", "{second}");
        }
    }

    #[test]
    fn a_value_of_more_levels_than_a_transcript_can_hold_is_refused() {
        let passed = |levels: usize| {
            let body = format!(r#"{{"x": {}1{}}}"#, "[".repeat(levels), "]".repeat(levels));
            let mut reader = Reader::new(Reading::Whole);
            Fields::of_body(body.as_bytes()).unwrap().finish(&mut reader).unwrap();
            message(reader.passed(ClientFormat::Chat, body.as_bytes(), &[]))
        };
        assert_eq!(passed(LEVELS), "");
        assert_eq!(passed(LEVELS + 1), "`x` is nested too deeply; at most 64 levels are recorded");
    }
}
