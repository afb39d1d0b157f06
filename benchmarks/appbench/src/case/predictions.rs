//! Lines of `predictions.jsonl`: `{"item", "output"}`, in the hierarchical setting with the successive answers of the first step as
//! `app_selection`.

use std::collections::HashMap;

use regatta_benchmarks::source_location::{SourceLocation, lines};
use regatta_benchmarks::{BadLine, BadLines, DataError, no_item};
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
/// With the lines that cannot be read, or name no item.
pub(super) fn read_lines<'d>(
    data: &'d Data,
    file: &SourceLocation<'_>,
    content: &[u8],
) -> Result<Vec<Prediction<'d>>, DataError> {
    let mut bad = BadLines::default();
    let read = read_good(data, file, content, &mut bad);
    bad.refuse(file)?;
    Ok(read.into_iter().map(|(_, prediction)| prediction).collect())
}

/// Reads the lines that can be read, each with its place, and notes the others as `bad`.
fn read_good<'d, 'c>(
    data: &'d Data,
    file: &SourceLocation<'c>,
    content: &'c [u8],
    bad: &mut BadLines,
) -> Vec<(SourceLocation<'c>, Prediction<'d>)> {
    let read = lines(file, content).filter_map(|line| {
        let line = line.map_err(BadLine::from);
        bad.keep(line.and_then(|(place, line)| read_line(data, &place, &line).map(|read| (place, read))))
    });
    read.collect()
}

fn read_line<'d>(data: &'d Data, place: &SourceLocation<'_>, line: &Value) -> Result<Prediction<'d>, BadLine> {
    let item = place.text(line, "item")?;
    let position = data.position(item);
    let known = position.and_then(|at| Some((data.entries.get(at)?, u32::try_from(at).ok()?)));
    let all = || data.entries.iter().map(|entry| entry.id.as_str());
    let problem = || BadLine::Unknown(place.error("item", no_item(item, all())));
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
/// With the lines that cannot be read, name no item, or repeat one.
pub(crate) fn read(data: &Data, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    let file = SourceLocation::file("predictions", file);
    let mut seen: HashMap<ItemIndex, String> = HashMap::new();
    let (mut transcripts, mut bad) = (Vec::new(), BadLines::default());
    for (place, prediction) in read_good(data, &file, content, &mut bad) {
        if let Some(earlier) = seen.insert(prediction.item, place.name()) {
            let problem = format!("{} was predicted before, in {earlier}; keep one an item", prediction.entry.id);
            bad.keep::<()>(Err(BadLine::Repeated(place.error("item", problem))));
            continue;
        }
        let recorded = |text: Option<&str>| Event::Recorded(Reply::of_text(text, Finish::Stop));
        let mut events: Vec<Event> = prediction.app_selection.iter().map(|answer| recorded(Some(answer))).collect();
        events.push(recorded(prediction.output.as_deref()));
        transcripts.push((prediction.item, Transcript { events }));
    }
    bad.refuse(&file)?;
    Ok(transcripts)
}
