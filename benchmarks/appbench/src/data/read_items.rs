//! Reads the files of items (docs/benchmarks/appbench.md §2.2). All values are texts, and all six fields of a gold plan are always there.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of};
use regatta_proto::ItemId;
use serde_json::Value;

use super::entry::{Entry, Flag, Gold, Inputs, TrueCall};
use super::split::Split;

/// Reads the items of one file. `start` goes before the split in their ids.
pub(super) fn read_items(
    file: &SourceLocation<'_>,
    content: &[u8],
    start: &str,
    split: Split,
) -> Result<Vec<Entry>, DataError> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let value: Value = serde_json::from_slice(content).map_err(|error| file.json(&error))?;
    let Value::Array(records) = &value else {
        return Err(file.problem(format!("must be an array of items, is {}", kind_of(&value))));
    };
    let mut entries: Vec<Entry> = Vec::with_capacity(records.len());
    let mut first_with: HashMap<Arc<str>, ItemId> = HashMap::new();
    for (position, record) in records.iter().enumerate() {
        let id = format!("{start}{}-{position:03}", split.as_str());
        let place = file.record(position, &id);
        let id = ItemId::new(&id).map_err(|error| place.problem(error))?;
        if !record.is_object() {
            return Err(place.problem(format!("must be an object, is {}", kind_of(record))));
        }
        let input: Arc<str> = place.text(record, "input")?.into();
        let duplicate_of = first_with.get(&input).cloned();
        first_with.entry(Arc::clone(&input)).or_insert_with(|| id.clone());
        let flags = duplicate_of.iter().map(|_| Flag::DuplicateInput).collect::<BTreeSet<_>>();
        let gold = read_gold(&place, record)?;
        entries.push(Entry { id, split, input, gold, flags, duplicate_of, fixtures: Vec::new() });
    }
    Ok(entries)
}

fn read_gold(place: &SourceLocation<'_>, record: &Value) -> Result<Gold, DataError> {
    let output = match record.get("output") {
        Some(output @ Value::Object(_)) => output,
        Some(other) => return Err(place.error("output", format!("must be an object, is {}", kind_of(other)))),
        None => return Err(place.error("output", "is missing; it must be an object")),
    };
    let texts_in = |field: &str| texts(place, array(place, output, field)?, &format!("output.{field}"));
    let mut result_arguments = Vec::new();
    for (at, names) in array(place, output, "result_arguments")?.iter().enumerate() {
        let field = format!("output.result_arguments[{at}]");
        let Value::Array(names) = names else {
            return Err(place.error(&field, format!("must be an array of names, is {}", kind_of(names))));
        };
        result_arguments.push(texts(place, names, &field)?);
    }
    let mut used_api = Vec::new();
    for (at, call) in array(place, output, "used_api")?.iter().enumerate() {
        used_api.push(read_true_call(place, call, &format!("output.used_api[{at}]"))?);
    }
    let known = output.get("user_aware_arguments");
    Ok(Gold {
        used_app: texts_in("used_app")?,
        used_api,
        result_arguments,
        api_results: texts_in("api_results")?,
        middle_arguments: texts_in("middle_arguments")?,
        user_aware_arguments: read_inputs(place, known, "output.user_aware_arguments")?,
    })
}

fn read_true_call(place: &SourceLocation<'_>, call: &Value, field: &str) -> Result<TrueCall, DataError> {
    let single = call.as_object().filter(|call| call.len() == 1).and_then(|call| call.iter().next());
    let Some((api, inputs)) = single else {
        return Err(place.error(field, "must be an object with one field, the API, that holds its arguments"));
    };
    let inputs = read_inputs(place, Some(inputs), &format!("{field}.{api}"))?;
    Ok(TrueCall { api: api.as_str().into(), inputs })
}

/// An object of texts.
pub(super) fn read_inputs(place: &SourceLocation<'_>, value: Option<&Value>, field: &str) -> Result<Inputs, DataError> {
    let entries = match value {
        Some(Value::Object(entries)) => entries,
        Some(other) => return Err(place.error(field, format!("must be an object of texts, is {}", kind_of(other)))),
        None => return Err(place.error(field, "is missing; it must be an object of texts")),
    };
    let read = entries.iter().map(|(name, value)| {
        let text = place.text_at(Some(value), &format!("{field}.{name}"))?;
        Ok((name.as_str().into(), text.into()))
    });
    read.collect()
}

fn array<'v>(place: &SourceLocation<'_>, output: &'v Value, field: &str) -> Result<&'v [Value], DataError> {
    match output.get(field) {
        Some(Value::Array(values)) => Ok(values),
        Some(other) => Err(place.error(&format!("output.{field}"), format!("must be an array, is {}", kind_of(other)))),
        None => Err(place.error(&format!("output.{field}"), "is missing; it must be an array")),
    }
}

fn texts(place: &SourceLocation<'_>, values: &[Value], field: &str) -> Result<Vec<Arc<str>>, DataError> {
    let read = values.iter().enumerate();
    read.map(|(at, value)| Ok(place.text_at(Some(value), &format!("{field}[{at}]"))?.into())).collect()
}
