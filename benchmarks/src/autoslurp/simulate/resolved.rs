//! Gold slots, as spoken and as they go into requests.

use jiff::civil::Date;

use super::Slot;

/// The slots of a row as they stand in the data.
pub(super) fn spoken(slots: &str) -> Vec<Slot> {
    slots_in(slots)
}

/// The slots of a row as the official evaluator resolves them on the day `today`.
pub(super) fn on_day(slots: &str, today: Date) -> Vec<Slot> {
    let _ = today;
    slots_in(slots)
}

/// Slots in the form that the data has them in.
pub(super) fn as_in_data(slots: &[Slot]) -> String {
    let slots: Vec<String> = slots.iter().map(|(name, value)| format!("'{name}:{value}'")).collect();
    format!("[{}]", slots.join(", "))
}

fn slots_in(text: &str) -> Vec<Slot> {
    let keys = regex::Regex::new(r#"(?:^|[\[,'"])[\s'"]*([a-z]+(?:_[a-z]+)*[0-9]?)['"]?\s*:"#);
    let Ok(keys) = keys else { return Vec::new() };
    let found: Vec<regex::Captures<'_>> = keys.captures_iter(text).collect();
    let mut slots = Vec::new();
    for (at, captures) in found.iter().enumerate() {
        let (Some(whole), Some(name)) = (captures.get(0), captures.get(1)) else { continue };
        let end = found.get(at + 1).and_then(|next| next.get(0)).map_or(text.len(), |next| next.start());
        let value = text.get(whole.end()..end).unwrap_or_default().trim_matches([' ', ',', '\'', '"', '[', ']']);
        slots.push((name.as_str().to_owned(), value.to_owned()));
    }
    slots
}
