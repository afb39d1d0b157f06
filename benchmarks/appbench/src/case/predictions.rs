//! Lines of `predictions.jsonl`: `{"item", "output"}`, in the hierarchical setting with the successive answers of the first step as
//! `app_selection`.

use std::collections::HashMap;

use regatta_benchmarks::source_location::{SourceLocation, lines};
use regatta_benchmarks::{DataError, no_item};
use regatta_proto::{Event, Finish, ItemIndex, Reply, Transcript};
use serde_json::Value;

use crate::data::{Data, Entry};

/// One line.
pub(super) struct Prediction<'d> {
    /// Name of the line; the item's id unless the line has one.
    pub(super) id: String,
    /// Set that the line belongs to; the item's split unless the line has one.
    pub(super) group: String,
    /// The item.
    pub(super) entry: &'d Entry,
    /// Answers of the first step.
    pub(super) app_selection: Vec<String>,
    /// The plan, as the model wrote it; nothing where it gave none.
    pub(super) output: Option<String>,
    /// Position of the item.
    item: ItemIndex,
}

impl Prediction<'_> {
    /// The text of the plan; no answer is an empty one.
    pub(super) fn plan(&self) -> &str {
        self.output.as_deref().unwrap_or_default()
    }
}

/// Reads the lines in order. Several may be of one item.
///
/// # Errors
/// With the line that cannot be read, or names no item.
pub(super) fn read_lines<'d>(
    data: &'d Data,
    file: &SourceLocation<'_>,
    content: &[u8],
) -> Result<Vec<Prediction<'d>>, DataError> {
    lines(file, content).map(|line| line.and_then(|(place, line)| read_line(data, &place, &line))).collect()
}

fn read_line<'d>(data: &'d Data, place: &SourceLocation<'_>, line: &Value) -> Result<Prediction<'d>, DataError> {
    let item = place.text(line, "item")?;
    let position = data.position(item);
    let known = position.and_then(|at| Some((data.entries.get(at)?, u32::try_from(at).ok()?)));
    let all = || data.entries.iter().map(|entry| entry.id.as_str());
    let problem = || place.error("item", no_item(item, all()));
    let (entry, position) = known.ok_or_else(problem)?;
    let text_or = |field: &str, default: &str| match line.get(field) {
        None => Ok(default.to_owned()),
        value => place.text_at(value, field).map(str::to_owned),
    };
    let output = match line.get("output") {
        Some(Value::Null) => None,
        value => Some(place.text_at(value, "output")?.to_owned()),
    };
    let app_selection = match line.get("app_selection") {
        None => Vec::new(),
        Some(_) => {
            let answers = place.array(line, "app_selection")?.iter();
            answers
                .map(|answer| place.text_at(Some(answer), "app_selection").map(str::to_owned))
                .collect::<Result<_, _>>()?
        }
    };
    let (id, group) = (text_or("id", item)?, text_or("group", entry.split.as_str())?);
    Ok(Prediction { id, group, entry, app_selection, output, item: ItemIndex(position) })
}

/// Predictions as transcripts, one an item: the answers of the first step, where there are any, and then the plan.
///
/// # Errors
/// With the line that cannot be read, names no item, or repeats one.
pub(crate) fn read(data: &Data, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    let file = SourceLocation::file("predictions", file);
    let mut seen: HashMap<ItemIndex, usize> = HashMap::new();
    let mut transcripts = Vec::new();
    for (number, prediction) in read_lines(data, &file, content)?.into_iter().enumerate() {
        if let Some(earlier) = seen.insert(prediction.item, number) {
            let problem =
                format!("{} was predicted before, in record {}; keep one an item", prediction.entry.id, earlier + 1);
            return Err(file.record(number, &prediction.id).error("item", problem));
        }
        let recorded = |text: Option<&str>| Event::Recorded(Reply::of_text(text, Finish::Stop));
        let mut events: Vec<Event> = prediction.app_selection.iter().map(|answer| recorded(Some(answer))).collect();
        events.push(recorded(prediction.output.as_deref()));
        transcripts.push((prediction.item, Transcript { events }));
    }
    Ok(transcripts)
}
