//! Anybody's predictions: lines `{"item", "output"}`.

use std::collections::HashMap;

use regatta_benchmarks::source_location::{SourceLocation, lines};
use regatta_benchmarks::{BadLine, BadLines, DataError, Item, no_item};
use regatta_proto::{ItemIndex, Transcript};
use serde_json::Value;

/// Origin of such files, in messages.
const ORIGIN: &str = "predictions";

/// Reads predictions. An output that is no text counts as unreadable.
///
/// # Errors
/// With the lines of what is malformed, names no item, or names one twice.
pub(crate) fn read(items: &[Item], file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    let by_id: HashMap<&str, ItemIndex> = items.iter().map(|item| item.id.as_str()).zip((0..).map(ItemIndex)).collect();
    let mut seen: HashMap<ItemIndex, String> = HashMap::new();
    let mut prediction = |place: &SourceLocation<'_>, line: &Value| -> Result<(ItemIndex, Transcript), BadLine> {
        let id = place.text(line, "item")?;
        let item = by_id.get(id).copied();
        let known = || items.iter().map(|item| item.id.as_str());
        let item = item.ok_or_else(|| BadLine::Unknown(place.error("item", no_item(id, known()))))?;
        if let Some(earlier) = seen.insert(item, place.name()) {
            let problem = format!("was predicted before, in {earlier}; keep one prediction an item");
            return Err(BadLine::Repeated(place.error("item", problem)));
        }
        let output = line.get("output").ok_or_else(|| place.error("output", "is missing; it holds the reply"))?;
        Ok((item, Transcript::of_recorded(output.as_str())))
    };
    let (mut predictions, mut bad) = (Vec::new(), BadLines::default());
    let file = SourceLocation::file(ORIGIN, file);
    for line in lines(&file, content) {
        let line = line.map_err(BadLine::from).and_then(|(place, line)| prediction(&place, &line));
        predictions.extend(bad.keep(line));
    }
    bad.refuse(&file)?;
    if predictions.is_empty() {
        return Err(file.problem("holds no predictions"));
    }
    Ok(predictions)
}
