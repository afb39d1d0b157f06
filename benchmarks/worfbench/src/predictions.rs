//! Anybody's predictions: our own lines, and the two formats of the official code (docs/benchmarks/worfbench.md §11).

use std::collections::HashMap;

use regatta_benchmarks::source_location::{SourceLocation, kind_of, lines};
use regatta_benchmarks::{BadLine, BadLines, DataError, no_item};
use regatta_proto::{ItemIndex, Transcript};
use serde_json::Value;

use super::data::Data;
use super::task::Task;

/// Origin of such files, in messages.
const ORIGIN: &str = "predictions";

/// Reads predictions. What a file holds is told by its first byte and its fields:
/// an array of `{"query": record, "workflow": reply}`; lines `{"item", "output"}`, optionally with the `task`; or lines with the
/// reply at `answer.choices[0].message.content`, which belong to the items of one task, or of all, by position.
/// A reply that is no text (a null, an error object) is kept as such: it counts as unparsable.
///
/// # Errors
/// With the places of what is malformed, names no item, or names one twice.
pub(crate) fn read(data: &Data, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    let place = SourceLocation::file(ORIGIN, file);
    if content.trim_ascii_start().first() == Some(&b'[') {
        return read_array(data, &place, content);
    }
    let mut bad = BadLines::default();
    let lines: Vec<_> = lines(&place, content).filter_map(|line| bad.keep(line.map_err(BadLine::from))).collect();
    let Some((first_place, first)) = lines.first() else {
        bad.refuse(&place)?;
        return Err(place.problem("holds no predictions"));
    };
    if first.get("item").is_some() {
        read_named(data, &place, &lines, bad)
    } else if first.get("answer").is_some() {
        // Without one line all others would be of other items.
        bad.refuse(&place)?;
        read_by_position(data, &place, &lines)
    } else {
        bad.refuse(&place)?;
        Err(first_place.problem("has neither `item` (with output) nor `answer` (the official client's response)"))
    }
}

/// Predictions collected so far; an item may occur once.
struct Collected<'d> {
    data: &'d Data,
    seen: HashMap<ItemIndex, String>,
    predictions: Vec<(ItemIndex, Transcript)>,
}

impl<'d> Collected<'d> {
    fn new(data: &'d Data) -> Self {
        Self { data, seen: HashMap::new(), predictions: Vec::new() }
    }

    fn item(&self, place: &SourceLocation<'_>, field: &str, id: &str) -> Result<ItemIndex, BadLine> {
        let known = regatta_proto::ItemId::new(id).ok().and_then(|id| self.data.by_id.get(&id).copied());
        let all = || self.data.records.iter().map(|record| record.id.as_str());
        known.ok_or_else(|| BadLine::Unknown(place.error(field, no_item(id, all()))))
    }

    fn add(
        &mut self,
        place: &SourceLocation<'_>,
        field: &str,
        item: ItemIndex,
        reply: Option<&str>,
    ) -> Result<(), BadLine> {
        if let Some(earlier) = self.seen.insert(item, place.name()) {
            let problem = format!("the item was predicted before, in {earlier}; keep one prediction an item");
            return Err(BadLine::Repeated(place.error(field, problem)));
        }
        self.predictions.push((item, Transcript::of_recorded(reply)));
        Ok(())
    }
}

fn read_array(
    data: &Data,
    file: &SourceLocation<'_>,
    content: &[u8],
) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    let records: Vec<Value> = serde_json::from_slice(content).map_err(|error| file.json(&error))?;
    let (mut collected, mut bad) = (Collected::new(data), BadLines::default());
    let mut add = |position: usize, record: &Value| -> Result<(), BadLine> {
        let id = record.pointer("/query/id");
        let place = file.record(position, id.and_then(Value::as_str).unwrap_or("no id"));
        let item = collected.item(&place, "query.id", place.text_at(id, "query.id")?)?;
        let reply = record.get("workflow").ok_or_else(|| place.error("workflow", "is missing; it holds the reply"))?;
        collected.add(&place, "query.id", item, reply.as_str())
    };
    for (position, record) in records.iter().enumerate() {
        bad.keep(add(position, record));
    }
    bad.refuse(file)?;
    Ok(collected.predictions)
}

/// `bad` has the lines of `file` that are not among `lines`.
fn read_named(
    data: &Data,
    file: &SourceLocation<'_>,
    lines: &[(SourceLocation<'_>, Value)],
    mut bad: BadLines,
) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    let mut collected = Collected::new(data);
    let mut add = |place: &SourceLocation<'_>, line: &Value| -> Result<(), BadLine> {
        let item = collected.item(place, "item", place.text(line, "item")?)?;
        if let (Some(task), Some(record)) = (line.get("task"), data.record(item))
            && task.as_str() != Some(record.task.name())
        {
            let problem = format!("is {task}, but the item belongs to {}", record.task.name());
            return Err(place.error("task", problem).into());
        }
        let output = line.get("output").ok_or_else(|| place.error("output", "is missing; it holds the reply"))?;
        collected.add(place, "item", item, output.as_str())
    };
    for (place, line) in lines {
        bad.keep(add(place, line));
    }
    bad.refuse(file)?;
    Ok(collected.predictions)
}

fn read_by_position(
    data: &Data,
    file: &SourceLocation<'_>,
    lines: &[(SourceLocation<'_>, Value)],
) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    let items = items_of_as_many(data, file, lines.len())?;
    let (mut collected, mut bad) = (Collected::new(data), BadLines::default());
    let mut add = |place: &SourceLocation<'_>, line: &Value, item: ItemIndex| -> Result<(), BadLine> {
        let answer = line.get("answer").ok_or_else(|| place.error("answer", "is missing"))?;
        let reply = match answer.pointer("/choices/0/message/content") {
            Some(content) => content.as_str(),
            // What the official client stores when a call failed.
            None if answer.get("error").is_some() || answer.is_null() => None,
            None => {
                let problem = format!("has neither choices[0].message.content nor error; is {}", kind_of(answer));
                return Err(place.error("answer", problem).into());
            }
        };
        collected.add(place, "answer", item, reply)
    };
    for ((place, line), item) in lines.iter().zip(items) {
        bad.keep(add(place, line, item));
    }
    bad.refuse(file)?;
    Ok(collected.predictions)
}

/// The items that a file of `count` lines without ids is about: those of the one task, or of all tasks, that has as many.
fn items_of_as_many(data: &Data, file: &SourceLocation<'_>, count: usize) -> Result<Vec<ItemIndex>, DataError> {
    let of_task = |task: Task| data.indexed().filter(move |(_, record)| record.task == task).map(|(item, _)| item);
    if count == data.records.len() {
        return Ok(data.indexed().map(|(item, _)| item).collect());
    }
    let fitting: Vec<Task> = data.tasks().into_iter().filter(|task| of_task(*task).count() == count).collect();
    match fitting.as_slice() {
        [task] => Ok(of_task(*task).collect()),
        several => {
            let why = if several.is_empty() {
                let counts: Vec<String> =
                    data.tasks().into_iter().map(|task| format!("{} {}", task.name(), of_task(task).count())).collect();
                format!("which fits no task ({}) nor all {}", counts.join(", "), data.records.len())
            } else {
                format!("which fits several tasks ({})", super::data::names(several.iter().copied()))
            };
            Err(file.problem(format!(
                "its lines name no items, so they are paired by position, but there are {count}, {why}; \
                 write lines {{\"item\", \"output\"}} instead"
            )))
        }
    }
}
