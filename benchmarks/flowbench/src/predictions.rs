//! Predictions of other systems: outputs of turns, and whole conversations (docs/benchmarks/flowbench.md §11).

use std::collections::HashMap;

use regatta_benchmarks::source_location::SourceLocation;
use regatta_benchmarks::{BadLine, BadLines, DataError};
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
/// With the lines that cannot be parsed or name an unknown item.
pub(crate) fn read_lines<'d>(
    data: &'d Data,
    file: &SourceLocation<'_>,
    content: &[u8],
) -> Result<Vec<Prediction<'d>>, DataError> {
    let mut bad = BadLines::default();
    let predictions = read_good(data, file, content, &mut bad);
    bad.refuse(file)?;
    Ok(predictions)
}

/// Parses the lines that can be parsed, and notes the others as `bad`.
fn read_good<'d>(data: &'d Data, file: &SourceLocation<'_>, content: &[u8], bad: &mut BadLines) -> Vec<Prediction<'d>> {
    let numbered = content.split(|byte| *byte == b'\n').enumerate();
    let lines = numbered.filter(|(_, text)| !text.trim_ascii().is_empty());
    lines.filter_map(|(line, text)| bad.keep(read_line(data, &file.line(line), line, text))).collect()
}

fn read_line<'d>(
    data: &'d Data,
    place: &SourceLocation<'_>,
    line: usize,
    text: &[u8],
) -> Result<Prediction<'d>, BadLine> {
    let record: Value = serde_json::from_slice(text).map_err(|error| place.json(&error))?;
    let key = place.text(&record, "item")?.to_owned();
    let id = key.split(SUFFIX).next().unwrap_or_default();
    let known = data.position(id).and_then(|item| Some((item, data.entry(item)?)));
    let unknown = || BadLine::Unknown(place.error("item", format!("{id:?} is not in the data")));
    let (item, entry) = known.ok_or_else(unknown)?;
    let file = match record.get("file") {
        Some(_) => place.text(&record, "file")?.to_owned(),
        None => entry.group.file.to_string(),
    };
    Ok(Prediction { key, file, line, item, entry, record })
}

/// Converts predictions to transcripts, one for each item: `output` (a text or null) of a turn, `messages` of a session.
///
/// # Errors
/// With the lines that cannot be parsed, name an unknown item, or repeat one.
pub(crate) fn read(data: &Data, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    let file = SourceLocation::file("predictions", file);
    let mut first: HashMap<ItemIndex, usize> = HashMap::new();
    let mut transcript = |prediction: &Prediction<'_>| -> Result<(ItemIndex, Transcript), BadLine> {
        let place = file.line(prediction.line);
        if let Some(earlier) = first.insert(prediction.item, prediction.line) {
            let problem = format!("line {} holds a prediction for it already", earlier + 1);
            return Err(BadLine::Repeated(place.error("item", problem)));
        }
        let text = match prediction.entry.level() {
            Level::Turn => output(&place, &prediction.record)?.map(str::to_owned),
            Level::Session => Some(write_messages(&read_messages(&place, &prediction.record, "messages")?).to_string()),
        };
        Ok((prediction.item, Transcript::of_recorded(text.as_deref())))
    };
    let mut bad = BadLines::default();
    let read = read_good(data, &file, content, &mut bad);
    let transcripts = read.iter().filter_map(|prediction| bad.keep(transcript(prediction))).collect();
    bad.refuse(&file)?;
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
