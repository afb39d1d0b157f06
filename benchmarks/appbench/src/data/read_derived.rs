//! Reads what somebody derived from the test files already: flags (`plans.jsonl`) and fixtures (`fixtures.json`).

use std::collections::{BTreeSet, HashMap};

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of, lines};
use serde_json::Value;

use super::entry::{Fixture, Flag};
use super::read_items::read_inputs;

/// The flags of each item in `plans.jsonl`, by id.
pub(super) fn read_flags(
    file: &SourceLocation<'_>,
    content: &[u8],
) -> Result<HashMap<String, BTreeSet<Flag>>, DataError> {
    let mut of_items = HashMap::new();
    for line in lines(file, content) {
        let (place, value) = line?;
        let item = place.text(&value, "item")?;
        let mut flags = BTreeSet::new();
        for (at, flag) in place.array(&value, "flags")?.iter().enumerate() {
            let field = format!("flags[{at}]");
            let name = place.text_at(Some(flag), &field)?;
            let known = || Flag::ALL.map(Flag::as_str).join(", ");
            flags.insert(
                Flag::named(name)
                    .ok_or_else(|| place.error(&field, format!("{name:?} is unknown; there are {}", known())))?,
            );
        }
        if of_items.insert(item.to_owned(), flags).is_some() {
            return Err(place.error("item", format!("{item} occurs on an earlier line too")));
        }
    }
    Ok(of_items)
}

/// The fixtures of each item in `fixtures.json`, by id.
pub(super) fn read_fixtures(
    file: &SourceLocation<'_>,
    content: &[u8],
) -> Result<HashMap<String, Vec<Fixture>>, DataError> {
    let value: Value = serde_json::from_slice(content).map_err(|error| file.json(&error))?;
    let Value::Object(items) = &value else {
        return Err(file.problem(format!("must be an object of items, is {}", kind_of(&value))));
    };
    let mut of_items = HashMap::new();
    for (at, (item, values)) in items.iter().enumerate() {
        let place = file.record(at, item);
        let Value::Array(values) = values else {
            return Err(place.problem(format!("must be an array of values, is {}", kind_of(values))));
        };
        let fixtures = values.iter().enumerate().map(|(at, value)| read_fixture(&place, value, at));
        of_items.insert(item.clone(), fixtures.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(of_items)
}

fn read_fixture(place: &SourceLocation<'_>, value: &Value, at: usize) -> Result<Fixture, DataError> {
    let text = |name: &str| place.text_at(value.get(name), &format!("[{at}].{name}"));
    let call = value.get("call").and_then(Value::as_u64).and_then(|call| usize::try_from(call).ok());
    Ok(Fixture {
        call: call.ok_or_else(|| place.error(&format!("[{at}].call"), "must be the position of a call, from 0"))?,
        api: text("api")?.into(),
        inputs: read_inputs(place, value.get("inputs"), &format!("[{at}].inputs"))?,
        slot: text("slot")?.into(),
        value: text("value")?.into(),
    })
}
