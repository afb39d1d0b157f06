//! Predictions of other systems: outputs of turns, and whole conversations (docs/benchmarks/flowbench.md §11).

use std::collections::HashMap;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_proto::{ItemIndex, Reply, Transcript};
use serde_json::Value;

use super::data::{Data, Entry};
use super::protocol::{Message, read_messages, write_messages};
use super::setting::Level;

/// Separator of an item's id and the suffix that makes a prediction's key unique.
const SUFFIX: char = '#';

/// One line of predictions.
pub(crate) struct Prediction<'d> {
    /// Key: the item's id, with an optional suffix.
    pub(crate) key: String,
    /// File that the prediction is grouped under.
    pub(crate) file: String,
    /// Number of the line.
    pub(crate) line: usize,
    /// Index of the item.
    pub(crate) item: ItemIndex,
    /// The item in the data set.
    pub(crate) entry: &'d Entry,
    /// The whole line as JSON.
    pub(crate) record: Value,
}

/// Parses lines of `{"item": …}`.
///
/// # Errors
/// With the line that cannot be parsed or names an unknown item.
pub(crate) fn read_lines<'d>(
    data: &'d Data,
    file: &SourceLocation<'_>,
    content: &[u8],
) -> Result<Vec<Prediction<'d>>, DataError> {
    let mut predictions = Vec::new();
    for (line, text) in content.split(|byte| *byte == b'\n').enumerate() {
        if text.trim_ascii().is_empty() {
            continue;
        }
        let place = file.line(line);
        let record: Value = serde_json::from_slice(text).map_err(|error| place.json(&error))?;
        let key = place.text(&record, "item")?.to_owned();
        let id = key.split(SUFFIX).next().unwrap_or_default();
        let item = data.position(id).ok_or_else(|| place.error("item", format!("{id:?} is not in the data")))?;
        let Some(entry) = data.entry(item) else { continue };
        let file = match record.get("file") {
            Some(_) => place.text(&record, "file")?.to_owned(),
            None => entry.group.file.to_string(),
        };
        predictions.push(Prediction { key, file, line, item, entry, record });
    }
    Ok(predictions)
}

/// Converts predictions to transcripts, one for each item: `output` (a text or null) of a turn, `messages` of a session.
///
/// # Errors
/// With the line that cannot be parsed, names an unknown item, or repeats one.
pub(crate) fn read(data: &Data, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    let file = SourceLocation::file("predictions", file);
    let mut first: HashMap<ItemIndex, usize> = HashMap::new();
    let mut transcripts = Vec::new();
    for prediction in read_lines(data, &file, content)? {
        let place = file.line(prediction.line);
        if let Some(earlier) = first.insert(prediction.item, prediction.line) {
            return Err(place.error("item", format!("line {} holds a prediction for it already", earlier + 1)));
        }
        let text = match prediction.entry.level() {
            Level::Turn => output(&place, &prediction.record)?.map(str::to_owned),
            Level::Session => Some(write_messages(&read_messages(&place, &prediction.record, "messages")?).to_string()),
        };
        transcripts.push((prediction.item, Transcript::of_recorded(text.as_deref())));
    }
    Ok(transcripts)
}

/// Returns the output of a turn; `None` when it is null.
pub(crate) fn output<'v>(place: &SourceLocation<'_>, record: &'v Value) -> Result<Option<&'v str>, DataError> {
    match record.get("output") {
        Some(Value::Null) => Ok(None),
        value => place.text_at(value, "output").map(Some),
    }
}

/// Parses the conversation that [`read`] put into a reply; empty when nothing was predicted.
///
/// # Errors
/// If the reply contains anything else.
pub(crate) fn messages_of(reply: &Reply) -> Result<Vec<Message>, DataError> {
    let place = SourceLocation::file("predictions", "predictions");
    let Some(text) = reply.text.as_deref() else { return Ok(Vec::new()) };
    let messages: Value = serde_json::from_str(text).map_err(|error| place.json(&error))?;
    read_messages(&place, &serde_json::json!({ "messages": messages }), "messages")
}
