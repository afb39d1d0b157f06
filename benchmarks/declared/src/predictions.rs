//! Anybody's predictions: lines `{"item", "output"}`.

use std::collections::HashMap;

use regatta_benchmarks::source_location::{SourceLocation, lines};
use regatta_benchmarks::{DataError, Item, no_item};
use regatta_proto::{ItemIndex, Transcript};

/// Origin of such files, in messages.
const ORIGIN: &str = "predictions";

/// Reads predictions. An output that is no text counts as unreadable.
///
/// # Errors
/// With the line of what is malformed, names no item, or names one twice.
pub(crate) fn read(items: &[Item], file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    let by_id: HashMap<&str, ItemIndex> = items.iter().map(|item| item.id.as_str()).zip((0..).map(ItemIndex)).collect();
    let mut seen: HashMap<ItemIndex, String> = HashMap::new();
    let mut predictions = Vec::new();
    for line in lines(&SourceLocation::file(ORIGIN, file), content) {
        let (place, line) = line?;
        let id = place.text(&line, "item")?;
        let item = by_id.get(id).copied();
        let known = || items.iter().map(|item| item.id.as_str());
        let item = item.ok_or_else(|| place.error("item", no_item(id, known())))?;
        if let Some(earlier) = seen.insert(item, place.name()) {
            return Err(place.error("item", format!("was predicted before, in {earlier}; keep one prediction an item")));
        }
        let output = line.get("output").ok_or_else(|| place.error("output", "is missing; it holds the reply"))?;
        predictions.push((item, Transcript::of_recorded(output.as_str())));
    }
    if predictions.is_empty() {
        return Err(SourceLocation::file(ORIGIN, file).problem("holds no predictions"));
    }
    Ok(predictions)
}
